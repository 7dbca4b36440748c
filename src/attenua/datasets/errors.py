"""What goes wrong with data sets, as errors that a caller can tell apart."""


class DatasetNotAvailable(OSError):
    """A data set cannot be had: not cached and not downloadable, or its file is not what it should be."""


class WrongContent(ValueError):
    """A raw file does not hold the published bytes."""
