"""The record sees what changes, and only that."""

import json

import numpy as np
import pytest

import record
from attenua._select import votes

FEW = ["families-24", "/holes", "nested groups", "batches", "parallel-factors", "path/wine", "PCA/damping"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("record") / "record.jsonl"
    assert record.main(["--file", str(path), "--only", *FEW]) == 0
    return path


def compared(path, capsys, *words):
    capsys.readouterr()
    differ = record.main(["--file", str(path), "--compare", "--only", *(words or FEW)])
    return differ, capsys.readouterr().out.splitlines()


def test_names_are_distinct():
    names = [name for name, _ in record.problems()]
    assert len(names) == len(set(names))


def test_the_same_code_gives_the_same_record(made, capsys):
    differ, lines = compared(made, capsys)
    assert differ == 0
    assert lines[-1] == f"{len(made.read_text().splitlines())} problems: as recorded"


def test_another_rule_of_the_votes_is_seen(made, capsys, monkeypatch):
    monkeypatch.setattr(votes, "N_VOTES", 90)
    differ, lines = compared(made, capsys, "CorrectedPCACV/families-24")
    assert differ == 1
    assert any(line.startswith("CorrectedPCACV/families-24: choices were {") for line in lines)
    assert any(line.startswith("CorrectedPCACV/families-24: explained_variance_ is off by") for line in lines)


def test_each_number_is_compared(made, capsys, tmp_path):
    before = dict(json.loads(line) for line in made.read_text().splitlines())
    before["choose_rank/parallel-factors"]["eigenvalues"][0] *= 1 + 2e-7
    before["AttenuatedPCACV/batches"]["q"].append(1.0)
    fills = before["CorrectedPCACV/holes"].pop("fills")
    del before["attenuation_path/wine"]
    record.save(before, tmp_path / "changed.jsonl")
    differ, lines = compared(tmp_path / "changed.jsonl", capsys)
    assert differ == 1
    found = [line for line in lines if ": " in line and "fits" not in line]
    assert found == [
        f"CorrectedPCACV/holes: fills had 0 numbers, has {len(fills)}",
        "AttenuatedPCACV/batches: q had 6 numbers, has 5",
        "choose_rank/parallel-factors: eigenvalues is off by 2.0e-07 (1 of 30 numbers)",
        "attenuation_path/wine: is not in both",
        f"{len(before) + 1} problems: not as recorded",
    ]


def test_nothing_is_written_where_a_fit_fails(made, monkeypatch):
    def fails(*_):
        raise ValueError("no")

    text = made.read_text()
    monkeypatch.setattr(record.AttenuatedPCACV, "fit", fails)
    with pytest.raises(ValueError, match="no"):
        record.main(["--file", str(made), "--only", "batches"])
    assert made.read_text() == text


@pytest.mark.parametrize(("difference", "is_tied"), [(0.015, True), (0.025, False)])
def test_choices_may_move_between_tied_candidates(difference, is_tied):
    spread = np.array([-1.0, 1.0, -1.0, 1.0])  # its standard error is 1 / sqrt(3)
    risks = 9.0 + np.outer(spread + difference / np.sqrt(3), [0.0, 1.0])
    before = {
        "choices": {"nothing": 0.6, "damping 1": 0.4},
        "candidates": ["nothing", "damping 1"],
        "cv_risk_folds_": risks.ravel().tolist(),
        "q": [1.0],
    }
    now = before | {"choices": {"nothing": 0.5, "damping 1": 0.5}, "q": [2.0]}
    counts = [counts for counts, _ in record.differences("problem", before, now)]
    assert counts == ([False] if is_tied else [True, True])


@pytest.mark.parametrize(("change", "counts"), [([1, -1, 0.5, -0.5], False), ([1, 1, 1.5, 0.5], True)])
def test_the_mean_gain_may_change_within_its_error(change, counts, capsys):
    def gains(values):
        return {str(number): {"gain": value} for number, value in enumerate(values)}

    assert (
        record.gain_changed(gains([3.0, 2.0, 1.0, 4.0]), gains(np.add(change, [3, 2, 1, 4])), "gain")
        == counts
    )
    assert "mean gain of 4 fits: 2.50000 -> " in capsys.readouterr().out
