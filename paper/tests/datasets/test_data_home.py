from pathlib import Path

import platformdirs

from attenua_paper.datasets import data_home


def test_argument_comes_before_the_environment_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTENUA_DATA", str(tmp_path / "variable"))
    assert data_home(tmp_path / "argument") == tmp_path / "argument"
    assert data_home() == tmp_path / "variable"
    assert not (tmp_path / "argument").exists()
    assert not (tmp_path / "variable").exists()
    monkeypatch.setenv("ATTENUA_DATA", "~/data")
    assert data_home() == data_home("~/data") == Path.home() / "data"


def test_cache_folder_of_the_platform_is_the_default(monkeypatch):
    expected = Path(platformdirs.user_cache_dir("attenua"))
    assert data_home() == expected
    monkeypatch.setenv("ATTENUA_DATA", "")
    assert data_home() == expected
