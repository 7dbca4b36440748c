"""The command line, called as a user does."""

from typer.testing import CliRunner

from attenua.cli import app


def run(*arguments, stdin=None):
    """Run a command; a traceback is a failure of the test."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
