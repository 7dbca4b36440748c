"""The script of the report's cost runs at a tiny size. No time is asserted."""

import importlib

import pytest

pytest.importorskip("jinja2", reason="the report needs jinja2")

from report_cost import LIMITED, METHODS, main


@pytest.mark.slow  # each method has a process of its own
def test_a_table_is_printed(capsys):
    main(["--sizes", "30x4", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    for method in METHODS:
        assert any(line.startswith(f"| {method} | 30 | 4 |") for line in lines)


def test_all_limits_are_lifted_for_the_comparison():
    from attenua.theory.cutoff import threads_for

    for module in LIMITED:
        assert importlib.import_module(f"attenua.{module}").threads_for is threads_for
