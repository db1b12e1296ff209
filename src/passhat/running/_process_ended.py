"""How the process of a trial ended, in the words of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from passhat.facts import ErrorInfo
from passhat.isolation import Ended
from passhat.running._calling import DeadlinePassed
from passhat.running._process_orders import Done

if TYPE_CHECKING:
    from passhat.running._inline import World

LOAD_SECONDS = 120.0  # for the import of the user's code in a trial's process
_SAID = {"raised", "output", "output_bytes", "environment", "simulator", "template"}


def said(error: ErrorInfo | None) -> ErrorInfo | None:
    """What the process says that went wrong, of the kinds that it may say."""
    return error if error is None or error.kind in _SAID else msgspec.structs.replace(error, kind="raised")


def is_late(ended: Ended, done: Done | None) -> bool:
    """Whether the agent's deadline passed; a process that says it is closing has not returned by that."""
    return ended.kind == "timeout" and (ended.phase == "act" or done is None)


def died_closing(ended: Ended) -> bool:
    """Whether it ended while the environment was being closed, and not as it should."""
    return ended.phase == "close" and ended.kind in ("timeout", "raised", "exited", "signalled")


def unready(ended: Ended, world: World) -> ErrorInfo:
    """Why the process ended in a phase that isn't the agent's."""
    kind = "tear-down" if ended.phase == "close" else ended.phase
    if ended.kind == "timeout":
        passed = DeadlinePassed((LOAD_SECONDS if kind in ("import", "load") else world.limits.prepare_seconds) or 0.0)
        return ErrorInfo(kind, f"{kind} {passed.words}", "DeadlinePassed")
    error = ended.error
    if error is None:
        return ErrorInfo(kind, f"the process ended in {kind}: {ended.reason}")
    return ErrorInfo(kind, error.message, error.type, error.traceback)
