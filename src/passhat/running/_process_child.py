"""In a process of its own: the trusted code around the agent, and around the graders.

`load` imports the suite and nothing else. `act` runs one attempt, `grade` judges it in another process. What they
learn they say at once, so that it survives whatever happens to the process afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from passhat.facts import ErrorInfo, Event, Grade, Role, message_of
from passhat.isolation._late import exempt, refusals, relax
from passhat.running._calling import is_async
from passhat.running._errors import error_info
from passhat.running._grading import FinalState, grade_one, no_grade
from passhat.running._late_parts import import_late_parts
from passhat.running._output import TooLarge, checked
from passhat.running._own_loop import leave_behind
from passhat.running._plan import PlannedTrial
from passhat.running._process_orders import (
    Acting,
    ActOrder,
    Done,
    Graded,
    GradeOrder,
    Happened,
    Loading,
    Made,
    Marked,
    SuiteAddress,
    Torn,
    Unready,
)
from passhat.running._process_suite import suite_at
from passhat.running._spans import next_stamp
from passhat.running._workspaces import snapshot
from passhat.trial import Recorder, Trial, Workspace, open_environment, recorder_here

if TYPE_CHECKING:
    from passhat.isolation import Channel
    from passhat.suite import Suite

_MOST_REFUSED = 10  # files that an error names


def load(payload: Any, channel: Channel) -> None:
    """Import the suite and its agents, which is what a trial does first, and what their clients import later."""
    suite_at(msgspec.convert(payload, SuiteAddress)).arms()
    import_late_parts()


def load_graders(payload: Any, channel: Channel) -> None:
    """Import the suite without its agents, which a regrade doesn't need."""
    suite_at(msgspec.convert(payload, SuiteAddress))


def act(payload: Any, channel: Channel) -> None:
    """One attempt: prepare, open, act, close."""
    Attempt(msgspec.convert(payload, ActOrder), channel).run()


def grade(payload: Any, channel: Channel) -> None:
    """Judge what an agent left: one grader after the other, each on its own copy and in a phase of its own."""
    from passhat.graders import grader_names, remember_version

    order = msgspec.convert(payload, GradeOrder)
    suite = suite_at(order.suite)
    final = _final(order, suite)
    graders = dict(zip(grader_names(suite.graders), suite.graders, strict=True))
    for index in range(order.first, len(order.names)):
        channel.phase(str(index))
        name = order.names[index]
        grader = graders[name]
        remember_version(grader, order.versions[index])
        before = len(refusals())
        try:
            given = grade_one(grader, final, name, order.judge)
        except BaseException as error:
            given = no_grade(grader, name, f"{type(error).__name__}: {message_of(error)}")
        given = _unless_refused(grader, name, given, before)
        try:
            channel.emit(Graded(index, given, final.missed.get(name, "")))
        except Exception as error:
            channel.emit(Graded(index, no_grade(grader, name, f"its grade can't be sent: {type(error).__name__}")))


def _unless_refused(grader: Callable[..., Any], name: str, given: Grade, before: int) -> Grade:
    """The grade, or an error where a file that changed was refused: whoever caught that went another way.

    What was refused ``before`` may have left its mark in modules that this grader uses, too: nothing that speaks for
    the trial is believed then.
    """
    refused = refusals()
    if len(refused) == before and (given.error is not None or (given.passed is False and given.role is Role.REQUIRED)):
        return given
    if not refused or any(why in (given.error or "") for why in refused):
        return given
    return no_grade(grader, name, f"ImportError: {'; '.join(refused[:_MOST_REFUSED])}")


def _final(order: GradeOrder, suite: Suite) -> FinalState:
    left = order.workspace
    if left is None:
        template = None if order.template is None else Path(order.template)
        workspace = Workspace(_folder, template, order.template_stamp)
    else:
        workspace = Workspace.at(Path(left))
    return FinalState(
        PlannedTrial(order.task, order.number, order.arm, order.seed, 0, order.services),
        output=order.output,
        transcript=order.transcript,
        workspace=workspace,
        make_folder=_folder,
        status=order.status,
        error=order.error,
        usage=order.usage,
        seconds=order.seconds,
        environment=suite.environment,
        template=None if order.template is None else Path(order.template),
        template_stamp=order.template_stamp,
        before=order.before,
        diff=order.diff,
        lost=order.lost,
    )


def _folder() -> Path:
    return Path(tempfile.mkdtemp())


class _Telling(Recorder):
    """A recorder whose events are told to the runner as they happen."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(time.monotonic)
        self._channel = channel

    def add(self, event: Event) -> None:
        """Tell it, unless the trial is over."""
        if not self._closed:
            self._channel.emit(Happened(event))  # type: ignore[arg-type]
        super().add(event)


class _NotReady(Exception):
    """The world of the trial couldn't be made."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.message)
        self.info = info


class Attempt:
    """The agent's part of one trial, in the process that is its own."""

    def __init__(self, order: ActOrder, channel: Channel) -> None:
        self.order = order
        self.channel = channel
        self.recorder = _Telling(channel)
        recorder_here.set(self.recorder)
        template = None if order.template is None else Path(order.template)
        self.workspace = Workspace(self._make_workspace, template, order.template_stamp)
        self.live = Trial(
            task_id=order.task_id,
            input=order.input,
            data=order.data,
            tags=order.tags,
            number=order.number,
            seed=order.seed,
            arm=order.arm,
            recorder=self.recorder,
            workspace=self.workspace,
            model=order.model,
            env=dict(os.environ),
            deadline=order.seconds,
            services=order.services,
        )
        self.closing = contextlib.ExitStack()
        self.runner: asyncio.Runner | None = None
        self.is_async = False
        self.turn = 0

    def run(self) -> None:
        """Everything up to the end of this process. Never raises for what user code does."""
        exempt(os.path.dirname(self.order.workspace))
        try:
            agent = self._make_ready()
        except _NotReady as problem:
            self.channel.emit(Unready(problem.info))
            with contextlib.suppress(BaseException):
                self.closing.close()
            return
        done = self._act(agent)
        self.recorder.close()
        self.live.cancel()
        self.channel.phase("close", done)
        self._tear_down()

    def _make_ready(self) -> Callable[..., Any]:
        """The world first, and a module that is the agent's own last: nothing of it has run when that is said.

        The world is made by code as it was when the run began: what another trial's agent changed isn't taken.
        """
        arm = self.order.arm
        suite: Suite = self._step("import", lambda: suite_at(self.order.suite))
        self._step("template", self.workspace.check)
        named = suite.is_named(arm)
        self.is_async = self.order.is_async if named else is_async(suite.arm(arm))
        if suite.prepare is not None:
            self.channel.phase("prepare")
            self._step("prepare", lambda: self._call(suite.prepare))
        if self.workspace.made is not None and self.order.marks:
            made = self.workspace.made
            self._step("prepare", lambda: self.channel.emit(Marked(snapshot(made))))
        if suite.environment is not None:
            self.channel.phase("environment")
            self._step("environment", lambda: self._beside(lambda: self._open(suite)))
        if suite.prepare is not None or suite.environment is not None:
            self._step("template", self.workspace.check)
            self.turn = next_stamp()  # what they wrote isn't the agent's doing
        relax()
        if named:
            self.channel.phase("load", Loading(self.turn))
        try:
            agent: Callable[..., Any] = suite.arm(arm)
        except BaseException as error:
            raise _NotReady(error_info("import", error)) from None
        return agent

    def _open(self, suite: Suite) -> None:
        assert suite.environment is not None
        self.live.environment = open_environment(suite.environment, self.live, self.closing)

    def _act(self, agent: Callable[..., Any]) -> Done:
        self.recorder.restart()
        self.channel.phase("act", Acting(self.recorder.start, self.turn))
        output, raised = None, None
        try:
            output = self._call(agent)
        except BaseException as error:
            raised = error_info("raised", error)
        if self.workspace.refused is not None:
            return Done(None, error_info("template", self.workspace.refused))
        if raised is not None:
            return Done(None, raised)
        try:
            return Done(checked(output, self.order.output_bytes))
        except TooLarge as large:
            return Done(None, ErrorInfo("output_bytes", str(large)))
        except BaseException as error:
            return Done(None, error_info("output", error))

    def _tear_down(self) -> None:
        try:
            self._beside(self.closing.close)
        except BaseException as error:
            self.channel.emit(Torn(error_info("tear-down", error)))
        if self.runner is not None:
            leave_behind(self.runner.get_loop())
            self.runner.close()

    def _step(self, kind: str, function: Callable[[], Any]) -> Any:
        try:
            value = function()
        except BaseException as error:
            raise _NotReady(error_info(kind, error)) from None
        if refused := refusals():  # whoever caught it went another way
            raise _NotReady(ErrorInfo(kind, "; ".join(refused[:_MOST_REFUSED]), "ImportError"))
        return value

    def _call(self, function: Callable[..., Any] | None) -> Any:
        """``function(trial)``, plain or async; also a plain one that returns an awaitable."""
        assert function is not None
        value = function(self.live)
        return self._on_loop(value) if is_async(function) or inspect.isawaitable(value) else value

    def _beside(self, function: Callable[[], Any]) -> Any:
        """Call where the agent runs: in its event loop, if it is async."""
        if not self.is_async:
            return function()

        async def here() -> Any:
            return function()

        return self._on_loop(here())

    def _on_loop(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        if self.runner is None:
            self.runner = asyncio.Runner()
        return self.runner.run(wait())

    def _make_workspace(self) -> Path:
        path = Path(self.order.workspace)
        path.mkdir(mode=0o700)
        self.channel.emit(Made())
        return path
