"""The three real data sets of the paper: download, check, parse, keep."""

from attenua.datasets.errors import DatasetNotAvailable
from attenua.datasets.har import fetch_har
from attenua.datasets.home import data_home
from attenua.datasets.optdigits import fetch_optdigits
from attenua.datasets.overview import DatasetStatus, status
from attenua.datasets.phoneme import fetch_phoneme

__all__ = [
    "DatasetNotAvailable",
    "DatasetStatus",
    "data_home",
    "fetch_har",
    "fetch_optdigits",
    "fetch_phoneme",
    "status",
]
