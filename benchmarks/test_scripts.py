"""The scripts run at tiny sizes. No time is asserted."""

import json
import sys

import numpy as np
import pytest

import accuracy
import corrected_cost
import cost
import covariance_cost
import missing_cost
import rows

TINY = [
    cost.Row("spiked", 60, 30, 3, targets=cost.USUAL),
    cost.Row("counts", 80, 50, 3, density=0.2, targets=cost.SPARSE),
]


@pytest.mark.parametrize("row", TINY, ids=lambda row: row.name)
def test_a_row_is_measured(row, capsys, tmp_path):
    memory = sys.platform == "linux"
    result = cost.measure_row(row, repeats=1, memory=memory)
    assert list(result["seconds"]) == row.calls
    assert all(np.isfinite(seconds) for seconds in result["seconds"].values())
    assert len(result["checks"]) == (4 if memory else 2)
    cost.print_row(result, limit=150)
    assert row.name in capsys.readouterr().out
    cost.save({"rows": [result]}, tmp_path / "cost.json")
    assert json.loads((tmp_path / "cost.json").read_text())["rows"][0]["name"] == row.name


def test_a_call_beyond_the_limit_is_not_run_again(capsys):
    row = cost.Row("spiked", 500, 600, 5, targets={"loo": {"cv": 100}})
    result = cost.measure_row(row, repeats=2, limit=0, memory=True)
    assert set(result["seconds"].values()) == {np.inf}
    assert {check["met"] for check in result["checks"]} == {None}
    cost.print_row(result, limit=0)
    assert "> 0" in capsys.readouterr().out


def test_spectra_of_a_shape_are_compared():
    times = {"noise-400x600": 4, "power-400x600": 1, "noise-1500x1500": 9}
    results = [{"name": name, "seconds": {"cv": seconds}} for name, seconds in times.items()]
    (check,) = cost.spectra_checks(results)
    assert (check["value"], check["met"]) == (4, False)


def test_twenty_sample_eigenvalues_are_nearly_tied():
    X = rows.ties(np.random.default_rng(0), 100, 80, 12)
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert values[2] / values[21] - 1 == pytest.approx(1e-5, rel=1e-3)
    assert values[1] > 1.5 * values[2]
    assert values[21] > 1.5 * values[22]


def test_names_of_rows_are_distinct():
    names = [row.name for row in cost.all_rows()]
    assert len(names) == len(set(names))


def test_accuracy_of_attenuated_fits(capsys):
    results = accuracy.attenuated_table(range(1, 6))
    shown = capsys.readouterr().out
    assert [result["seed"] for result in results] == [1, 2, 3, 4, 5]
    for what, target in accuracy.TARGETS.items():
        assert what in shown
        assert target is None or not any(result[what] > target for result in results)


def test_cost_and_accuracy_of_corrected_fits(capsys):
    corrected_cost.main(["--shapes", "40x12", "30x200", "--rank", "2", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(corrected_cost.KINDS) + 2
    assert "of 24 targets are met" in lines[-1]
    found = accuracy.corrected_table(2, seed=1)
    assert "2 problems: differences to PCA's risk are off by" in capsys.readouterr().out
    assert max(found["fit"]) < 1e-8
    assert max(found["choice"]) < 0.02


def test_cost_of_covariances(capsys):
    covariance_cost.main(["--shapes", "20x6", "12x70", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert ["GraphicalLassoCV" in line for line in lines] == [True, False, True, False]


def test_cost_of_missing_cells(capsys):
    missing_cost.main(["--shapes", "20x6", "12x1001", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert ["CorrectedCovariance" in line for line in lines] == 3 * [False, False, True, False, False]
