"""The comparison of plug-ins runs on a few samples."""

from collections import defaultdict

import pytest

from when_plug_in import NAMES, compare, table


@pytest.mark.slow
def test_errors_of_a_few_predictions(capsys):
    results = defaultdict(list)
    compare("heavy tails", 20, 40, 2, draws=5, samples=1, results=results)
    assert {key[0] for key in results} == {"sample", "ledoit-wolf", "diagonal", "factor", "blend"}
    assert {key[1] for key in results} == {"gaussian", "tails", "rows"}
    table(results, lambda row: True, "all")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + len(results) * len(NAMES)
