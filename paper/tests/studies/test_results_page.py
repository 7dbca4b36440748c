"""The page of results, assembled from a small store of made-up numbers."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from attenua._correct.registry import CORRECTIONS
from attenua_paper.studies.budget import RESULTS_FILE, StudySettings
from attenua_paper.studies.published import CELLS
from attenua_paper.studies.store import ResultStore, read_results, read_runs
from attenua_paper.studies.study_methods import CORRECTED, MASKED_TARGET
from attenua_paper.studies.study_output import summarise, write_study

PAPER = Path(__file__).parents[2]
PICTURES = ("figure-1-overview", "figure-2-targets", "figure-4-non-gaussian")


@pytest.fixture(scope="module")
def assemble():
    spec = importlib.util.spec_from_file_location("assemble_results", PAPER / "assemble_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records_of(data, settings):
    """One record for each method that applies: a fit of a minute, all corrections at 1/2."""
    for number, method in enumerate(settings.methods):
        if data == "optdigits" and "neighbours" in method:
            continue
        chosen = {**dict.fromkeys(CORRECTIONS, 0.5), "steps": 5} if method in CORRECTED else {"strength": 0.5}
        judged = {"test_risk": 1.0, "gain": float(number), "fallback": 0, "seconds": 60.0}
        yield {"method": method} | judged | chosen


def fill(folder, settings):
    store = ResultStore(folder / RESULTS_FILE, settings.stored())
    store.begin_run(2)
    for data, budget in CELLS:
        for subsample in range(2):
            store.add((data, budget, 0, subsample), records_of(data, settings))
    store.close()


@pytest.mark.slow
def test_the_page_has_every_table_and_says_how_long_it_took(assemble, tmp_path, monkeypatch):
    docs, study, simulations = (tmp_path / name for name in ("docs", "study", "simulations"))
    (docs / "images").mkdir(parents=True)
    fill(study, StudySettings())
    write_study(summarise(study), study)
    simulations.mkdir()
    (simulations / "simulation-settings.json").write_text(json.dumps({"seed": 0}))
    (simulations / "simulation-claims.md").write_text("the claims")
    for name in PICTURES:
        (simulations / f"{name}.png").write_bytes(b"")
    monkeypatch.setattr(assemble, "DOCS", docs)
    assemble.main(study, simulations)
    page = (docs / "results.md").read_text()
    assert "12 subsamples, 13 methods" in page
    assert "12 subsamples in 0 minutes on 2 cores" in page
    for title in ("by how strengths are chosen", "Mean strength of each", "took 0, 1, 2", "Mean seconds"):
        assert title in page
    assert "| HAR N=128 | all corrections | 0.50 (100%) | 0.50 (100%) |" in page


def test_the_masked_target_rivals_are_counted_apart(assemble, tmp_path):
    fill(tmp_path, StudySettings())
    results, _ = read_results(tmp_path / RESULTS_FILE)
    masked = 2 * 12  # two rivals, twelve subsamples, a minute each
    others = len(results) - masked
    said = assemble.time_paragraph(results, read_runs(tmp_path / RESULTS_FILE))
    assert f"add up to {len(results)} minutes of one core: {masked} of the masked-target" in said
    assert f"{others} of everything else (`--without-masked-target`), about {others / 2:.0f} minutes" in said


def test_a_study_without_them_says_so(assemble, tmp_path):
    fill(tmp_path, StudySettings().without_masked_target())
    results, _ = read_results(tmp_path / RESULTS_FILE)
    assert not np.isin(MASKED_TARGET, results["method"]).any()
    said = assemble.time_paragraph(results, read_runs(tmp_path / RESULTS_FILE))
    assert said.endswith("without the masked-target rivals.")
