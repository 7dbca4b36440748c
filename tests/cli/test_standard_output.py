"""What is printed, where standard output cannot hold every sign."""

import io
import sys

import numpy as np
import pytest

from attenua import AttenuatedPCA, __main__, save_model
from tests.cli.shell import run


def test_a_name_that_is_not_text_is_printed_as_far_as_it_can_be(monkeypatch):
    """A byte of a file's name that is not UTF-8 is half of a surrogate pair to Python."""
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="utf-8", errors="strict"))
    monkeypatch.setattr(sys, "argv", ["attenua", "data", "--data-home", "caf\udce9"])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 0
    assert rb"caf\udce9" in printed.getvalue()


def test_printed_scores_are_those_of_a_file(tmp_path):
    """Also with names of rows that steer a terminal, or that a terminal may not be able to show."""
    save_model(AttenuatedPCA(1).fit(np.random.default_rng(0).standard_normal((9, 2))), tmp_path / "m.npz")
    rows = tmp_path / "rows.csv"
    rows.write_bytes("id,a,b\n\x1b[31mred,1,2\né\u2603,3,4\n".encode())
    arguments = ("transform", tmp_path / "m.npz", rows, "--id-column", "id", "--out")
    run(*arguments, tmp_path / "scores.csv")
    assert run(*arguments, "-").stdout_bytes == (tmp_path / "scores.csv").read_bytes()
