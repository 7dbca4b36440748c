"""The shell shows that a report is being made: on a terminal only, and never among JSON."""

import numpy as np
import pytest
from typer.testing import CliRunner

from attenua.cli import app
from tests.helpers import spiked_rows


@pytest.mark.parametrize(
    ("terminal", "options", "shown"), [("1", [], True), ("1", ["--json"], False), ("0", [], False)]
)
def test_a_sign_of_life_is_shown_on_a_terminal_only(tmp_path, monkeypatch, terminal, options, shown):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)  # what rich takes for a terminal
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    np.savetxt(tmp_path / "rows.csv", spiked_rows(30, 4), delimiter=",", header="a,b,c,d", comments="")
    where = [str(tmp_path / "rows.csv"), "-k", "2", "--out", str(tmp_path / "page.html")]
    result = CliRunner().invoke(app, ["report", *where, *options])
    assert result.exit_code == 0, result.output
    assert ("Making the report" in result.stderr) == shown
    assert "Making the report" not in result.stdout
