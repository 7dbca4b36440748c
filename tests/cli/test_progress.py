"""The shell shows that it is working: on a terminal only, and never on standard output."""

import numpy as np
import pytest
from typer.testing import CliRunner

from attenua.cli import app
from tests.helpers import spiked_rows


@pytest.mark.parametrize("command", ["report --out {}/page.html", "fit --json --report --out {}/folder"])
@pytest.mark.parametrize("terminal", ["1", "0"])
def test_a_sign_of_life_is_shown_on_a_terminal_only(tmp_path, monkeypatch, command, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)  # what rich takes for a terminal
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    np.savetxt(tmp_path / "rows.csv", spiked_rows(30, 4), delimiter=",", header="a,b,c,d", comments="")
    arguments = [*command.format(tmp_path).split(), str(tmp_path / "rows.csv"), "-k", "2"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for what in ("Fitting", "Making the report"):
        assert (f"{what} ..." in result.stderr) == (terminal == "1")
        assert what not in result.stdout
