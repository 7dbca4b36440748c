"""The shell with settings that take seconds: ``python small_shell.py study --quick ...``."""

from types import SimpleNamespace

from click.testing import CliRunner

from attenua.cli import output
from attenua_paper.__main__ import main
from attenua_paper.cli import app
from attenua_paper.studies import budget, simulations

# Without the rivals that take longest.
FEW = tuple(name for name in budget.STUDY_METHODS if "masked-target" not in name)
SMALL = budget.StudySettings(n_subsamples=3, n_versions={"optdigits": 2}, budgets=(32, 64), methods=FEW)
TINY = simulations.Settings(replicates=40, audit_replicates=40, audit_sizes=(64, 256), pilot_rows=2_000)


def run(*arguments):
    """Run a command; a traceback is a failure of the test."""
    whole = SimpleNamespace(
        name="attenua-paper", main=lambda args, **_: output.run(app, "attenua-paper", args)
    )
    result = CliRunner().invoke(whole, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


if __name__ == "__main__":
    budget.QUICK, simulations.QUICK = SMALL, TINY
    main()
