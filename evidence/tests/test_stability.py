"""The tables of how often the intervals of stability hold what they should, and what more rows bring."""

import numpy as np

from attenua_evidence import more_rows
from attenua_evidence.stability import KINDS, main


def test_the_page_has_a_line_for_each_estimator(tmp_path):
    main(["--draws", "2", "--quick", "--write", str(tmp_path / "page.md")])
    lines = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == ["PCA", "CorrectedPCACV"]


def test_the_components_of_a_kind_are_those_of_its_population():
    rows, true = KINDS[0]._replace(n=20_000).draw(np.random.default_rng(0))
    variances = np.sum((rows @ true.T) ** 2, axis=0) / len(rows)
    np.testing.assert_allclose(variances, KINDS[0].variances, rtol=0.05)


def test_the_table_of_more_rows(tmp_path):
    more_rows.main(["--draws", "2", "--quick", "--write", str(tmp_path / "page.md")])
    *_, line = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    assert line.startswith("| digits | 60 | 3 | ")
