"""One trial's way to its model: a session at the run's gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

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
