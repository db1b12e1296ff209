"""One trial's way to its model: a session at the run's gateway, and what it tells at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from passhat.facts import ErrorInfo, Limits, Transcript

if TYPE_CHECKING:
    from passhat.gateway import Session
    from passhat.running._inline import World
    from passhat.running._plan import PlannedTrial
    from passhat.trial import Recorder


def open_session(
    world: World, planned: PlannedTrial, recorder: Recorder, workspace: Callable[[], Path | None]
) -> Session:
    """A key of the trial's own; what it asks for is put into the trial's record."""
    arm = f"{planned.arm}/" if planned.arm else ""
    return world.gateway.open(
        world.model.mode(planned.task.id, planned.trial),
        sink=recorder.add,
        now=recorder.now,
        limits=world.limits,
        seed=planned.seed,
        label=f"{arm}{planned.task.id}#{planned.trial}",
        workspace=workspace,
        model=world.model.name,
        faults=world.model.faults,
    )


def limit_reached(name: str, limits: Limits) -> ErrorInfo:
    """The error of a trial that reached the limit of this name."""
    return ErrorInfo(name, f"the limit of {getattr(limits, name)} {name.replace('_', ' ')} was reached")


def session_notes(session: Session) -> list[str]:
    """Notes on scripted replies that nothing asked for, and on requests that were refused unheard."""
    unused = session.unused()
    notes = [f"{len(unused)} scripted replies were not asked for: {', '.join(unused[:3])}"] if unused else []
    if session.crowded:
        notes.append(f"{session.crowded} requests were refused: more at the same time than the gateway answers")
    return notes


def model_that_answered(transcript: Transcript) -> str | None:
    """The model of the last call, as its provider reported it."""
    return next((call.model_reported or call.model for call in reversed(transcript.model_calls)), None) or None
