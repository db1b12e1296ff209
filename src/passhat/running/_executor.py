"""How a trial is run: the one joint between the runner and the ways to isolate trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from passhat.facts import ErrorInfo, Grade, Status, Transcript, TrialRecord, Usage
from passhat.running._plan import PlannedTrial

if TYPE_CHECKING:
    from passhat.gateway import Denied


def _nothing() -> None:
    """Nothing to remove."""


class ServiceFailed(Exception):
    """A service that doesn't get ready, can't be reset, or has ended; the message has its last output."""


@dataclass(frozen=True, kw_only=True)
class Acted:
    """What came of the agent's part of a trial, before grading. ``seconds`` is the agent's own time.

    ``torn`` is why closing the environment failed, after an agent that hadn't: a failure it is then by its grades only.
    ``workspace`` is the directory it left, None when it had none; ``diff`` tells what changed in it, and is None where
    nobody took marks. ``final`` is the executor's own, for its ``grade``.
    ``again`` is False where a re-run, which the status may allow, would rest on the word or the deed of an agent that
    had begun: a failure would get a second try. ``denied`` is how the agent's provider let its last question not in.
    ``release`` removes what was kept for grading; it is called once, whatever happens.
    """

    status: Status
    output: Any = None
    error: ErrorInfo | None = None
    transcript: Transcript = field(default_factory=Transcript)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    started: str = ""
    model: str | None = None
    notes: tuple[str, ...] = ()
    workspace: Path | None = None
    diff: Callable[[], Mapping[str, str]] | None = None
    final: Any = None
    again: bool = True
    torn: ErrorInfo | None = None
    denied: Denied | None = None
    release: Callable[[], None] = field(default=_nothing, repr=False)


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a run kept of a trial. ``lost`` says why a part isn't there: "transcript", "workspace", "diff" -> reason.

    ``status`` is how the agent's part ended. ``workspace`` is None when it is lost, or when there never was one.
    """

    record: TrialRecord
    status: Status
    transcript: Transcript
    workspace: Path | None = None
    diff: Mapping[str, str] | None = None
    lost: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Graded:
    """The grades of a trial, and what the judges among its graders spent.

    ``missed``: graders, by name, that looked at a lost part of a stored trial, and the reason why it is lost.
    ``refused``: the HTTP status by which a judge's provider refused the key, where that left a grader without a grade.
    ``late``: the files of the user's modules that the graders first imported while they graded.
    ``spoilt``: what the trial's agent did that left graders without a grade; ``notes``: what else is to be known.
    """

    grades: tuple[Grade, ...] = ()
    judges: Usage = field(default_factory=Usage)
    missed: Mapping[str, str] = field(default_factory=dict)
    refused: int | None = None
    late: tuple[str, ...] = ()
    spoilt: ErrorInfo | None = None
    notes: tuple[str, ...] = ()


class Executor(Protocol):
    """A way to run trials. ``isolation`` is its name in the manifest, ``containment`` what it can prove, ``guard``
    what it keeps trials from doing outside. ``imported`` has the SHA-256 of the user's files that its processes import,
    by path; None where that is this process. ``importable`` are all that could be imported at the start.
    ``notes``: what should be known of the isolation that came about, by now.
    """

    isolation: str
    containment: str
    guard: str
    imported: Mapping[str, str] | None
    importable: Sequence[str]

    @property
    def notes(self) -> Sequence[str]: ...

    async def act(self, planned: PlannedTrial) -> Acted:
        """Run the agent once, from a clean start. What user code does wrong is in the result, never raised."""

    async def grade(self, planned: PlannedTrial, acted: Acted) -> Graded:
        """One grade a grader of the suite, in order."""

    def stored(self, planned: PlannedTrial, kept: Stored) -> Acted:
        """A trial of the record, as it was when its agent had ended, for ``grade``."""

    async def close(self) -> None:
        """End what the executor holds."""


def as_acted(kept: Stored, final: Any, release: Callable[[], None]) -> Acted:
    """A stored trial as if its agent had just ended."""
    record = kept.record
    return Acted(
        status=kept.status,
        output=record.output,
        error=record.error,
        transcript=kept.transcript,
        usage=record.usage,
        seconds=record.seconds,
        started=record.started,
        model=record.model,
        notes=record.notes,
        workspace=kept.workspace,
        final=final,
        release=release,
    )
