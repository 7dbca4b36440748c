"""``attenua demo``: what it prints and saves, and how it fails."""

import pytest
from typer.testing import CliRunner

from attenua.cli import app


def run(*arguments):
    return CliRunner().invoke(app, ["demo", *arguments])


@pytest.mark.slow
def test_table_fits_a_narrow_terminal_and_the_picture_is_named(tmp_path):
    picture = tmp_path / "demo.png"
    result = run("--subsamples", "2", "--out", str(picture))
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    names = [words[0] for words in lines if len(words) > 2 and words[2] in {"32", "128"}]
    assert names == ["Diabetes"] * 2 + ["Wine"] * 2 + ["Cancer"] * 4 + ["Digits"] * 4 + ["Photos"] * 4
    assert "of 16 lines" in result.output
    assert str(picture) in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_folder_that_is_not_there_is_refused(tmp_path):
    result = run("--out", str(tmp_path / "nowhere" / "demo.png"))
    assert result.exit_code == 1
    assert result.stderr.endswith("nowhere does not exist.\n")


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attenua.cli.demo_runs.run_demo", lambda *_, **__: [])
    monkeypatch.setattr("attenua.cli.demo_figure.save_demo_figure", full)
    result = run("--out", str(tmp_path / "demo.png"))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path / 'demo.png'} cannot be written: No space left on device.\n"
    assert not list(tmp_path.iterdir())
