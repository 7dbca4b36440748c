"""The data sets in four parts: to develop on, to choose on, known by now, and run once at the end.

Names and parts of the first two were fixed before a trial of the search ran on them: sorted names, permuted
by ``RandomState(0)``, the first half to develop on. That trial has seen both. Groups, labels and cleaning
were settled after it, without its results. The part ``known`` was the final one of an earlier run; no trial
has seen the final part.
"""

from collections.abc import Collection

from ..packages import Package
from .choose import CHOOSE
from .develop import DEVELOP
from .final import FINAL
from .known import KNOWN

ENTRIES = DEVELOP + CHOOSE + KNOWN + FINAL


def wanted(parts: Collection[str]) -> list[Package]:
    """Return the packages to fetch for some parts, each once, by name."""
    found = {entry.package: entry.source for entry in ENTRIES if entry.part in parts and entry.source.file}
    return [found[name] for name in sorted(found)]
