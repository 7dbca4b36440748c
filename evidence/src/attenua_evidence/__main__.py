"""The study on the collection of real data sets, from the shell.

python -m attenua_evidence collection DATA
python -m attenua_evidence run DATA STORE --parts develop choose
python -m attenua_evidence run DATA STORE --parts final
python -m attenua_evidence report STORE
python -m attenua_evidence tasks DATA STORE --parts final
python -m attenua_evidence tasks DATA KNOWN --parts develop choose known --methods ours
python -m attenua_evidence tasks-report STORE KNOWN
"""

import argparse
import sys
from pathlib import Path

from attenua_evidence.collection.command import fetch_all
from attenua_evidence.collection.entries import ENTRIES
from attenua_evidence.collection.entry import PARTS, Entry
from attenua_evidence.run import CHOICES, run


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; return 1 if it failed, else 0."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "collection":
            return fetch_all(options.data, options.parts)
        if options.command == "report":
            from attenua_evidence.report import main as report

            report(options.store, options.docs)
        elif options.command == "tasks-report":
            from attenua_evidence.tasks.report import main as tasks_report

            tasks_report(options.stores, options.docs)
        elif options.command == "tasks":
            return _run_tasks(options)
        else:
            run(
                _entries(options),
                options.data,
                options.store,
                draws=options.draws,
                jobs=options.jobs,
                methods=options.methods,
            )
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _entries(options: argparse.Namespace) -> list[Entry]:
    return [entry for entry in ENTRIES if entry.part in options.parts]


def _run_tasks(options: argparse.Namespace) -> int:
    """Run the study of tasks, and say what is left to do."""
    from attenua_evidence.tasks.study import run as run_tasks

    chosen = {name: getattr(options, name) for name in ("draws", "jobs", "minutes", "methods")}
    n_left = run_tasks(_entries(options), options.data, options.store, **chosen)
    if n_left:
        print(f"Cells left: {n_left}. The same command goes on.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="attenua_evidence", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("collection", help="fetch the packages that hold the data sets")
    running = commands.add_parser("run", help="compute the missing results of a store")
    reporting = commands.add_parser("report", help="write tables and pictures of a store")
    tasking = commands.add_parser("tasks", help="compute the missing results of the study of tasks")
    telling = commands.add_parser("tasks-report", help="write tables and the picture of the study of tasks")
    for command in (fetching, running, tasking):
        command.add_argument("data", type=Path, help="folder of the packages")
    for command in (running, reporting, tasking):
        command.add_argument("store", type=Path, help="folder of the results")
    telling.add_argument("stores", type=Path, nargs="+", help="folders of the results, of different parts")
    for command in (reporting, telling):
        command.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the documentation")
    fetching.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these parts")
    for command, draws in ((running, 2), (tasking, 6)):
        command.add_argument(
            "--parts", nargs="+", choices=PARTS, required=True, help="parts of the collection"
        )
        command.add_argument(
            "--draws", type=int, default=draws, help="draws of every data set and number of rows"
        )
        command.add_argument("--jobs", type=int, default=-1, help="processes; -1 is one for each core")
    tasking.add_argument("--minutes", type=float, help="no cell begins after so many minutes")
    running.add_argument("--methods", choices=tuple(CHOICES), default="all")
    tasking.add_argument("--methods", choices=("all", "ours"), default="all", help="with or without rivals")
    return parser


if __name__ == "__main__":
    sys.exit(main())
