"""Gates on a percentile of what trials take: bounds between two of the values seen, and nothing unknown taken for 0."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from passhat.facts import Attempt, Status, TrialRecord, Usage, duration
from passhat.stats import quantile_interval
from passhat.summary import GateRow, Report, gate_feasibility

Reporter = Callable[..., Report]
Maker = Callable[..., TrialRecord]


@pytest.fixture
def judge(report_of: Reporter, trial: Maker) -> Callable[..., GateRow]:
    """The gate of a run of four tasks whose trials took so many seconds or dollars; None is unknown."""

    def judged(gate: str, values: Sequence[float | None], *, missing: int = 0, status: str = "completed") -> GateRow:
        records = []
        for place, value in enumerate(values):
            dollars = value if "dollars" in gate else None
            seconds = value or 0.0 if "seconds" in gate else 0.0
            usage = Usage(2, 100, 0, 20, 0, dollars)
            state = {"status": Status(status), "passed": False} if status != "completed" else {}
            records.append(trial(f"t{place % 4}", place // 4, seconds=seconds, usage=usage, **state))
        trials = (len(values) + missing + 3) // 4
        (row,) = report_of({f"t{i}": "" for i in range(4)}, records=records, trials=trials, gates=(gate,)).gates
        return row

    return judged


@pytest.mark.parametrize(
    ("values", "verdict", "bound"),
    [
        ([*range(100)], "met", 98),  # the 99th of 100 values
        ([*range(1, 101)], "met", 99),
        ([*range(2, 102)], "undecided", 100),
        ([*range(10, 110)], "not met", 100),  # the 91st
        ([1.0] * 60, "met", 1),
        ([1.0] * 56, "undecided", None),  # 59 are needed
        ([200.0] * 56, "not met", 200),
    ],
)
def test_the_bound_of_a_p95_is_an_order_statistic(
    judge: Callable[..., GateRow], values: list[float], verdict: str, bound: float | None
) -> None:
    for gate in ("p95 seconds <= 99", "p95 dollars <= 99"):
        row = judge(gate, [value or 1e-9 for value in values])
        assert row.verdict == verdict, row.message
        assert row.bound == (None if bound is None else pytest.approx(bound))
        if bound is not None:
            assert (duration(bound) if "seconds" in gate else f"{bound:g}") in row.message


def test_times_are_told_as_on_every_other_screen(judge: Callable[..., GateRow]) -> None:
    assert judge("seconds <= 0.005", [0.006] * 8).message.startswith("6 ms a trial on average")
    assert "is at most 1 min 30 s" in judge("p95 seconds <= 120", [90.0] * 60).message
    assert "the bar of 2 min 00 s is proved" in judge("p95 seconds <= 120", [90.0] * 60).message
    assert judge("model_calls <= 5", [1.0] * 8).message.startswith("2 model calls a trial on average")


def test_too_few_trials_for_a_bound_say_how_many_it_takes(judge: Callable[..., GateRow]) -> None:
    row = judge("p95 seconds <= 30", [1.0] * 20)
    assert (row.verdict, row.bound) == ("undecided", None)
    assert row.message == "20 trials put no bound on p95 seconds at one-sided 95 %: 59 are needed"


@pytest.mark.parametrize(
    ("tasks", "trials", "gate", "possible", "words"),
    [
        (10, 6, "p95 seconds <= 30", True, ""),
        (59, 1, "p95 dollars <= 0.05", True, ""),
        (10, 5, "p95 seconds <= 30", False, "needs 59 trials in all; 6 trials a task could"),
        (1, 58, "p95 dollars <= 0.05", False, "needs 59 trials in all; 59 trials a task could"),
        (1, 44, "p95 seconds <= 30 at .9", False, "needs 45 trials in all"),
        (1, 5, "p50 seconds <= 30", True, ""),
        (1, 1, "p95 seconds >= 1", True, ""),
        (1, 1, "mean dollars <= 1", True, ""),
    ],
)
def test_a_percentile_that_the_trials_cannot_bound_is_refused_with_the_number_that_can(
    tasks: int, trials: int, gate: str, possible: bool, words: str
) -> None:
    found = gate_feasibility(gate, tasks, trials)
    assert found.possible is possible
    assert words in found.message


def test_an_unknown_amount_may_be_anything_and_is_never_0(judge: Callable[..., GateRow]) -> None:
    dollars = [0.01] * 96
    assert judge("p95 dollars <= 0.05", dollars).verdict == "met"
    one = judge("p95 dollars <= 0.05", [*dollars, None, None, None])
    assert one.verdict == "incomplete"
    assert one.message == "dollars of 4 of 100 trials are unknown or known in part, and could decide"
    many = judge("p95 dollars <= 0.05", [*([0.01] * 397), None, None, None])
    assert (many.verdict, many.estimate) == ("met", None)
    assert "whatever the 3 unknown amounts had been" in many.message
    assert judge("p95 dollars <= 0.005", [*dollars, None, None, None, None]).verdict == "not met"
    assert judge("p95 dollars <= 0.05", [None] * 60).message == "dollars of the trials are unknown"
    assert judge("p95 dollars >= 0.001", [None] * 60).verdict == "incomplete"


def test_trials_that_never_ran_and_trials_cut_off_are_unknown(judge: Callable[..., GateRow]) -> None:
    assert judge("p95 seconds <= 30", [1.0] * 60, missing=4).verdict == "incomplete"
    cut = judge("p95 seconds <= 30", [20.0] * 60, status="timeout")
    assert cut.verdict == "incomplete"
    assert judge("p95 seconds <= 10", [20.0] * 60, status="timeout").verdict == "not met"
    assert judge("p95 seconds <= 30", [1.0] * 60, status="agent_error").verdict == "met"
    assert judge("p95 seconds <= 30", [1.0] * 60, status="environment_error").verdict == "incomplete"


def test_what_earlier_attempts_took_belongs_to_the_trial(report_of: Reporter, trial: Maker) -> None:
    earlier = (Attempt(Status.PROVIDER_ERROR, None, 10.0, Usage(1, 10, 0, 0, 0, 0.02)),)
    records = [
        trial("a", n, seconds=5.0, usage=Usage(1, 10, 0, 5, 0, 0.01), attempts=earlier * (n % 2)) for n in range(60)
    ]
    gates = ("p95 seconds <= 14", "p95 seconds <= 15", "p95 dollars <= 0.03", "p50 dollars <= 0.01")
    report = report_of({"a": ""}, records=records, trials=60, gates=gates)
    assert [row.verdict for row in report.gates] == ["not met", "met", "met", "undecided"]


def test_calls_that_did_not_pass_us_are_not_0_calls(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", n) for n in range(60)]
    gates = ("model_calls <= 5", "p95 model_calls <= 5")
    unseen = report_of({"a": ""}, records=records, trials=60, gates=gates, model_source="unseen")
    live = report_of({"a": ""}, records=records, trials=60, gates=gates, model_source="live")
    assert [row.verdict for row in unseen.gates] == ["incomplete", "incomplete"]
    assert [row.verdict for row in live.gates] == ["met", "met"]


def wrongly_met(rounds: int, n: int, seed: int) -> float:
    """How often a p95 gate is met by amounts whose p95 is just above the bar."""
    rng = random.Random(seed)
    bar = 19.9  # of an exponential law with p95 = 20
    found = 0
    for _ in range(rounds):
        values = [rng.expovariate(2.995732 / 20) for _ in range(n)]
        found += quantile_interval(values, 0.95, side="upper").high <= bar
    return found / rounds


def test_a_p95_gate_is_wrongly_met_at_most_as_often_as_its_level_says() -> None:
    assert wrongly_met(400, 100, seed=1) <= 0.07


@pytest.mark.slow
def test_a_p95_gate_keeps_its_level_over_many_runs() -> None:
    assert all(wrongly_met(4000, n, seed=n) <= 0.056 for n in (59, 100, 300))
