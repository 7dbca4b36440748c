"""How far a fit has come, told to whoever listens, such as a progress bar."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")
# It is called with what is done now, and how much of the whole is done, from 0 to 1.
Listener = Callable[[str, float], None]


class _Place(NamedTuple):
    """A part of the whole that is done now."""

    listener: Listener
    words: str = ""
    start: float = 0.0
    width: float = 1.0


_place: ContextVar[_Place | None] = ContextVar("place", default=None)


@contextmanager
def telling(listener: Listener) -> Iterator[None]:
    """Tell a listener how far the fits inside have come."""
    token = _place.set(_Place(listener))
    try:
        yield
    finally:
        _place.reset(token)


def in_parts(items: Iterable[Item], n: int, words: Callable[[Item], str] | None = None) -> Iterator[Item]:
    """Yield items, each of which is one part in `n` of what is done now, and tell which one is."""
    outer = _place.get()
    if outer is None:
        yield from items
        return
    try:
        for number, item in enumerate(items):
            said = outer.words if words is None else f"{outer.words}, {words(item)}".removeprefix(", ")
            place = _Place(outer.listener, said, outer.start + outer.width * number / n, outer.width / n)
            _place.set(place)
            place.listener(place.words, place.start)
            yield item
    finally:
        _place.set(outer)
