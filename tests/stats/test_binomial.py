"""Intervals of one proportion against scipy's and closed forms."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from passhat.stats import beta_posterior, clopper_pearson, wilson

LEVELS = st.sampled_from([0.6, 0.8, 0.9, 0.95, 0.99, 0.9999])


@st.composite
def passes(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 400))
    return draw(st.integers(0, n)), n


def test_twenty_four_of_thirty_is_the_published_wilson_interval() -> None:
    assert list(wilson(24, 30)) == pytest.approx([0.626943, 0.904949], abs=5e-7)


def test_the_pooled_wilson_intervals_of_the_known_coin() -> None:
    assert list(wilson(172, 200)) == pytest.approx([0.8051, 0.9013], abs=5e-5)
    assert list(wilson(18, 40)) == pytest.approx([0.3071, 0.6017], abs=5e-5)


@given(passes(), LEVELS)
@settings(deadline=None)
def test_wilson_and_clopper_pearson_are_scipys(counts: tuple[int, int], level: float) -> None:
    c, n = counts
    expected = scipy_stats.binomtest(c, n)
    assert list(wilson(c, n, level=level)) == pytest.approx(
        list(expected.proportion_ci(level, method="wilson")), abs=1e-9
    )
    assert list(clopper_pearson(c, n, level=level)) == pytest.approx(
        list(expected.proportion_ci(level, method="exact")), abs=1e-9
    )


@given(passes(), LEVELS, st.sampled_from(["both", "lower", "upper"]))
@settings(deadline=None)
def test_every_interval_holds_the_estimate_and_has_a_width(
    counts: tuple[int, int], level: float, side: Literal["both", "lower", "upper"]
) -> None:
    c, n = counts
    for found in (
        wilson(c, n, level=level, side=side),
        clopper_pearson(c, n, level=level, side=side),
        beta_posterior(c, n, level=level, side=side),
        beta_posterior(c, n, prior=1, level=level, side=side),
    ):
        assert 0 <= found.low <= c / n <= found.high <= 1
        assert found.width > 0
        assert c / n in found
        assert (found.level, found.side) == (level, side)


@given(passes(), LEVELS)
@settings(deadline=None)
def test_passes_and_failures_are_mirror_images(counts: tuple[int, int], level: float) -> None:
    c, n = counts
    for function in (wilson, clopper_pearson, beta_posterior):
        found, mirrored = function(c, n, level=level), function(n - c, n, level=level)
        assert found.low == pytest.approx(1 - mirrored.high, abs=1e-9)


@given(passes(), LEVELS)
@settings(deadline=None)
def test_a_one_sided_bound_is_the_end_of_the_interval_with_twice_the_error(
    counts: tuple[int, int], level: float
) -> None:
    c, n = counts
    for function in (wilson, clopper_pearson, beta_posterior):
        both = function(c, n, level=level)
        one = (1 + level) / 2
        assert list(function(c, n, level=one, side="lower")) == pytest.approx([both.low, 1], abs=1e-9)
        assert list(function(c, n, level=one, side="upper")) == pytest.approx([0, both.high], abs=1e-9)


def test_counts_of_clopper_pearson_need_not_be_whole() -> None:
    found = clopper_pearson(7.5, 10.25)
    assert found.low == pytest.approx(float(scipy_stats.beta.ppf(0.025, 7.5, 3.75)))
    assert found.high == pytest.approx(float(scipy_stats.beta.ppf(0.975, 8.5, 2.75)))
    assert list(clopper_pearson(0, 0.5)) == pytest.approx([0, 1 - 0.025**2])


def test_a_uniform_prior_gives_the_beta_posterior_of_scipy() -> None:
    expected = [float(scipy_stats.beta.ppf(share, 4, 3)) for share in (0.025, 0.975)]
    assert list(beta_posterior(3, 5, prior=1)) == pytest.approx(expected)


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, float("nan"), True, "0.95", 1 - 1e-9])
def test_a_level_that_is_no_share_is_refused_with_its_value(level: Any) -> None:
    for function in (wilson, clopper_pearson, beta_posterior):
        with pytest.raises(ValueError, match="level must be") as caught:
            function(1, 2, level=level)
        assert repr(level) in str(caught.value)


def test_a_one_sided_bound_needs_a_level_above_one_half() -> None:
    for function in (wilson, clopper_pearson, beta_posterior):
        with pytest.raises(ValueError, match=r"level of a one-sided bound must be above .5, got 0.5"):
            function(1, 2, level=0.5, side="lower")
        assert function(1, 2, level=0.05).width > 0


@pytest.mark.parametrize(
    ("c", "n", "message"),
    [
        (3, 2, "c must be at most n"),
        (-1, 2, "c must be a number of at least 0, got -1"),
        (1, 0, "n must be a number above 0, got 0"),
        (1, float("inf"), "n must be a number above 0, got inf"),
        (True, 2, "c must be a number of at least 0, got True"),
    ],
)
def test_impossible_fractional_counts_are_refused(c: Any, n: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clopper_pearson(c, n)


def test_a_prior_that_is_not_above_0_is_refused() -> None:
    with pytest.raises(ValueError, match="prior must be a number above 0, got 0"):
        beta_posterior(1, 2, prior=0)


def test_an_unknown_side_is_refused() -> None:
    wrong: Any = "left"
    with pytest.raises(ValueError, match="side must be one of 'both', 'lower', 'upper', got 'left'"):
        wilson(1, 2, side=wrong)
