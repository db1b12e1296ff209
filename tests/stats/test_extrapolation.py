"""The beta-binomial guess beyond n, and standard errors for export."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as scipy_stats
from scipy.special import betaln

from passhat.stats import (
    BetaBinomial,
    Rate,
    Refused,
    beta_binomial,
    bounds_beyond,
    clustered_se,
    extrapolate,
    suite_rate,
    task_se,
)

WINS = [int(c) for c in "4445555554435353535445443553554555444444"]


def test_the_fit_finds_the_law_of_many_tasks() -> None:
    rng = np.random.default_rng(1)
    fit = beta_binomial(20, rng.binomial(20, rng.beta(2.0, 0.7, 20_000)))
    assert fit.a == pytest.approx(2.0, rel=0.05)
    assert fit.b == pytest.approx(0.7, rel=0.05)


def test_no_other_law_is_likelier() -> None:
    n, c = [5, 5, 7, 9, 4], [5, 2, 0, 8, 3]
    fit = beta_binomial(n, c)

    def likelihood(a: float, b: float) -> float:
        return sum(
            float(scipy_stats.betabinom(m, a, b).logpmf(x)) - float(np.log(scipy_stats.binom(m, 0.5).pmf(x) * 2.0**m))
            for m, x in zip(n, c, strict=True)
        )

    assert fit.log_likelihood == pytest.approx(likelihood(fit.a, fit.b))
    for da, db in ((1.02, 1), (0.98, 1), (1, 1.02), (1, 0.98), (1.02, 1.02), (0.98, 0.98)):
        assert likelihood(fit.a * da, fit.b * db) < fit.log_likelihood


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_models_rates_are_moments_of_its_beta_law(k: int) -> None:
    model, law = BetaBinomial(2.5, 0.8, 0.0), scipy_stats.beta(2.5, 0.8)
    all_k = integrate.quad(lambda p: p**k * law.pdf(p), 0, 1)[0]
    any_k = integrate.quad(lambda p: (1 - (1 - p) ** k) * law.pdf(p), 0, 1)[0]
    assert model.rate(k) == pytest.approx(all_k, abs=1e-6)
    assert model.rate(k, "pass@k") == pytest.approx(any_k, abs=1e-6)


def test_tasks_that_are_one_coin_are_held_at_a_loose_law() -> None:
    fit = beta_binomial(4, [2] * 30)
    assert fit.a + fit.b == pytest.approx(1e6)
    assert extrapolate(4, [2] * 30, 8).point == pytest.approx(0.5**8, rel=1e-3)


def test_tasks_that_always_or_never_pass_keep_their_share() -> None:
    found = extrapolate(4, [4] * 7 + [0] * 3, 8)
    assert found.point == pytest.approx(0.7, abs=1e-3)
    assert [found.low, found.high] == pytest.approx([0.49, 0.7])


@pytest.mark.parametrize("rate", ["pass^k", "pass@k"])
def test_the_guess_carries_its_label_and_the_bounds_free_of_assumptions(rate: Rate) -> None:
    rng = np.random.default_rng(2)
    for _ in range(6):
        c = rng.binomial(4, rng.beta(0.5, 0.5, 12))
        found = extrapolate(4, c, 10, rate=rate)
        assert found.point is not None
        assert found.low - 0.1 <= found.point <= found.high + 0.1
        assert (found.low, found.high) == bounds_beyond(4, c, 10, rate=rate)
        assert found.method == "model-based extrapolation (beta-binomial)"


@pytest.mark.parametrize("law", [(8, 2), (0.5, 0.5), (40, 1), (1, 1)])
def test_the_fit_beats_every_law_of_a_grid(law: tuple[float, float]) -> None:
    rng = np.random.default_rng(6)
    for tasks in (5, 40):
        n = rng.integers(2, 12, tasks)
        c = rng.binomial(n, rng.beta(*law, tasks))
        if c.sum() in (0, n.sum()):
            continue
        fit = beta_binomial(n, c)
        mean = np.linspace(0.01, 0.99, 99)[:, None, None]
        size = np.exp(np.linspace(-6, 12, 91))[None, :, None]
        a, b = mean * size, (1 - mean) * size
        grid = (betaln(a + c, b + n - c) - betaln(a, b)).sum(axis=2)
        assert fit.log_likelihood >= grid.max() - 1e-6


def test_where_nothing_varies_there_are_bounds_only() -> None:
    for n, c in ((3, [3, 3]), (3, [0, 0]), (1, [0, 1])):
        with pytest.raises(Refused):
            beta_binomial(n, c)
        found = extrapolate(n, c, 3 * n)
        assert found.point is None
        assert found.method.startswith("bounds only: ")


def test_k_that_needs_no_model_and_k_beyond_reach_are_refused() -> None:
    with pytest.raises(ValueError, match="k=3 needs no extrapolation with 3 trials a task"):
        extrapolate(3, [1, 2], 3)
    with pytest.raises(Refused, match="more than 3 times n"):
        extrapolate(3, [1, 2], 10)


def test_standard_errors_of_the_known_coin() -> None:
    values = [v for c in WINS for v in [1] * c + [0] * (5 - c)]
    found = clustered_se(values, [t for t in range(40) for _ in range(5)])
    assert (found.n, found.clusters, found.mean) == (200, 40, 0.86)
    assert round(found.sample or 0, 5) == 0.0246
    assert round(found.corrected or 0, 5) == 0.02287
    assert found.corrected == pytest.approx(task_se(5, WINS))
    assert suite_rate(5, WINS) == 0.86


def test_clusters_of_one_give_the_plain_standard_error_and_one_cluster_gives_none() -> None:
    values = [0.5, 1.0, 0.0, 0.25]
    found = clustered_se(values, range(4))
    assert found.clustered == pytest.approx(found.naive)
    assert found.corrected == pytest.approx(found.sample)
    assert clustered_se(values, ["a"] * 4).corrected is None
    assert clustered_se(values, ["a"] * 4).clustered == pytest.approx(0, abs=1e-12)
    assert clustered_se([0.5], ["a"]).sample is None
    assert task_se(5, [3]) is None
    assert task_se(5, [5, 5], k=5) == 0


def test_a_cluster_for_each_value_is_needed() -> None:
    with pytest.raises(ValueError, match="clusters must name one cluster a value, got 1 for 2 values"):
        clustered_se([1, 0], ["a"])
