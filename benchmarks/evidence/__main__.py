"""The study on the collection of real data sets, from the shell.

Run it in the folder benchmarks/:

    python -m collection DATA
    python -m evidence run DATA STORE --parts develop choose
    python -m evidence run DATA STORE --parts final
    python -m evidence report STORE
    python -m evidence when DATA STORE
"""

import argparse
import sys
from pathlib import Path

from collection.entries import ENTRIES
from collection.entry import PARTS
from evidence.run import CHOICES, run


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        if options.command == "report":
            from evidence.report import main as report

            report(options.store, options.docs)
        elif options.command == "when":
            from evidence.when import main as when

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
    parser = argparse.ArgumentParser(prog="evidence", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="compute what a store lacks")
    running.add_argument("data", type=Path, help="folder that python -m collection filled")
    running.add_argument("store", type=Path, help="folder of the results")
    running.add_argument("--parts", nargs="+", choices=PARTS, required=True, help="parts of the collection")
    running.add_argument("--draws", type=int, default=2, help="draws of every data set and number of rows")
    running.add_argument("--jobs", type=int, default=-1, help="processes; -1 is one for each core")
    running.add_argument("--methods", choices=tuple(CHOICES), default="all")
    reporting = commands.add_parser("report", help="write tables and pictures of a store")
    foretelling = commands.add_parser("when", help="write what attenua.expected_gain looks up, and try it")
    foretelling.add_argument("data", type=Path, help="folder that python -m collection filled")
    for command in (reporting, foretelling):
        command.add_argument("store", type=Path, help="folder of the results")
        command.add_argument("--docs", type=Path, default=Path("../docs"), help="folder of the documentation")
    return parser


if __name__ == "__main__":
    sys.exit(main())
