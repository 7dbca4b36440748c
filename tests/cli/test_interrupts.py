"""Ctrl-C is a line and exit code 130, and nothing is written."""

import os
import sys
import types

import pytest

from attenua import __main__
from tests.cli.shell import run


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        ("fit", "attenua.cli.fit.fit_rows"),
        ("report", "attenua.cli.report.fit_rows"),
        ("fit", "attenua._files.os.replace"),
        ("demo", "attenua.cli.demo_runs.run_demo"),
    ],
)
def test_a_command_that_is_interrupted(tmp_path, monkeypatch, command, inside):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inside, interrupt)
    result = run(command)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_interruption_while_libraries_are_loaded(monkeypatch, capsys):
    module = types.ModuleType("attenua.cli")
    module.__getattr__ = interrupt
    monkeypatch.setitem(sys.modules, "attenua.cli", module)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_a_picture_that_cannot_be_written(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attenua.cli.demo_runs.run_demo", lambda *_, **__: [])
    monkeypatch.setattr("attenua.cli.demo_figure.save_demo_figure", lambda _, path: full(path))
    result = run("demo", "--out", tmp_path / "demo.png")
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path / 'demo.png'} cannot be written: No space left on device.\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has other limits and other words")
@pytest.mark.parametrize("command", ["fit", "report"])
def test_a_name_that_is_too_long(tmp_path, command):
    out = tmp_path / f"{'x' * 300}.html"
    result = run(command, "--out", out)
    assert result.stderr == f"Error: {out} cannot be written: File name too long.\n"
