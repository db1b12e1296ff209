"""What people found in transcripts, as the report and the command line show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from passhat.facts import Fault, Label, Status, TrialRecord
from passhat.reporting import (
    render_html,
    render_json,
    render_markdown,
    render_raters,
    render_reading_plan,
    render_terminal,
)
from passhat.reviewing import rater_agreement, sampling_plan
from passhat.summary import Report, summarize

HOSTILE = "ann\x1b]0;owned\x07\u202e<b>|*x*"
SIX = {f"t{i}": "+++-" for i in range(5)} | {"broken": "----"}
SAFE = re.compile(r"\x1b\[[0-9;]*m")


def said(task: str, trial: int, verdict: Any, rater: str, fault: Fault | None = None, note: str = "") -> Label:
    return Label(task, trial, verdict, rater, "2026-11-30T10:00:00Z", fault=fault, note=note)


def two_raters() -> list[Label]:
    labels = [said("broken", i, "fail", HOSTILE, "task", "no such\x1b[2J order") for i in range(3)]
    labels += [said("broken", i, "fail", "ben", "task") for i in range(2)]
    labels += [said("t0", 3, "pass", "ben", "grader"), said("t0", 3, "fail", HOSTILE, "agent")]
    return [*labels, said("t1", 0, "pass", "ben"), said("t1", 0, "pass", HOSTILE), said("t2", 0, "fail", "ben")]


@pytest.fixture
def read_report(build_report: Callable[..., Report], report: Report) -> Report:
    from passhat.facts import Manifest

    verdicts = {"+": True, "-": False}
    records = [
        TrialRecord(task, i, Status.COMPLETED, verdicts[sign])
        for task, signs in SIX.items()
        for i, sign in enumerate(signs)
    ]
    manifest = Manifest(run_id="r", suite="shop", trials=4, task_ids=tuple(SIX), model_source="live")
    return summarize(manifest, records, labels=two_raters())


def test_the_terminal_shows_what_was_read_and_the_rate_beside_the_headline(read_report: Report) -> None:
    text = render_terminal(read_report, width=100)
    flat = " ".join(text.split())
    assert "4 of 9 failures, 2 of 15 passes, by 2 people" in flat
    assert "of the failures read: task 3, raters differ 1" in flat
    assert "0.625 (15 of 21) without the 3 failures blamed on task, these tasks" in flat
    assert "with all trials it is 0.625 (5 failures aren't read)" in flat
    assert "1 pass that people call a failure" in flat
    assert "3 of 4 alike (75 %), kappa 0.50" in flat


@pytest.mark.parametrize("width", [40, 60, 100])
def test_names_and_notes_of_raters_cannot_touch_a_page(read_report: Report, width: int) -> None:
    pairs = rater_agreement(two_raters(), tags={"broken": [HOSTILE], "t0": ["x"], "t1": ["x"]})
    for text in (
        render_terminal(read_report, width=width, color=True),
        render_raters(pairs, run="r", width=width, color=True),
        render_markdown(read_report),
    ):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", SAFE.sub("", text))
    page = render_html(read_report)
    assert "<b>|" not in page.replace("<b>0", "")
    assert "&lt;b&gt;" in page
    assert "&lt;b&gt;" in render_markdown(read_report)


def test_every_form_of_the_report_has_the_reading(read_report: Report) -> None:
    for text in (render_markdown(read_report), render_html(read_report)):
        assert "Transcripts read" in text
        assert "without the 3 failures blamed on task" in text
    assert '"failed_read": 4' in render_json(read_report)


def test_a_report_that_nobody_read_has_no_such_block(report: Report) -> None:
    unread = summarize(report.run, [TrialRecord("refund", 0, Status.COMPLETED, False)], labels=[])
    for each in (report, unread):
        for text in (render_terminal(each), render_markdown(each), render_html(each)):
            assert "Transcripts read" not in text


def test_raters_are_shown_by_tag_and_with_what_each_said_where_they_differ() -> None:
    pairs = rater_agreement(two_raters(), tags={"broken": ["late"], "t0": ["late"], "t1": ["early"]})
    text = render_raters(pairs, run="r1", width=100)
    assert re.search(r"late +2/3", text)
    assert re.search(r"early +1/1 +undefined", text)
    assert re.search(r"t0 #3 +fail \(agent\) +pass \(grader\)", text)
    assert "their verdicts differ on t0 (1)" in text
    assert "passhat show r1 t0 3" in text
    assert "no agreement to measure" in render_raters((), width=100)


def test_a_plan_says_how_it_was_drawn_and_who_reads_how_many() -> None:
    records = [TrialRecord(f"t{i % 5}", i // 5, Status.COMPLETED, i % 3 > 0) for i in range(100)]
    plan = sampling_plan(records, "r1", n=20, by=("task", "verdict"), readers=("ann", "ben"), overlap=0.2)
    text = render_reading_plan(plan, run="r1", file="plan.jsonl", width=80)
    assert "20 trials of 100, at random within task × verdict" in text
    assert "4 trials by two" in text
    assert re.search(r"12  (ann|ben)", text)
    assert "passhat review r1 --plan plan.jsonl --rater ann" in text
