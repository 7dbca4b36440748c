"""What goes wrong with data sets, as errors that a caller can tell apart."""


class DatasetNotAvailable(OSError):
    """A data set is missing: neither cached nor downloadable, or its file is not what it should be."""


class WrongContent(ValueError):
    """A raw file does not hold the published bytes."""
