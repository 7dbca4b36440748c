"""The committed results: each number of the paper is compared, and the page is what the files give."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attenua_paper.studies.comparison import compare_simulations, compare_study
from attenua_paper.studies.comparison_figure import comparison_figure
from attenua_paper.studies.published import CAPPED, CELLS, GAINS, SIMULATION_CLAIMS, STRENGTHS
from attenua_paper.studies.real_data import TITLES
from attenua_paper.studies.study_methods import in_order
from attenua_paper.studies.tables import main_table, pooled, seeds_tables

PAPER = Path(__file__).parents[2]
RESULTS = PAPER / "results"


def load_script():
    spec = importlib.util.spec_from_file_location("assemble_results", PAPER / "assemble_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()


@pytest.fixture(scope="module")
def committed():
    return script.read(RESULTS)


@pytest.fixture(scope="module")
def compared(committed):
    study, _, simulations = committed
    return compare_study(script.first_seed(study)), compare_simulations(simulations.claims)


def test_the_page_is_what_the_files_give(committed):
    assert (PAPER.parent / "docs" / "results.md").read_text(encoding="utf-8") == script.page(*committed)


def test_the_readme_shows_the_same_gains(committed):
    (row,) = (
        row for row in main_table(script.first_seed(committed[0])).rows if row[0] == "direct attenuation"
    )
    shown = "| " + " | ".join(cell.removesuffix("*") for cell in row) + " |"
    assert shown in (PAPER.parent / "README.md").read_text(encoding="utf-8")


def test_files_are_small_and_of_a_whole_study(committed):
    assert sum(path.stat().st_size for path in RESULTS.iterdir()) < 300_000
    study, settings, simulations = committed
    first = script.first_seed(study)
    assert first["seed"].iloc[0] == settings["seed"]
    fits = first[first["measure"] == "gain"].pivot_table("n", "method", ["data", "budget"])
    assert not (set(GAINS) - set(fits.index))
    for data, budget in CELLS:
        expected = settings["n_versions"][data] * settings["n_subsamples"]
        assert (fits[data, budget].dropna() == expected).all()
        assert fits[data, budget][list(GAINS)].notna().all()
    assert simulations.settings.left_out() == ""


def test_every_number_of_the_paper_is_compared(compared):
    study, simulations = compared
    assert simulations["what"].tolist() == list(SIMULATION_CLAIMS)
    for part, published in (("gain", GAINS), ("strength", STRENGTHS), ("fallback_percent", STRENGTHS)):
        found = study[study["part"] == part]
        cells = list(zip(found["method"], found["data"], found["budget"], strict=True))
        assert cells == [(method, *cell) for method in published for cell in CELLS]
    # Leaders of six cells, four ends of two ranges, one sentence, caps, and how many of two methods iterated.
    assert (study["part"] == "text").sum() == 6 + 4 + 1 + len(CAPPED) + 2
    for frame in compared:
        assert frame[["paper", "ours", "apart"]].notna().all(axis=None)
    # A method that is PCA in every fit cannot differ.
    always_pca = study[(study["part"] == "gain") & (study["verdict"] == "same")]
    assert set(always_pca["method"]) == {"block masked-target"}
    assert set(always_pca["data"]) == {"phoneme", "har"}
    assert len(always_pca) == 4


def test_figure_3_shows_the_committed_gains(committed):
    first = script.first_seed(committed[0])
    gains = first[first["measure"] == "gain"].set_index(["data", "budget", "method"])
    drawn = 0
    for ax, data in zip(comparison_figure(first).axes, TITLES, strict=True):
        for budget, shift in ((64, -0.16), (128, 0.16)):
            for bars in ax.containers:
                (x,), (y,) = bars.lines[0].get_data()
                if y - shift == pytest.approx(round(y)):
                    method = in_order(first["method"])[round(y)]
                    value, error = gains.loc[(data, budget, method), ["value", "error"]]
                    ((left, _), (right, _)) = bars.lines[2][0].get_segments()[0]
                    assert (x, left, right) == pytest.approx(
                        (value, value - 1.96 * error, value + 1.96 * error)
                    )
                    drawn += 1
    # Those further below PCA than the panel shows are arrows.
    arrows = sum(line.get_marker() == "<" for ax in comparison_figure(first).axes for line in ax.lines)
    assert drawn + arrows == len(gains)


def test_the_ranges_in_the_papers_text_are_the_ends_of_its_tables():
    def ends(values):
        return min(values), max(values)

    mask, direct = "mask-derived attenuation", "direct attenuation"
    assert ends([GAINS[mask][cell].mean for cell in CELLS[2:]]) == (0.65, 0.93)
    assert ends([GAINS[direct][cell].mean for cell in CELLS[2:]]) == (0.70, 1.20)
    assert ends([strength for strength, _ in STRENGTHS[mask]]) == (0.351, 0.479)
    assert ends([strength for strength, _ in STRENGTHS[direct]]) == (0.615, 0.931)
    leaders = [max(GAINS, key=lambda method: GAINS[method][cell].mean) for cell in CELLS]
    assert leaders == [direct, direct, direct, mask, direct, direct]


def made_up(changes=(), seed=1, n=100):
    """A study in which every measure of the paper's methods is the paper's, with an error of 1."""
    rows = []
    for number, cell in enumerate(CELLS):
        for method in GAINS:
            strength, fallback = STRENGTHS.get(method, [(0.5, 10.0)] * 6)[number]
            measures = {"gain": GAINS[method][cell].mean, "lead": 0.0, "strength": strength}
            measures |= {"fallback_percent": fallback, "above_half_percent": 70.0, "capped": 0.0}
            rows += [(seed, *cell, method, name, value, 1.0, n) for name, value in measures.items()]
    study = pd.DataFrame(rows, columns=["seed", "data", "budget", "method", "measure", "value", "error", "n"])
    for (method, data, budget, measure), value in dict(changes).items():
        at = (study[["method", "data", "budget", "measure"]] == [method, data, budget, measure]).all(axis=1)
        study.loc[at, ["value", "error"]] = value
    return study


def test_how_many_standard_errors_apart():
    direct = "direct attenuation"
    study = made_up(
        {
            (direct, "har", 64, "gain"): (0.76 + 0.5, 0.1),
            (direct, "har", 128, "gain"): (1.20 - 0.2, 0.1),
            (direct, "har", 64, "strength"): (0.615 + 0.1, 0.04),
            (direct, "optdigits", 64, "strength"): (0.927 - 0.5, 0.2),
            (direct, "optdigits", 64, "fallback_percent"): (1.7 + 20, 8.0),
            (direct, "har", 64, "fallback_percent"): (0.0, 0.0),
            (direct, "phoneme", 64, "above_half_percent"): (50.0, 5.0),
            (direct, "har", 128, "above_half_percent"): (90.0, 5.0),
            ("coordinate masked-target", "har", 64, "capped"): (10.0, np.nan),
            ("block masked-target", "har", 64, "gain"): (0.0, 0.0),
            ("mask-derived attenuation", "phoneme", 128, "lead"): (-0.1, 0.06),
        }
    )
    rows = compare_study(study).set_index(["part", "method", "data", "budget"]).sort_index()

    def at(*key):
        (row,) = rows.loc[[key]].to_dict("records")
        return row["apart"], row["verdict"]

    # The paper's interval of HAR at 64 is [0.48, 1.05], and at 128 [0.97, 1.44].
    assert at("gain", direct, "har", 64) == (pytest.approx(0.5 / np.hypot(0.1, 0.57 / 2 / 1.96)), "differ")
    assert at("gain", direct, "har", 128) == (pytest.approx(-0.2 / np.hypot(0.1, 0.47 / 2 / 1.96)), "agree")
    assert at("gain", "block masked-target", "har", 64) == (0, "same")
    assert at("strength", direct, "har", 64) == (pytest.approx(0.1 / 0.04 / np.sqrt(2)), "agree")
    # The paper has ten times as many subsamples there. A share has at least the error of its clusters.
    assert at("strength", direct, "optdigits", 64) == (
        pytest.approx(-0.5 / np.hypot(0.2, 0.2 / 10**0.5)),
        "differ",
    )
    apart = 20 / np.hypot(8, 8 / 10**0.5)
    assert at("fallback_percent", direct, "optdigits", 64) == (pytest.approx(apart), "differ")
    # None of 100 against 18 of 100: the error is that of the pooled share, 9%.
    binomial = 100 * np.sqrt(2 * 0.09 * 0.91 / 100)
    assert at("fallback_percent", direct, "har", 64) == (pytest.approx(-18 / binomial), "differ")
    # The paper's leader there leads by 0.02.
    lead = at("text", "mask-derived attenuation", "phoneme", 128)
    assert lead == (pytest.approx(-0.12 / 0.06 / np.sqrt(2)), "agree")
    text = compare_study(study).set_index("what")
    for word, numbers in {"least": [63, 50], "most": [80, 90]}.items():
        assert text.loc[f"above 1/2 in ordered signals, {word} %", ["paper", "ours"]].tolist() == numbers
    # With an error of 1 the gains of Optdigits are clear; those of HAR have 0.1.
    assert text.loc["intervals of both paths above 0", "ours"] == 4 + 2
    # 600 fits with the paper's fallbacks, which are not those of its 2,400: it has more of Optdigits.
    fallbacks = [share for _, share in STRENGTHS["coordinate masked-target"]]
    masked = text[text["method"] == "coordinate masked-target"]
    iterated = masked.loc["not PCA, %"]
    assert iterated["ours"] == pytest.approx(100 - np.mean(fallbacks))
    pooled_share = (600 * iterated["ours"] + 100 * 1163) / 3000
    spread = (pooled_share * (100 - pooled_share)) ** 0.5
    assert iterated[["error", "paper_error"]].tolist() == pytest.approx(
        [spread / 600**0.5, spread / 2400**0.5]
    )
    capped = masked.loc["of these at the cap on iterations, %"]
    expected = [100 * 86 / 1163, 100 * 10 / (6 * iterated["ours"])]
    assert capped[["paper", "ours"]].tolist() == pytest.approx(expected)
    assert capped["verdict"] == "differ"


def test_simulations_have_the_same_error_on_both_sides():
    claims = pd.DataFrame({"claim": ["unequal_reduction"], "ours": [62.4], "error": [0.5], "theory": [62.5]})
    (row,) = compare_simulations(claims).to_dict("records")
    assert row["apart"] == pytest.approx(-1.0 / 0.5 / np.sqrt(2))
    assert row["verdict"] == "agree"


def test_seeds_side_by_side():
    direct = "direct attenuation"
    seeds = [made_up({(direct, "har", 64, "gain"): (gain, 0.1)}, seed) for seed, gain in ((1, 1.0), (2, 1.4))]
    study = pd.concat([seeds[0], seeds[1][seeds[1]["data"] == "har"]])
    assert set(pooled(study)["data"]) == {"har"}
    tables = seeds_tables(study)
    assert list(tables) == ["seeds-gain", "seeds-strength", "seeds-fallback_percent"]
    (row,) = (row for row in tables["seeds-gain"].rows if row[:2] == ("HAR N=64", direct))
    error = np.hypot(0.1, 0.1) / 2
    apart = (1.2 - 0.76) / np.hypot(error, 0.57 / 2 / 1.96)
    assert row[2:] == ("0.76", "1.00 (0.10)", "1.40 (0.10)", "1.20 (0.07)", f"{apart:+.1f} DIFFER")
    assert seeds_tables(seeds[0]) == {}


def test_files_of_several_seeds_become_one(tmp_path):
    folders = [tmp_path / name for name in ("first", "second", "simulations")]
    for seed, folder in enumerate(folders):
        folder.mkdir()
        made_up(seed=seed).to_csv(folder / "study.csv", index=False)
        (folder / "study-settings.json").write_text(f'{{"seed": {seed}}}')
        for name in (*script.FILES.values(), script.SETTINGS_FILE):
            (folder / name).write_bytes((RESULTS / name).read_bytes())
    script.take(folders[:2], folders[2], tmp_path / "results")
    study, settings, _ = script.read(tmp_path / "results")
    assert settings == {"seed": 0}
    pd.testing.assert_frame_equal(
        study, pd.concat([made_up(seed=0), made_up(seed=1)], ignore_index=True), check_dtype=False
    )
