"""Rows by task, tag, grader and error, usage, the title, and the shape of the JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from passhat import summary
from passhat.facts import Attempt, ErrorInfo, Grade, Manifest, Role, Status, TrialRecord, Usage
from passhat.stats import interval, wilson
from passhat.summary import Report, quick_pass_at_1, title_of

Reporter = Callable[..., Report]
Maker = Callable[..., TrialRecord]


def test_every_public_name_is_there_and_the_list_is_sorted() -> None:
    assert list(summary.__all__) == sorted(summary.__all__, key=lambda name: (not name.isupper(), name))
    assert all(hasattr(summary, name) for name in summary.__all__)


def test_a_task_has_counts_an_interval_and_a_word(report_of: Reporter) -> None:
    outcomes = {"a": "+++++", "b": "+-+-+", "c": "-----", "d": "++", "e": "?", "f": "+-"}
    rows = {row.task: row for row in report_of(outcomes, options={"planned": 0}).by_task}
    assert {name: row.verdict for name, row in rows.items()} == {
        "a": "solid",
        "b": "flaky",
        "c": "never",
        "d": "too few",
        "e": "untested",
        "f": "flaky",
    }
    assert rows["b"].interval == tuple(wilson(3, 5))
    assert (rows["b"].n, rows["b"].c, rows["b"].estimate, rows["b"].outcomes) == (5, 3, 0.6, "+-+-+")
    assert (rows["d"].interval, rows["e"].interval, rows["e"].estimate) == (None, None, None)


def test_outcomes_stand_in_the_order_of_trials_and_stop_at_a_hundred(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", i, passed=i == 0) for i in (2, 0, 1)]
    assert report_of({"a": ""}, records=records, trials=4).by_task[0].outcomes == "+--?"
    records = [trial("a", i) for i in range(150)]
    assert report_of({"a": ""}, records=records, trials=150).by_task[0].outcomes == "+" * 100


def test_what_a_task_spent_is_null_when_unknown_and_named_when_partial(report_of: Reporter, trial: Maker) -> None:
    attempt = Attempt(Status.PROVIDER_ERROR, seconds=2.0, usage=Usage(1, 5, None, 5))
    records = [
        trial("a", 0, seconds=1.0, usage=Usage(2, 10, None, 5, None, 0.5), attempts=(attempt,)),
        trial("b", 0),
        trial("c", 0, usage=Usage(1, partial=True)),
        trial("d", 0, usage=Usage(1, 7, None, 3, None, 0.25, partial=True)),
        trial("e", 0, usage=Usage(1, 7)),
    ]
    report = report_of(dict.fromkeys("abcde", "x"), records=records)
    rows = {row.task: (row.seconds, row.tokens, row.dollars, row.partial) for row in report.by_task}
    assert rows["a"] == (3.0, 25, 0.5, ("dollars",))
    assert rows["b"] == (None, None, None, ())
    assert rows["c"] == (None, None, None, ())
    assert rows["d"] == (None, 10, 0.25, ("dollars", "tokens"))
    assert rows["e"] == (None, 7, None, ("tokens",))
    usage = report.usage
    assert (usage.model_calls, usage.tokens, usage.dollars, usage.seconds) == (6, 42, 0.75, 3.0)
    assert (usage.trials, usage.retried, usage.cached_tokens) == (5, 1, None)
    assert usage.partial == ("input_tokens", "output_tokens", "dollars", "tokens")


def test_tags_have_rates_of_their_own(report_of: Reporter) -> None:
    tags = {"a": ("refund", "vip"), "b": ("refund",)}
    report = report_of({"a": "++", "b": "+-", "c": "--"}, task_tags=tags)
    assert [(row.name, row.tasks, row.n, row.c, row.estimate) for row in report.by_tag] == [
        ("refund", 2, 4, 3, 0.75),
        ("vip", 1, 2, 2, 1.0),
    ]
    assert report.by_tag[0].these_tasks == tuple(interval(2, [2, 1]))
    empty = report_of({"a": "??"}, task_tags=tags).by_tag[0]
    assert (empty.n, empty.estimate, empty.these_tasks, empty.missing) == (0, None, None, 2)


def test_graders_are_rates_over_the_trials_they_judged(report_of: Reporter, trial: Maker) -> None:
    def graded(task: str, number: int, *given: Grade) -> TrialRecord:
        return trial(task, number, grades=given)

    records = [
        graded("a", 0, Grade(True, name="g"), Grade(True, name="tone", role=Role.ADVISORY)),
        graded("a", 1, Grade(False, "too much", score=0.5, name="g"), Grade(None, name="tone", role=Role.ADVISORY)),
        graded("b", 0, Grade(True, name="g"), Grade(None, error="boom", name="tone", role=Role.ADVISORY)),
        graded("b", 1, Grade(True)),
    ]
    report = report_of({"a": "xx", "b": "xx"}, records=records)
    g, tone, nameless = report.graders
    assert (g.name, g.n, g.passed, g.estimate, g.errors, g.unknown, g.role) == ("g", 3, 2, 0.75, 0, 0, "required")
    assert g.these_tasks == tuple(interval([2, 1], [1, 1]))
    assert g.score == pytest.approx(2.5 / 3)
    assert g.example is not None
    assert (g.example.task, g.example.trial, g.example.reason) == ("a", 1, "too much")
    assert (tone.n, tone.errors, tone.unknown, tone.role, tone.example) == (1, 1, 1, "advisory", None)
    assert nameless.name == "grader"


def test_a_grader_that_judged_nothing_has_no_rate(report_of: Reporter, trial: Maker) -> None:
    row = report_of({"a": "x"}, records=[trial(grades=(Grade(None, name="g"),))]).graders[0]
    assert (row.n, row.estimate, row.these_tasks, row.score) == (0, None, None, None)


def test_errors_are_counted_by_kind_with_an_example_and_kinds_are_bounded(report_of: Reporter, trial: Maker) -> None:
    def failed(number: int, type_: str) -> TrialRecord:
        error = ErrorInfo("exception", f"message {number}", type_)
        return trial("a", number, passed=False, status=Status.AGENT_ERROR, error=error)

    records = [failed(0, "KeyError"), failed(1, "ValueError"), failed(2, "ValueError")]
    report = report_of({"a": "xxx"}, records=records)
    assert [(row.type, row.count, row.example.reason) for row in report.errors] == [
        ("ValueError", 2, "message 1"),
        ("KeyError", 1, "message 0"),
    ]
    many = report_of({"a": ""}, records=[failed(i, f"Error{i}") for i in range(60)], trials=60)
    assert len(many.errors) == 51
    assert (many.errors[0].kind, many.errors[0].count) == ("other", 10)


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"model_source": "live", "model_requested": "gpt-5"}, "Evaluation of shop with gpt-5"),
        ({"model_source": "live"}, "Evaluation of shop"),
        ({"model_source": "unseen"}, "Evaluation of shop (which model answered was not seen)"),
        ({"model_source": "live", "models_reported": {"b@x": 1, "a@y": 1, "a@z": 2}}, "Evaluation of shop with a, b"),
        ({"model_source": "simulated"}, "Simulation of shop: a simulated model answered"),
        ({"model_source": "scripted"}, "Scripted run of shop: every model answer was written beforehand"),
        ({"model_source": "replayed"}, "Replay of shop: recorded model answers"),
        ({"model_source": "mixed"}, "shop, mixed sources: several kinds"),
        ({"model_source": "live", "asked": "structural"}, "Structural check of shop: did the right things happen?"),
        ({"model_source": "unseen", "asked": "scripted"}, "Scripted test of shop: does the code handle"),
    ],
)
def test_the_title_says_what_the_numbers_describe(
    manifest_of: Callable[..., Manifest], fields: dict[str, Any], title: str
) -> None:
    assert title_of(manifest_of(**fields)).startswith(title)


def test_a_run_without_counts_has_no_quick_rate(manifest_of: Callable[..., Manifest]) -> None:
    assert quick_pass_at_1(manifest_of()) is None


def test_the_json_has_the_fixed_names(report_of: Reporter) -> None:
    data = msgspec.json.decode(
        report_of({"a": "+-+", "b": "+?-"}, task_tags={"a": ("x",)}, gates=("pass@1 >= 0.5",)).to_json()
    )
    names = "schema run asked model_source isolation tasks trials level pass_at pass_hat score graders by_task by_tag"
    assert {*names.split(), "failures", "usage", "findings", "gates", "exit_code"} <= set(data)
    assert data["schema"] == 1
    assert data["tasks"] == 2
    assert set(data["trials"]) == {"planned", "counted", "missing", "policy"}
    shape = {"k", "estimate", "these_tasks", "tasks_like_these", "if_missing", "method"}
    assert set(data["pass_at"][0]) == set(data["pass_hat"][0]) == shape
    assert isinstance(data["pass_at"][0]["these_tasks"], list)
    assert data["pass_at"][0]["tasks_like_these"] is None
    assert {"task", "n", "c", "estimate", "interval", "verdict", "score", "seconds", "tokens", "dollars"} <= set(
        data["by_task"][0]
    )
    assert {"gate", "verdict", "bound", "looks"} <= set(data["gates"][0])
    assert {"rule", "severity", "message"} <= set(data["findings"][0])
    assert data["run"]["suite"] == "shop"
    assert msgspec.json.decode(msgspec.json.encode(data), type=Report).exit_code == data["exit_code"]
