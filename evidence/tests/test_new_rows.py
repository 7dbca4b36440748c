import numpy as np

from attenua_evidence import new_rows


def test_the_table_is_printed_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(new_rows, "CASES", [new_rows.CASES[0], new_rows.CASES[-1]])
    new_rows.main(["--sets", "3", "--jobs", "1", "--write", str(tmp_path / "table.md")])
    text = capsys.readouterr().out
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == text
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == [
        "noise, 10 columns",
        "groups of four rows, covariance",
    ]


def test_covariances_are_those_of_the_rows_drawn():
    for case in {case.draw: case for case in new_rows.CASES}.values():
        X = case.draw(np.random.default_rng(0), 200_000, 8)
        expected = case.covariance(8)
        # Entries of t3 have no fourth moment, and those of t5 hardly one, so variances are known less well.
        np.testing.assert_allclose(X.T @ X / len(X), expected, atol=max(0.1, 0.03 * expected.max()))
