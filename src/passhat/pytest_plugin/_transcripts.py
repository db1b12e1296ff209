"""A failing test shows what its model was asked and what it answered."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable
from typing import Any

import msgspec
import pytest

from passhat.facts import OutputText, Transcript
from passhat.pytest_plugin._environment import host_environment
from passhat.pytest_plugin._keys import EVIDENCE, FAILED
from passhat.pytest_plugin._reasons import reason_first
from passhat.running import secrets_of


class Transcripts:
    """Registered when a session has tests that may use a model."""

    def __init__(self) -> None:
        # What shows a transcript is loaded now: while a report is made, a warning about what the test left open would
        # be raised by an import.
        transcript_section(Transcript((OutputText(0.0, "stdout", "→"),)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        evidence = item.stash.get(EVIDENCE, None)
        failed = call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception)
        if evidence is not None and failed:
            item.stash[FAILED] = True
            if report.when == "call" and call.excinfo is not None:
                reason_first(report, call.excinfo, evidence.refusal, item.config)
            if report.failed and evidence.transcript.events:
                secrets = secrets_of(host_environment(item.config))
                report.sections.append(("transcript", transcript_section(evidence.transcript, secrets)))
        return report


def transcript_section(transcript: Transcript, secrets: Iterable[str] = (), longest: int = 4000) -> str:
    """A failing test's transcript, short enough to read, without secrets and without what a terminal would obey."""
    from passhat.reporting import render_transcript

    data = _redacted(msgspec.to_builtins(transcript), tuple(secrets))
    width = min(120, max(60, shutil.get_terminal_size().columns))
    return render_transcript(msgspec.convert(data, Transcript), width=width, longest=longest)


def _redacted(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[redacted]")
        return value
    if isinstance(value, dict):
        return {_redacted(key, secrets): _redacted(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(each, secrets) for each in value]
    return value
