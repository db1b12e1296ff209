"""Planned looks at paired differences, and bounds of a quantile."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from passhat.stats import (
    mean_difference_interval,
    obrien_fleming,
    paired_look,
    planned_looks,
    pocock,
    quantile_interval,
    sign_flip,
    smallest_all_pass,
)


@pytest.mark.parametrize("level", [0.9, 0.975, 0.99])
@pytest.mark.parametrize("looks", [2, 4])
def test_bounds_of_any_level_spend_its_error_by_simulation(looks: int, level: float) -> None:
    import numpy as np

    steps = np.random.default_rng(looks).standard_normal((200_000, looks)).cumsum(axis=1)
    z = np.abs(steps / np.sqrt(np.arange(1, looks + 1)))
    for bounds in (obrien_fleming(looks, level=level), pocock(looks, level=level)):
        assert (z >= np.array(bounds)).any(axis=1).mean() == pytest.approx(1 - level, abs=0.003)


def test_a_look_holds_the_sign_flip_p_against_its_bound() -> None:
    differences = [0.4, 0.2, 0.0, 0.6, 0.2, 0.4, -0.2, 0.2, 0.4, 0.2, 0.6, 0.2]
    found = [paired_look(differences, look, 3, level=0.95) for look in (1, 2, 3)]
    z = obrien_fleming(3)
    for look, bound in zip(found, z, strict=True):
        assert look.p == sign_flip(differences).p
        assert look.bound == pytest.approx(2 * float(scipy_stats.norm.sf(bound)))
        assert tuple(look.interval) == tuple(mean_difference_interval(differences, 1 - look.bound))
    assert [look.crossed for look in found] == [False, True, True]
    assert not paired_look([0.0] * 20, 3, 3, level=0.95).crossed


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: paired_look([], 1, 3, level=0.95), "no task is in"),
        (lambda: paired_look([0.1], 4, 3, level=0.95), "beyond the 3 that were planned"),
        (lambda: paired_look([0.1], 1, 6, level=0.95), "looks must be 2 to 5"),
        (lambda: planned_looks(0), "units must be"),
        (lambda: quantile_interval([], 0.95), "one number or more"),
        (lambda: quantile_interval([math.nan], 0.95), "none of them NaN"),
        (lambda: quantile_interval([1.0], 1.0), "q must be"),
    ],
)
def test_what_is_no_look_or_quantile_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 120), st.sampled_from([0.05, 0.5, 0.9, 0.95]), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_ranks_are_those_of_the_binomial_law(n: int, q: float, level: float) -> None:
    law = scipy_stats.binom(n, q)
    ranks = range(1, n + 1)
    low = max((s for s in ranks if law.cdf(s - 1) <= 1 - level + 1e-12), default=-math.inf)
    high = min((r for r in ranks if law.cdf(r - 1) >= level - 1e-12), default=math.inf)
    assert quantile_interval(ranks, q, level=level, side="lower").low == low
    assert quantile_interval(ranks, q, level=level, side="upper").high == high
    assert (high < math.inf) == (n >= smallest_all_pass(q, level))
    both = quantile_interval(ranks, q, level=2 * level - 1, side="both") if level > 0.75 else None
    assert both is None or tuple(both) == (low, high)


def test_unknown_values_stand_at_one_end() -> None:
    known = [1.0] * 97
    assert quantile_interval([*known, math.inf, math.inf, math.inf], 0.95, side="upper").high == math.inf
    assert quantile_interval([*known, *[math.inf] * 0], 0.95, side="upper").high == 1.0
    assert quantile_interval([*known, -math.inf, -math.inf], 0.95, side="lower").low == 1.0
