"""One trial inside this process: prepare, open, act, stop, close."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passhat.facts import ErrorInfo, Status
from passhat.isolation import remove_tree
from passhat.running._calling import DeadlinePassed, Raised, TrialThread, awaited, is_async, start, within
from passhat.running._errors import error_info
from passhat.running._executor import Acted
from passhat.running._grading import FinalState
from passhat.running._output import TooLarge, checked_output
from passhat.running._plan import PlannedTrial
from passhat.running._session import limit_reached, model_that_answered, open_session, session_notes
from passhat.running._verdict import believed, is_graded, may_run_again, status_of
from passhat.running._workspaces import Unfit, seal, snapshot
from passhat.trial import Recorder, Trial, Workspace, open_environment, recorder_here, service_variables

if TYPE_CHECKING:
    from passhat.running._inline import World


class _NotReady(Exception):
    """The world of the trial couldn't be made; ``info`` says which part."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.message)
        self.info = info


class InlineTrial:
    """The life of one trial up to its grading."""

    def __init__(self, world: World, planned: PlannedTrial, make_folder: Callable[[], Path]) -> None:
        task = planned.task
        self.world = world
        self.planned = planned
        self.make_folder = make_folder
        self.agent = world.agents[planned.arm]
        self.asynchronous = is_async(self.agent)
        self.recorder = Recorder(world.clock)
        self.workspace = Workspace(make_folder, world.template, world.template_stamp)
        self.session = open_session(world, planned, self.recorder, lambda: self.workspace.made)
        self.live = Trial(
            task_id=task.id,
            input=task.input,
            data=task.data,
            tags=task.tags,
            number=planned.trial,
            seed=planned.seed,
            arm=planned.arm,
            recorder=self.recorder,
            workspace=self.workspace,
            model=self.session.access,
            env={**world.variables(), **self.session.access.environ(), **service_variables(planned.services)},
            deadline=world.limits.seconds,
            services=planned.services,
        )
        self.context = contextvars.copy_context()
        self.context.run(recorder_here.set, self.recorder)
        self.thread = TrialThread(f"passhat-{self.session.label}", self.context)
        self.closing = contextlib.ExitStack()
        self.started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.before: dict[str, str] | None = None
        self.stuck = False  # user code still holds the trial's thread
        self.seconds = 0.0
        self.notes: list[str] = []

    async def run(self) -> Acted:
        """Everything up to grading. Never raises for what user code does."""
        try:
            with self.world.gateway.route(self.session):
                try:
                    await self._make_ready()
                    output, late, raised = await self._act()
                finally:
                    self._stop()
            torn = await self._tear_down()
        except _NotReady as problem:
            await self._tear_down()
            return self._acted(Status.ENVIRONMENT_ERROR, None, problem.info)
        except BaseException:
            self._abandon()
            raise
        finally:
            self.thread.close()
        return await self._settle(output, late, raised, torn)

    async def _make_ready(self) -> None:
        """The starting state: ``prepare``, the marks of the workspace for ``diff``, and the open environment."""
        world, seconds = self.world, self.world.limits.prepare_seconds
        if world.template is not None:
            await self._step("template", self.thread.submit(self.workspace.check), seconds)
        if world.prepare is not None:
            await self._step("prepare", self._call(world.prepare), seconds)
        if self.workspace.made is not None and world.graders:
            self.before = await self._step("prepare", self.thread.submit(snapshot, self.workspace.made), seconds)
        if world.environment is not None:
            opened = functools.partial(open_environment, world.environment, self.live, self.closing)
            self.live.environment = await self._step("environment", self._beside_agent(opened), seconds)

    async def _act(self) -> tuple[Any, ErrorInfo | None, ErrorInfo | None]:
        """The agent's output, and why it failed: the deadline, or what it raised."""
        seconds = self.world.limits.seconds
        self.recorder.restart()
        try:
            output = await within(self._call(self.agent), seconds)
            if self.workspace.refused is not None:
                raise Raised(self.workspace.refused)
            return output, None, None
        except DeadlinePassed as late:
            self.stuck = not self.asynchronous
            return None, ErrorInfo("timeout", late.words, "DeadlinePassed"), None
        except Raised as raised:
            said = error_info("raised", raised.error)
            return None, None, believed(said, self.agent, self.planned.task.input, self.world.variables)
        finally:
            self.seconds = self.recorder.now()

    def _call(self, function: Callable[..., Any]) -> Any:
        """Start ``function(trial)``, plain or async; also a plain one that returns an awaitable."""
        if is_async(function):
            return start(function(self.live), self.context)
        return start(self._sync(function))

    async def _sync(self, function: Callable[..., Any]) -> Any:
        value = await within(self.thread.submit(function, self.live), None)
        return await awaited(value, self.context) if inspect.isawaitable(value) else value

    async def _step(self, kind: str, work: Any, seconds: float | None) -> Any:
        try:
            return await within(work, seconds)
        except DeadlinePassed as late:
            self.stuck = True
            raise _NotReady(ErrorInfo(kind, f"{kind} {late.words}", "DeadlinePassed")) from None
        except Raised as raised:
            raise _NotReady(error_info(kind, raised.error)) from None

    def _beside_agent(self, function: Callable[[], Any]) -> Any:
        """Call where the agent runs: on the trial's thread, or on the loop for an async agent."""
        if not self.asynchronous:
            return self.thread.submit(function)

        async def here() -> Any:
            return self.context.run(function)

        return start(here())

    def _stop(self) -> None:
        """The trial is over for the agent, whatever it still does."""
        self.live.cancel()
        self.session.revoke()
        self.recorder.close()

    async def _tear_down(self) -> ErrorInfo | None:
        """Close the environment; says what went wrong."""
        if self.world.environment is None:
            return None
        if self.stuck:
            self.thread.later(self.closing.close)
            return None
        try:
            await self._step("tear-down", self._beside_agent(self.closing.close), self.world.limits.prepare_seconds)
        except _NotReady as problem:
            return problem.info
        return None

    def _abandon(self) -> None:
        """The run is stopping: nobody waits for the trial."""
        if self.asynchronous:
            with contextlib.suppress(Exception):
                self.closing.close()
        else:
            self.thread.later(self.closing.close)
        self._release()

    async def _settle(
        self, output: Any, late: ErrorInfo | None, raised: ErrorInfo | None, torn: ErrorInfo | None
    ) -> Acted:
        """What it was, by the evidence; and the output as data."""
        limit = self._limit()
        if late is None and raised is None:
            try:
                output = await checked_output(output, self.world.limits.output_bytes)
            except TooLarge as large:
                output, limit = None, limit or ErrorInfo("output_bytes", str(large))
            except Raised as bad:
                output, raised = None, error_info("output", bad.error)
        failure = self.session.last_failure
        provider = None if failure is None else ErrorInfo("provider", failure)
        status, error = status_of(
            limit=limit, provider=provider, late=late, raised=raised, unreachable=self.session.unreachable
        )
        if torn is not None and status is not Status.COMPLETED:
            self.notes.append(f"closing the environment failed: {torn.message}")
        if self.stuck:
            self.notes.append("the agent's thread was still running when its trial was graded")
        return self._acted(status, output, error, begun=True, torn=torn)

    def _limit(self) -> ErrorInfo | None:
        hit = self.session.limit_hit
        return None if hit is None else limit_reached(hit, self.world.limits)

    def _acted(
        self,
        status: Status,
        output: Any,
        error: ErrorInfo | None,
        *,
        begun: bool = False,
        torn: ErrorInfo | None = None,
    ) -> Acted:
        made = self.workspace.made
        if made is not None and is_graded(status):
            try:
                self.notes.extend(seal(made))
            except Unfit as unfit:
                status, error = unfit.makes(status, error, self.notes)
                remove_tree(made)
                made.mkdir(mode=0o700)
        self.notes.extend(session_notes(self.session))
        transcript, usage = self.recorder.transcript(), self.session.usage()
        final = FinalState(
            self.planned,
            output=output,
            transcript=transcript,
            workspace=self.workspace,
            make_folder=self.make_folder,
            status=status,
            error=error,
            usage=usage,
            seconds=self.seconds,
            environment=self.world.environment,
            template=self.world.template,
            template_stamp=self.world.template_stamp,
            before=self.before,
        )
        return Acted(
            status=status,
            output=output,
            error=error,
            transcript=transcript,
            usage=usage,
            seconds=self.seconds,
            started=self.started,
            model=model_that_answered(transcript),
            notes=tuple(self.notes),
            workspace=made,
            diff=final.diff if self.world.graders else None,
            final=final,
            again=may_run_again(status, self.agent, begun=begun),
            torn=torn,
            denied=self.session.denied,
            release=self._release,
        )

    def _release(self) -> None:
        if self.workspace.made is not None:
            with contextlib.suppress(OSError):
                remove_tree(self.workspace.made)
