"""Words that messages, pages and the shell share."""


def counted(number: int, noun: str) -> str:
    """Return a number of things: 1 row, 1,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
