"""What one phase of one trial says, as plain data that travels with its report from a worker to whoever decides."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from passhat.facts import Grade, PasshatError, message_of

Kind = Literal[
    "passed",
    "failed",
    "agent_error",
    "timeout",
    "limit",
    "provider_error",
    "environment_error",
    "simulator_error",
    "unresolved",
    "grader_error",
    "broken",
    "interrupted",
    "not_started",
    "skipped",
    "not_needed",
]
FAILURES: tuple[Kind, ...] = ("failed", "agent_error", "timeout", "limit", "provider_error")


class WrongTest(PasshatError):
    """The test itself, or the suite that it runs, can't work: that says nothing of an agent, in any trial."""


# errors of the test's own text: they would repeat in every trial and say nothing of the agent
_BROKEN = (NameError, ImportError, pytest.FixtureLookupError, WrongTest)
_NO_ASYNC = "async def functions are not natively supported"


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One phase of one trial. ``text`` is the traceback as pytest shows it."""

    case: str
    number: int  # from 1
    when: str
    kind: Kind
    message: str = ""
    type: str = ""
    text: str = ""
    seconds: float = 0.0
    seed: int = 0
    rule: str = ""
    gate: str | None = None
    undecided: str | None = None
    xfail: str | None = None
    strict: bool = False
    transcript: str = ""  # JSON of the transcript, on the last phase
    source: str = "unseen"
    shared: tuple[str, ...] = ()  # fixtures that all trials of the case share
    own: bool = True  # whether the body of the test passed, whatever the judges said
    grades: tuple[Grade, ...] = ()  # what the marker's judges said
    output: Any = None
    task: str = ""  # where the case is an arm of a task
    arm: str = ""
    arms: tuple[str, ...] = ()  # all arms of the test, in the order in which they were written
    record: str = ""  # JSON of the whole record, for a trial of a suite

    def packed(self) -> dict[str, Any]:
        """As JSON types."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def unpacked(cls, data: Any) -> Part:
        """From JSON types."""
        return msgspec.convert(data, cls)


def classify(call: pytest.CallInfo[Any], when: str) -> tuple[Kind, str, str]:
    """Kind, message and exception type of a phase, told by what was raised and not by what xfail made of it."""
    if call.excinfo is None:
        return "passed", "", ""
    error = call.excinfo.value
    message, name = first_line(storable(message_of(error))), storable(type(error).__name__)
    if isinstance(error, pytest.skip.Exception):
        return "skipped", message, name
    if isinstance(error, _BROKEN):
        return "broken", message if name == WrongTest.__name__ else f"{name}: {message}", name
    if when != "call":
        return "environment_error", f"{name} in {when}: {message}", name
    if isinstance(error, pytest.fail.Exception):
        if message.startswith(_NO_ASYNC):
            return "broken", "the test is async and no plugin runs it; install pytest-asyncio or anyio", name
        return "failed", message, name
    if isinstance(error, AssertionError):
        return "failed", message or "assertion failed", name
    return "agent_error", f"{name}: {message}", name


def storable(text: str, longest: int = 20_000) -> str:
    """Text that any file, process and terminal can take; the middle of what is huge is cut out.

    >>> storable("a\\ud800b"), storable("x" * 50, 20)
    ('a\\\\ud800b', 'xxxxx…40 characters…xxxxx')
    """
    if len(text) > longest:
        kept = longest // 4
        text = f"{text[:kept]}…{len(text) - 2 * kept} characters…{text[-kept:]}"
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    from passhat.reporting import clean_block

    return clean_block(text).encode("utf-8", "backslashreplace").decode()


def first_line(text: str, longest: int = 200) -> str:
    """The first line that says something, cut to a length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= longest else line[: longest - 1] + "…"
