"""Damaged files, and files that claim or unpack to a lot: read, or refused in one sentence.

`fuzz/readers.py` makes them, and goes on for as long as one likes.
"""

import os

import pytest

import readers
from attenua.cli.readers import TableError

SEED = 0


@pytest.mark.parametrize(
    "numbers",
    [range(300), pytest.param(range(300, 3_300), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_damaged_files_are_read_or_refused(tmp_path, numbers):
    counts = readers.try_numbers(SEED, numbers, tmp_path)
    assert counts.total() == len(numbers)
    # Damage that everything survives, or nothing, would test little.
    for outcome in ("read", "refused"):
        assert len([key for key in counts if key.endswith(outcome)]) >= 10


@pytest.mark.slow
def test_small_files_that_claim_or_unpack_to_a_lot_are_refused(tmp_path):
    counts = readers.try_bombs(tmp_path)
    assert counts
    assert all(key.endswith("refused") for key in counts)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_the_command_reads_or_refuses_damaged_files(tmp_path, number):
    readers.try_command(SEED, number, tmp_path)


def crash(folder, counts_file):
    (folder / "log.txt").write_text("what happened")
    os._exit(7)


@pytest.mark.slow
def test_a_crash_is_told_with_the_folder_that_keeps_the_file(tmp_path):
    with pytest.raises(AssertionError, match=r"exit code 7; the file .* in .*(\n)what happened"):
        readers.in_a_child(crash, tmp_path)


@pytest.mark.parametrize(
    "sentence", ["no name.", "{path} has\ntwo lines.", "{path} ends", "{path}" * 99 + "."]
)
def test_a_refusal_that_is_no_sentence_is_a_fault(tmp_path, monkeypatch, sentence):
    def refuse(path):
        raise TableError(sentence.format(path=path))

    monkeypatch.setattr(readers, "read_table", refuse)
    with pytest.raises(AssertionError):
        readers.outcome(tmp_path / "x.csv", {})
