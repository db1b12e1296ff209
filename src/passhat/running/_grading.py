"""Grading a finished trial: each grader on a copy of its own, under a deadline of its own."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from passhat.facts import ErrorInfo, Grade, Role, Status, Transcript, Usage, message_of
from passhat.running._calling import DeadlinePassed, Raised, TrialThread, start, within
from passhat.running._plan import PlannedTrial
from passhat.running._workspaces import changes, snapshot
from passhat.trial import FinishedTrial, JudgeModel, Workspace, copy_tree, open_environment

if TYPE_CHECKING:
    from passhat.running._judges import Bench

Grader = Callable[..., Any]


class FinalState:
    """What an agent left behind: as many private copies of it as there are graders, each made only when looked at."""

    def __init__(
        self,
        planned: PlannedTrial,
        *,
        output: Any,
        transcript: Transcript,
        workspace: Workspace,
        make_folder: Callable[[], Path],
        status: Status = Status.COMPLETED,
        error: ErrorInfo | None = None,
        usage: Usage | None = None,
        seconds: float = 0.0,
        environment: Callable[[Any], Any] | None = None,
        template: Path | None = None,
        template_stamp: int = 0,
        before: Mapping[str, str] | None = None,
        diff: Mapping[str, str] | None = None,
        lost: Mapping[str, str] | None = None,
    ) -> None:
        self._planned = planned
        self._output = output
        self._transcript = transcript
        self._workspace = workspace
        self._make_folder = make_folder
        self._status = status
        self._error = error
        self._usage = usage
        self._seconds = seconds
        self._environment = environment
        self._template, self._template_stamp = template, template_stamp
        self._before = before
        self._known_diff = diff
        self._lost = dict(lost or {})
        self.missed: dict[str, str] = {}

    def copy(self, closing: contextlib.ExitStack, judge: JudgeModel | None = None, name: str = "") -> FinishedTrial:
        """The finished trial for one grader; ``closing`` ends what was opened and removes what was copied for it.

        ``name`` is the grader's: `missed` says under it what it looked for and was lost ("transcript", "workspace",
        "diff", "services"; ``lost`` has the reasons).
        """
        planned = self._planned
        transcript, workspace, diff, services = (
            self._unless_lost(name, what) for what in ("transcript", "workspace", "diff", "services")
        )
        opened = None if self._environment is None else functools.partial(self._open, closing)
        return FinishedTrial(
            planned.task,
            self._output,
            transcript or self._transcript,
            number=planned.trial,
            seed=planned.seed,
            arm=planned.arm,
            status=self._status,
            error=self._error,
            usage=self._usage,
            seconds=self._seconds,
            workspace=workspace or functools.partial(self._copied, closing),
            environment=opened,
            diff=diff or self.diff,
            judge=judge,
            services=services or (lambda: {service.name: service for service in planned.services}),
        )

    def _unless_lost(self, name: str, what: str) -> Callable[[], Any] | None:
        return functools.partial(self._miss, name, self._lost[what]) if what in self._lost else None

    def _miss(self, name: str, why: str) -> NoReturn:
        self.missed.setdefault(name, why)
        raise LookupError(f"task {self._planned.task.id!r}, trial {self._planned.trial}: {why}")

    def _copied(self, closing: contextlib.ExitStack) -> Path:
        folder = self._make_folder()
        closing.callback(shutil.rmtree, folder, ignore_errors=True)
        copy_tree(self._workspace.path, folder, everything=True)
        return folder

    def _open(self, closing: contextlib.ExitStack, finished: FinishedTrial) -> Any:
        assert self._environment is not None
        return open_environment(self._environment, finished, closing)

    def diff(self) -> Mapping[str, str]:
        """What the agent changed in the workspace."""
        if self._known_diff is not None:
            return self._known_diff
        return diff_of(self._workspace.made, self._before, self._template, self._template_stamp)


def diff_of(
    made: Path | None, before: Mapping[str, str] | None, template: Path | None, template_stamp: int = 0
) -> dict[str, str]:
    """What changed in a workspace since ``before``, or since it was made of ``template`` where no marks were taken.

    Raises `WorkspaceError` for a template that was changed after ``template_stamp``, unless that is 0.
    """
    if before is None:
        before = {}
        if template is not None:
            with tempfile.TemporaryDirectory(prefix="passhat-") as folder:
                copy_tree(template, Path(folder), since=template_stamp)
                before = snapshot(Path(folder))
    return changes(before, before if made is None else snapshot(made))


async def grade_all(
    graders: Sequence[Grader],
    final: FinalState,
    seconds: float | None,
    *,
    names: Sequence[str] = (),
    bench: Bench | None = None,
) -> tuple[Grade, ...]:
    """One grade a grader, in order, by their ``names``; each grader has ``seconds``. ``bench`` leads to the judges.

    None of them can break the run: what they do wrong becomes a grader error.
    """
    from passhat.graders import grader_names
    from passhat.graders._names import is_async

    thread: TrialThread | None = None
    grades: list[Grade] = []
    judge = None if bench is None else bench.model
    for grader, name in zip(graders, names or grader_names(graders), strict=True):
        try:
            if is_async(grader):
                grades.append(await within(start(_grade_async(grader, final, name, judge)), seconds))
            else:
                thread = thread or TrialThread("passhat-grader")
                grades.append(await within(thread.submit(grade_one, grader, final, name, judge), seconds))
        except DeadlinePassed as late:
            grades.append(no_grade(grader, name, f"TimeoutError: the grader {late.words}"))
            if thread is not None:
                thread.close()
                thread = None
        except Raised as raised:
            grades.append(no_grade(grader, name, f"{type(raised.error).__name__}: {message_of(raised.error)}"))
        if bench is not None:
            grades[-1] = bench.billed(grades[-1])
    if thread is not None:
        thread.close()
    return tuple(grades)


def grade_one(grader: Grader, final: FinalState, name: str, judge: JudgeModel | None = None) -> Grade:
    """One grade, made on this thread; an async grader gets an event loop of its own."""
    from passhat.graders import run_grader

    closing = contextlib.ExitStack()
    try:
        return run_grader(grader, final.copy(closing, judge, name), name=name)
    finally:
        _close(closing)


async def _grade_async(grader: Grader, final: FinalState, name: str, judge: JudgeModel | None) -> Grade:
    from passhat.graders import run_grader_async

    closing = contextlib.ExitStack()
    try:
        return await run_grader_async(grader, final.copy(closing, judge, name), name=name)
    finally:
        _close(closing)


def _close(closing: contextlib.ExitStack) -> None:
    """Close a grader's copy. That this fails doesn't change its grade: it was only a copy."""
    with contextlib.suppress(Exception):
        closing.close()


def no_grade(grader: Grader, name: str, error: str) -> Grade:
    """The error of a grader that was given up; it keeps the grader's own role and weight."""
    role = getattr(grader, "role", None)
    weight = getattr(grader, "weight", None)
    return Grade(
        None,
        error=error,
        name=name,
        role=role if isinstance(role, Role) else Role.REQUIRED,
        weight=float(weight) if isinstance(weight, int | float) else 1.0,
    )
