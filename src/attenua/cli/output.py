"""What commands print and write: sentences, progress, and files that are whole or not there."""

import io
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any, NoReturn

import click

INTERRUPTED = 130
EXIT_CODES = (
    "Exit codes: 0 success; 1 a problem with the data or a file, explained on standard error; 2 wrong usage; "
    "130 interrupted with Ctrl-C."
)
# A file may hold them in its texts and names, where they would steer the terminal.
_CONTROLS = {sign: f"\\x{sign:02x}" for sign in (*range(32), *range(127, 160)) if chr(sign) not in "\n\t"}


def run(commands: click.Group, name: str, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a group of commands; whatever ends them early is one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where it is closed
            stream.reconfigure(errors="backslashreplace")  # names of files may hold what cannot be printed
    try:
        code = commands.main(arguments, prog_name=name, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        code = INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except OSError as error:
        if error.filename is not None:
            raise
        # Standard output is closed or full; Python would fail once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"Error: standard output cannot be written: {error.strerror}.", err=True)
        code = 1
    sys.exit(code)


def fail(sentence: str) -> NoReturn:
    """End the command with a sentence on standard error and code 1."""
    raise click.ClickException(sentence.translate(_CONTROLS))


def note(sentence: str) -> None:
    """Print a note on standard error and go on."""
    click.echo(f"Note: {sentence.translate(_CONTROLS)}", err=True)


def print_plain(text: str) -> None:
    """Print text without the controls it may hold."""
    click.echo(text.translate(_CONTROLS))


@contextmanager
def progress(what: str, total: int = 1000) -> Iterator[Any]:
    """Show a bar on standard error, if that is a terminal, and yield it for `update(n)`."""
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=total, label=what, file=sys.stderr, hidden=hidden) as bar:
        yield bar


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show how far the fits inside have come."""
    from attenua._select.progress import telling

    with progress(what) as bar, telling(lambda _, done: bar.update(max(int(1000 * done) - bar.pos, 0))):
        yield


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: lists for arrays, None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- files --------------------------------------------------------------------------------------------------


def check_file(path: Path, *, force: bool, endings: Sequence[str], option: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work that would be lost."""
    if path.suffix.lower() not in endings:
        raise click.BadParameter(f"{path} must end in {', '.join(endings)}.", param_hint=option)
    with writing(path):
        if path.is_dir():
            fail(f"{path} is a folder; {option} takes the name of a file.")
        if path.exists() and not force:
            fail(f"{path} exists; --force replaces it.")
        check_parent(path, path.absolute().parent)


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that cannot be written, or that would be written over."""
    with writing(folder):
        if folder.exists() and not folder.is_dir():
            fail(f"{folder} is a file; --out takes the name of a folder.")
        if folder.exists() and not force:
            fail(f"{folder} exists; --force replaces the files of a fit in it.")
        check_parent(folder, next(place for place in folder.absolute().parents if place.exists()))


def check_parent(target: Path, parent: Path) -> None:
    """Refuse a target in a folder that is not there, or where nothing can be written."""
    if not parent.is_dir():
        fail(f"{target} cannot be written: there is no folder {parent}.")
    if not os.access(parent, os.W_OK | os.X_OK):
        fail(f"{target} cannot be written: there is no permission to write in {parent}.")


def free_folder() -> Path:
    """Return the first of attenua-fit, attenua-fit-2, ... that is new."""
    names = chain(["attenua-fit"], (f"attenua-fit-{number}" for number in count(2)))
    return next(folder for folder in map(Path, names) if not folder.exists())


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to fill, and rename it at the end; where there is one, replace file by file."""
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            files = begun / "files"
            files.mkdir()  # with the permissions of a new folder, which mkdtemp does not give
            yield files
            if not folder.exists():
                files.rename(folder)
            else:
                for file in files.iterdir():
                    file.replace(folder / file.name)
        finally:
            shutil.rmtree(begun, ignore_errors=True)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn errors of the file system into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # a sentence already
            fail(str(error).replace("force=True", "--force"))
        fail(f"{error.filename or target} cannot be written: {error.strerror or error}.")


def write(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file, whole or not at all, or fail with a sentence."""
    from attenua._files import write_whole

    with writing(path):
        write_whole(path, content, force=force)
