"""The script of the theory's cost runs at tiny sizes. No time is asserted."""

import pytest

from theory_cost import STRENGTHS, main


@pytest.mark.slow
def test_tables_are_printed(capsys):
    main(["--sizes", "6x2", "--corrections-at", "8x2"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| 6 | 2 |") for line in lines)
    for name in (*STRENGTHS, "all together"):
        assert any(line.startswith(f"| {name.replace('_', ' ')} |") for line in lines)
