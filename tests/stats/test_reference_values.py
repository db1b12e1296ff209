"""Our numbers against values that scipy, statsmodels and closed forms gave, to 6 decimals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from passhat import stats

Case = dict[str, Any]
CASES: dict[str, list[Case]] = json.loads(Path(__file__).with_name("reference_values.json").read_text(encoding="utf-8"))


def cases(group: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", CASES[group], ids=lambda case: json.dumps(case["inputs"])[:60])


def six(*values: float) -> Any:
    return pytest.approx(list(values), abs=6e-7)


@cases("task_score")
def test_task_scores_are_the_hypergeometric_shares(case: Case) -> None:
    n, c, k = (case["inputs"][name] for name in "nck")
    expected = case["expected"]
    assert [stats.pass_at_k(n, c, k), stats.pass_hat_k(n, c, k)] == six(expected["pass_at_k"], expected["pass_hat_k"])


@cases("suite_score")
def test_a_suites_rate_is_the_mean_of_its_tasks_and_not_the_plug_in(case: Case) -> None:
    n, counts, expected = case["inputs"]["n"], case["inputs"]["counts"], case["expected"]
    for k in (1, 2, 3, 5):
        assert stats.suite_rate(n, counts, k=k) == pytest.approx(expected[f"pass_hat_{k}"], abs=1e-6)
        assert stats.suite_rate(n, counts, k=k, rate="pass@k") == pytest.approx(expected[f"pass_at_{k}"], abs=1e-6)
        if k > 1:
            assert stats.suite_rate(n, counts, k=k) < expected[f"plugin_biased_pass_hat_{k}"]


@cases("proportion_ci")
def test_proportion_intervals_match(case: Case) -> None:
    c, n, level = (case["inputs"][name] for name in ("c", "n", "level"))
    expected = case["expected"]
    assert list(stats.wilson(c, n, level=level)) == six(*expected["wilson"])
    assert list(stats.clopper_pearson(c, n, level=level)) == six(*expected["clopper_pearson"])
    assert list(stats.beta_posterior(c, n, level=level)) == six(*expected["jeffreys_end_corrected"])


@cases("population_ci")
def test_population_intervals_match(case: Case) -> None:
    scores, level = case["inputs"]["scores"], case["inputs"]["level"]
    assert list(stats.mean_interval(scores, level)) == six(*case["expected"]["population_ci"])


@cases("fixed_task_ci")
def test_these_tasks_intervals_match(case: Case) -> None:
    given, expected = case["inputs"], case["expected"]
    found = stats.interval(given["n"], given["counts"], k=given["k"], rate=given["kind"])
    assert list(found) == six(*expected["fixed_ci"])
    assert f"{expected['n_eff']:.1f} effective trials" in found.method


@cases("degenerate_all_pass")
def test_all_pass_suites_follow_the_closed_forms(case: Case) -> None:
    tasks, n, level = (case["inputs"][name] for name in ("T", "n", "level"))
    counts, expected = [n] * tasks, case["expected"]

    def low(**kwargs: Any) -> float:
        found = stats.interval(n, counts, level=level, **kwargs)
        assert found.high == 1
        return found.low

    assert [
        low(of="tasks like these"),
        low(of="tasks like these", side="lower"),
        low(),
        low(side="lower"),
        low(k=n),
    ] == six(
        expected["population_lower_two_sided"],
        expected["population_lower_one_sided"],
        expected["fixed_pass1_lower_two_sided"],
        expected["fixed_pass1_lower_one_sided"],
        expected["fixed_passhat_n_lower_two_sided"],
    )


@cases("per_task_change")
def test_boschloo_matches_to_four_decimals(case: Case) -> None:
    given = case["inputs"]
    found = stats.boschloo(given["n"], given["c_base"], given["n"], given["c_cand"])
    assert found == pytest.approx(case["expected"]["boschloo_4dp"], abs=1e-4)


@cases("multiplicity")
def test_adjusted_p_values_match(case: Case) -> None:
    for method in ("bh", "by", "holm", "bonferroni"):
        found = stats.adjust_p(case["inputs"]["p"], method)
        assert found == six(*case["expected"][method])


@cases("power")
def test_numbers_of_tasks_match(case: Case) -> None:
    given, expected = case["inputs"], case["expected"]
    shape = {"within": given["within_sum"], "level": 1 - given["alpha"], "power": given["power"]}
    population = stats.tasks_needed(given["delta"], given["n"], between=given["var_between"], **shape)
    fixed = stats.tasks_needed(given["delta"], given["n"], of="these tasks", **shape)
    assert [population, fixed] == six(expected["T_population"], expected["T_fixed"])


@cases("extrapolation_k_gt_n")
def test_bounds_beyond_n_match(case: Case) -> None:
    given, expected = case["inputs"], case["expected"]
    point = stats.bounds_beyond(given["n"], given["counts"], given["K"])
    assert list(point) == six(*expected["assumption_free_point_bounds"])
    found = stats.interval(given["n"], given["counts"], k=given["K"], of="tasks like these")
    assert list(found) == six(*expected["assumption_free_ci"])
