"""Numbers whose squares doubles cannot hold: the right answer, or one sentence that says what to do."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    load_model,
    save_model,
)
from tests.helpers import in_turn, sine, spiked_rows

X = spiked_rows(40, 6)
WIDE = spiked_rows(12, 520)  # so many columns that rows are kept and no scatter is formed
ALL = {"attenuation": 0.2, "tempering": 0.3, "row_tempering": 0.5, "damping": 0.2, "pooling": 0.5}
MODELS = [
    AttenuatedPCA(2, alpha=0.3),
    AttenuatedPCA(2, alpha=0.3, whiten=True),
    AttenuatedPCACV(2),
    CorrectedPCA(2, **ALL),
    CorrectedPCACV(2),
    CorrectedPCACV(2, cv=KFold(3, shuffle=True, random_state=0)),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:45])
SIZES = {1e306: "large", 1e300: "large", 1e200: "large", 1e160: "large", 1e-160: "small", 1e-300: "small"}


def with_column(number, factor):
    changed = X.copy()
    changed[:, number] *= factor
    return changed


@pytest.mark.parametrize(("model", "size"), in_turn(MODELS, [1e150, 1e-150]), ids=str)
def test_large_and_small_numbers_are_fitted_as_others_are(model, size, tmp_path):
    plain = model.fit(X)
    scores, errors = plain.transform(X), plain.reconstruction_error(X)
    risks = getattr(plain, "cv_risk_", None)
    model.fit(X * size)
    scale = 1.0 if model.whiten else size
    np.testing.assert_allclose(model.transform(X * size) / scale, scores, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.reconstruction_error(X * size) / size / size, errors, rtol=1e-6)
    assert np.isfinite(model.get_covariance()).all()
    if risks is not None:
        np.testing.assert_allclose(model.cv_risk_ / size / size, risks, rtol=1e-6)
    save_model(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.safetensors").transform(X * size), model.transform(X * size)
    )


@pytest.mark.parametrize(("model", "size", "rows"), in_turn(MODELS, SIZES, [X, WIDE, sp.csr_matrix(X)]))
def test_numbers_that_no_variance_can_be_given_of_are_refused(model, size, rows):
    sentence = (
        rf"X holds numbers too {SIZES[size]} for variances in float64.* columns 0, 1, 2, 3, 4 and \d+ more"
    )
    with pytest.raises(ValueError, match=sentence):
        model.fit(rows * size)


def halves(rows):
    return [rows[:15], rows[15:]]


@pytest.mark.parametrize(
    ("model", "form"),
    in_turn(MODELS, [np.asarray, sp.csr_matrix]) + [(model, halves) for model in MODELS[:3]],
)
def test_a_constant_column_beside_which_nothing_is_left(model, form):
    changed = X.copy()
    changed[:, 3] = 1e69
    found = clone(model).fit(form(changed))
    expected = clone(model).fit(form(X * (np.arange(X.shape[1]) != 3)))
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-9)
    for choice in ("alpha_", "choices_"):
        assert getattr(found, choice, None) == getattr(expected, choice, None)
    for size in (1e80, 1e100, 1e200):
        changed[:, 3] = size
        with pytest.raises(ValueError, match=r"numbers too large in column 3: .* leave these columns out"):
            model.fit(form(changed))


@every_model
def test_the_column_is_named(model):
    pd = pytest.importorskip("pandas", reason="a data frame has names")
    frame = pd.DataFrame(with_column(2, 1e300), columns=list("abcdef"))
    with pytest.raises(ValueError, match=r"in column 2 \('c'\)\. Look .* divide these columns"):
        model.fit(frame)
    one_value = X.copy()
    one_value[3, 4] = 1e300
    with pytest.raises(ValueError, match=r"too large .* in column 4\. "):
        model.fit(one_value)


@pytest.mark.filterwarnings("ignore:tempering is tried up to 0.5 only")
@every_model
def test_tiny_columns_beside_others_are_fitted(model):
    model.fit(with_column(2, 1e-300))
    np.testing.assert_allclose(model.components_[:, 2], 0, atol=1e-12)
    assert np.isfinite(model.transform(X)).all()


# Lost, and with the same number of rows on both sides, so that their sum is zero, too.
TINY = {"by a factor": X[:, 2] * 1e-200, "by sign": np.where(np.arange(40) % 2, 1e-200, -1e-200)}
DIVIDING = [CorrectedPCA(2, tempering=1), CorrectedPCA(2, tempering=0.95)]


def with_tiny(kind, rows=X):
    changed = rows.copy()
    changed[:, 2] = TINY[kind][: len(rows)]
    return changed


FORMS = {
    "dense": np.asarray,
    "sparse": sp.csr_matrix,
    "wide": lambda rows: np.hstack([rows, spiked_rows(40, 520)]),
    "sparse and wide": lambda rows: sp.csr_matrix(np.hstack([rows, spiked_rows(40, 520)])),
}


@pytest.mark.parametrize(("form", "kind", "model"), in_turn(FORMS, TINY, DIVIDING))
def test_columns_whose_variances_are_lost_are_not_divided_by_them(model, form, kind):
    with pytest.raises(ValueError, match=r"numbers in column 2 that are too small compared with the others"):
        model.fit(FORMS[form](with_tiny(kind)))


@pytest.mark.parametrize(("form", "model"), in_turn(FORMS, DIVIDING))
def test_columns_that_are_constant_or_only_small_are_divided(model, form):
    constant = X.copy()
    constant[:, 2], constant[:, 4] = 1e-200, 0
    np.testing.assert_allclose(model.fit(FORMS[form](constant)).components_[:, [2, 4]], 0, atol=1e-12)
    if isinstance(model, CorrectedPCA) and model.tempering == 1:
        expected = model.fit(X).components_
        assert sine(model.fit(with_column(2, 1e-120)).components_, expected) < 1e-9


@pytest.mark.parametrize("kind", TINY)
def test_a_search_leaves_strengths_out_that_would_divide_by_lost_variances(kind):
    pd = pytest.importorskip("pandas", reason="a data frame has names")
    frame = pd.DataFrame(with_tiny(kind), columns=list("abcdef"))
    model = CorrectedPCACV(2, corrections=["tempering"])
    with pytest.warns(UserWarning, match=r"tempering is tried up to 0.5 only.* in column 2 \('c'\)"):
        model.fit(frame)
    assert max(model.steps_["tempering"].strengths) <= 0.5


def test_float32_is_refused_where_only_float64_can_hold_the_variances():
    single = (X * 1e25).astype(np.float32)
    with pytest.raises(ValueError, match=r"too large for variances in float32.*or give X as float64"):
        AttenuatedPCA(2).fit(single)
    wider = AttenuatedPCA(2).fit(single.astype(float))
    expected = PCA(2).fit(single.astype(float) / 1e25).explained_variance_
    np.testing.assert_allclose(wider.explained_variance_ / 1e50, expected, rtol=1e-9)
    with pytest.raises(ValueError, match=r"too small for variances in float32.*or give X as float64"):
        AttenuatedPCA(2).fit((X * 1e-25).astype(np.float32))


def test_a_batch_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="too large for variances"):
        AttenuatedPCACV(2).fit([X, X * 1e200])


def test_the_path_is_refused_too():
    with pytest.raises(ValueError, match="too large for variances"):
        attenuation_path(X * 1e200, 2)


@pytest.mark.parametrize(("model", "form"), in_turn(MODELS, [np.asarray, sp.csr_matrix]))
def test_new_rows_that_are_far_too_large(model, form):
    model.fit(X)
    huge = X[:3] * np.array([[1e160], [1e300], [1.0]])
    for method, far in ((model.reconstruction_error, np.inf), (model.score_samples, -np.inf)):
        found = method(form(huge))
        np.testing.assert_array_equal(found[:2], far)
        np.testing.assert_allclose(found[2], method(X[2:3])[0], rtol=1e-6)
    assert model.score(form(huge)) == -np.inf
    assert np.isfinite(model.transform(form(huge))).all()


def test_squares_that_overflow_on_the_way_but_not_in_the_end():
    """A row in the fitted subspace is at no distance from it, however far out it is."""
    model = AttenuatedPCA(1).fit(np.outer(X[:, 0], [3.0, 4.0]))
    far = model.mean_ + 1e160 * model.components_
    assert model.reconstruction_error(far)[0] < 1e291  # the rounding of 1e160, squared
    assert np.isfinite(model.reconstruction_error(sp.csr_matrix(far))).all()


def test_scores_and_rows_that_no_double_holds():
    model = AttenuatedPCA(2).fit(X)
    huge = X[:3].copy()
    huge[1] = 1.7e308 * np.sign(model.components_[0])
    with pytest.raises(ValueError, match=r"X holds numbers in row 1 .* transform gives .* float64"):
        model.transform(huge)
    with pytest.raises(ValueError, match=r"X holds numbers in row 0 .* inverse_transform gives"):
        model.set_params(whiten=True).inverse_transform([[1.7e308, 1.7e308]])


def test_the_gain_of_large_risks():
    expected, found = (AttenuatedPCACV(2).fit(X * size).left_out_gain_error_ for size in (1, 2.0**500))
    assert found == pytest.approx(expected, rel=1e-6)


def shell(*words):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "attenua", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "size"), [("attenuated", 1e150), ("corrected", 1e300)])
def test_the_shell(method, size, tmp_path):
    pytest.importorskip("click", reason="the command line needs it")
    file, out = tmp_path / "rows.csv", tmp_path / "out"
    np.savetxt(file, X * size, delimiter=",", header="a,b,c,d,e,f", comments="")
    done = shell("fit", file, "-k", "2", "--method", method, "--out", out)
    assert "Traceback" not in done.stderr
    if size == 1e150:
        assert done.returncode == 0, done.stderr
        text = (out / "result.json").read_text()
        record = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
        assert len(record["explained_variance_ratio"]) == 2
    else:
        assert done.returncode == 1
        assert re.match(rf"Error: {re.escape(str(file))}: .* too large", done.stderr.splitlines()[-1])
        assert not out.exists()


@pytest.mark.parametrize("model", [AttenuatedPCACV(2), CorrectedPCACV(2)], ids=["attenuated", "corrected"])
def test_risks_lost_beside_a_column_are_told(model):
    """A column of row numbers and times can vary 1e8 times as much as what was measured."""
    rows = X.copy()
    rows[:, 3] *= 1e8
    with (
        # What the second component explains is lost, too.
        pytest.warns(UserWarning, match="falls on a tie"),
        pytest.warns(UserWarning, match=r"so much more in column 3 than .* lost to rounding"),
    ):
        clone(model).fit(rows)
    rows[:, 3] /= 1e3
    training = rows[np.arange(40) % 5 > 0]
    residual = rows[::5] - training.mean(axis=0)
    W = PCA(2, svd_solver="full").fit(training).components_
    risk = np.mean(np.sum((residual - residual @ W.T @ W) ** 2, axis=1))
    # Without a warning, since the risks have their digits.
    assert clone(model).fit(rows).cv_risk_folds_[0, 0] == pytest.approx(risk, rel=1e-3)


def test_nothing_is_told_where_columns_do_not_vary():
    rows = np.zeros((40, 6))
    rows[:, 2] = 1e8 * X[:, 0]
    AttenuatedPCACV(1).fit(rows)


def test_singular_values_of_large_numbers():
    X = spiked_rows(40, 5)
    expected = AttenuatedPCA(2, alpha=0.5).fit(X).singular_values_
    found = AttenuatedPCA(2, alpha=0.5).fit(X * 2.0**500).singular_values_
    np.testing.assert_allclose(found * 2.0**-500, expected, rtol=1e-12)
