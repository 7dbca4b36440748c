"""Damaged files, and small files that claim or unpack to a lot, are read or refused in one sentence.

`fuzz/readers.py` makes them; the nightly run tries far more.
"""

import os

import pytest

import readers
from attenua.cli.readers import TableError

SEED = 0


def test_damaged_files_are_read_or_refused(tmp_path):
    counts = readers.try_numbers(SEED, range(20), tmp_path)
    assert counts.total() == 20
    # Damage that everything survives, or nothing, would test little.
    assert {key.rsplit(" ", 1)[1] for key in counts} == {"read", "refused"}


@pytest.mark.slow
def test_small_files_that_claim_or_unpack_to_a_lot_are_refused(tmp_path):
    counts = readers.try_bombs(tmp_path)
    assert counts
    assert all(key.endswith("refused") for key in counts)


@pytest.mark.slow
def test_the_command_reads_or_refuses_damaged_files(tmp_path):
    assert {readers.try_command(SEED, number, tmp_path) for number in range(2)} == {0, 1}


def crash(folder, counts_file):
    (folder / "log.txt").write_text("what happened")
    os._exit(7)


@pytest.mark.slow
def test_a_crash_is_reported_with_the_folder_of_the_file(tmp_path):
    with pytest.raises(AssertionError, match=r"exit code 7; the file .* in .*(\n)what happened"):
        readers.in_a_child(crash, tmp_path)


@pytest.mark.parametrize("sentence", ["no name.", "{path} has\ntwo lines.", "{path} ends"])
def test_a_refusal_that_is_not_a_sentence_is_a_fault(tmp_path, monkeypatch, sentence):
    def refuse(path):
        raise TableError(sentence.format(path=path))

    monkeypatch.setattr(readers, "read_table", refuse)
    with pytest.raises(AssertionError):
        readers.outcome(tmp_path / "x.csv", {})
