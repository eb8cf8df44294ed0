"""The scenes of ``grls demo``: their data, and that they show what they claim."""

from __future__ import annotations

import os

import numpy as np
import pytest
from grls.datasets import load_mauna_loa
from grls.demo import _carbon_dioxide as co2
from grls.demo import _few_labels as labels
from grls.demo import _law as law
from sklearn.linear_model import LinearRegression


def test_monthly_means_are_of_every_measured_month():
    when, measured = co2.monthly_means()
    assert len(when) == len(measured) == 521
    assert (when[0], when[-1]) == (1958 + 2.5 / 12, 2001 + 11.5 / 12)
    assert np.all(np.diff(when) > 0.08)  # a month; a few are missing
    assert 313 < measured.min() < 314
    assert 373 < measured.max() < 375


@pytest.mark.skipif("GRLS_DATA" not in os.environ, reason="GRLS_DATA is not set")
def test_monthly_means_are_those_of_the_weekly_data():
    weekly = load_mauna_loa()
    months = weekly.dates.astype("datetime64[M]")
    means = [weekly.target[months == month].mean() for month in np.unique(months)]
    np.testing.assert_allclose(co2.monthly_means()[1], means, atol=0.0051)


def test_what_is_known_of_carbon_dioxide_has_the_period_of_a_year():
    when = np.linspace(1960.0, 1961.0, 7)[:, None]
    now, next_year = co2.trend_and_seasons(when), co2.trend_and_seasons(when + 1)
    np.testing.assert_allclose(now[:, 2:], next_year[:, 2:], atol=1e-9)
    np.testing.assert_allclose(next_year[:, 1] - now[:, 1], 1)
    assert np.linalg.matrix_rank(now) == 6


@pytest.fixture(scope="module")
def forecasts() -> list[co2.Forecast]:
    return co2.forecasts([co2.LAST_YEAR])


def test_the_forecast_is_of_months_that_were_not_seen(forecasts):
    for forecast in forecasts:
        assert forecast.when.min() > co2.LAST_YEAR + 1
        assert len(forecast.when) == len(forecast.measured) == len(forecast.mean) == 120


def test_knowing_the_seasons_beats_the_kernels_alone(forecasts):
    known, plain = forecasts
    assert (known.method, plain.method) == (co2.KNOWN, co2.PLAIN)
    assert known.error < plain.error / 2
    assert known.std.mean() < plain.std.mean()
    assert known.covered > 0.8


def test_errors_and_coverage_are_those_of_the_numbers():
    mean, std = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    found = co2.Forecast(co2.KNOWN, 1991, np.zeros(2), np.array([1.0, 5.0]), mean, std)
    assert found.error == pytest.approx(np.sqrt(4.5))
    assert found.covered == 0.5
    row = co2.forecast_table([found]).splitlines()[-1].split()
    assert row == ["1992-2001", "G-RLS", "2.12", "50%"]


def test_a_spectrum_is_the_dye_its_background_and_noise():
    y, background = law.spectrum(3)
    noise = y - background - law.TRUTH * law.dye(law.WAVELENGTHS)
    assert 0.7 * law.NOISE < noise.std() < 1.3 * law.NOISE
    assert not np.array_equal(y, law.spectrum(4)[0])


def test_the_free_law_is_found_and_its_interval_holds():
    found = [law.with_free_law(law.spectrum(seed)[0]) for seed in range(1000, 1040)]
    assert abs(np.mean([m.coefficient for m in found]) - law.TRUTH) < 0.01
    assert np.sum([m.covers for m in found]) >= 34  # of 40 at 95 %: fewer than 34 once in ten thousand


def test_the_law_alone_is_least_squares_and_misses():
    found = []
    for seed in range(20):
        y, _ = law.spectrum(seed)
        alone = law.with_law_alone(y)
        T = law.dye(law.WAVELENGTHS)[:, None]
        assert alone.coefficient == pytest.approx(LinearRegression().fit(T, y).coef_[0], rel=1e-9)
        found.append(alone.covers)
    assert np.mean(found) < 0.7


def test_only_the_penalised_law_depends_on_its_units():
    y, _ = law.spectrum(0)
    large, small = law.with_penalised_law(y, 1.0), law.with_penalised_law(y, 1000.0)
    assert abs(small) < 0.9 * abs(large)


def test_parts_of_the_fitted_spectrum_add_up():
    y, _ = law.spectrum(5)
    for measured in (law.with_free_law(y), law.with_law_alone(y)):
        dye = measured.coefficient * law.dye(law.WAVELENGTHS)
        np.testing.assert_allclose(measured.background + dye, measured.fitted, atol=1e-12)


def test_neighbours_help_where_labels_are_few():
    found = labels.few_labels(seed=1, sizes=(3,), n_draws=3)
    by_method = {a.method: a for a in found}
    assert set(by_method) == {labels.PEER, labels.CONSTANT, labels.NEIGHBOURS}
    assert all(len(a.values) == 3 for a in found)
    gains = np.subtract(by_method[labels.NEIGHBOURS].values, by_method[labels.CONSTANT].values)
    assert gains.mean() > 0.03
    rows = labels.accuracy_table(found).splitlines()
    assert rows[-1].endswith(
        f"{100 * by_method[labels.NEIGHBOURS].mean:.1f} +- {100 * by_method[labels.NEIGHBOURS].error:.1f}"
    )
