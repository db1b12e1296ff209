"""What a trial's page says once: messages of conversations, frames that aren't the reader's, rates of single arms."""

from __future__ import annotations

import io

import pytest

from passhat.facts import AgentEvent, ErrorInfo, Event, Message, ModelCall, Status, Task, Transcript, TrialRecord
from passhat.reporting import ProgressLine, render_trial
from passhat.running import PlannedTrial, Totals


def call(at: float, *messages: Message, reply: str) -> ModelCall:
    answer = Message("assistant", reply)
    return ModelCall(at=at, seconds=0.1, wire="chat", source="live", messages=messages, reply=answer)


def told(at: float, name: str, text: str) -> AgentEvent:
    return AgentEvent(at=at, kind="conversation", name=name, value=text)


def shown(*events: Event) -> str:
    return render_trial(TrialRecord("t", 0, Status.COMPLETED, True), Transcript(events), width=80)


def test_a_message_of_a_conversation_is_shown_once_and_its_event_stays() -> None:
    asked = Message("user", "Where is C3?")
    text = shown(
        told(0.1, "user", "Where is C3?"),
        call(0.2, Message("system", "Be kind."), asked, reply="On its way."),
        told(0.3, "assistant", "On its way."),
    )
    assert text.count("Where is C3?") == text.count("On its way.") == 1
    for part in (
        "3 events",
        "conversation: user  told\n",
        "user: the same\n",
        "conversation: assistant  told, the same",
    ):
        assert part in text


def test_what_differs_from_what_was_told_is_shown_beside_it() -> None:
    text = shown(
        told(0.1, "user", "Where is C3?"),
        call(0.2, Message("user", "Where is C4?"), reply="On its way."),
        told(0.3, "assistant", "On its way!"),
        told(0.4, "assistant", "On its way!"),
    )
    assert "the same" not in text
    for part in ("Where is C3?", "Where is C4?", "On its way.\n", "On its way!\n"):
        assert part in text


OURS = '  File "/lib/passhat/running/_calling.py", line 9, in call\n    value = agent(trial)\n            ^^^^^\n'
THEIRS = '  File "/home/ann/shop.py", line 3, in agent\n    raise KeyError("A1")\n'
BEGIN = "Traceback (most recent call last):\n"


@pytest.mark.parametrize(
    ("trace", "first", "lines"),
    [
        (f"{BEGIN}{OURS}{OURS}{THEIRS}KeyError: 'A1'", "shop.py", 4),
        (f"{BEGIN}{OURS}{THEIRS}{OURS}KeyError: 'A1'", "shop.py", 7),
        (f"{BEGIN}{OURS}TypeError: agent() takes no arguments", "_calling.py", 5),
        (f"{BEGIN}{OURS}{THEIRS}E\n\nDuring handling of …:\n\n{BEGIN}{OURS}{THEIRS}E", "shop.py", 9),
        ("worker ended with signal 9", "signal 9", 1),
        ("", "", 0),
    ],
)
def test_a_traceback_begins_with_the_readers_own_code(trace: str, first: str, lines: int) -> None:
    error = ErrorInfo("exception", "A1", "KeyError", trace)
    record = TrialRecord("t", 0, Status.AGENT_ERROR, False, error=error)
    body = render_trial(record, width=100).partition("KeyError: A1\n")[2].partition("\nNo transcript")[0]
    assert len(body.rstrip("\n").splitlines()) == lines
    assert first in body
    assert body.count("_calling.py") == (trace.count(OURS) if lines in (7, 5) else 0) - (lines == 7)
    assert render_trial(record, full=True).count("_calling.py") == trace.count(OURS)


def progress(*records: TrialRecord, done: int = 0) -> str:
    stream = io.StringIO()
    line = ProgressLine(stream, live=False, clock=lambda: 0.0)
    for record in records:
        line.started(PlannedTrial(Task(record.task), record.trial, record.arm, 0, 0), Totals(planned=1))
    for number, record in enumerate(records, 1):
        line.finished(record, Totals(planned=1, done=done + number, pass_at_1=0.123))
    return stream.getvalue()


def arm(name: str, task: str, passed: bool | None) -> TrialRecord:
    return TrialRecord(task, 0, Status.COMPLETED, passed, arm=name)


def test_each_arm_of_a_comparison_has_its_own_rate_while_it_runs() -> None:
    text = progress(
        arm("old", "a", False),
        arm("old", "b", True),
        arm("old", "b", True),
        arm("new", "a", None),
        arm("new", "a", True),
    )
    assert text.splitlines()[-1] == "5/1 trials: pass@1 old 0.500, new 1.000"
    assert "0.123" not in text


def test_arms_of_a_resumed_run_have_no_rate_since_only_the_rest_is_seen() -> None:
    assert "pass@1" not in progress(arm("old", "a", True), arm("new", "a", True), done=7)
    assert "pass@1 0.123" in progress(arm("", "a", True), done=7)
