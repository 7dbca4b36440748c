"""``attenua rank``: how many components stand out of the noise in the rows of a file."""

import shlex

from rich.table import Table as PrintedTable

from attenua._estimate.words import counted
from attenua.cli import options
from attenua.cli.base import app, command, console, print_plain
from attenua.cli.readers.axis import neighbours_by_name
from attenua.cli.record import dump
from attenua.cli.request import METHODS_OF_OPTIONS, Request, disagreement, load_rows, rank_choices

_QUESTIONS = {
    "bcv": "predict entries best whose row and column are held out?",
    "parallel": "explain more than those of shuffled columns?",
    "threshold": "bring more signal than noise, if noise is equal in all columns?",
}

# Options of other commands.
_WITHOUT = ("k", "colour_by", "method", *(METHODS_OF_OPTIONS.keys() - {"scale"}))


@command(app)
@options.with_options(Request, without=_WITHOUT)
def rank(request: Request, as_json: options.AsJson = False) -> None:
    """Say how many components stand out of the noise, by three methods that ask different questions.

    The number of bcv, bi-cross-validation, is recommended; `attenua fit -k auto` takes it. All take noise to
    be independent from column to column: where neighbouring columns vary together, they count noise as
    components.

    For example:

    - `attenua rank data.csv`

    - `attenua rank samples.csv.gz --id-column sample --drop batch,age`
    """
    table = load_rows(request)
    choices = rank_choices(table, scale=request.scale)
    best, (n, p) = choices["bcv"], table.X.shape
    if as_json:
        record = {"data": table.source, "n_rows": n, "n_columns": p, "n_components": best.rank}
        ranks = {method: {"rank": choice.rank, "reason": str(choice)} for method, choice in choices.items()}
        print_plain(dump(record | {"methods": ranks, "notes": list(table.notes)}))
        return
    print_plain(f"{table.source}: {counted(n, 'row')}, {counted(p, 'column')}.\n")
    printed = PrintedTable("method", "components", "question: how many ...", box=None, padding=(0, 2, 0, 0))
    for method, choice in choices.items():
        printed.add_row(method, str(choice.rank), _QUESTIONS[method])
    console.print(printed, highlight=False)
    print_plain(f"\nRecommended, by bcv: {best}{disagreement(choices)}")
    neighbours = neighbours_by_name(table.names)
    if table.grid or neighbours:
        print_plain("The columns are in order: noise that neighbours share counts as components here.")
    if best.rank:
        options_of_fit = ["-k", str(best.rank), *request.reading.as_options()]
        options_of_fit += ["--scale"] if request.scale else []
        options_of_fit += ["--neighbours", neighbours] if neighbours else []
        file = [] if request.file is None else [request.file]
        print_plain(f"Go on with: {shlex.join(['attenua', 'fit', *file, *options_of_fit])}")
