"""Exceptions of user code as stored records, and what a run itself raises.

PasshatError
├── RunError             a run that can't start as it was asked for
│   └── ModelSelectionError  half of a model's name
└── ResumeRefused        the suite is no longer the one that the run measured
KeyboardInterrupt
├── Interrupted          Ctrl-C ended a run, which can be resumed
└── RegradeInterrupted   Ctrl-C ended a regrade, which is complete for the trials that it has
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from passhat.facts import AgentUnavailable, ErrorInfo, PasshatError, SimulatorError, message_of, traceback_of

if TYPE_CHECKING:
    from passhat.running._regraded import Regraded
    from passhat.running._run import Run


class RunError(PasshatError, ValueError):
    """A run that can't start as it was asked for; the message names the value and the way out."""


class ModelSelectionError(RunError):
    """A provider without a model, or a model without a provider."""


class ResumeRefused(PasshatError):
    """A run that the suite, as it is now, can't continue; ``reasons`` says why. ``unread``: it wasn't even imported."""

    def __init__(self, run_id: str, reasons: list[str], *, unread: bool = False) -> None:
        why = "; ".join(reasons)
        way = "Start a new run, or force it (--force) and mix what was measured"
        if unread or any(reason.startswith("grader ") for reason in reasons):
            way = f"Judge what is recorded by the graders as they are now (passhat regrade {run_id}), s{way[1:]}"
        if any(reason.startswith("file ") for reason in reasons):
            way += ", once you know that the files were changed by you and by no agent"
        super().__init__(f"{run_id} can't be resumed: {why}. {way}")
        self.reasons = reasons


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the run; ``run`` holds what was recorded, and ``passhat resume`` runs the rest."""

    def __init__(self, run: Run) -> None:
        from passhat.records import called

        super().__init__(f"interrupted; continue with: passhat resume {shlex.quote(called(run.path))}")
        self.run = run


class RegradeInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a regrade; ``regraded`` says what was judged until then."""

    def __init__(self, regraded: Regraded) -> None:
        super().__init__(f"interrupted; {regraded.unreached} trials were not judged again")
        self.regraded = regraded


def error_info(kind: str, error: BaseException) -> ErrorInfo:
    """An exception as it is stored: message and the last frames of its traceback, both bounded.

    What an agent's adapter raises because of somebody else has a kind of its own, "environment" or "simulator"; the
    latter only what a `passhat.agents.Conversation` says of its user.
    """
    if kind == "raised":
        kind = _blamed(error)
    return ErrorInfo(kind, message_of(error), type(error).__name__, traceback_of(error))


def _blamed(error: BaseException) -> str:
    if isinstance(error, AgentUnavailable):
        return "environment"
    return "simulator" if isinstance(error, SimulatorError) and error.of_a_user else "raised"
