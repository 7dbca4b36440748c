"""How much code one small fit runs through: files and functions of the package, and the deepest call.

python benchmarks/path_of_a_fit.py [--list]
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import attenua

_PACKAGE = str(Path(attenua.__file__).parent)


def main() -> None:
    """Print the numbers of files and functions, and the depth, of one fit of 100 rows and 30 columns."""
    rows = np.random.default_rng(0).standard_normal((100, 30)) * np.linspace(1, 3, 30)
    functions: set[tuple[str, int]] = set()
    depth = deepest = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(_PACKAGE):
            return
        if frame.f_code.co_name.startswith("<"):  # comprehensions and lambdas are part of their function
            return
        if event == "call":
            functions.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1

    estimator = attenua.CorrectedPCACV(5)
    sys.setprofile(count)
    try:
        estimator.fit(rows)
    finally:
        sys.setprofile(None)
    files = {file for file, _ in functions}
    print(f"{len(files)} files, {len(functions)} functions, {deepest} calls deep")
    if "--list" in sys.argv:
        for file, line in sorted(functions):
            print(f"{Path(file).relative_to(_PACKAGE)}:{line}")


if __name__ == "__main__":
    main()
