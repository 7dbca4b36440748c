"""The script of costs runs on tiny rows. No time is asserted."""

import corrected_cost


def test_the_table_is_printed(capsys):
    corrected_cost.main(["--shapes", "40x12", "30x200", "--rank", "2", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(corrected_cost.KINDS) + 1
    assert "smooth" in lines[-2]
    assert "of 8 are at most 3 times as slow" in lines[-1]


def test_risks_are_compared_with_whole_decompositions(capsys):
    corrected_cost.main(["--accuracy", "1", "--seed", "1"])
    assert "1 problems: differences to PCA's risk are off by at most" in capsys.readouterr().out
