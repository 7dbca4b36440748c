"""What all commands share: the application, the console, and how a command fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

from attenua import __version__
from attenua._extras import how_to_install
from attenua._select.progress import telling

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column
    from typer.core import TyperCommand, TyperGroup
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The attenua command needs {error.name}: {how_to_install('cli')}.", name=error.name
    ) from error

EXIT_CODES = (
    "Exit codes: 0 success; 1 a problem with the data or a file, explained in one sentence on standard "
    "error; 2 wrong usage; 130 interrupted with Ctrl-C."
)

INTERRUPTED = 130

# A file may hold them in its texts and names, where they would steer the terminal.
_CONTROLS = {sign: f"\\x{sign:02x}" for sign in (*range(32), *range(127, 160)) if chr(sign) not in "\n\t"}


def _with_plain_flags(parameters: list[Any]) -> list[Any]:
    """Return parameters whose flags have no type in the help: a flag takes no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _Command(TyperCommand):
    """A command of an application."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_plain_flags(super().get_params(ctx))


class _Commands(TyperGroup):
    """A group of commands that print a sentence when interrupted."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_plain_flags(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None


def new_app(what_it_does: str) -> typer.Typer:
    """Return an application without commands."""
    return typer.Typer(
        cls=_Commands,
        help=what_it_does,
        epilog=EXIT_CODES,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Examples in the help keep their lines.
        rich_markup_mode="markdown",
    )


def command(app: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what adds a function to an application as a command."""
    return app.command(cls=_Command, epilog=EXIT_CODES)


app = new_app("PCA for few rows, with corrections chosen by held-out rows.")
console = Console()


def _print_version(wanted: bool) -> None:
    if wanted:
        print_plain(f"attenua {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def print_plain(text: str) -> None:
    """Print text as it is, without controls: no colours, no markup, no wrapping."""
    typer.echo(text.translate(_CONTROLS))


def fail(sentence: str) -> NoReturn:
    """Print what is wrong on standard error and exit with code 1."""
    typer.echo(f"Error: {sentence.translate(_CONTROLS)}", err=True)
    raise typer.Exit(1)


def warn(sentence: str) -> None:
    """Print a note on standard error and go on."""
    typer.echo(f"Note: {sentence.translate(_CONTROLS)}", err=True)


def progress_bar(*columns: ProgressColumn, **how: bool) -> Progress:
    """Return a progress bar on standard error, if that is a terminal."""
    stderr = Console(stderr=True)
    return Progress(*columns, console=stderr, disable=not stderr.is_terminal, **how)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is done, and how far the fits inside have come, on standard error, if that is a terminal."""
    columns = (
        BarColumn(20, table_column=Column(min_width=20)),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with progress_bar(*columns, transient=True) as progress:
        task = progress.add_task(f"{what} ...", total=None)

        def show(words: str, done: float) -> None:
            doing = f"{what}: {words.replace('_', ' ')}" if words else f"{what} ..."
            progress.update(task, total=1, completed=done, description=doing)

        with telling(show):
            yield
