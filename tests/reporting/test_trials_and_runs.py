"""One trial for reading, lists of trials and runs, and the progress line."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from passhat.facts import (
    AgentEvent,
    Attempt,
    ErrorInfo,
    Event,
    Grade,
    Manifest,
    Message,
    ModelCall,
    OutputText,
    Role,
    Status,
    Task,
    TaskCount,
    ToolCall,
    ToolRun,
    Transcript,
    TrialRecord,
    Usage,
)
from passhat.records import RunEntry, WorkspaceContent, WorkspaceFile
from passhat.reporting import Look, ProgressLine, render_runs, render_trial, render_trials
from passhat.reporting._progress import Arms, said
from passhat.reporting._runs import why
from passhat.reporting._trial import trial_page
from passhat.running import PlannedTrial, Progress, Totals

ASK = (Message("system", "Be kind."), Message("user", "Refund \x1b[2J A1"))
CALLS = (ToolCall("c1", "verify", {"who": "ann"}), ToolCall("c2", "refund", "not json", malformed=True))
ANSWERED = (
    *ASK,
    Message("assistant", "Let me see.", CALLS),
    Message("tool", "ok", call_id="c1"),
    Message("tool", "no such order", call_id="c9", error=True),
)
EVENTS: tuple[Event, ...] = (
    ModelCall(
        at=0.1,
        seconds=1.2,
        wire="chat",
        source="live",
        model="gpt-5",
        messages=ASK,
        reply=Message("assistant", "Let me see.", CALLS, thinking="hm"),
        usage=Usage(1, 1200, 0, 40),
        retry=1,
    ),
    ToolRun(at=1.4, seconds=0.02, name="verify", arguments={"who": "ann"}, result={"ok": True}),
    ToolRun(at=1.5, seconds=0.02, name="refund", error="too much", blocked=True),
    AgentEvent(at=1.6, kind="approval", name="manager", value=False),
    AgentEvent(at=1.65, kind="handoff", name="desk"),
    ModelCall(
        at=1.7,
        seconds=0.8,
        wire="chat",
        source="live",
        messages=ANSWERED,
        reply=Message("assistant", refusal="I won't", parts=("[image/png]",)),
    ),
    ModelCall(at=2.0, seconds=0.1, wire="chat", source="live", messages=ASK, http_status=429, error="slow down"),
    ModelCall(at=2.1, seconds=0.0, wire="chat", source="live", refused="calls"),
    OutputText(at=2.7, stream="stdout", text="done\nreally\n", truncated=True),
)


@pytest.fixture
def failed() -> TrialRecord:
    return TrialRecord(
        task="refund",
        trial=3,
        status=Status.AGENT_ERROR,
        passed=False,
        arm="new",
        score=0.5,
        grades=(
            Grade(False, "expected [20]\nfound []", name="rows"),
            Grade(True, name="tone", role=Role.ADVISORY),
            Grade(None, error="boom", name="judge"),
        ),
        output={"answer": "sorry"},
        usage=Usage(3, 1000, 0, 200, 0, 0.02),
        seconds=4.2,
        seed=17,
        model="gpt-5",
        error=ErrorInfo("exception", "no order \x1b[2J", "KeyError", "Traceback\n  line 1"),
        attempts=(Attempt(Status.PROVIDER_ERROR, ErrorInfo("provider", "429")), Attempt(Status.ENVIRONMENT_ERROR)),
        notes=("kept no workspace",),
    )


def test_a_trial_shows_verdict_error_grades_and_output(failed: TrialRecord) -> None:
    text = render_trial(failed, task=Task("refund", input="please", expected=[20]), width=90)
    assert text.startswith(
        "refund #3 (new)  failed\nagent error · score 0.5 · 4.2 s · 3 model calls · 1.2k tokens · $0.0200"
    )
    for part in (
        "KeyError: no order \\x1b[2J",
        "✗ rows  expected [20]",
        "found []",
        "✓ tone (advisory)",
        "! judge  boom",
        "an earlier attempt ended in provider error  429",
        "· kept no workspace",
        "No transcript was recorded",
        "Asked\n  please",
        "Expected\n  [20]",
        'Output\n  {"answer": "sorry"}',
    ):
        assert part in text


def test_a_transcript_shows_each_message_once_and_each_call_with_its_result(failed: TrialRecord) -> None:
    text = render_trial(failed, Transcript(EVENTS), width=100)
    assert text.count("Be kind.") == 1
    assert text.count("Let me see.") == 1
    for part in (
        "model, turn 1  gpt-5 · live · 1.2 s · 1.2k in, 40 out · retry 1",
        'verify {"who": "ann"}',
        "refund (not JSON) not json",
        "tool ran: verify  20 ms",
        '= {"ok": true}',
        "✗ blocked: too much",
        "approval: manager  told",
        "handoff: desk  told",
        "result of verify",
        "result of c9",
        "✗ refusal: I won't",
        "✗ HTTP 429: slow down",
        "✗ refused by us: calls",
        "stdout  cut",
        "really",
    ):
        assert part in text
    assert "\x1b" not in text


def test_a_request_beside_the_model_is_shown_by_its_endpoint_and_is_no_turn(failed: TrialRecord) -> None:
    def asked(text: str, at: float) -> ModelCall:
        return ModelCall(
            at, 0.1, "chat", "live", "gpt-5", messages=(Message("user", text),), reply=Message("assistant")
        )

    beside = ModelCall(
        0.5, 0.2, "other", "live", "embed-1", settings={"request": "POST /v1/embeddings"}, usage=Usage(1, 5, None, 0)
    )
    text = render_trial(failed, Transcript((asked("hello there", 0.0), beside, asked("hello there", 1.0))), width=100)
    assert "POST /v1/embeddings  embed-1 · live · 200 ms · 5 in, 0 out" in text
    assert ("model, turn 2" in text, "model, turn 3" in text) == (True, False)
    assert text.count("hello there") == 1  # the second question goes on where the first one ended


def test_long_trials_are_cut_unless_all_is_asked_for(failed: TrialRecord) -> None:
    events: list[Event] = [OutputText(at=0.0, stream="stdout", text="x" * 5000)]
    events.extend(AgentEvent(at=1.0, kind="record", name="n") for _ in range(400))
    transcript = Transcript(tuple(events), truncated="too many bytes")
    short, full = (render_trial(failed, transcript, width=100, full=full) for full in (False, True))
    assert "… 3,500 more characters" in short
    assert "… 101 more events; passhat show --full shows all" in short
    assert "events are missing: too many bytes" in short
    assert full.count("record: n") == 400
    assert "more characters" not in full


@pytest.mark.parametrize(
    ("passed", "status", "word"),
    [
        (True, Status.COMPLETED, "passed"),
        (None, Status.UNRESOLVED, "missing"),
        (None, Status.SKIPPED, "skipped"),
    ],
)
def test_a_trial_is_passed_failed_missing_or_skipped(passed: bool | None, status: Status, word: str) -> None:
    record = TrialRecord(task="a", trial=0, status=status, passed=passed, output={"long": ["word"] * 40})
    assert render_trial(record).splitlines()[0] == f"a #0  {word}"


def test_trials_are_listed_by_task_with_why_they_failed(failed: TrialRecord) -> None:
    manifest = Manifest(run_id="r1", suite="s", arms=("old", "new"))
    graded = TrialRecord(
        task="b", trial=0, status=Status.COMPLETED, passed=False, grades=(Grade(True), Grade(False, name="rows"))
    )
    silent = TrialRecord(task="b", trial=1, status=Status.TIMEOUT, passed=False)
    good = TrialRecord(task="a", trial=0, status=Status.COMPLETED, passed=True)
    text = render_trials(manifest, [failed, silent, graded, good], width=120)
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert rows[0] == "r1 running"
    assert rows[2].startswith("a 0 passed")
    assert rows[3].endswith("rows: no reason given")
    assert rows[4].endswith("timeout")
    assert rows[5].startswith("new refund 3 failed 0.50 4.2 s 1.2k $0.0200 agent error: KeyError: no order \\x1b[2J")
    assert "refund" not in render_trials(manifest, [failed, good], task="a")
    assert "No trial is recorded for task zz" in render_trials(manifest, [failed], task="zz")


def test_a_long_list_keeps_the_trials_that_did_not_pass() -> None:
    records = [TrialRecord(task="a", trial=i, status=Status.COMPLETED, passed=i != 9) for i in range(10)]
    text = render_trials(Manifest(run_id="r1", suite="s"), records, most=3)
    assert "failed" in text
    assert "… 7 more trials" in text


def test_runs_are_listed_a_line_each_and_broken_ones_say_why() -> None:
    good = Manifest(
        run_id="r1", suite="s", state="finished", model_source="live", model_requested="gpt-5", task_ids=("a", "b"),
        trials=5, counts=(TaskCount("a", 5, 4), TaskCount("b", 4, 0, 1)),
    )  # fmt: skip
    double = Manifest(run_id="r2", suite="s", state="interrupted", model_source="simulated", model_requested="fake")
    runs = [RunEntry(Path("r1"), good), RunEntry(Path("r2"), double), RunEntry(Path("r3"), None, "no \x1b JSON")]
    rows = [" ".join(line.split()) for line in render_runs(runs, width=110).splitlines()]
    assert rows[1] == "r1 2 × 5 0.400 1 finished gpt-5"
    assert rows[2] == "r2 0 × 1 – – interrupted fake (simulated)"
    assert rows[3] == "✗ r3: no \\x1b JSON"
    assert render_runs([]) == "There is no run yet. Make one: passhat run PATH\n"
    assert render_runs(runs[2:]).startswith("✗ r3")


def test_a_narrow_list_of_runs_keeps_what_is_typed_whole_and_what_is_missing() -> None:
    name = "20261130T172612Z-half-missing-4c0f"
    counts = (TaskCount("a", 5, 4, 3),)
    run = Manifest(
        run_id=name, suite="s", state="finished", model_source="live", task_ids=("a",), trials=8, counts=counts
    )
    text = render_runs([RunEntry(Path(name), run)], width=60)
    assert name in text
    assert "missing" in text.splitlines()[0]
    assert max(map(len, text.splitlines())) <= 60


TOTALS = Totals(
    planned=100,
    done=34,
    running=8,
    passed=25,
    failed=8,
    missing=1,
    pass_at_1=0.72,
    failures={"completed": 5, "timeout": 3},
    usage=Usage(400, 100_000, 0, 20_000, 0, 0.35, partial=True),
    seconds=30.0,
    seconds_left=75.0,
)


def test_the_line_says_how_trials_failed_apart_from_why_others_are_missing() -> None:
    failures = {"completed": 5, "timeout": 3, "grader_error": 2, "unresolved": 1}
    parts = said(Totals(planned=20, done=11, failed=8, missing=3, failures=failures, seconds_left=0.24), Arms())
    assert parts == ["8 failed (3 timeout)", "3 missing (2 grader error, 1 grade unknown)", "1 s left"]
    assert said(Totals(planned=20, done=1, seconds_left=44.4), Arms()) == ["44 s left"]
    assert said(Totals(planned=20, done=1, seconds_left=125.0), Arms()) == ["2 min 05 s left"]


def test_the_reason_of_a_trial_is_the_grade_that_decided() -> None:
    grades = (
        Grade(False, "too long", name="short", role=Role.ADVISORY),
        Grade(None, error="boom", name="judge"),
        Grade(False, "expected 1 row, found 0\n  missing    ('A1',)", name="rows"),
    )
    record = TrialRecord(task="a", trial=0, status=Status.COMPLETED, passed=False, grades=grades)
    assert why(record) == "rows: expected 1 row, found 0; missing ('A1',)"
    missing = msgspec.structs.replace(record, status=Status.GRADER_ERROR, passed=None, grades=grades[:2])
    assert why(missing) == "judge: boom"


PLANNED = PlannedTrial(Task("a"), 0, "", 0, 0)
RECORD = TrialRecord(task="a", trial=0, status=Status.COMPLETED, passed=True)


@pytest.fixture
def clock() -> Callable[[], float]:
    ticks: Iterator[int] = iter(range(1000))
    return lambda: next(ticks)


def test_on_a_terminal_one_line_is_drawn_again_and_again_within_the_width(clock: Callable[[], float]) -> None:
    stream = io.StringIO()
    line: Progress = ProgressLine(stream, look=Look(80), live=True, clock=clock)
    line.started(PLANNED, TOTALS)
    line.finished(RECORD, TOTALS)
    line.ended("finished", TOTALS)
    drawn = stream.getvalue().removesuffix("\n").split("\r")[1:]
    assert len(drawn) == 3
    assert all(len(each) == 79 for each in drawn)
    assert drawn[0].startswith("━━━━━─────────── 34/100  pass@1 0.720  8 failed (3 timeout)  1 missing")


def test_drawing_is_throttled_and_has_an_ascii_form() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream, look=Look(200, unicode=False), live=True, clock=lambda: 5.0)
    for _ in range(50):
        line.finished(RECORD, TOTALS)
    assert stream.getvalue().count("\r") == 1
    assert stream.getvalue().isascii()
    assert "8 running  $0.3500+  400 calls  120.0k+ tokens" in stream.getvalue()


def test_elsewhere_about_twenty_plain_lines_are_written(clock: Callable[[], float]) -> None:
    stream = io.StringIO()
    line = ProgressLine(stream, clock=lambda: 0.0)
    line.started(PLANNED, TOTALS)
    for done in range(1, 101):
        line.finished(RECORD, Totals(planned=100, done=done))
    line.ended("finished", Totals(planned=100, done=100))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 20 + 1  # the first comes at once
    assert lines[-1].startswith("100/100 trials: no verdict yet")
    assert "\r" not in stream.getvalue()


def test_a_slow_run_still_says_something_every_minute() -> None:
    stream = io.StringIO()
    now = [0.0]
    line = ProgressLine(stream, live=False, clock=lambda: now[0])
    line.finished(RECORD, Totals(planned=1000, done=1))
    line.finished(RECORD, Totals(planned=1000, done=2))
    now[0] = 61.0
    line.finished(RECORD, TOTALS)
    line.ended("interrupted", Totals(planned=1000, done=35))
    assert [re.split("[/ ]", each)[0] for each in stream.getvalue().splitlines()] == ["1", "34", "35"]


def test_a_long_text_is_folded_on_a_page_for_reading_and_unfolds_up_to_a_bound(failed: TrialRecord) -> None:
    texts = ("short", "x" * 1_000_000, "line\n" * 100, "r\r" * 700)
    transcript = Transcript(tuple(OutputText(at=float(i), stream="stdout", text=text) for i, text in enumerate(texts)))
    folded = trial_page(failed, transcript, look=Look(60))
    assert [(fold.number, fold.opened) for _, fold in folded.folds] == [(0, False), (1, False), (2, False)]
    remarks = [folded.lines[line].strip() for line, _ in folded.folds]
    assert remarks[0] == "▸ 998,500 more characters (o unfolds)"
    assert remarks[1] == "▸ 300 more characters, 60 lines (o unfolds)"
    assert len(folded.lines) < 200
    opened = trial_page(failed, transcript, look=Look(60), opened={0, 1})
    assert [opened.lines[line].strip() for line, _ in opened.folds][:2] == [
        "▾ 980,000 more: passhat show --full (o folds)",
        "▾ that was all (o folds)",
    ]
    assert sum(line.strip() == "line" for line in opened.lines) == 100
    assert sum(map(len, opened.lines)) < 60_000


def test_a_blind_page_tells_nothing_of_what_graders_said() -> None:
    record = TrialRecord(
        "t", 0, Status.UNRESOLVED, None, score=0.25, grades=(Grade(False, "SECRET reason", name="SECRET"),), output="hi"
    )
    said = "\n".join(trial_page(record, look=Look(80), blind=True).lines)
    assert not re.search("SECRET|fail|pass|missing|unresolved|unknown|0.25", said)
    assert "SECRET reason" in "\n".join(trial_page(record, look=Look(80)).lines)


def test_a_page_for_reading_shows_what_the_trial_changed() -> None:
    files = (
        WorkspaceFile("refunds.csv", 28, "id\nA1\x1b[2J", "changed"),
        WorkspaceFile("gone\u202e.txt", change="removed"),
        WorkspaceFile("shop.db", 8_192, change=""),
    )
    record = TrialRecord("t", 0, Status.COMPLETED, True)

    def shown(left: WorkspaceContent) -> str:
        return "\n".join(trial_page(record, look=Look(80), left=left).lines)

    text = shown(WorkspaceContent(files, 2, compared=True, complete=True))
    assert "What it changed  in its workspace" in text
    assert "~ refunds.csv  changed  28 bytes\n    id\n    A1\\x1b[2J\n" in text
    assert "- gone\\u202e.txt  removed\n" in text
    assert "… 1 file as before, 2 more files" in text
    assert "shop.db" not in text
    unknown = shown(WorkspaceContent((WorkspaceFile("a", 1),), 0, compared=False, complete=False))
    assert "what it found there isn't known" in unknown
    assert "· a  1 byte\n" in unknown
    assert "the rest is too large to look at" in unknown
    assert "nothing" in shown(WorkspaceContent((), 0, compared=True, complete=True))
