"""The script of the theory's check runs with few samples, and holds every correction and every pair."""

from itertools import combinations

import pytest

from attenua._correct.registry import CORRECTIONS
from corrections_risk import SETTINGS, main


def test_a_part_of_the_table_is_printed(capsys):
    main(["--quick", "--settings", "unequal signal"])
    lines = capsys.readouterr().out.splitlines()
    count = sum(setting.design == "unequal signal" for setting in SETTINGS)
    assert len(lines) == count + 4
    assert len({line.count("|") for line in lines[: count + 2]}) == 1
    assert f"of {count} settings lie within two standard errors" in lines[-1]


@pytest.mark.parametrize(
    "names", [*combinations(CORRECTIONS, 1), *combinations(CORRECTIONS, 2)], ids="+".join
)
def test_every_correction_and_every_pair_has_a_setting(names):
    assert any(set(setting.strengths) == set(names) for setting in SETTINGS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--settings", "nothing"], "no setting holds"), (["--largest", "1000"], "must be a multiple of 1600")],
)
def test_arguments_are_checked(arguments, words, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err
