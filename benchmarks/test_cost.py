"""The script of costs runs: two tiny rows and a few problems. No time is asserted."""

import json
import sys

import numpy as np
import pytest

import cost

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
    assert {check.met for check in result["checks"]} == {None}
    cost.print_row(result, limit=0)
    assert "> 0" in capsys.readouterr().out


def test_accuracy(capsys):
    results = cost.accuracy_table(range(1, 6))
    shown = capsys.readouterr().out
    assert [result["seed"] for result in results] == [1, 2, 3, 4, 5]
    for what, target in cost.ACCURACY.items():
        assert what in shown
        assert target is None or not any(result[what] > target for result in results)


@pytest.mark.parametrize("kind", cost.KINDS)
def test_data_are_the_same_every_time(kind):
    row = cost.Row(kind, 60, 40, 5, density=0.1 if kind in ("counts", "scattered") else None)
    first, second = row.data(), row.data()
    assert first.shape == (60, 40)
    assert abs(first - second).max() == 0


def test_twenty_sample_eigenvalues_are_nearly_tied():
    values = np.linalg.eigvalsh(np.cov(cost.Row("ties", 100, 80, 12).data().T))[::-1]
    assert values[2] / values[21] - 1 == pytest.approx(1e-5, rel=1e-3)
    assert values[1] > 1.5 * values[2]
    assert values[21] > 1.5 * values[22]


def test_names_are_distinct():
    names = [row.name for row in cost.all_rows()]
    assert len(names) == len(set(names))


def test_spectra_of_a_shape_are_compared():
    times = {"noise-400x600": 4, "power-400x600": 1, "noise-1500x1500": 9}
    results = [{"name": name, "seconds": {"cv": seconds}} for name, seconds in times.items()]
    (check,) = cost.spectra_checks(results)
    assert check.value == 4
    assert not check.met
