"""The command line, called as a user does."""

from types import SimpleNamespace

from click.testing import CliRunner

from attenua.cli import output
from attenua.cli.app import app


def run(*arguments, stdin=None, commands=app, name="attenua"):
    """Run a command; a traceback is a failure of the test."""
    whole = SimpleNamespace(name=name, main=lambda args, **_: output.run(commands, name, args))
    result = CliRunner().invoke(whole, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
