"""The real data sets of the paper: download, check, parse, keep."""

from attenua.datasets.errors import DatasetNotAvailable
from attenua.datasets.home import data_home
from attenua.datasets.optdigits import fetch_optdigits

__all__ = ["DatasetNotAvailable", "data_home", "fetch_optdigits"]
