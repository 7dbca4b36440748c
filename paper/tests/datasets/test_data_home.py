from pathlib import Path

import platformdirs
import pytest

from attenua_paper.datasets import data_home


def test_argument_comes_before_the_environment_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTENUA_DATA", str(tmp_path / "variable"))
    assert data_home(tmp_path / "argument") == tmp_path / "argument"
    assert data_home() == tmp_path / "variable"


@pytest.mark.parametrize("unset", [None, ""])
def test_cache_folder_of_the_platform_is_the_default(monkeypatch, unset):
    if unset is not None:
        monkeypatch.setenv("ATTENUA_DATA", unset)
    assert data_home() == Path(platformdirs.user_cache_dir("attenua"))


def test_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("ATTENUA_DATA", "~/data")
    assert data_home() == data_home("~/data") == Path.home() / "data"


def test_folder_is_not_created(tmp_path):
    assert not data_home(tmp_path / "new").exists()
