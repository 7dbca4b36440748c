"""The script that counts false alarms: its rows are what it says, and it writes its tables."""

import numpy as np

from attenua_evidence.false_alarms import ESTIMATORS, main, population


def test_rows_and_tables(tmp_path):
    kind = population(400, 8, 2, missing=0.1)
    fitted, new = kind.draw(np.random.default_rng(0))
    assert fitted.shape == (400, 8)
    assert abs(np.isnan(new).mean() - 0.1) < 0.01
    # The variances that were asked for, whichever way they are turned.
    clean, _ = population(20_000, 6, 2, freedom=9).draw(np.random.default_rng(0))
    values = np.sort(np.linalg.eigvalsh(np.cov(clean.T)))[::-1]
    np.testing.assert_allclose(values, [40, 20, *np.linspace(1.5, 0.5, 4)], rtol=0.1)
    main(["--draws", "2", "--quick", "--write", str(tmp_path / "page.md")])
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text.count("| 3 outliers, 30 x 8, 2 |") == len(ESTIMATORS)
    assert "beyond the limit of Q at 99%" in text
