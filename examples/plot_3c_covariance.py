"""
Outliers and portfolios of few rows
===================================

Distances, outliers and portfolios need a whole covariance, and few rows give a bad one.
:class:`~attenua.CorrectedCovariance` takes the place of scikit-learn's ``LedoitWolf``. We compare them on
simulated electrodes and returns, where the true covariance is known.
"""

# %%
# Electrodes on a line
# --------------------
# 32 electrodes lie side by side. They pick up a smooth field and a little noise of their own. A row is a
# moment, a column an electrode, and some moments are louder than others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf

from attenua import CorrectedCovariance


def draw_rows(covariance, n, seed, tails):
    """Return rows of Student's t with `tails` degrees of freedom: the fewer, the heavier the tails."""
    random = np.random.default_rng(seed)
    lengths = np.sqrt((tails - 2) / random.chisquare(tails, (n, 1)))
    return lengths * random.standard_normal((n, len(covariance))) @ np.linalg.cholesky(covariance).T


place = np.arange(32)
field = np.exp(-0.5 * ((place[:, None] - place) / 4) ** 2) + 0.2**2 * np.eye(32)
moments = draw_rows(field, 2_000, seed=1_000, tails=20)

# %%
# Sometimes an electrode comes loose and is off by 1.6. The field itself has a standard deviation of 1, so
# that electrode alone looks normal. It does not go with its neighbours, and this shows in the Mahalanobis
# distance, if the covariance is good. We count the loose electrodes that are found if one good moment in
# twenty may raise an alarm.

loose = draw_rows(field, 2_000, seed=1_001, tails=20)
loose[np.arange(2_000), np.random.default_rng(0).integers(32, size=2_000)] += 1.6


def percentage_found(model):
    """Return the percentage of loose electrodes found, with 5% false alarms."""
    return 100 * np.mean(model.mahalanobis(loose) > np.quantile(model.mahalanobis(moments), 0.95))


# %%
# Every model is fitted to five samples of each size. New moments judge it by their log-likelihood, and by how
# many loose electrodes it finds. The sample covariance needs more rows than columns. The arrow goes from 32
# rows to the number that Ledoit-Wolf needs for the same log-likelihood.

SIZES = (16, 32, 64, 128, 256)


def compare(models, covariance, tails, test, use, draws=5):
    """Return for each model the mean log-likelihood of new rows, and of a use, at each number of rows."""
    results = {}
    for name, model in models.items():
        results[name] = np.full((2, len(SIZES)), np.nan)
        for i, n in enumerate(SIZES):
            if n > len(covariance) or name != "sample covariance":
                fits = (model.fit(draw_rows(covariance, n, seed, tails)) for seed in range(draws))
                results[name][:, i] = np.mean([(fit.score(test), use(fit)) for fit in fits], axis=0)
    return results


def known(covariance):
    """Return the true covariance as a model."""
    model = EmpiricalCovariance(assume_centered=True).fit(np.zeros((2, len(covariance))))
    model.covariance_, model.precision_ = covariance, np.linalg.inv(covariance)
    return model


STYLES = {
    "sample covariance": {"color": "0.65", "ls": ":"},
    "OAS": {"color": "#7fa8c9", "ls": "--"},
    "Ledoit-Wolf": {"color": "#1d5a86"},
    "CorrectedCovariance": {"color": "#b5541c", "lw": 2.5},
    'CorrectedCovariance(neighbours="line")': {"color": "#5f7a3a", "lw": 2.5},
}


def draw_panels(results, truth, titles, limits):
    """Draw both measures against the number of rows, with the truth as a line."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for k, ax in enumerate(axes):
        for name, values in results.items():
            ax.plot(SIZES, values[k], marker="o", ms=4, label=name, **STYLES[name])
        ax.axhline(truth[k], color="black", lw=0.8, label="true covariance")
        ax.set(xscale="log", xlabel="rows fitted", ylim=limits[k])
        ax.set_title(titles[k], fontsize="medium")
        ax.set_xticks(SIZES, SIZES)
        ax.minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return axes


def mark_rows(ax, results, name, n):
    """Draw how many rows Ledoit-Wolf needs for what a model reaches with n, and print it."""
    reached, base = results[name][0, SIZES.index(n)], results["Ledoit-Wolf"][0]
    rows = np.exp(np.interp(reached, base, np.log(SIZES)))
    ax.annotate("", (rows, reached), (n, reached), arrowprops={"arrowstyle": "->", "shrinkB": 0})
    ax.annotate(f"{rows:.0f} rows", (rows, reached), (3, -4), textcoords="offset points", va="top")
    print(f"{name} of {n} rows is as good as Ledoit-Wolf of {rows:.0f}.")


bases = {"sample covariance": EmpiricalCovariance(), "OAS": OAS(), "Ledoit-Wolf": LedoitWolf()}
models = bases | {
    "CorrectedCovariance": CorrectedCovariance(),
    'CorrectedCovariance(neighbours="line")': CorrectedCovariance(neighbours="line"),
}
results = compare(models, field, 20, moments, percentage_found)
truth = known(field)
axes = draw_panels(
    results,
    (truth.score(moments), percentage_found(truth)),
    ("log-likelihood of new moments, nats per row", "loose electrodes found, in percent"),
    ((-30, -10), (0, 90)),
)
mark_rows(axes[0], results, "CorrectedCovariance", 32)

# %%
# What was chosen
# ---------------
# With ``nested=True`` the verdict says what to expect of new rows; the last line shows what they really gain.
# Smoothing and damping leave less to shrink: the odds of shrinkage are an eighth of Ledoit and Wolf's.

few = draw_rows(field, 32, seed=0, tails=20)
model = CorrectedCovariance(neighbours="line", nested=True).fit(few)
print(model.verdict_)
print(model.steps_)
print(f"New moments gain {model.score(moments) - LedoitWolf().fit(few).score(moments):.1f} nats.")

# %%
# Returns
# -------
# 60 stocks in six sectors: a market, a factor for each sector, noise of their own, and heavy tails. The use
# is the portfolio of least variance, with weights that sum to 1: :math:`w \propto \Sigma^{-1} 1`.

random = np.random.default_rng(0)
sector, exposure = np.repeat(np.arange(6), 10), random.uniform(0.6, 1.2, 60)
own = np.diag(random.uniform(0.8, 2.0, 60) ** 2)
stocks = np.outer(exposure, exposure) + 0.8 * (sector[:, None] == sector) + own


def volatility(model):
    """Return the true standard deviation of the portfolio that has the least variance by a model."""
    weights = model.precision_.sum(axis=0) / model.precision_.sum()
    return np.sqrt(weights @ stocks @ weights)


days = draw_rows(stocks, 2_000, seed=1_000, tails=5)
models = bases | {"CorrectedCovariance": CorrectedCovariance()}
results = compare(models, stocks, 5, days, volatility)
truth = known(stocks)
axes = draw_panels(
    results,
    (truth.score(days), volatility(truth)),
    ("log-likelihood of new days, nats per row", "volatility of the minimum-variance portfolio"),
    ((-136, -111), (0.7, 1.1)),
)
mark_rows(axes[0], results, "CorrectedCovariance", 32)

# %%
# The log-likelihood gains clearly, the portfolio a little. With 16 days it gains nothing: its weights depend
# on the directions of least variance, which so few days hardly show.

plt.show()
