"""A failing test shows what its model was asked and what it answered."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from typing import Any

import msgspec
import pytest

from passhat.facts import Message, ModelCall, Transcript
from passhat.pytest_plugin._environment import host_environment
from passhat.pytest_plugin._keys import EVIDENCE, FAILED
from passhat.running import secrets_of

_MESSAGES = 4


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
                secrets = secrets_of(host_environment(item.config))
                report.sections.append(("transcript", transcript_section(evidence.transcript, secrets)))
        return report


def transcript_section(transcript: Transcript, secrets: Iterable[str] = (), longest: int = 4000) -> str:
    """A failing test's transcript, short enough to read: each request as sent, each reply, each tool."""
    shown = _Shown(tuple(secrets))
    lines: list[str] = []
    for event in transcript.events:
        if isinstance(event, ModelCall):
            lines += shown.call(event)
        else:
            lines.append(f"{event.at:7.3f}s  {' '.join(f'{k}={v}' for k, v in shown.fields(event).items())}")
    text = "\n".join(lines)
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest} more characters"


class _Shown:
    """Writes events without secrets, each text in one line of bounded length."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def call(self, call: ModelCall) -> list[str]:
        """A request and what came back."""
        tools = ", ".join(tool.name for tool in call.tools)
        lines = [f"{call.at:7.3f}s  request to {call.model or 'the model'} ({call.wire}); tools: {tools or 'none'}"]
        if len(call.messages) > _MESSAGES:
            lines.append(f"          … {len(call.messages) - _MESSAGES} earlier messages")
        lines += [
            f"          {sent.role}: {self.cut(sent.text or _wishes(sent))}" for sent in call.messages[-_MESSAGES:]
        ]
        if call.reply is not None:
            lines.append(f"          -> {self.cut(call.reply.text or _wishes(call.reply))}")
        else:
            lines.append(f"          -> {call.http_status} {self.cut(call.error or '')}")
        return lines

    def fields(self, event: Any) -> dict[str, str]:
        """Any other event."""
        data: dict[str, Any] = msgspec.to_builtins(event)
        return {name: self.cut(str(value)) for name, value in data.items() if name not in ("at", "seconds")}

    def cut(self, text: str, longest: int = 300) -> str:
        """One line."""
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        text = " ".join(text.split())
        return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _wishes(message: Message) -> str:
    return ", ".join(f"{wish.name}({json.dumps(wish.arguments, ensure_ascii=False)})" for wish in message.tool_calls)
