"""Metrics of a suite: asked of all trials when a run ends, and stored with it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import passhat
from passhat import FinishedTrial, Suite, Task, Trial, metrics
from passhat.cli._reports import Judging
from passhat.facts import ModelCall, Status
from passhat.graders import exact
from passhat.metrics import MetricValue
from passhat.running import Interrupted, Run, resume
from passhat.running._measuring import Measuring
from passhat.suite import SuiteError
from passhat.summary import Report, summarize

RunHere = Callable[..., Run]


def route(trial: Trial) -> str:
    """A router that is wrong on every second trial of a third of the tasks."""
    right = trial.input["label"]
    return "other" if trial.input["n"] % 3 == 0 and trial.seed % 2 else str(right)


def tasks_of(number: int, **more: Any) -> list[Task]:
    labels = ("billing", "tech", "other")
    return [
        Task(f"t{n:02}", input={"n": n, "label": labels[n % 3]}, expected=labels[n % 3], **more) for n in range(number)
    ]


def suite_of(*asked: Callable[..., Any], **parts: Any) -> Suite:
    return Suite(
        "routing",
        **{"tasks": tasks_of(9), "agent": route, "graders": [exact()], "trials": 4, "seed": 5, **parts},
        metrics=asked,
    )


def reported(run: Run, **options: Any) -> Report:
    return summarize(run.manifest, run.trials(), **options)


def test_a_metric_says_of_a_run_what_it_says_of_its_trials(run_here: RunHere) -> None:
    accuracy = metrics.classification(["billing", "tech", "other"])
    run = run_here(suite_of(accuracy))
    tasks = {task.id: task for task in tasks_of(9)}
    expected = accuracy([FinishedTrial(tasks[record.task], record.output) for record in run.trials()])
    (stored,) = run.manifest.metrics[""]
    assert stored.version
    assert (stored.name, stored.value, stored.details) == (expected.name, expected.value, expected.details)
    assert (stored.these_tasks, stored.trials, stored.missing) == (expected.these_tasks, 36, 0)
    assert 0.5 < (stored.value or 0) < 1
    assert reported(run).metrics == (stored,)


def test_the_order_in_which_trials_end_changes_no_interval(run_here: RunHere) -> None:
    found = {
        run_here(suite_of(metrics.classification()), order=order, concurrency=concurrency)
        .manifest.metrics[""][0]
        .tasks_like_these
        for order, concurrency in (("task", 1), ("shuffled", 1), ("round", 4))
    }
    assert len(found) == 1


def test_process_isolation_stores_the_same_values(run_file: RunHere) -> None:
    text = """
        from passhat import Suite, Task, metrics

        def agent(trial):
            return ["a", "b"] if trial.seed % 3 else ["b"]

        suite = Suite(
            "found", tasks=[Task(f"t{n}", input=n, expected=["a"]) for n in range(5)], agent=agent, trials=4,
            metrics=[metrics.mrr(), metrics.recall_at(1)],
        )
    """
    inline, apart = (run_file(text, isolation=way).manifest.metrics for way in ("inline", "process"))
    assert inline == apart
    assert [value.name for value in apart[""]] == ["MRR", "recall@1"]
    assert 0 < (apart[""][1].value or 0) < 1


def boom(trials: Sequence[FinishedTrial]) -> MetricValue:
    raise RuntimeError("no such column")


def leaves(trials: Sequence[FinishedTrial]) -> MetricValue:
    raise SystemExit("bye")


async def later(trials: Sequence[FinishedTrial]) -> MetricValue:
    return MetricValue("later", 0.5)


BAD: list[tuple[Any, str]] = [
    (boom, "RuntimeError: no such column"),
    (leaves, "SystemExit: sys.exit('bye') was called"),
    (later, "returned a coroutine; a metric returns a MetricValue"),
    (lambda trials: 0.5, "returned a float; a metric returns a MetricValue"),
    (lambda trials: MetricValue("m", 1.5), "returned 1.5 as a figure of 'm'; figures are numbers in 0..1"),
    (lambda trials: MetricValue("m", float("nan")), "returned nan as a figure of 'm'"),
    (lambda trials: MetricValue("m", 0.5, (0.4, 2)), "returned 2 as a figure of 'm'"),
    (lambda trials: MetricValue("m", 0.5, parts=(MetricValue("p", -1),)), "returned -1 as a figure of 'p'"),
    (lambda trials: MetricValue(3, 0.5), "can't be stored"),  # type: ignore[arg-type]
    (lambda trials: MetricValue("m", "0.5"), "returned a MetricValue of another form"),  # type: ignore[arg-type]
    (lambda trials: MetricValue("m", 0.5, details={"x": object()}), "details['x'] is"),
    (lambda trials: MetricValue("m", 0.5, details={"x": "y" * 300_000}), "bytes of parts and details"),
]


def test_a_metric_that_fails_is_a_named_error_and_no_more(run_here: RunHere) -> None:
    run = run_here(suite_of(*(metric for metric, _ in BAD), metrics.classification(), trials=1))
    *bad, good = run.manifest.metrics[""]
    for value, (_, error) in zip(bad, BAD, strict=True):
        assert value.value is None
        assert error in value.error.replace('"', "'")
    assert good.value is not None
    assert run.manifest.state == "finished"
    report = reported(run)
    found = [each for each in report.findings if each.rule == "metric-errors"]
    assert [each.severity for each in found] == ["error"] * len(BAD)
    assert all(repr(value.name) in each.message for value, each in zip(bad, found, strict=True))
    assert report.exit_code == 0


def test_a_metric_that_never_ends_is_given_up(run_here: RunHere) -> None:
    never = threading.Event()
    run = run_here(suite_of(metrics.classification(), trials=1))
    measuring = Measuring([lambda trials: never.wait()], tasks_of(9))
    (value,) = asyncio.run(measuring.values(run.reader, seconds=0.05))[""]
    never.set()
    assert value.error == "TimeoutError: the metric took longer than 0.05 s"


def test_missing_trials_are_left_out_and_said_and_a_graders_failure_is_no_matter(run_here: RunHere) -> None:
    def prepare(trial: Trial) -> None:
        if trial.task_id == "t01":
            raise OSError("no disk")

    def grader(trial: FinishedTrial) -> bool:
        if trial.task_id == "t02":
            raise RuntimeError("broken")
        return True

    run = run_here(suite_of(metrics.classification(), prepare=prepare, graders=[grader]), retries=0)
    statuses = {record.task: record.status for record in run.trials()}
    assert (statuses["t01"], statuses["t02"]) == (Status.ENVIRONMENT_ERROR, Status.GRADER_ERROR)
    (value,) = run.manifest.metrics[""]
    assert (value.tasks, value.trials, value.missing) == (8, 32, 4)
    (finding,) = [each for each in reported(run).findings if each.rule == "metric-missing"]
    assert "leaves out 4 trials of which nothing is known, of 36" in finding.message


def test_an_interrupted_run_says_when_its_metrics_come_and_a_resumed_one_has_them(run_here: RunHere) -> None:
    pressed: list[int] = []

    def agent(trial: Trial) -> Any:
        if trial.task_id == "t2" and not pressed:
            pressed.append(1)
            os.kill(os.getpid(), signal.SIGINT)
            while not trial.cancelled:
                threading.Event().wait(0.001)
        return trial.input

    tasks = [Task(f"t{n}", input=n, expected=[str(n)]) for n in range(6)]
    suite = Suite("s", tasks=tasks, agent=agent, seed=1, metrics=[metrics.mean("whole", lambda trial: 1)])
    with pytest.raises(Interrupted) as caught:
        run_here(suite)
    (pending,) = caught.value.run.manifest.metrics[""]
    assert (pending.name, pending.value, pending.note) == ("whole", None, "it is computed when the run has ended")
    (value,) = resume(caught.value.run.path, suite).manifest.metrics[""]
    assert (value.value, value.trials, value.missing, value.note) == (1.0, 6, 0, "")


def test_a_run_that_its_limits_stop_says_what_is_missing(run_here: RunHere) -> None:
    from passhat import Limits

    def agent(trial: Trial) -> str:
        trial.model  # noqa: B018
        return route(trial)

    suite = suite_of(metrics.classification(), agent=agent, limits=Limits(run_seconds=0.0001))
    run = run_here(suite)
    assert run.manifest.state == "stopped"
    (value,) = run.manifest.metrics[""]
    assert value.trials + value.missing == 36
    assert value.missing > 0


def test_metrics_see_transcripts_usage_and_ends(run_here: RunHere, ask: Callable[..., str]) -> None:
    seen: list[tuple[str, int, int, Status]] = []

    def look(trials: Sequence[FinishedTrial]) -> MetricValue:
        for trial in [*trials, trials[0], *trials[1:2]]:
            calls = [event for event in trial.transcript.events if isinstance(event, ModelCall)]
            seen.append((trial.task_id, len(calls), trial.usage.model_calls, trial.status))
        return MetricValue("look", 1.0, trials=len(trials))

    def agent(trial: Trial) -> str:
        if trial.task_id == "t2":
            raise ValueError("gives up")
        return ask(trial)

    tasks = [Task(f"t{n}", input=n) for n in range(3)]
    run = run_here(Suite("s", tasks=tasks, agent=agent, script=lambda trial: ["hello"], metrics=[look]))
    assert run.manifest.metrics[""][0].trials == 3
    done = Status.COMPLETED
    assert seen == [
        ("t0", 1, 1, done),
        ("t1", 1, 1, done),
        ("t2", 0, 0, Status.AGENT_ERROR),
        ("t0", 1, 1, done),
        ("t1", 1, 1, done),
    ]


def test_each_arm_is_measured_apart(run_here: RunHere) -> None:
    suite = Suite(
        "two",
        tasks=tasks_of(6),
        agents={"good": lambda trial: trial.input["label"], "bad": lambda trial: "tech"},
        metrics=[metrics.classification()],
    )
    run = run_here(suite)
    assert {arm: values[0].value for arm, values in run.manifest.metrics.items()} == {
        "good": 1.0,
        "bad": pytest.approx(1 / 3),
    }
    assert reported(run, arm="bad").metrics[0].value == pytest.approx(1 / 3)


def test_tasks_picked_by_hand_have_no_interval_about_their_like(run_here: RunHere) -> None:
    suites = [suite_of(metrics.classification(), tasks=tasks_of(18), hand_picked=by_hand) for by_hand in (False, True)]
    open_, picked = (reported(run_here(suite)).metrics[0] for suite in suites)
    assert open_.tasks_like_these is not None
    assert open_.part("recall of tech").tasks_like_these is not None
    assert picked.tasks_like_these is None
    assert picked.part("recall of tech").tasks_like_these is None
    assert picked.these_tasks == open_.these_tasks


def test_tasks_that_ask_the_same_thing_count_as_one(run_here: RunHere) -> None:
    def half(trials: Sequence[FinishedTrial]) -> MetricValue:
        families = {trial.task.family or trial.task_id for trial in trials}
        return MetricValue("families", 1.0, tasks=len(families))

    twice = [Task(f"{task.id}-{n}", input=task.input, expected=task.expected) for task in tasks_of(4) for n in range(2)]
    assert run_here(suite_of(half, tasks=twice)).manifest.metrics[""][0].tasks == 4


def test_tasks_that_an_agent_was_tuned_on_stand_apart(run_here: RunHere) -> None:
    tasks = [*tasks_of(6), *(Task(f"tuned{n}", input={"n": 1, "label": "x"}, split="tune") for n in range(3))]
    (value,) = run_here(suite_of(metrics.mean("all", lambda trial: 1), tasks=tasks)).manifest.metrics[""]
    assert value.tasks == 6


def test_two_metrics_of_one_name_are_told_apart(run_here: RunHere) -> None:
    run = run_here(suite_of(metrics.classification(), metrics.classification(normalise=True)))
    assert [value.name for value in run.manifest.metrics[""]] == ["accuracy", "accuracy 2"]


def test_a_metric_that_changed_gives_another_version(run_here: RunHere) -> None:
    one, two = (run_here(suite_of(metrics.recall_at(k))).manifest.metrics[""][0].version for k in (1, 2))
    assert one != two


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (metrics.classification(), "metrics=<.*must be a list of metrics; for a single one write metrics="),
        (["accuracy"], r"metrics\[0\]='accuracy': must be a function: metric\(trials\)"),
        ([lambda: 1], r"metrics\[0\].*can't be called as metric\(trials\)"),
    ],
)
def test_what_is_no_metric_is_refused(given: Any, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        Suite("s", tasks=tasks_of(2), agent=route, metrics=given)


def test_grading_again_measures_again_beside_the_run(run_here: RunHere) -> None:
    strict = metrics.mean("right", lambda trial: trial.output == trial.task.expected)
    run = run_here(suite_of(strict))
    lenient = metrics.mean("right", lambda trial: trial.output in (trial.task.expected, "other"))
    found = passhat.regrade(run.path, suite_of(lenient))
    (before,), (after,) = run.reader.metrics()[""], run.reader.metrics(grades=found.id)[""]
    assert 0 < (before.value or 0) < 1
    assert (after.value, after.trials) == (1.0, 36)
    assert Judging().of_run(run.reader).metrics == (before,)
    assert Judging().of_run(run.reader, grades=found.id).metrics == (after,)
    assert before.version != after.version
    changed = [Task(task.id, input={**task.input, "more": 1}, expected=task.expected) for task in tasks_of(9)[:4]]
    other = passhat.regrade(run.path, suite_of(lenient, tasks=[*changed, *tasks_of(9)[4:]]))
    assert run.reader.metrics(grades=other.id)[""][0].tasks == 5
