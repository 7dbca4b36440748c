"""What the displays draw is what the theory says."""

import builtins

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from attenua.display import RiskCurveDisplay
from attenua.theory import Population, draw_rows, plug_in_report

COVARIANCE = np.array([[3.35, 2.0, 0.3], [2.0, 2.65, 0.1], [0.3, 0.1, 1.0]])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def population():
    return Population(COVARIANCE, 1)


def test_one_sample_size_with_its_parts(population):
    display = RiskCurveDisplay.from_population(population, 64)
    assert display.figure_ is display.ax_.figure
    (risk,), (sampling,) = display.risk_lines_, display.sampling_lines_
    alphas = risk.get_xdata()
    np.testing.assert_allclose(risk.get_ydata(), population.excess_risk(64, attenuation=alphas))
    np.testing.assert_allclose(sampling.get_ydata(), population.sampling_coefficient(attenuation=alphas) / 64)
    np.testing.assert_allclose(display.bias_line_.get_ydata(), population.bias(attenuation=alphas))
    direct, mask = display.oracle_markers_
    assert direct.get_xdata()[0] == population.oracle(64, {"attenuation": alphas}).attenuation
    assert mask.get_xdata()[0] == population.oracle(64, {"attenuation": alphas[alphas <= 0.5]}).attenuation
    assert mask.get_ydata()[0] == pytest.approx(population.excess_risk(64, attenuation=mask.get_xdata()[0]))
    np.testing.assert_allclose(
        display.mask_range_.get_extents().transformed(display.ax_.transData.inverted()).x1, 0.5
    )
    assert display.band_ is None
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[:3] == ["risk, n = 64", "bias part", "sampling part"]


def test_several_sample_sizes_relative_to_pca(population):
    figure, ax = plt.subplots()
    display = RiskCurveDisplay.from_population(population, [16, 256], alphas=[0, 0.2, 0.5, 1], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert len(display.oracle_markers_) == 4
    assert display.sampling_lines_ == []
    for n, line in zip((16, 256), display.risk_lines_, strict=True):
        expected = population.excess_risk(n, attenuation=line.get_xdata()) / population.excess_risk(n)
        np.testing.assert_allclose(line.get_ydata(), expected)
    assert len({line.get_linestyle() for line in display.risk_lines_}) == 2
    plain = display.plot(relative=False)
    assert plain.ax_ is not ax
    np.testing.assert_allclose(
        plain.risk_lines_[0].get_ydata(), population.excess_risk(16, attenuation=[0, 0.2, 0.5, 1])
    )


def test_report_with_a_band():
    report = plug_in_report(
        draw_rows(COVARIANCE, 80, random_state=0), 1, alphas=[0, 0.3, 0.6, 1], n_bootstrap=20, random_state=0
    )
    display = RiskCurveDisplay.from_report(report)
    np.testing.assert_allclose(display.risk_lines_[0].get_ydata(), report.risk)
    vertices = display.band_.get_paths()[0].vertices
    low, high = report.band
    for alpha, end in ((0.3, low[1]), (0.3, high[1])):
        assert np.isclose(vertices, [alpha, end]).all(axis=1).any()
    # The axis follows the curves, not the ends of the band.
    assert display.ax_.get_ylim()[1] < 1.2 * max(report.risk.max(), report.sampling.max())


def test_strengths_outside_the_mask_range_have_one_oracle(population):
    display = RiskCurveDisplay.from_population(population, 64, alphas=[0.6, 0.8])
    assert len(display.oracle_markers_) == 1
    with pytest.raises(ValueError, match="relative curves need alpha = 0"):
        display.plot(relative=True)


def test_missing_matplotlib_names_the_extra(population, monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'attenua\[plot\]'"):
        RiskCurveDisplay.from_population(population, 64)
