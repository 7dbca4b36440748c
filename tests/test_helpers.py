"""The helpers that decide which cases of a test are run."""

import pytest

from tests.helpers import each


def test_each_case_is_run_and_a_failure_names_its_own():
    seen = []

    @each("a, b", [(1, 2), (3, 4), (5, 6)])
    def test(a, b, fixture):
        seen.append((a, b, fixture))
        assert a < 3

    with pytest.raises(AssertionError) as failed:
        test(fixture="shared")
    assert seen == [(1, 2, "shared"), (3, 4, "shared")]
    assert failed.value.__notes__ == ["case: {'a': 3, 'b': 4}"]
