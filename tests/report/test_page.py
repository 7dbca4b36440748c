"""The page: its answers, its order, its tables, and texts from the data that stay texts."""

import base64
import builtins
import json
import struct
import warnings
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCACV, paired_gain
from attenua.report import Report, report
from attenua.report.images import grey_image, shape_from_names, signed_image
from attenua.report.page import script_safe_json
from tests.helpers import spiked_rows
from tests.report.conftest import HOSTILE, word_of

WORDS = ("Yes", "No", "Perhaps", "Perhaps not", "No: use ordinary PCA", "It makes no difference")


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of scripts."""

    def __init__(self, html):
        super().__init__()
        self.found, self.scripts, self._in_script, self.text = [], [], False, ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data
        else:
            self.text += data


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page.html)


def test_it_answers_in_order(page):
    questions = (
        "Should I use it on these data?",
        "What was tried, and how much does it help?",
        "What attenuation changes",
    )
    places = [page.html.index(f">{question}</h2>") for question in questions]
    assert places == sorted(places)


def test_the_numbers_on_the_page_are_those_of_the_fit(page, model, elements):
    assert f'<dd>1 of 1</dd><dd class="sub">attenuation {model.alpha_:g}</dd>' in page.html
    expected = f"{100 * paired_gain(model).crossed_gain:.2f}%".replace("-", "−")
    assert f"<dt>less risk than PCA's on new rows</dt><dd>{expected}</dd>" in page.html
    for risk in model.cv_risk_:
        assert f"{risk:.5g}" in page.html
    data = json.loads(elements.scripts[0])["charts"]
    curve = next(s for s in data["step-attenuation"][0]["series"] if s["name"] == "held-out risk")
    np.testing.assert_allclose(curve["y"], 100 * (model.cv_risk_ / model.cv_risk_[0] - 1), rtol=1e-4)
    assert curve["x"] == model.alphas_.tolist()


def test_every_chart_has_a_label_and_a_table(page, elements):
    data = json.loads(elements.scripts[0])["charts"]
    labels = [attributes["data-label"] for _, attributes in elements.found if "data-label" in attributes]
    assert len(labels) == len(data) + 2 == 8  # scores, and T2 and Q, have tables of their own
    assert all(len(label) > 40 for label in labels)
    assert page.html.count("The values as a table") == 8
    images = [attributes for tag, attributes in elements.found if tag == "img"]
    assert all(attributes.get("alt") for attributes in images)


def test_texts_from_the_data_are_inert(page, elements):
    assert HOSTILE not in page.html
    assert len(elements.scripts) == 2  # the data and the charts
    assert "window.hacked" not in elements.scripts[1]
    data = json.loads(elements.scripts[0])
    assert data["charts"]["moves"][0]["rows"].count(HOSTILE) == 1
    assert data["tables"]["loadings"]["names"][0] == data["tables"]["scores"]["arrows"]["names"][0] == HOSTILE
    assert "<" not in elements.scripts[0]
    assert not any(tag == "img" and attributes.get("src") == "x" for tag, attributes in elements.found)
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert "{{ 7 * 7 }}" in page.html


def test_no_address_leaves_the_page(elements):
    for tag, attributes in elements.found:
        for name in ("src", "href", "action", "data", "srcset"):
            if name in attributes:
                assert attributes[name].startswith(("data:", "#")), (tag, attributes)
    assert all(tag not in ("iframe", "object", "embed", "form", "base") for tag, _ in elements.found)
    policy = next(a["content"] for t, a in elements.found if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("script-src")[1]


@pytest.mark.parametrize("text", ["</script>", "<!--", "\u2028", "&amp;", 'quo"te', "\\u003c"])
def test_json_that_no_text_can_break_out_of(text):
    safe = script_safe_json({text: [text]})
    assert json.loads(safe) == {text: [text]}
    assert not set(safe) & set("<>&\u2028\u2029")


@pytest.mark.slow
def test_the_code_on_the_page_makes_the_page_again(model, frame, tmp_path, monkeypatch):
    fitted = AttenuatedPCACV(2, alphas=np.linspace(0, 1, 41), cv=4, n_repeats=2, random_state=3).fit(frame)
    page = report(fitted, frame)
    code = Elements(page.html[page.html.index("<pre") : page.html.index("</pre>")]).text
    monkeypatch.chdir(tmp_path)
    names = {"X": frame}
    exec(code, names)
    assert names["model"].alpha_ == fitted.alpha_
    assert (tmp_path / "report.html").read_text() == page.html


@pytest.mark.slow
def test_the_same_fit_gives_the_same_page(model, frame, page):
    assert report(model, frame, source="x").html == report(model, frame, source="x").html


@pytest.mark.slow
def test_saving(page, tmp_path, model, frame):
    path = tmp_path / "page.html"
    page.save(path)
    assert path.read_text() == page.html
    with pytest.raises(FileExistsError):
        report(model, frame, path)
    assert path.read_text() == page.html
    report(model, frame, path, source="other", force=True)
    assert "other" in path.read_text()


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("r.pdf", ValueError, r"path must end in \.html, .* got '.*r\.pdf'"),
        ("r", ValueError, r"path must end in \.html"),
        (
            "missing/r.html",
            FileNotFoundError,
            "path must be in a folder that exists; there is no .*missing",
        ),
    ],
)
def test_a_path_that_cannot_be_is_said_before_the_work(page, tmp_path, name, error, said):
    with pytest.raises(error, match=said):
        report(None, None, tmp_path / name)  # not even the estimator is looked at
    with pytest.raises(error, match=said):
        page.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "size"), [(AttenuatedPCACV(2), 1e-150), (CorrectedPCACV(2), 1e150)])
def test_the_smallest_and_largest_numbers_that_can_be_fitted_have_a_page(estimator, size):
    rows = size * spiked_rows(40, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report(clone(estimator).fit(rows), rows)
    assert word_of(page) == word_of(report(clone(estimator).fit(rows / size), rows / size))


def test_a_notebook_shows_it_in_a_frame_of_its_own(page):
    ((tag, attributes),) = Elements(page._repr_html_()).found
    assert tag == "iframe"
    assert attributes["srcdoc"] == page.html
    assert attributes["sandbox"] == "allow-scripts allow-downloads"
    assert "html" not in repr(page)


@pytest.mark.slow
def test_pictures_where_columns_are_pixels():
    rows = spiked_rows(40, 12)
    model = AttenuatedPCA(2, alpha=0.5).fit(rows)
    plain = report(model, rows)
    assert "<img" not in plain.html
    shown = report(model, rows, image_shape=(3, 4))
    assert shown.html.count("data:image/png") == 6 * 3 + 2 * 2
    named = report(model, rows, feature_names=[f"pixel_{i}_{j}" for i in range(3) for j in range(4)])
    assert named.html.count("data:image/png") == 6 * 3 + 2 * 2
    with pytest.raises(ValueError, match="image_shape 5 x 5 does not fit 12 columns"):
        report(model, rows, image_shape=(5, 5))


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        ([f"pixel_{i}_{j}" for i in range(3) for j in range(5)], (3, 5)),
        ([f"{i}x{j}" for i in range(1, 29) for j in range(1, 29)], (28, 28)),
        ([f"pixel{i}" for i in range(784)], (28, 28)),
        ([f"px_{i}" for i in range(1, 17)], (4, 4)),
        ([f"pixel{i}" for i in range(15)], None),
        ([f"pixel{i}" for i in range(16, 0, -1)], None),
        ([f"pixel_{j}_{i}" for i in range(3) for j in range(5)], None),
        ([f"x{i}" for i in range(16)], None),
        (["pixel_0_0", "age", "height", "weight"], None),
        (None, None),
    ],
)
def test_columns_called_like_pixels(names, shape):
    assert shape_from_names(names) == shape


def decode(address):
    png = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    start = png.index(b"IDAT") + 4
    length = struct.unpack(">I", png[start - 8 : start - 4])[0]
    lines = np.frombuffer(zlib.decompress(png[start : start + length]), np.uint8).reshape(height, -1)
    return lines[:, 1:].reshape(height, width, 4)


def test_images_show_their_values():
    grey = decode(grey_image(np.array([[0.0, 1.0, 2.0]]), 0, 2))
    assert grey.tolist() == [[[255, 255, 255, 255], [128, 128, 128, 255], [0, 0, 0, 255]]]
    signed = decode(signed_image(np.array([[-1.0], [0.0], [0.5]]), 1.0))
    assert signed[:, 0, 3].tolist() == [255, 0, 128]
    assert signed[0, 0, 2] > signed[0, 0, 0]  # blue
    assert signed[2, 0, 0] > signed[2, 0, 2]  # orange


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (AttenuatedPCACV(2, whiten=True), spiked_rows(40, 6)),
        (AttenuatedPCACV(2), np.random.default_rng(0).poisson(0.3, (40, 500)).astype(float)),
        (AttenuatedPCACV(2), np.hstack([spiked_rows(40, 5), np.ones((40, 1))])),
        (CorrectedPCACV(2), spiked_rows(12, 300)),
        (CorrectedPCACV(2), spiked_rows(40, 6).astype(np.float32)),
    ],
)
def test_data_of_all_kinds_have_a_page(model, rows):
    page = report(clone(model).fit(rows), rows)
    assert word_of(page) in WORDS
    assert "nan" not in Elements(page.html).text.lower().split("settings, versions")[0]


@pytest.mark.slow
def test_every_rank_has_a_page():
    rows = spiked_rows(30, 3)
    for rank in (1, 2, 3):
        assert isinstance(report(AttenuatedPCA(rank, alpha=0.4).fit(rows), rows), Report)


def test_missing_jinja_names_the_extra(model, frame, monkeypatch):
    real_import = builtins.__import__

    def without_jinja(name, *args, **kwargs):
        if name == "jinja2":
            raise ModuleNotFoundError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_jinja)
    with pytest.raises(ImportError, match=r"pip install 'attenua\[report\]'"):
        report(model, frame)


def test_pca_as_the_only_candidate_and_rows_without_variance_left():
    rows = spiked_rows(30, 3)
    page = report(AttenuatedPCACV(2, alphas=[0]).fit(rows), rows)
    assert "PCA was the only candidate" in page.html
    flat = np.column_stack([rows[:, 0], 2 * rows[:, 0], -rows[:, 0]])
    assert "nothing to gain or lose" in report(AttenuatedPCACV(1).fit(flat), flat).html


@pytest.mark.parametrize("shape", [(1, 2, 3), (2.0, 3.0), 6])
def test_an_image_shape_that_is_none_is_refused(shape):
    rows = spiked_rows(40, 6)
    with pytest.raises(ValueError, match="image_shape must be two whole numbers above 0"):
        report(AttenuatedPCA(2).fit(rows), rows, image_shape=shape)


@pytest.mark.parametrize("state", ["a", -1])
def test_a_random_state_that_is_no_seed_is_refused_before_the_work(state):
    with pytest.raises(ValueError, match="random_state must be an integer of at least 0"):
        report(None, None, random_state=state)


def test_half_of_a_surrogate_pair_becomes_a_question_mark(model, frame, tmp_path):
    """Names of files hold them where they are no UTF-8; the page could not be written."""
    report(model, frame, tmp_path / "page.html", source="a\udcff.csv", row_names=["\ud800"] * 40)
    assert "<h1>Attenuated PCA of a?.csv</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
