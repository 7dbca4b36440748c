import numpy as np
import pytest

from attenua_evidence import coverage


def test_the_table_is_printed_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(coverage, "SIZES", ((20, 6),))
    coverage.main(["--sets", "1", "--write", str(tmp_path / "table.md")])
    text = capsys.readouterr().out
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == text
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == list(coverage.CASES)


def test_many_gaussian_rows_are_covered_as_a_known_law_would(monkeypatch):
    monkeypatch.setattr(coverage, "NEW_ROWS", 2_000)
    one, two, ratio = coverage.covered(lambda random, n, p: random.standard_normal((n, p)), 2_000, 10, 1)
    # 4,000 cells: standard errors of 0.007 and 0.003.
    assert one == pytest.approx(0.683, abs=0.03)
    assert two == pytest.approx(0.950, abs=0.015)
    assert np.isclose(ratio, 1, atol=0.06)


def test_slopes_of_whole_rows_are_covered_as_students_law_says():
    random, held = np.random.default_rng(0), []
    for _ in range(2_000):
        rows = random.standard_normal((12, 12))
        rows[:, 6] += rows[:, 7:10] @ [1.0, -1.0, 0.5]
        held.append(coverage.pooled(rows[None], np.array([1.0, -1.0, 0.5])).mean())
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_intervals_by_draws_are_printed(capsys):
    coverage.main(["--draws", "--sets", "1"])
    assert [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines()[2:]] == [
        "20",
        "50",
        "200",
    ]
