"""One trial in a process of its own, as the runner sees it: the order, the news, and what it all comes to."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passhat.facts import ErrorInfo, OutputText, Status, Transcript, shortened
from passhat.isolation import Ended, Job
from passhat.isolation._environ import make_home
from passhat.running._calling import DeadlinePassed, is_async
from passhat.running._executor import Acted
from passhat.running._grading import diff_of
from passhat.running._moved_data import changed_by_others
from passhat.running._plan import PlannedTrial
from passhat.running._process_ended import LOAD_SECONDS, died_closing, is_late, said, unready
from passhat.running._process_left import Left, led_environ, process_limits
from passhat.running._process_orders import (
    Acting,
    ActNews,
    ActOrder,
    Done,
    Happened,
    Loading,
    Made,
    Marked,
    SuiteAddress,
    Torn,
    Unready,
)
from passhat.running._process_place import TrialFolder, sealed
from passhat.running._session import limit_reached, model_that_answered, open_session, session_notes
from passhat.running._spans import Span, Spans
from passhat.running._verdict import believed, is_graded, may_run_again, status_of
from passhat.running._workspaces import Unfit
from passhat.trial import Recorder, service_variables

if TYPE_CHECKING:
    from passhat.running._inline import World

LEAVE_SECONDS = 5.0  # after the agent, where there is no environment to close: no time to go on working in
LIMIT_GRACE = 2.0  # after the first call that a limit refused: nothing passes any more, but it is graded for score
_decoder = msgspec.json.Decoder(ActNews)
_LIMITS = {"memory": "memory_bytes", "processes": "processes", "output": "output_bytes"}


class ProcessTrial:
    """The life of one trial up to its grading. ``make_folder`` makes the directory that is the trial's own."""

    def __init__(
        self,
        world: World,
        planned: PlannedTrial,
        make_folder: Callable[[], TrialFolder],
        suite: SuiteAddress,
        variables: Mapping[str, str],
        span: Span,
        spans: Spans,
    ) -> None:
        self.world = world
        self.span = span
        self.spans = spans
        self.variables = variables
        self.planned = planned
        self.make_folder = make_folder
        self.folder = make_folder()
        self.spare: TrialFolder | None = None
        self.suite = suite
        self.place = self.folder.path / "workspace"
        self.recorder = Recorder(world.clock)
        self.session = open_session(world, planned, self.recorder, lambda: self.place)
        self.started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.born = time.monotonic()
        self.made = False
        self.before: dict[str, str] | None = None
        self.acting = False
        self.loading = False
        self.unready: ErrorInfo | None = None
        self.done: Done | None = None
        self.torn: ErrorInfo | None = None
        self.notes: list[str] = []
        self.garbled = 0

    # ---- what the process is told

    def job(self) -> Job:
        """The job for isolation."""
        world, planned, limits = self.world, self.planned, self.world.limits
        task = planned.task
        order = ActOrder(
            suite=self.suite,
            arm=planned.arm,
            task_id=task.id,
            input=task.input,
            data=task.data,
            tags=task.tags,
            number=planned.trial,
            seed=planned.seed,
            model=self.session.access,
            workspace=str(self.place),
            template=None if world.template is None else os.path.abspath(world.template),
            template_stamp=world.template_stamp,
            marks=bool(world.graders),
            seconds=limits.seconds,
            output_bytes=limits.output_bytes,
            services=planned.services,
            is_async=is_async(world.agents[planned.arm]),
        )
        ready = limits.prepare_seconds
        home, cwd = self.folder.path / "home", self.folder.path / "cwd"
        with contextlib.suppress(OSError):  # its process tries it again, and says why it can't be done
            make_home(home)
            cwd.mkdir(mode=0o700)
        return Job(
            entry="passhat.running._process_child:act",
            payload=order,
            environ=led_environ(
                self.variables, {**self.session.access.environ(), **service_variables(planned.services)}
            ),
            home=home,
            cwd=cwd,
            confine=(self.folder.path,) if world.confine else None,
            only_old_code=True,  # until the agent has its turn
            seed=planned.seed,
            limits=process_limits(world, limits.output_bytes),
            phases=(
                ("import", LOAD_SECONDS),
                ("prepare", ready),
                ("environment", ready),
                ("load", LOAD_SECONDS),
                ("act", limits.seconds),
                ("close", ready if world.environment is not None else min(ready or LEAVE_SECONDS, LEAVE_SECONDS)),
            ),
        )

    # ---- what it says

    def hear(self, body: bytes) -> None:
        """Take one piece of news. The first word on each thing counts: a process can't take back what it said."""
        try:
            self._take(_decoder.decode(body))
        except Exception:  # whatever it is made of, it must not end the run
            self.garbled += 1

    def _take(self, news: ActNews) -> None:
        match news:
            case Happened(event):
                at = min(max(0.0, event.at), self.recorder.now())
                author = "file" if event.author == "file" else "told"
                self.recorder.add(msgspec.structs.replace(event, at=at, author=author))
            case Made():
                self.made = True
            case Marked(marks) if self.before is None and not self.acting:
                self.before = marks
            case Loading(stamp) if not (self.loading or self.acting):
                self.loading = True
                self._turn(stamp)
            case Acting(at, stamp) if not self.acting:
                if not self.loading:
                    self._turn(stamp)
                self._begin(at)
            case Unready(error) if self.unready is None and not self.acting:
                self.unready = error
            case Done() if self.done is None:
                self.done = news
                self.stop()
            case Torn(error) if self.torn is None and self.done is not None and self.world.environment is not None:
                self.torn = error

    def _turn(self, stamp: int) -> None:
        """Whatever the agent did, it did from now on."""
        if stamp:
            self.span.turn = min(max(self.span.began, stamp), time.time_ns())

    def _begin(self, at: float) -> None:
        """The agent is started: both sides count its seconds from the same moment, where they share a clock."""
        self.acting = True
        shared = self.world.clock is time.monotonic and self.born <= at <= time.monotonic()
        self.recorder.restart(at if shared else None)
        self.session.ends = self.world.limits.seconds  # nothing new is let through from then on

    def stop(self) -> None:
        """The trial is over for the agent, whatever it still does."""
        self.session.revoke()  # also for who has its key and isn't in its tree
        self.recorder.close()

    # ---- what it comes to

    def settle(self, ended: Ended, release: Callable[[], None]) -> Acted:
        """What it was, by the evidence; and what is left for the graders."""
        self.stop()
        world = self.world
        status, error = self._status(ended)
        torn = self._torn(ended) if self.acting and status is not Status.ENVIRONMENT_ERROR else None
        if torn is not None and status is not Status.COMPLETED:
            self.notes.append(f"closing the environment failed: {torn.message}")
        workspace = None
        if is_graded(status):
            try:
                workspace = self._sealed()
            except Unfit as unfit:
                status, error = unfit.makes(status, error, self.notes)
                workspace = self._nothing_instead() if is_graded(status) else None
        self._note(ended)
        self.span.end()
        seconds = self._seconds(ended)
        transcript = self._transcript(ended, seconds)
        output = None if self.done is None or is_late(ended, self.done) else self.done.output
        return Acted(
            status=status,
            output=output,
            error=error,
            transcript=transcript,
            usage=self.session.usage(),
            seconds=seconds,
            started=self.started,
            model=model_that_answered(transcript),
            notes=tuple(self.notes),
            workspace=workspace,
            diff=functools.partial(diff_of, workspace, self.before, world.template, world.template_stamp)
            if world.graders
            else None,
            final=Left(world, self.planned, self.suite, self.variables, self.before, span=self.span),
            again=may_run_again(status, world.agents.get(self.planned.arm), begun=self.begun),
            torn=torn,
            denied=self.session.denied,
            release=release,
        )

    @property
    def begun(self) -> bool:
        """Whether anything that is the agent's may have run. What the suite's own file does is believed, as its graders
        are, unless the gateway has seen a question to the model."""
        return self.loading or self.acting or self.session.calls > 0

    def _seconds(self, ended: Ended) -> float:
        """The agent's seconds by the supervisor's clock: what its process says of them is its own word.

        Where nothing has to be closed, the time until it has left counts too, or it could go on after saying "done".
        """
        if not self.acting:
            return 0.0
        seconds = ended.phases.get("act", ended.seconds)
        return seconds + (ended.phases.get("close", 0.0) if self.world.environment is None else 0.0)

    def _status(self, ended: Ended) -> tuple[Status, ErrorInfo | None]:
        if ended.kind == "lost" or (ended.kind == "cancelled" and not self._was_cut(ended)):
            return Status.ENVIRONMENT_ERROR, ended.error or ErrorInfo("lost", "nothing is known about its process")
        if not self.acting:
            return Status.ENVIRONMENT_ERROR, self.unready or unready(ended, self.world)
        late, raised = self._failed(ended)
        failure = self.session.last_failure
        provider = None if failure is None else ErrorInfo("provider", failure)
        return status_of(
            limit=self._limit(ended), provider=provider, late=late, raised=raised, unreachable=self.session.unreachable
        )

    def _torn(self, ended: Ended) -> ErrorInfo | None:
        """Why closing the environment failed: what the process said, or that it ended there."""
        closes = self.world.environment is not None and self.done is not None
        return unready(ended, self.world) if self.torn is None and closes and died_closing(ended) else self.torn

    @property
    def goes_on(self) -> bool:
        """Whether the agent has begun and hasn't ended."""
        return self.acting and self.done is None

    def _was_cut(self, ended: Ended) -> bool:
        """Whether it was ended because a limit had refused a call a while before."""
        return ended.kind == "cancelled" and self.session.limit_hit is not None

    def _failed(self, ended: Ended) -> tuple[ErrorInfo | None, ErrorInfo | None]:
        """The deadline that passed, and what the agent raised or did instead of returning."""
        if is_late(ended, self.done):
            passed = DeadlinePassed(self.world.limits.seconds or 0.0)
            return ErrorInfo("timeout", passed.words, "DeadlinePassed"), None
        if self.done is not None and (ended.kind == "returned" or ended.phase == "close"):
            return None, self._believed(self.done.error)
        return None, ended.error or ErrorInfo("exited", "its process ended before the agent returned")

    def _believed(self, error: ErrorInfo | None) -> ErrorInfo | None:
        error = said(error)
        if error is not None and error.kind == "template":
            others = changed_by_others(self.world, self.span, self.spans)
            return error if others else msgspec.structs.replace(error, kind="raised")
        agent = self.world.agents.get(self.planned.arm)
        return believed(error, agent, self.planned.task.input, lambda: self.variables)

    def _limit(self, ended: Ended) -> ErrorInfo | None:
        """The limit that was reached: what the gateway saw, then what isolation saw, then the size of the output."""
        name = self.session.limit_hit or (_LIMITS.get(ended.limit or "") if ended.kind == "limit" else None)
        if name is not None:
            return limit_reached(name, self.world.limits)
        error = None if self.done is None else self.done.error
        return error if error is not None and error.kind == "output_bytes" else None

    @property
    def has_workspace(self) -> bool:
        """Whether the trial said that it made one, or there is one."""
        return self.made or os.path.lexists(self.place)

    def _sealed(self) -> Path | None:
        """The workspace, safe to be looked at; None when the trial made none. Raises `Unfit`."""
        if not self.has_workspace and self.folder.intact:
            return None
        self.notes.extend(sealed(self.folder, self.place))
        return self.place

    def _nothing_instead(self) -> Path | None:
        """An empty workspace for the graders of a trial whose own can't be looked at."""
        with contextlib.suppress(OSError):
            self.spare = self.make_folder()
            place = self.spare.path / "workspace"
            place.mkdir(mode=0o700)
            return place
        return None

    def _note(self, ended: Ended) -> None:
        self.notes.extend(session_notes(self.session))
        self.notes.extend(ended.notes)
        if ended.from_disk:
            names = [shortened(name, 100) for name in ended.from_disk[:10]]
            more = f" and {len(ended.from_disk) - 10} more" if len(ended.from_disk) > 10 else ""
            self.notes.append(f"modules read from disk during the trial: {', '.join(names)}{more}")
        if self._was_cut(ended) and self.done is None:
            self.notes.append(f"the agent went on after its limit and was ended {LIMIT_GRACE:g} s after it")
        if self.garbled:
            self.notes.append(f"{self.garbled} messages of its process could not be understood")

    def _transcript(self, ended: Ended, seconds: float) -> Transcript:
        printed = [OutputText(seconds, "stdout", ended.stdout), OutputText(seconds, "stderr", ended.stderr)]
        seen = self.recorder.transcript()
        return msgspec.structs.replace(seen, events=(*seen.events, *(event for event in printed if event.text)))

    def clear(self) -> None:
        """Remove what was kept of the trial."""
        try:
            self.folder.clear()
        finally:
            if self.spare is not None:
                self.spare.clear()
