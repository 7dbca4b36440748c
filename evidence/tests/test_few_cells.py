import pytest

pytest.importorskip("scanpy", reason="no scanpy")
from attenua_evidence import few_cells


def test_the_table_is_printed_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(few_cells, "SIZES", (25,))
    few_cells.main(["--draws", "2", "--write", str(tmp_path / "table.md")])
    text = capsys.readouterr().out
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == text
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == ["log", "scaled"]
