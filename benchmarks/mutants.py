"""Kill rate of the tests: random faults in the library, and the first test that sees each.

A mutant is one small fault inside a function: another operator, a constant off by one, a reversed condition,
a value not returned, a dropped statement, two swapped arguments. The tests are collected once and run once
under `coverage`. Then a forked child for each mutant replaces the code of one function, runs the tests that
reach its line, and stops at the first failure. A test that takes much longer than before has failed, too.

    python benchmarks/mutants.py --out mutants.csv [--number 400] [--seed 0] [--again before.csv]

Run it at the root of the project. The table has a row for each mutant with the text of its line: ``--again``
finds the mutants of an earlier table, by their text, in code that has moved, and tries those. Needs
``pip install coverage``.
"""

import argparse
import ast
import copy
import csv
import gc
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

# Loaded before the children are forked, and read by each of them.
import coverage
import pytest

# The rooms, the doors, the shell, and the report.
PLACES = ("_data", "_correct", "_solve", "_select", "_estimate", ".", "cli", "report")
# Tests of whole programs, in browsers and of pages see little of these for their time.
LEFT_OUT = [
    *("test_report.py", "test_concurrency.py"),
    *("test_docs.py", "test_examples.py", "test_rooms.py", "test_security.py", "test_sklearns_own_tests.py"),
]
SECONDS = 10  # of the processor, for the tests of one mutant
SYMMETRIC = re.compile(r"\b(min|max)(imum)?$")
SWAPPED = [
    *[(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)],
    *[(ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div)],
]
ONE_WAY = {ast.FloorDiv: ast.Div, ast.Pow: ast.Mult, ast.Mod: ast.Mult}
OTHER = dict(SWAPPED) | {b: a for a, b in SWAPPED} | ONE_WAY


class Mutant(NamedTuple):
    """One fault: the function, the line with its text, where its statement begins, and what changes."""

    path: str
    number: int
    function: str
    statement: int
    line: int
    text: str
    change: str


def replacements(node):
    """Yield copies of a node of the syntax tree, each with one fault."""

    def changed(**fields):
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    match node:
        case ast.Compare(ops=[op, *more]) if type(op) in OTHER:
            yield changed(ops=[OTHER[type(op)](), *more])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield changed(op=OTHER[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield changed(value=not value)
        case ast.Constant(value=int() | float() as value):
            yield changed(value=value + 1)
            if value == 1:
                yield changed(value=0)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield changed(test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield changed(value=ast.Constant(None))
        case ast.Call(func=func, args=[first, second, *more]) if not SYMMETRIC.search(ast.unparse(func)):
            yield changed(args=[second, first, *more])
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Assign() | ast.Delete():
            yield ast.Pass()


def sites(node, statement=None):
    """Yield the places below a node: parent, field, position there, child, and the statement it is in."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for position, child in enumerate(value if isinstance(value, list) else [value]):
            # The numbers in a message change nothing that is computed.
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                inside = child if isinstance(child, ast.stmt) else statement
                yield node, field, position if isinstance(value, list) else None, child, inside
                yield from sites(child, inside)


def functions(tree, prefix=""):
    """Yield the functions of a module and of its classes, with their qualified names."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node


def put(parent, field, position, node):
    if position is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[position] = node


def mutants_of(path):
    """Yield every mutant of a file with the syntax tree, which has the fault until the next is drawn."""
    source, number = Path(path).read_text(), 0
    tree, lines = ast.parse(source), source.splitlines()
    for name, function in functions(tree):
        # A module around the same list of statements: without the defaults of the arguments.
        for parent, field, position, node, statement in list(sites(ast.Module(function.body, []))):
            for new in replacements(node):
                number += 1
                put(parent, field, position, new)
                change = " -> ".join(ast.unparse(each).split("\n")[0] for each in (node, new))
                text = lines[node.lineno - 1].strip()
                yield Mutant(path, number, name, statement.lineno, node.lineno, text, change), tree
                put(parent, field, position, node)


def code_of(code, name):
    """Return the code of a function by its qualified name."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_qualname == name:
                return constant
            if name.startswith(f"{constant.co_qualname}."):
                return code_of(constant, name)


def become(mutant):
    """Give the mutant's code to its function, for the rest of this process."""
    tree = next(tree for other, tree in mutants_of(mutant.path) if other.number == mutant.number)
    code = code_of(compile(ast.fix_missing_locations(tree), mutant.path, "exec"), mutant.function)
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType):
            old = found.__code__
            if (old.co_qualname, old.co_filename) == (mutant.function, mutant.path):
                found.__code__ = code


def in_children(tasks, processes):
    """Call functions in forked children, several at a time; yield numbers and results, None if killed."""
    waiting, running = list(enumerate(tasks))[::-1], {}
    while waiting or running:
        while waiting and len(running) < processes:
            number, task = waiting.pop()
            folder = tempfile.mkdtemp(prefix="mutant-")
            pid = os.fork()
            if pid:
                running[pid] = number, Path(folder)
                continue
            os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1):
                os.dup2(silent, stream)
            try:
                (Path(folder) / "result").write_bytes(pickle.dumps(task()))
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        pid, _ = os.wait()
        number, folder = running.pop(pid)
        result = folder / "result"
        yield number, pickle.loads(result.read_bytes()) if result.exists() else None
        shutil.rmtree(folder, ignore_errors=True)


class Session:
    """A plugin of pytest that tries the mutants, in place of running the collected tests."""

    def __init__(self, options, mutants):
        self.options, self.mutants, self.coverage = options, mutants, None
        self.seconds, self.failed, self.reached = {}, set(), defaultdict(set)

    def pytest_runtest_logreport(self, report):
        """Note a failure."""
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """Count what a fixture of a whole file runs for all tests of the file."""
        shared = self.coverage and fixturedef.scope != "function"
        if shared:
            self.coverage.switch_context(self.item.location[0])
        yield
        if shared:
            self.coverage.switch_context(self.item.nodeid)

    def run(self, items):
        """Run tests, with limits on the time of each, and yield their names."""
        for self.item, following in pairwise([*items, None]):
            name = self.item.nodeid
            if self.coverage:
                self.coverage.switch_context(name)
            usual = self.seconds.get(name, 20)
            signal.setitimer(signal.ITIMER_PROF, 10 + 5 * usual)
            signal.alarm(int(60 + 30 * usual))  # for one that waits forever
            start = time.process_time()
            self.item.config.hook.pytest_runtest_protocol(item=self.item, nextitem=following)
            self.seconds[name] = time.process_time() - start
            yield name

    def trace(self, items):
        """Run tests; return their times, those that fail, and which of them reach each line."""
        self.coverage = coverage.Coverage(data_file=None, include=files_of_places())
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.coverage.start()
        list(self.run(items))
        self.coverage.stop()
        data = self.coverage.get_data()
        reached = {
            (path, line): set(tests)
            for path in data.measured_files()
            for line, tests in data.contexts_by_lineno(path).items()
        }
        return self.seconds, self.failed, reached

    def fate(self, mutant, items):
        """Run tests on a mutant; return the name of the first that fails."""
        try:
            become(mutant)
        except ValueError:  # without its only use of super(), a method has other cells than before
            return "no mutant"
        self.failed.clear()
        return next((name for name in self.run(items) if self.failed), "survived")

    def tests_of(self, mutant):
        """Return tests that reach a mutant: the fastest, one case of each test function before the second."""
        names = self.reached[mutant.path, mutant.line] or set().union(
            *(self.reached[mutant.path, line] for line in range(mutant.statement, mutant.line))
        )
        reaching = [item for item in self.items if not names.isdisjoint((item.nodeid, item.location[0]))]
        cases, cost, total = Counter(), {}, 0.0
        for item in sorted(reaching, key=lambda item: self.seconds[item.nodeid]):
            cases[item.nodeid.split("[")[0]] += 1
            cost[item] = self.seconds[item.nodeid] * cases[item.nodeid.split("[")[0]]
        files, chosen = Counter(), set()
        for item in sorted(cost, key=cost.get):
            if (total := total + self.seconds[item.nodeid]) < SECONDS:
                files[item.location[0]] += self.seconds[item.nodeid]
                chosen.add(item)
        # The tests of a file stay together and in their order: they may share a fixture.
        order = {name: i for i, name in enumerate(sorted(files, key=files.get))}
        return sorted((item for item in reaching if item in chosen), key=lambda item: order[item.location[0]])

    def pytest_runtestloop(self, session):
        """Trace all tests, then try the mutants and write the table."""
        processes = self.options.processes
        files = defaultdict(list)
        for item in session.items:
            files[item.location[0]].append(item)
        tasks = [lambda tests=tests: self.trace(tests) for tests in files.values()]
        for number, result in in_children(tasks, processes):
            if result is None:
                say(f"left out, because its process ended: {list(files)[number]}")
                continue
            self.seconds |= result[0]
            self.failed |= result[1]
            for place, tests in result[2].items():
                self.reached[place] |= tests
        self.items = [item for item in session.items if item.nodeid in self.seconds.keys() - self.failed]
        say(f"{len(self.items)} tests of {sum(self.seconds.values()):.0f} s; without {sorted(self.failed)}")
        tests = [self.tests_of(mutant) for mutant in self.mutants]
        tasks = [lambda m=m, t=t: self.fate(m, t) for m, t in zip(self.mutants, tests, strict=True)]
        killed = 0
        with open(self.options.out, "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["seed", "file", "function", "line", "text", "change", "tests", "fate"])
            for done, (number, fate) in enumerate(in_children(tasks, processes), start=1):
                m, fate = self.mutants[number], fate or "time or memory"
                place = [os.path.relpath(m.path), m.function, m.line, m.text, m.change]
                table.writerow([self.options.seed, *place, len(tests[number]), fate])
                file.flush()
                killed += fate not in ("survived", "no mutant")
                say(f"{killed} of {done} killed; {place}: {fate}")
        return True


def say(line):
    """Print a line, with the seconds of the processor so far."""
    print(f"{sum(os.times()[:4]):6.0f} s  {line}", file=sys.stderr, flush=True)


def files_of_places():
    folders = [Path("src/attenua", place).resolve() for place in PLACES]
    return [str(path) for folder in folders for path in sorted(folder.glob("*.py"))]


def found_again(mutants, rows):
    """Return the mutants of an earlier table by their text: first in the same function, then elsewhere."""
    found = {}
    for fields in (("text", "change", "function"), ("text", "change")):
        left = defaultdict(list)
        for mutant in sorted(set(mutants) - set(found.values()), reverse=True):
            left[tuple(getattr(mutant, name) for name in fields)].append(mutant)
        for number, row in enumerate(rows):
            alike = left[tuple(row[name] for name in fields)]
            if number not in found and alike:
                found[number] = alike.pop()
    say(f"{len(found)} mutants of the earlier table are still there, {len(rows) - len(found)} are not")
    return list(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the table")
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="a table whose mutants are tried again")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    mutants = [mutant for path in files_of_places() for mutant, _ in mutants_of(path)]
    if options.again:
        with open(options.again, newline="") as file:
            mutants = found_again(mutants, list(csv.DictReader(file)))
    else:
        mutants = random.Random(options.seed).sample(mutants, options.number)
    packages = [str(Path(folder).resolve()) for folder in ("src", "paper/src", "evidence/src")]
    sys.path[:0] = packages
    os.environ["PYTHONPATH"] = os.pathsep.join(packages)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    arguments = ["-sq", "-pno:cacheprovider", "-pno:xdist", "--fast", "tests"]
    arguments += [f"--ignore=tests/{name}" for name in LEFT_OUT]
    sys.exit(pytest.main(arguments, plugins=[Session(options, mutants)]))


if __name__ == "__main__":
    main()
