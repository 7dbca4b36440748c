"""Optional packages, and the sentence that tells the user how to install them."""


def how_to_install(extras: str) -> str:
    """Return the command that installs some extras, from the package index and from a clone."""
    return f"pip install 'attenua[{extras}]', or pip install -e '.[{extras}]' in a clone"
