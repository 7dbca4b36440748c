"""The three real data sets of the paper: download, check, parse, keep."""

from attenua_paper.datasets.dataset import data_home
from attenua_paper.datasets.download import DatasetNotAvailable
from attenua_paper.datasets.har import fetch_har
from attenua_paper.datasets.optdigits import fetch_optdigits
from attenua_paper.datasets.phoneme import fetch_phoneme
from attenua_paper.datasets.presence import DatasetStatus, status

__all__ = [
    "DatasetNotAvailable",
    "DatasetStatus",
    "data_home",
    "fetch_har",
    "fetch_optdigits",
    "fetch_phoneme",
    "status",
]
