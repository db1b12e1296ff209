"""A failing test shows what its model was asked and what it answered."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from passhat.facts import Message, ModelCall, Transcript
from passhat.pytest_plugin._keys import EVIDENCE, FAILED


class Transcripts:
    """Registered with the first test that uses a model."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        evidence = item.stash.get(EVIDENCE, None)
        failed = call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception)
        if evidence is not None and failed:
            item.stash[FAILED] = True
            if report.failed:
                report.sections.append(("transcript", transcript_section(evidence.transcript)))
        return report


def transcript_section(transcript: Transcript, longest: int = 4000) -> str:
    """A failing test's transcript, short enough to read: each request as sent, each reply, each tool."""
    lines: list[str] = []
    for event in transcript.events:
        if isinstance(event, ModelCall):
            lines += _call_lines(len(lines), event)
        else:
            lines.append(f"{event.at:7.3f}s  {' '.join(f'{k}={v}' for k, v in _shown(event).items())}")
    text = "\n".join(lines)
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest} more characters"


def _call_lines(index: int, call: ModelCall) -> list[str]:
    tools = ", ".join(tool.name for tool in call.tools)
    lines = [f"{call.at:7.3f}s  request to {call.model or 'the model'} ({call.wire}); tools: {tools or 'none'}"]
    lines += [f"          {message.role}: {_cut(message.text or _wishes(message))}" for message in call.messages[-4:]]
    if call.reply is not None:
        lines.append(f"          -> {_cut(call.reply.text or _wishes(call.reply))}")
    else:
        lines.append(f"          -> {call.http_status} {_cut(call.error or '')}")
    return lines


def _wishes(message: Message) -> str:
    return ", ".join(f"{wish.name}({json.dumps(wish.arguments, ensure_ascii=False)})" for wish in message.tool_calls)


def _shown(event: Any) -> dict[str, Any]:
    return {
        name: _cut(str(value)) for name, value in msgspec.to_builtins(event).items() if name not in ("at", "seconds")
    }


def _cut(text: str, longest: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
