"""How a pair of strengths is best chosen from held-out rows, in the cells of the fixed-budget study.

Computes the risks of every subsample on a grid of two strengths once, stores them (an interrupted run goes on
where it was), and lets every rule of research.choice_rules choose from them.

    python benchmarks/choice_rules.py attenua-surfaces --subsamples 25

writes docs/guide/_choice_rules.md, the tables of the page on choosing two strengths.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.progress import track

from attenua._data.files import write_whole
from attenua._data.folds import repeated_splits
from attenua.studies.budget import Key, StudySettings, draw_subsample, held_moments
from attenua.studies.gain import mean_and_interval
from attenua.studies.hindsight import TEMPERINGS
from attenua.studies.published import CELLS
from attenua.studies.real_data import TITLES
from attenua.studies.tables import Table
from research.choice_rules import RULES, Case, ChoiceRule, plug_in
from research.surfaces import Surface, risk_surfaces

SETTINGS = StudySettings()
BASELINE = "one strength: least risk"
# Its cost grows with the fourth power of the columns: so many subsamples of each version are enough.
PLUG_IN_SUBSAMPLES = 5


def subsamples(most: int) -> Iterator[Key]:
    """Yield the keys subsample by subsample, so that a part of them is a smaller study of all cells."""
    for subsample in range(max(most, SETTINGS.n_subsamples)):
        for data, budget in CELLS:
            enough = SETTINGS.n_subsamples if data == "optdigits" else most
            for version in range(SETTINGS.n_versions[data] if subsample < enough else 0):
                yield data, budget, version, subsample


def file_of(folder: Path, key: Key) -> Path:
    return folder / ("-".join(map(str, key)) + ".npz")


def compute(key: Key, path: Path, data_home: str | None) -> None:
    data, budget, version, _ = key
    full, X, groups = draw_subsample(key, SETTINGS.seed, data_home)
    splits = repeated_splits(SETTINGS.n_folds, budget, groups, SETTINGS.n_repeats[data])
    test = held_moments(data, version, SETTINGS.seed, data_home)
    (surface,) = risk_surfaces(X, (full.rank,), splits, SETTINGS.n_folds, test)
    surface.save(path)


def read_cells(
    folder: Path, keys: list[Key], data_home: str | None
) -> dict[tuple[str, int], dict[Key, Case]]:
    """Return the stored cases of every cell."""
    cells: dict[tuple[str, int], dict[Key, Case]] = {cell: {} for cell in CELLS}
    for key in sorted(keys):
        full, X, _ = draw_subsample(key, SETTINGS.seed, data_home)
        cells[key[:2]][key] = Case(Surface.load(file_of(folder, key)), TEMPERINGS, X, full.rank)
    return cells


def by_version(keys: list[Key], gains: np.ndarray) -> np.ndarray:
    """Return the gains that count as independent: means over each version of Optdigits, else all."""
    versions = np.array([key[2] for key in keys])
    if versions.max() == 0:
        return gains
    return np.array([gains[versions == version].mean() for version in np.unique(versions)])


def hindsight(case: Case, n_temperings: int) -> float:
    return float(case.surface.gain[:n_temperings].max())


def gains_of(cases: dict[Key, Case], rule: ChoiceRule, n_repeats: int) -> np.ndarray:
    return np.array([case.surface.gain[rule.choose(case, n_repeats)] for case in cases.values()])


def rows_of_cell(cell: tuple[str, int], cases: dict[Key, Case]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return gain, difference to the baseline, share of the oracle's gain and cost, by rule and repeats."""
    keys = list(cases)
    every = SETTINGS.n_repeats[cell[0]]
    baseline = gains_of(cases, RULES[BASELINE], 1)
    best = {n: np.array([hindsight(case, n) for case in cases.values()]) for n in (1, len(TEMPERINGS))}
    rows = {
        ("one strength, in hindsight", "-"): _row(keys, best[1], baseline, best[9], None),
        ("two strengths, in hindsight", "-"): _row(keys, best[9], baseline, best[9], None),
    }
    for name, rule in RULES.items():
        for repeats, label in ((1, "1"), (every, "all")) if rule.validates else ((1, "-"),):
            cost = rule.eigenproblems(SETTINGS.n_folds, repeats)
            rows[name, label] = _row(keys, gains_of(cases, rule, repeats), baseline, best[9], cost)
    return rows


def _row(
    keys: list[Key], gains: np.ndarray, baseline: np.ndarray, best: np.ndarray, cost: int | None
) -> tuple[str, ...]:
    mean = by_version(keys, gains).mean()
    share = 100 * mean / by_version(keys, best).mean()
    difference, low, high = mean_and_interval(by_version(keys, gains - baseline))
    problems = "-" if cost is None else f"{cost:,}"
    return f"{mean:.2f}", f"{difference:+.2f} [{low:+.2f}, {high:+.2f}]", f"{share:.0f}%", problems


def summary_table(cells: dict[tuple[str, int], dict]) -> Table:
    """Gains of all rules in all cells, the smallest share of the oracle's gain, and the cost."""
    first = next(iter(cells.values()))
    rows = []
    for name, label in first:
        gains = [cell[name, label][0] for cell in cells.values()]
        shares = [int(cell[name, label][2].rstrip("%")) for cell in cells.values()]
        costs = " to ".join(dict.fromkeys(cell[name, label][3] for cell in reversed(cells.values())))
        rows.append((name, label, *gains, f"{min(shares)}%", f"{np.mean(shares):.0f}%", costs))
    heading = (
        "Rule",
        "repeats",
        *(f"{TITLES[data].split()[0]} {budget}" for data, budget in cells),
        "least share",
        "mean share",
        "subspaces",
    )
    return Table(
        "Percentage of PCA's test excess risk removed, and share of the oracle pair's", heading, rows
    )


def cell_table(cell: tuple[str, int], n: int, rows: dict) -> Table:
    """Everything about one cell."""
    heading = ("Rule", "repeats", "gain", "less one strength, 5 folds [95%]", "share", "subspaces")
    body = [(name, label, *values) for (name, label), values in rows.items()]
    return Table(f"{TITLES[cell[0]]}, N = {cell[1]}, {n:,} subsamples", heading, body)


def plug_in_table(cells: dict[tuple[str, int], dict[Key, Case]]) -> Table:
    """Return gains of the plug-in risk of the theory beside least risk, on the first few subsamples."""
    rows = []
    for (data, budget), cases in cells.items():
        few = {key: case for key, case in cases.items() if key[3] < PLUG_IN_SUBSAMPLES}
        chosen = track(list(few.values()), description=f"Plug-in {data} {budget}")
        plugged = np.mean([case.surface.gain[plug_in(case, 1)] for case in chosen])
        least = gains_of(few, RULES["least risk"], 1).mean()
        rows.append((f"{TITLES[data]} N={budget}", f"{len(few)}", f"{plugged:.2f}", f"{least:.2f}"))
    heading = ("Cell", "subsamples", "plug-in risk", "least held-out risk, 5 folds")
    return Table("The pair of least plug-in risk", heading, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the risks are stored")
    parser.add_argument("--subsamples", type=int, default=25, help="of Phoneme and HAR; Optdigits has all")
    parser.add_argument("--data-home", help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=Path("docs/guide/_choice_rules.md"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    keys = list(subsamples(arguments.subsamples))
    missing = [key for key in keys if not file_of(arguments.folder, key).exists()]
    for key in track(missing, description="Risks"):
        compute(key, file_of(arguments.folder, key), arguments.data_home)
    cases = read_cells(arguments.folder, keys, arguments.data_home)
    rows = {cell: rows_of_cell(cell, cases[cell]) for cell in track(CELLS, description="Rules in every cell")}
    tables = [summary_table(rows), plug_in_table(cases)]
    tables += [cell_table(cell, len(cases[cell]), rows[cell]) for cell in CELLS]
    write_whole(arguments.out, "\n".join(table.to_markdown() for table in tables).encode())


if __name__ == "__main__":
    main()
