"""How a trial is run: the one joint between the runner and the ways to isolate trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from passhat.facts import ErrorInfo, Grade, Status, Transcript, Usage
from passhat.running._plan import PlannedTrial


def _nothing() -> None:
    """Nothing to remove."""


@dataclass(frozen=True, kw_only=True)
class Acted:
    """What came of the agent's part of a trial, before grading. ``seconds`` is the agent's own time.

    ``workspace`` is the directory it left, None when it had none. ``final`` is the executor's own, for its ``grade``.
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
    final: Any = None
    release: Callable[[], None] = field(default=_nothing, repr=False)


class Executor(Protocol):
    """A way to run trials. ``isolation`` is its name in the manifest, ``containment`` what it can prove,
    ``notes`` what should be known of the isolation that came about."""

    isolation: str
    containment: str
    notes: Sequence[str]

    async def act(self, planned: PlannedTrial) -> Acted:
        """Run the agent once, from a clean start. What user code does wrong is in the result, never raised."""

    async def grade(self, planned: PlannedTrial, acted: Acted) -> tuple[Grade, ...]:
        """One grade a grader of the suite, in order."""

    async def close(self) -> None:
        """End what the executor holds."""
