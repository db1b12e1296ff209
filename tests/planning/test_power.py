"""Whether the tests of a comparison find as often as a plan says: counted over simulated runs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import erfc

from passhat.planning import assumed, make_plan, power_of
from passhat.stats import Move, Target, cmh, comparison_power, sign_flip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

THESE: Target = "these tasks"
LIKE: Target = "tasks like these"


def cmh_of(before: Ints, after: Ints, n: int) -> Floats:
    """p of ``cmh`` for every row of tasks."""
    passes = before + after
    variance = (passes * (2 * n - passes)).sum(1) / (4 * (2 * n - 1))
    shift = np.maximum(abs((after - before).sum(1)) / 2 - 0.5, 0)
    return np.asarray(np.where(variance > 0, erfc(np.sqrt(shift**2 / np.maximum(variance, 1e-9) / 2)), 1.0))


def sign_flip_of(differences: Ints) -> Floats:
    """p of ``sign_flip`` for every row of tasks, by convolution of all rows at once."""
    found = []
    for block in np.array_split(differences, max(1, len(differences) // 500)):
        sizes = abs(block)
        total, seen = sizes.sum(1), abs(block.sum(1))
        sums = np.arange(int(total.max()) + 1)[None, :]
        chance = np.zeros((len(block), sums.size))
        chance[:, 0] = 1
        for size in sizes.T:
            below = sums - size[:, None]
            moved = np.where(below >= 0, np.take_along_axis(chance, np.maximum(below, 0), 1), 0)
            chance = (chance + moved) / 2
        first = -(-(total + seen) // 2)
        found.append(np.minimum(1, 2 * np.where(sums >= first[:, None], chance, 0).sum(1)))
    return np.concatenate(found)


def found(
    rng: np.random.Generator, rounds: int, rate: float, change: float, tasks: int, n: int, of: Target, response: float
) -> float:
    """How often the test says so when every task moves by ``change``, for LIKE give or take the response."""
    after = np.full((rounds, tasks), rate + change)
    if of == LIKE and response:
        most = (rate + change) * (1 - rate - change)
        size = most / min(response**2, 0.999 * most) - 1
        after = rng.beta((rate + change) * size, (1 - rate - change) * size, after.shape)
    counts = rng.binomial(n, rate, after.shape), rng.binomial(n, after)
    p = cmh_of(*counts, n) if of == THESE else sign_flip_of(counts[1] - counts[0])
    right = np.sign((counts[1] - counts[0]).sum(1)) == np.sign(change)
    return float(((p <= 0.05) & right).mean())


def test_the_counted_tests_are_those_of_a_comparison() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 5):
        before, after = rng.binomial(n, 0.8, (30, 14)), rng.binomial(n, 0.5, (30, 14))
        for one, two, p, q in zip(before, after, cmh_of(before, after, n), sign_flip_of(after - before), strict=True):
            assert cmh(n, one.tolist(), n, two.tolist()).p == pytest.approx(p)
            assert sign_flip([d / n for d in (two - one).tolist()]).p == pytest.approx(q)


CELLS = [
    (0.9, 20, 3, -0.15),
    (0.9, 20, 3, 0.08),
    (0.9, 50, 1, -0.2),
    (0.95, 40, 5, -0.05),
    (0.7, 12, 3, -0.3),
    (0.7, 24, 1, -0.35),
    (0.9, 30, 5, -0.097),
    (0.7, 50, 5, 0.115),
    (0.5, 60, 5, 0.11),
]


@pytest.mark.parametrize(("rate", "tasks", "n", "change"), CELLS)
def test_losses_and_gains_are_found_as_often_as_planned(rate: float, tasks: int, n: int, change: float) -> None:
    rng = np.random.default_rng(2)
    pilot = assumed(rate=rate, tasks=tasks, trials=n, response=0.05)
    for of, rounds in ((THESE, 4000), (LIKE, 1000)):
        seen = found(rng, rounds, rate, change, tasks, n, of, 0.05)
        assert seen == pytest.approx(power_of(pilot, change, of=of), abs=0.03 if of == THESE else 0.06)


@pytest.mark.slow
@pytest.mark.parametrize("response", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.95])
def test_the_power_found_is_the_power_planned_within_3_points_wherever_that_is(rate: float, response: float) -> None:
    rng = np.random.default_rng(3)
    off: list[tuple[float, str]] = []
    cells = 0
    for tasks in (12, 24, 50, 100):
        for n in (1, 2, 3, 5, 10):
            pilot = assumed(rate=rate, tasks=tasks, trials=n, response=response)
            plan = make_plan(pilot, direction="loss")
            for of, loss, gain in (
                (THESE, plan.now.finds.these_tasks, plan.reverse.these_tasks),
                (LIKE, plan.now.finds.tasks_like_these, plan.reverse.tasks_like_these),
            ):
                if of == THESE and response:
                    continue
                for change in (-loss if loss else None, gain):
                    if change is None:
                        continue
                    planned = power_of(pilot, change, of=of)
                    seen = found(rng, 4000, rate, change, tasks, n, of, response)
                    off.append((seen - planned, f"{of}, {tasks} x {n}, {change:+.3f}: {planned:.3f}, found {seen:.3f}"))
                    cells += 1
    worst = max(off, key=lambda each: abs(each[0]))
    print(f"rate {rate}, response {response}: {cells} cells, worst {worst[0]:+.3f} ({worst[1]})")
    assert abs(worst[0]) <= 0.03, worst


def test_kinds_of_task_are_convolved_each_with_its_own_law() -> None:
    alike = comparison_power([Move(0.8, 0.6)], 30, 3)
    assert comparison_power([Move(0.8, 0.6, 0.5), Move(0.8, 0.6, 0.5)], 30, 3) == pytest.approx(alike, abs=1e-3)
    silent = comparison_power([Move(0.8, 0.6, 0.5), Move(1.0, 1.0, 0.5)], 60, 3)
    assert silent == pytest.approx(alike, abs=1e-2)  # tasks that always pass say nothing to CMH


def test_a_test_that_can_never_reach_its_level_has_no_power() -> None:
    assert comparison_power([Move(1.0, 0.0)], 5, 1, of=LIKE) == 0.0
    assert comparison_power([Move(1.0, 0.0)], 6, 1, of=LIKE) == pytest.approx(1.0)
    assert comparison_power([Move(1.0, 0.0)], 2, 1) == 0.0
    assert comparison_power([Move(0.5, 0.5)], 40, 5) < 0.03


JOINTS = [(THESE, 0.9, 1, 2223), (THESE, 0.5, 30, 27), (LIKE, 0.9, 1, 2223), (LIKE, 0.5, 10, 300), (LIKE, 0.9, 5, 400)]
"""Where the normal law takes over: target, rate, trials, and the first number of tasks that has it."""


@pytest.mark.parametrize(("of", "rate", "n", "tasks"), JOINTS)
def test_the_normal_law_of_very_many_trials_joins_the_convolution(
    of: Target, rate: float, n: int, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread = 0.0 if of == THESE else 0.05
    change = 2.8 * (2 * rate * (1 - rate) / n + spread**2) ** 0.5 / tasks**0.5
    ends = [[Move(rate, rate + sign * change)] for sign in (-1, 1)]
    normal = [comparison_power(moves, tasks, n, of=of, response=spread) for moves in ends]
    monkeypatch.setattr("passhat.stats._power_many._SPREAD", np.inf)
    for moves, power in zip(ends, normal, strict=True):
        convolved = comparison_power(moves, tasks, n, of=of, response=spread)
        assert 0.7 < convolved < 0.9
        assert convolved != power
        assert convolved == pytest.approx(power, abs=0.006)


@pytest.mark.parametrize("tasks", [6, 40, 250, 3999, 4000, 5000, 100_000])
@pytest.mark.parametrize(("rate", "n"), [(0.9, 1), (0.5, 1), (0.99, 3), (0.7, 5)])
def test_a_larger_change_is_found_no_less_often(tasks: int, rate: float, n: int) -> None:
    pilot = assumed(rate=rate, tasks=tasks, trials=n)
    for most in (-rate, 1 - rate):
        for of in (THESE, LIKE):
            powers = [power_of(pilot, most * share, of=of) for share in (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9, 0.999)]
            assert all(more >= less - 0.005 for less, more in itertools.pairwise(powers)), (of, most, powers)
            assert tasks < 4000 or powers[-1] > 0.99


@pytest.mark.parametrize("rate", [0.5, 0.9, pytest.param(0.99, marks=pytest.mark.long)])
def test_what_one_size_finds_a_larger_one_finds_too(rate: float) -> None:
    for trials in (1, 4):
        found = []
        for tasks in (30, 300, 3999, 4000, 3_000_000):
            plan = make_plan(assumed(rate=rate, tasks=tasks, trials=trials))
            found.append((plan.now.finds.these_tasks or 1, plan.now.finds.tasks_like_these or 1))
            larger = [each for each in plan.sizes if each.tasks >= tasks and each.trials >= trials]
            for size in larger:
                assert (size.finds.these_tasks or 1) <= found[-1][0] * 1.01
                assert (size.finds.tasks_like_these or 1) <= found[-1][1] * 1.01
        for less, more in itertools.pairwise(found):
            assert more[0] <= less[0] * 1.01
            assert more[1] <= less[1] * 1.01
        assert found[-1][0] < 2e-3


def test_the_smallest_change_has_the_power_that_was_asked_for_at_any_size() -> None:
    for tasks, trials in ((5000, 1), (200_000, 3), (1_000_000, 100)):
        pilot = assumed(rate=0.9, tasks=tasks, trials=trials)
        finds = make_plan(pilot).now.finds
        for of, smallest in ((THESE, finds.these_tasks), (LIKE, finds.tasks_like_these)):
            assert smallest is not None
            assert power_of(pilot, -smallest, of=of) == pytest.approx(0.8, abs=0.005)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: comparison_power([], 5, 5), "moves must hold"),
        (lambda: comparison_power([Move(1.2, 0.5)], 5, 5), "before must be in 0..1, got 1.2"),
        (lambda: comparison_power([Move(0.5, 0.4)], 0, 5), "tasks must be"),
        (lambda: comparison_power([Move(0.5, 0.4)], 5, 5, of="all"), "of must be one of"),  # type: ignore[arg-type]
    ],
)
def test_numbers_that_are_no_comparison_are_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
