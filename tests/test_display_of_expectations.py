"""The display of expectations draws what the theory expects."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from attenua.display import ExpectationsDisplay
from attenua.theory import when

COVARIANCE = 1 + np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def found():
    return when(COVARIANCE, 1, 30, neighbours="line", n_simulations=20, random_state=0)


def test_every_correction_has_a_line(found):
    display = ExpectationsDisplay.from_expectations(found)
    assert set(display.lines_) == {e.correction for e in found}
    for e in found:
        sizes, gains = display.lines_[e.correction].get_data()
        np.testing.assert_allclose(gains, 100 * e.gain_at(sizes))
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlim() == pytest.approx((7.5, 1920))
    assert display.ax_.get_ylabel() == "share of PCA's excess risk removed, %"
    assert display.size_line_.get_xdata()[0] == 30
    assert display.zero_line_.get_ydata()[0] == 0


def test_error_bars_are_the_simulation_at_strengths_above_zero(found):
    display = ExpectationsDisplay.from_expectations(found)
    assert set(display.error_bars_) == {e.correction for e in found if not e.is_pca}
    for name, bar in display.error_bars_.items():
        ((low, high),) = bar.lines[2][0].get_segments()
        middle, error = 100 * found[name].simulated_gain, 100 * found[name].simulated_error
        np.testing.assert_allclose([low[1], high[1]], [middle - error, middle + error])
        assert 15 < low[0] < 60
        bottom, top = display.ax_.get_ylim()
        assert bottom < middle < top


def test_the_legend_has_the_order_of_the_gains(found):
    labels = [text.get_text() for text in ExpectationsDisplay.from_expectations(found).ax_.get_legend().texts]
    assert len(labels) == len(found)
    gains = [int(label.split(": ")[1].rstrip("%")) for label in labels if not label.endswith("none")]
    assert gains == sorted(gains, reverse=True)


def test_lines_are_dashed_where_the_expansion_is_off(found):
    from dataclasses import replace

    off = replace(found, corrections=(replace(found["attenuation"], is_sound=False),))
    line = ExpectationsDisplay.from_expectations(off).lines_["attenuation"]
    assert line.is_dashed()
    assert line.get_label().endswith("(simulated)")


def test_a_covariance_or_a_sample_on_given_axes():
    figure, ax = plt.subplots()
    display = ExpectationsDisplay.from_covariance(
        COVARIANCE, 1, 30, corrections=["attenuation"], n_simulations=0, sample_sizes=[10, 100], ax=ax
    )
    assert display.figure_ is figure
    assert display.error_bars_ == {}
    assert display.ax_.get_xlim() == pytest.approx((10, 100))
    rows = np.random.default_rng(0).standard_normal((25, 6)) + np.random.default_rng(1).standard_normal(
        (25, 1)
    )
    display = ExpectationsDisplay.from_covariance(rows, 1, corrections=["tempering"], n_simulations=0)
    assert display.expectations.n == 24
