"""One trial, for reading: what came of it, and everything that happened, in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from passhat.facts import (
    AgentEvent,
    Message,
    ModelCall,
    OutputText,
    Task,
    ToolRun,
    Transcript,
    TrialRecord,
)
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Page
from passhat.reporting._console import Look
from passhat.reporting._runs import verdict_text
from passhat.reporting._text import clean, clean_block, count, dollars, seconds, tokens

TEXT, VALUE, EVENTS = 1_500, 600, 300


def render_trial(
    record: TrialRecord,
    transcript: Transcript | None = None,
    *,
    task: Task | None = None,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    full: bool = False,
) -> str:
    """A trial's verdict, grades, output and transcript as text.

    Long texts and long transcripts are cut, and say so, unless ``full``. ``task`` adds what was asked and expected.
    """
    page = Page(Look(width, color, unicode))
    _verdict(page, record)
    if task is not None:
        _value(page, "Asked", task.input, full=full)
        if task.expected is not None:
            _value(page, "Expected", task.expected, full=full)
    if transcript is not None:
        page.heading("What happened", f"{count(len(transcript.events), 'event')}, seconds since the agent started")
        _Events(page, full=full).show(transcript)
    elif record.transcript is None:
        page.gap()
        page.line(("No transcript was recorded for this trial.", DIM))
    _value(page, "Output", record.output, full=full)
    return page.text()


def _verdict(page: Page, record: TrialRecord) -> None:
    verdict = verdict_text(record)
    arm = f" ({clean(record.arm, 40)})" if record.arm else ""
    page.line(
        (f"{clean(record.task, 200)} #{record.trial}{arm}", STRONG), "  ", (verdict.plain, f"{STRONG} {verdict.style}")
    )
    facts = [record.status.value] + ([] if record.score is None else [f"score {record.score:.3g}"])
    facts += [seconds(record.seconds or None)] * bool(record.seconds)
    usage = record.usage
    facts += [count(usage.model_calls, "model call")] * bool(usage.model_calls)
    facts += [f"{tokens(usage.tokens)} tokens"] * (usage.tokens is not None)
    facts += [dollars(usage.dollars)] * (usage.dollars is not None) + [clean(record.model or "", 60)] * bool(
        record.model
    )
    facts.append(f"seed {record.seed}")
    page.line((" · ".join(facts), DIM))
    for attempt in record.attempts:
        reason = clean(attempt.error.message, 200) if attempt.error else ""
        page.bullet("↻", WARN, f"an earlier attempt ended as {attempt.status.value}", (f"  {reason}", DIM), indent=0)
    if record.error is not None:
        error = record.error
        page.gap()
        page.line((clean(error.type or error.kind, 80), f"{STRONG} {BAD}"), f": {clean(error.message, TEXT)}")
        for line in clean_block(error.traceback, 4 * TEXT).split("\n") if error.traceback else ():
            page.line((line, DIM), indent=2)
    if record.grades:
        page.heading("Grades")
    for grade in record.grades:
        sign, style = ("!", WARN) if grade.passed is None else ("✓", GOOD) if grade.passed else ("✗", BAD)
        said = clean_block(grade.error or grade.reason, TEXT)
        role = "" if grade.role.value == "required" else f" ({grade.role.value})"
        first, *rest = said.split("\n")
        page.bullet(sign, style, (clean(grade.name or "grader", 80), STRONG), (role, DIM), f"  {first}")
        for line in rest:
            page.line(line, indent=6)
    for note in record.notes:
        page.bullet("·", DIM, (clean(note, 300), DIM))


def _value(page: Page, title: str, value: Any, *, full: bool) -> None:
    if value is None:
        return
    page.heading(title)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str) and not page.fits(text, 2):
        text = json.dumps(value, ensure_ascii=False, indent=1)
    _block(page, text, full=full)


def _block(page: Page, text: str, *, full: bool, style: str = "", indent: int = 2, limit: int = TEXT) -> None:
    for line in clean_block(text, None if full else limit).split("\n"):
        page.line((line, style), indent=indent)


class _Events:
    """Shows events one after another; of each model call only what is new in its conversation."""

    def __init__(self, page: Page, *, full: bool) -> None:
        self._page = page
        self._full = full
        self._said: Sequence[Message] = ()
        self._tools: dict[str, str] = {}
        self._turn = 0

    def show(self, transcript: Transcript) -> None:
        events = transcript.events
        shown = events if self._full or len(events) <= EVENTS else events[:EVENTS]
        for event in shown:
            if isinstance(event, ModelCall):
                self._model_call(event)
            elif isinstance(event, ToolRun):
                self._tool_run(event)
            elif isinstance(event, AgentEvent):
                self._agent_event(event)
            else:
                self._printed(event)
        if len(shown) < len(events):
            self._page.line((f"… {count(len(events) - len(shown), 'more event')}; --full shows all", DIM), indent=2)
        if transcript.truncated:
            self._page.bullet("!", WARN, f"events are missing: {clean(transcript.truncated, 300)}")

    def _head(self, at: float, title: str, aside: str = "", style: str = STRONG) -> None:
        self._page.line((f"{at:>7.2f} ", DIM), (title, style), (f"  {aside}" if aside else "", DIM), hang=9)

    def _model_call(self, call: ModelCall) -> None:
        for message in self._new(call.messages):
            self._message(message)
        self._turn += 1
        aside = [clean(call.model_reported or call.model, 60), call.source, seconds(call.seconds)]
        if call.usage.tokens is not None:
            aside.append(f"{tokens(call.usage.input_tokens)} in, {tokens(call.usage.output_tokens)} out")
        aside += [f"retry {call.retry}"] * bool(call.retry) + [f"fault {clean(call.fault or '', 40)}"] * bool(
            call.fault
        )
        self._head(call.at, f"model, turn {self._turn}", " · ".join(part for part in aside if part))
        if call.refused is not None:
            self._page.bullet("✗", BAD, f"refused by us: {clean(call.refused, 80)}", indent=9)
        if call.error is not None:
            self._page.bullet("✗", BAD, f"HTTP {call.http_status}: {clean(call.error, VALUE)}", indent=9)
        if call.reply is not None:
            self._reply(call.reply)
        self._said = (*call.messages, *([call.reply] if call.reply is not None else []))

    def _new(self, messages: Sequence[Message]) -> list[Message]:
        """What this request adds to the last one and its answer."""
        same = 0
        for before, now in zip(self._said, messages, strict=False):
            if (before.role, before.text) != (now.role, now.text):
                break
            same += 1
        return list(messages[same:])

    def _message(self, message: Message) -> None:
        name = message.role
        if name == "tool":
            name = f"result of {self._tools.get(message.call_id or '', message.call_id or 'a tool')}"
        self._page.line((f"{'':8}{clean(name, 80)}", BAD if message.error else DIM))
        if message.text:
            _block(self._page, message.text, full=self._full, indent=9)
        for wish in message.tool_calls:
            self._page.line(
                (f"→ {clean(wish.name, 80)} {_compact(wish.arguments, full=self._full)}", DIM), indent=9, hang=11
            )
        for part in message.parts:
            self._page.line((clean(part, 120), DIM), indent=9)

    def _reply(self, reply: Message) -> None:
        if reply.thinking:
            _block(self._page, reply.thinking, full=self._full, style=DIM, indent=9)
        if reply.refusal:
            self._page.bullet("✗", WARN, f"refusal: {clean(reply.refusal, TEXT)}", indent=9)
        if reply.text:
            _block(self._page, reply.text, full=self._full, indent=9)
        self._tools.update((wish.id, wish.name) for wish in reply.tool_calls)
        for wish in reply.tool_calls:
            style = BAD if wish.malformed else STRONG
            arguments = f" {_compact(wish.arguments, full=self._full)}" + (" (not JSON)" if wish.malformed else "")
            self._page.line(("→ ", style), (clean(wish.name, 80), style), arguments, indent=9, hang=11)

    def _tool_run(self, run: ToolRun) -> None:
        self._head(run.at, f"tool ran: {clean(run.name, 80)}", seconds(run.seconds))
        self._page.line((_compact(run.arguments, full=self._full), DIM), indent=9)
        if run.error is not None:
            sign = "blocked" if run.blocked else "error"
            self._page.bullet("✗", BAD, f"{sign}: {clean(run.error, VALUE)}", indent=9)
        else:
            self._page.line(f"= {_compact(run.result, full=self._full)}", indent=9, hang=11)

    def _agent_event(self, event: AgentEvent) -> None:
        self._head(event.at, f"{clean(event.kind, 40)}: {clean(event.name, 80)}", f"{event.author}")
        if event.value is not None:
            self._page.line(_compact(event.value, full=self._full), indent=9)

    def _printed(self, event: OutputText) -> None:
        self._head(event.at, event.stream, "cut" if event.truncated else "", style=DIM)
        _block(self._page, event.text.rstrip("\n"), full=self._full, style=DIM, indent=9)


def _compact(value: Any, *, full: bool) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return clean(text, None if full else VALUE)
