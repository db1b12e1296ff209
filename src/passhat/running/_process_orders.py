"""What the runner and a trial's process say to each other: orders down, news up. All of it is JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.facts import AgentEvent, ErrorInfo, Grade, OutputText, Status, Task, ToolRun, Transcript, Usage
from passhat.trial import JudgeModel, ModelAccess, ServiceAddress


class SuiteAddress(msgspec.Struct, frozen=True):
    """Where a process finds the suite: the file in which it is bound to a name, and its own name."""

    file: str
    name: str


class ActOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt: the public part of a task, and where to work. No expected answer travels with it.

    ``workspace`` is a path at which nothing exists yet, ``template_stamp`` since when the template must be as it is.
    ``marks`` asks for the marks of the workspace's files after
    ``prepare``. ``seconds`` is the agent's deadline, ``output_bytes`` what its output may take. ``is_async``: so the
    agent is, which a process that hasn't imported it can't see.
    """

    suite: SuiteAddress
    arm: str
    task_id: str
    input: Any
    data: dict[str, Any]
    tags: tuple[str, ...]
    number: int
    seed: int
    model: ModelAccess
    workspace: str
    template: str | None = None
    template_stamp: int = 0
    marks: bool = False
    seconds: float | None = None
    output_bytes: int | None = None
    services: tuple[ServiceAddress, ...] = ()
    is_async: bool = False


class GradeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent left, for the graders from ``first`` on. ``workspace`` is None when none was made."""

    suite: SuiteAddress
    names: tuple[str, ...]
    versions: tuple[str, ...]
    first: int
    task: Task
    number: int
    arm: str
    seed: int
    output: Any
    transcript: Transcript
    status: Status
    error: ErrorInfo | None
    usage: Usage
    seconds: float
    workspace: str | None
    template: str | None
    before: dict[str, str] | None
    template_stamp: int = 0
    diff: dict[str, str] | None = None
    lost: dict[str, str] = {}
    services: tuple[ServiceAddress, ...] = ()
    judge: JudgeModel | None = None


class Made(msgspec.Struct, frozen=True, tag="made"):
    """The workspace was made."""


class Marked(msgspec.Struct, frozen=True, tag="marked"):
    """A mark of each file that ``prepare`` left, for the diff."""

    marks: dict[str, str]


class Loading(msgspec.Struct, frozen=True, tag="loading"):
    """The agent's own module is imported now: what becomes of the trial from here on may be its doing, and so may be
    what the file system's clock stamps from ``stamp`` on."""

    stamp: int = 0


class Acting(msgspec.Struct, frozen=True, tag="acting"):
    """The agent is started now, at ``at`` of the monotonic clock that all processes of a machine share; ``stamp`` as
    of `Loading`."""

    at: float
    stamp: int = 0


class Happened(msgspec.Struct, frozen=True, tag="happened"):
    """Something for the transcript, as the agent's process tells it. Model calls aren't: the gateway sees them."""

    event: ToolRun | AgentEvent | OutputText


class Unready(msgspec.Struct, frozen=True, tag="unready"):
    """The world of the trial couldn't be made."""

    error: ErrorInfo


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The agent returned or raised. The error's kind is "raised", "output", "output_bytes", "environment", "simulator"
    or "template"."""

    output: Any = None
    error: ErrorInfo | None = None


class Torn(msgspec.Struct, frozen=True, tag="torn"):
    """Closing the environment failed."""

    error: ErrorInfo


class Graded(msgspec.Struct, frozen=True, tag="graded"):
    """What the grader with this index says. ``missed``: why a part of the trial that it looked at is lost."""

    index: int
    grade: Grade
    missed: str = ""


ActNews = Made | Marked | Loading | Acting | Happened | Unready | Done | Torn
