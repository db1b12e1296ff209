"""How a trial ends, and what its status makes of it."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from passhat import Grade, Limits, Status, Suite, Task, Trial
from passhat.facts import TrialRecord
from passhat.graders import exact, grader, not_, trace
from passhat.running import Run
from passhat.scripting import fail, say

Only = Callable[..., TrialRecord]
RunHere = Callable[..., Run]


def answers(trial: Trial) -> str:
    return "a"


def test_an_agent_that_returns_is_judged_by_its_grades(only_trial: Only) -> None:
    record = only_trial(answers, graders=[exact()])
    assert (record.status, record.passed, record.score) == (Status.COMPLETED, True, 1.0)
    assert [grade.name for grade in record.grades] == ["exact"]


def test_an_async_agent_is_awaited(only_trial: Only) -> None:
    async def agent(trial: Trial) -> str:
        await asyncio.sleep(0)
        return "a"

    assert only_trial(agent, graders=[exact()]).passed is True


def test_a_sync_agent_may_return_an_awaitable(only_trial: Only) -> None:
    async def later() -> str:
        return "a"

    assert only_trial(lambda trial: later(), graders=[exact()]).output == "a"


WORDS = {SystemExit: "sys.exit() was called", KeyboardInterrupt: "raised as if Ctrl-C had been pressed"}


class Odd(BaseException):
    """Neither an Exception nor one of Python's own."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "error",
    [ValueError, KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit, StopIteration, Odd],
)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_whatever_an_agent_raises_fails_its_trial_and_the_run_goes_on(
    run_here: RunHere, error: type[BaseException], way: str
) -> None:
    def sync_agent(trial: Trial) -> str:
        if trial.number == 0:
            raise error
        return "a"

    async def async_agent(trial: Trial) -> str:
        return sync_agent(trial)

    agent = sync_agent if way == "sync" else async_agent
    suite = Suite("s", tasks=[Task("t", expected="a")], agent=agent, graders=[exact()], trials=2)
    run = run_here(suite)
    first, second = run.trials()
    assert (first.status, first.passed, first.score) == (Status.AGENT_ERROR, False, 0.0)
    assert first.error is not None
    assert first.error.message == WORDS.get(error, first.error.message)
    assert second.passed is True
    assert run.manifest.state == "finished"


def test_seven_of_eight_trials_raising_is_exactly_an_eighth(run_here: RunHere) -> None:
    def agent(trial: Trial) -> str:
        if trial.number < 7:
            raise RuntimeError("no")
        return "a"

    run = run_here(Suite("s", tasks=[Task("t", expected="a")], agent=agent, graders=[exact()], trials=8))
    (count,) = run.manifest.counts
    assert (count.n, count.c, count.missing) == (8, 1, 0)
    assert count.c / count.n == 0.125


def test_one_grader_error_in_eight_is_missing(run_here: RunHere) -> None:
    def shaky(trial: Any) -> bool:
        if trial.number == 3:
            raise OSError("no disk")
        return bool(trial.number % 2)

    run = run_here(Suite("s", tasks=[Task("t")], agent=answers, graders=[shaky], trials=8))
    (count,) = run.manifest.counts
    assert (count.n, count.c, count.missing) == (7, 3, 1)
    by_number = {record.trial: record for record in run.trials()}
    assert (by_number[3].status, by_number[3].passed) == (Status.GRADER_ERROR, None)


def test_a_grader_error_beside_a_required_false_is_a_failure(only_trial: Only) -> None:
    def broken(trial: Any) -> bool:
        raise OSError("no disk")

    record = only_trial(answers, graders=[broken, lambda trial: False])
    assert (record.status, record.passed) == (Status.COMPLETED, False)


async def _awaitable() -> bool:
    return True


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda: None, "None"),
        (lambda: "yes", "'yes'"),
        (lambda: _awaitable(), "awaitable"),
        (lambda: math.nan, "nan"),
        (lambda: 1.2, "1.2"),
    ],
)
def test_a_grader_that_returns_no_verdict_is_a_grader_error(
    only_trial: Only, returned: Callable[[], Any], words: str
) -> None:
    record = only_trial(answers, graders=[lambda trial: returned()])
    assert (record.status, record.passed) == (Status.GRADER_ERROR, None)
    assert words in str(record.grades[0].error)


def test_a_check_that_names_no_tool_on_offer_is_missing_whatever_is_made_of_it(
    only_trial: Only, ask: Callable[..., str]
) -> None:
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    for check in (trace.called("refnd"), not_(trace.called("refnd")), not_(trace.before("refnd", "refund"))):
        record = only_trial(lambda trial: ask(trial, tools=tools), graders=[check], script=[say("no")])
        assert (record.status, record.passed) == (Status.GRADER_ERROR, None)
        assert "unknown tool 'refnd'" in str(record.grades[0].error)
    record = only_trial(lambda trial: ask(trial, tools=tools), graders=[trace.called("refund")], script=[say("no")])
    assert record.passed is False


def test_an_unknown_grade_leaves_the_trial_unresolved(only_trial: Only) -> None:
    record = only_trial(answers, graders=[lambda trial: Grade(None, "a tie")])
    assert (record.status, record.passed) == (Status.UNRESOLVED, None)


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_sync_agent_that_overruns_never_holds_the_run(only_trial: Only, released: threading.Event) -> None:
    record = only_trial(lambda trial: released.wait(60), graders=[exact()], limits=Limits(seconds=0.02))
    assert (record.status, record.passed) == (Status.TIMEOUT, False)
    assert record.error is not None
    assert record.error.message == "timed out after 20 ms"
    assert "still running" in record.notes[0]


def test_a_timed_out_trial_is_graded_for_its_score_and_stays_a_failure(
    only_trial: Only, released: threading.Event
) -> None:
    record = only_trial(lambda trial: released.wait(60), graders=[lambda trial: 1.0], limits=Limits(seconds=0.02))
    assert (record.passed, record.score, record.grades[0].passed) == (False, 1.0, True)


def test_an_async_agent_that_overruns_is_cancelled(only_trial: Only) -> None:
    ended = []

    async def agent(trial: Trial) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(trial.cancelled)

    assert only_trial(agent, limits=Limits(seconds=0.02)).status is Status.TIMEOUT
    assert len(ended) == 1


def test_a_limit_that_the_gateway_saw_beats_what_the_agent_says(only_trial: Only, ask: Callable[..., str]) -> None:
    def agent(trial: Trial) -> str:
        ask(trial)
        with suppress(OSError):
            ask(trial)
        return "a"

    record = only_trial(agent, graders=[exact()], script=[say("1"), say("2")], limits=Limits(model_calls=1))
    assert (record.status, record.passed, record.score) == (Status.LIMIT, False, 1.0)
    assert record.error is not None
    assert (record.error.kind, record.error.message) == ("model_calls", "the limit of 1 model calls was reached")


def test_a_provider_that_failed_last_is_not_the_agents_error_and_every_attempt_is_kept(
    only_trial: Only, ask: Callable[..., str]
) -> None:
    record = only_trial(lambda trial: ask(trial), graders=[exact()], script=lambda request: fail(503, "overloaded"))
    assert (record.status, record.passed, record.score) == (Status.PROVIDER_ERROR, False, 0.0)
    assert [attempt.status for attempt in record.attempts] == [Status.PROVIDER_ERROR] * 2
    assert record.grades == ()
    assert record.error is not None
    assert record.error.message.startswith("503: overloaded")


def test_a_provider_that_recovers_in_a_re_run_costs_only_an_attempt(only_trial: Only, ask: Callable[..., str]) -> None:
    calls = []

    def model(request: Any) -> Any:
        calls.append(1)
        return fail(429, "slow down") if len(calls) == 1 else say("a")

    record = only_trial(lambda trial: ask(trial), graders=[exact()], script=model)
    assert (record.status, record.passed) == (Status.COMPLETED, True)
    assert len(record.attempts) == 1


def test_a_failed_provider_that_the_agent_coped_with_is_no_failure(only_trial: Only, ask: Callable[..., str]) -> None:
    def agent(trial: Trial) -> str:
        try:
            return ask(trial)
        except OSError:
            return "a"

    record = only_trial(agent, graders=[exact()], script=[fail(500, "oops")])
    assert (record.status, record.passed, record.attempts) == (Status.COMPLETED, True, ())


def test_no_re_runs_when_none_are_allowed(only_trial: Only) -> None:
    def prepare(trial: Trial) -> None:
        raise OSError("no database")

    record = only_trial(answers, prepare=prepare, retries=0)
    assert record.attempts == ()


def test_a_prepare_that_fails_is_an_error_of_the_environment_and_missing(only_trial: Only) -> None:
    def prepare(trial: Trial) -> None:
        raise OSError("no database")

    record = only_trial(answers, prepare=prepare, graders=[exact()])
    assert (record.status, record.passed, record.score) == (Status.ENVIRONMENT_ERROR, None, None)
    assert record.error is not None
    assert (record.error.kind, record.error.message) == ("prepare", "no database")
    assert len(record.attempts) == 2


def test_a_prepare_that_overruns_its_own_deadline_is_an_error_of_the_environment(
    only_trial: Only, released: threading.Event
) -> None:
    limits = Limits(prepare_seconds=0.02)
    record = only_trial(answers, prepare=lambda trial: released.wait(60), limits=limits, retries=0)
    assert record.status is Status.ENVIRONMENT_ERROR
    assert record.error is not None
    assert record.error.message == "prepare timed out after 20 ms"


def test_an_async_prepare_is_awaited(only_trial: Only) -> None:
    async def prepare(trial: Trial) -> None:
        await asyncio.sleep(0)
        trial.data["ready"] = True

    assert only_trial(lambda trial: trial.data["ready"], prepare=prepare).output is True


def test_an_environment_that_cannot_be_opened_or_closed_is_an_error_of_the_environment(only_trial: Only) -> None:
    @contextmanager
    def never(trial: Any) -> Iterator[None]:
        raise OSError("no server")
        yield

    @contextmanager
    def stuck(trial: Any) -> Iterator[int]:
        yield 1
        raise OSError("can't close")

    opened = only_trial(answers, environment=never)
    closed = only_trial(answers, environment=stuck)
    assert (opened.status, closed.status) == (Status.ENVIRONMENT_ERROR, Status.ENVIRONMENT_ERROR)
    assert [record.error.kind for record in (opened, closed) if record.error] == ["environment", "tear-down"]


def test_a_tear_down_that_fails_does_not_excuse_an_agent_that_failed(only_trial: Only) -> None:
    @contextmanager
    def stuck(trial: Any) -> Iterator[int]:
        yield 1
        raise OSError("can't close")

    def agent(trial: Trial) -> str:
        raise RuntimeError("broke everything")

    record = only_trial(agent, environment=stuck)
    assert (record.status, record.passed) == (Status.AGENT_ERROR, False)
    assert record.notes == ("closing the environment failed: can't close",)


def test_an_environment_written_as_a_bare_generator_is_refused_with_the_way_out(only_trial: Only) -> None:
    def bare(trial: Any) -> Iterator[int]:
        yield 1

    record = only_trial(answers, environment=bare, retries=0)
    assert record.error is not None
    assert "@contextlib.contextmanager" in record.error.message


class Exploding:
    """An output whose conversion fails in an unforeseen way."""

    def model_dump(self, mode: str) -> Any:
        raise RuntimeError("no dump")


def _cycle() -> list[Any]:
    items: list[Any] = [1]
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: b"raw", "output is bytes"),
        (lambda: {"n": math.nan}, "output['n'] is nan"),
        (lambda: math.inf, "output is inf"),
        (_cycle, "output[1] contains itself"),
        (lambda: "\ud800", "lone surrogate"),
        (lambda: {1.5: 2}, "keys must be text"),
        (lambda: object(), "is a object"),
        (lambda: Exploding(), "no dump"),
        (lambda: iter([1]), "list_iterator"),
    ],
)
def test_an_output_that_is_no_json_is_the_agents_error_and_names_the_place(
    run_here: RunHere, make: Callable[[], Any], words: str
) -> None:
    suite = Suite("s", tasks=[Task("t")], agent=lambda trial: make() if trial.number == 0 else 1, trials=2)
    first, second = run_here(suite).trials()
    assert (first.status, first.passed, first.output) == (Status.AGENT_ERROR, False, None)
    assert first.error is not None
    assert (first.error.kind, words in first.error.message) == ("output", True), first.error
    assert second.status is Status.COMPLETED


@pytest.mark.parametrize("output", ["x" * 50_000_000, ["x" * 100] * 500_000], ids=["text", "list"])
def test_an_output_of_fifty_megabytes_reaches_the_limit(only_trial: Only, output: Any) -> None:
    record = only_trial(lambda trial: output)
    assert (record.status, record.passed, record.output) == (Status.LIMIT, False, None)
    assert record.error is not None
    assert (record.error.kind, "the limit is 10000000" in record.error.message) == ("output_bytes", True)


def test_deep_recursion_in_an_agent_is_its_error(only_trial: Only) -> None:
    def agent(trial: Trial) -> Any:
        return agent(trial)

    record = only_trial(agent)
    assert record.error is not None
    assert record.error.type == "RecursionError"
    assert sys.getrecursionlimit() > 500


def test_text_of_errors_and_reasons_that_no_file_can_hold_is_recorded_escaped(only_trial: Only) -> None:
    def agent(trial: Trial) -> Any:
        raise ValueError("bad \ud800 text")

    record = only_trial(agent, graders=[lambda trial: Grade(False, "reason \udcff")])
    assert record.error is not None
    assert record.error.message == "bad \\ud800 text"
    assert record.grades[0].reason == "reason \\udcff"


def test_advisory_graders_are_recorded_and_never_decide(only_trial: Only) -> None:
    @grader(role="advisory")
    def short(trial: Any) -> bool:
        return False

    record = only_trial(answers, graders=[exact(), short])
    assert (record.passed, record.score) == (True, 0.5)


def test_graders_of_one_name_are_told_apart(only_trial: Only) -> None:
    record = only_trial(answers, graders=[lambda trial: True, lambda trial: False])
    assert len({grade.name for grade in record.grades}) == 2


def test_a_suite_without_graders_counts_trials_that_completed(only_trial: Only) -> None:
    record = only_trial(answers)
    assert (record.passed, record.score) == (True, None)
