"""How to install what only a part of the package needs."""


def how_to_install(extras: str) -> str:
    """Return a command that brings some extras, from the package index and from a clone."""
    return f"pip install 'attenua[{extras}]', or pip install -e '.[{extras}]' in a clone"
