"""The study on the collection of real data sets, from the shell.

python -m attenua_evidence collection DATA
python -m attenua_evidence run DATA STORE --parts develop choose
python -m attenua_evidence run DATA STORE --parts final
python -m attenua_evidence report STORE
python -m attenua_evidence when DATA STORE
"""

import argparse
import sys
from pathlib import Path

from attenua_evidence.collection.command import fetch_all
from attenua_evidence.collection.entries import ENTRIES
from attenua_evidence.collection.entry import PARTS
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
        elif options.command == "when":
            from attenua_evidence.when import main as when

            when(ENTRIES, options.data, options.store, options.docs)
        else:
            run(
                [entry for entry in ENTRIES if entry.part in options.parts],
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="attenua_evidence", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("collection", help="fetch the packages that hold the data sets")
    running = commands.add_parser("run", help="compute the missing results of a store")
    reporting = commands.add_parser("report", help="write tables and pictures of a store")
    foretelling = commands.add_parser("when", help="write what attenua.expected_gain looks up, and test it")
    for command in (fetching, running, foretelling):
        command.add_argument("data", type=Path, help="folder of the packages")
    for command in (running, reporting, foretelling):
        command.add_argument("store", type=Path, help="folder of the results")
    for command in (reporting, foretelling):
        command.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the documentation")
    fetching.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these parts")
    running.add_argument("--parts", nargs="+", choices=PARTS, required=True, help="parts of the collection")
    running.add_argument("--draws", type=int, default=2, help="draws of every data set and number of rows")
    running.add_argument("--jobs", type=int, default=-1, help="processes; -1 is one for each core")
    running.add_argument("--methods", choices=tuple(CHOICES), default="all")
    return parser


if __name__ == "__main__":
    sys.exit(main())
