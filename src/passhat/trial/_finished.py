"""What a grader is given: a trial that is over, with its task and the state it left."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from passhat.facts import ErrorInfo, Status, Task, Transcript, Usage
from passhat.trial._judge import JudgeModel
from passhat.trial._services import ServiceAddress


class FinishedTrial:
    """A finished trial as a grader sees it.

    ``task`` has the expected answer. ``workspace`` and ``environment`` are a private, writable copy of the final
    state, made on the first look: nothing a grader does reaches another grader or the record. ``diff`` maps the
    path of each file that changed since the agent was started to "added", "removed" or "changed"; a byte of a path that
    isn't UTF-8 is written as a backslash, an x and two digits, and a backslash as two. ``judge`` is the model that
    judges, None when the run has none.
    """

    def __init__(
        self,
        task: Task,
        output: Any = None,
        transcript: Transcript | Callable[[], Transcript] | None = None,
        *,
        number: int = 0,
        seed: int = 0,
        arm: str = "",
        status: Status = Status.COMPLETED,
        error: ErrorInfo | None = None,
        usage: Usage | None = None,
        seconds: float = 0.0,
        workspace: Callable[[], Path] | None = None,
        environment: Callable[[FinishedTrial], Any] | None = None,
        diff: Callable[[], Mapping[str, str]] | None = None,
        judge: JudgeModel | None = None,
        services: Callable[[], Mapping[str, ServiceAddress]] | None = None,
    ) -> None:
        makers = {"workspace": workspace, "environment": environment, "diff": diff, "services": services}
        for name, maker in makers.items():
            if maker is not None and not callable(maker):
                way = f"{name}=lambda: …" if name != "environment" else "environment=lambda trial: …"
                raise TypeError(
                    f"FinishedTrial({name}={maker!r:.100}): must be a function that makes it when it is looked at, "
                    f"such as {way}; passhat.graders.grade(…, workspace=folder) takes the folder itself"
                )
        self.task = task
        self.output = output
        self.number = number
        self.seed = seed
        self.arm = arm
        self.status = status
        self.error = error
        self.seconds = seconds
        self.judge = judge
        self._transcript = transcript or Transcript()
        self._usage = usage
        self._workspace_maker = workspace
        self._environment_maker = environment
        self._diff_maker = diff
        self._services_maker = services
        self._cache: dict[str, Any] = {}

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.task.id

    @property
    def input(self) -> Any:
        """What the agent was asked."""
        return self.task.input

    @property
    def data(self) -> dict[str, Any]:
        """The public part of the task."""
        return self.task.data

    @property
    def tags(self) -> tuple[str, ...]:
        """The task's tags."""
        return self.task.tags

    @property
    def transcript(self) -> Transcript:
        """All that happened, in order."""
        if not isinstance(self._transcript, Transcript):
            self._transcript = self._transcript()
        return self._transcript

    @property
    def usage(self) -> Usage:
        """What the agent spent."""
        return self.transcript.usage if self._usage is None else self._usage

    @property
    def workspace(self) -> Path:
        """A private copy of the workspace as the agent left it."""
        return cast(Path, self._once("workspace", self._workspace_maker, "no workspace was kept for this trial"))

    @property
    def environment(self) -> Any:
        """The suite's environment, opened on the private copy."""
        maker = None if self._environment_maker is None else functools.partial(self._environment_maker, self)
        return self._once("environment", maker, "the suite declares no environment")

    @property
    def diff(self) -> Mapping[str, str]:
        """Files that the agent added, removed or changed, by path relative to the workspace."""
        return cast(Mapping[str, str], self._once("diff", self._diff_maker, "no workspace was kept for this trial"))

    @property
    def services(self) -> Mapping[str, ServiceAddress]:
        """Where the suite's services are, as the agent left them; graders share them."""
        return cast(Mapping[str, ServiceAddress], self._once("services", self._services_maker or dict, ""))

    def _once(self, name: str, maker: Callable[[], Any] | None, otherwise: str) -> Any:
        if name not in self._cache:
            if maker is None:
                raise LookupError(f"task {self.task.id!r}, trial {self.number}: {otherwise}")
            self._cache[name] = maker()
        return self._cache[name]
