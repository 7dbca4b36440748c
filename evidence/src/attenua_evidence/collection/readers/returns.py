"""Returns, in percent."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..formats import numbers, numeric, r_object
from ..table import Table, codes


def log_returns(prices: Any) -> np.ndarray:
    """Return the logarithmic returns from row to row, in percent."""
    return 100 * np.diff(np.log(np.asarray(prices, float)), axis=0)


def week(days: Any) -> np.ndarray:
    """Return the week, from Monday, of days counted from 1 January 1970, which was a Thursday."""
    return (np.asarray(days, int) + 3) // 7


def stocks(root: Path) -> Table:
    """Read returns of every fifth stock. Groups: five trading days each; the file has no dates."""
    x = log_returns(r_object(root, "stockdata", "stockdata.rda")["data"])[:, ::5]
    return Table(x, np.arange(len(x)) // 5)


def dowjones(root: Path) -> Table:
    """Read returns of thirty stocks. Groups: calendar weeks."""
    frame = r_object(root, "DowJones30")
    days = pd.to_datetime(frame.iloc[1:, 0].astype(str)).to_numpy("datetime64[D]").astype(int)
    return Table(log_returns(numeric(frame)), week(days))


def french_portfolios(root: Path) -> Table:
    """Read monthly returns of portfolios. Groups: years."""
    frame = pd.read_csv(root / "linearmodels/datasets/french/french.csv.bz2")
    return Table(100 * numbers(frame.loc[:, "NoDur":]), codes(frame["dates"].str[:4]))


def gulf_indices(root: Path) -> Table:
    """Read daily returns of share indices. Groups: twenty days each; the file has no dates."""
    x = 100 * np.asarray(r_object(root, "GCCINDEX.RET"))
    return Table(x, codes(np.arange(len(x)) // 20))


def exchange_rates(root: Path) -> Table:
    """Read quarterly changes of currencies against the dollar. Groups: four quarters each."""
    frame = r_object(root, "Parity", "Parity.rda")
    logs = frame.pivot(index="time", columns="country", values="ls")
    changes = 100 * np.diff(numbers(logs), axis=0)
    return Table(changes, codes(np.arange(len(changes)) // 4))


def shares_2001(root: Path) -> Table:
    """Read daily returns of the shares in the S&P 500. Groups: weeks; day 1 of the file is a Tuesday."""
    prices = r_object(root, "SP2001")
    return Table(log_returns(prices), prices["dim_0"].to_numpy().astype(int)[1:] // 7)
