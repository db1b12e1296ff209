"""Grading in a fresh process that the agent never ran in, after all that the agent started is gone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from passhat.facts import ErrorInfo, Grade
from passhat.graders import source_version
from passhat.isolation import Ended, Job, hookless_git
from passhat.running._calling import DeadlinePassed
from passhat.running._executor import Acted
from passhat.running._grading import no_grade
from passhat.running._process_ended import LOAD_SECONDS
from passhat.running._process_left import Left, led_environ, process_limits
from passhat.running._process_orders import Graded, GradeOrder
from passhat.trial import ModelAccess, service_variables

if TYPE_CHECKING:
    from passhat.running._judges import Bench
    from passhat.running._process_server import ServerThread

_OUTPUT = 100_000_000  # bytes that the graders of one trial may say and print
_decoder = msgspec.json.Decoder(Graded)


class ProcessGrading:
    """The grades of one trial. A grader that hangs or ends its process costs its own grade, and a new process."""

    def __init__(self, server: ServerThread, acted: Acted, trial: Left, bench: Bench | None = None) -> None:
        self.server = server
        self.acted = acted
        self.trial = trial
        self.bench = bench
        self.names: Sequence[str] = trial.world.grader_names
        self.grades: list[Grade] = []
        self.missed: dict[str, str] = {}
        self.from_disk: dict[str, None] = {}

    async def run(self) -> tuple[Grade, ...]:
        """One grade a grader, in order."""
        while len(self.grades) < len(self.names):
            try:
                job = self._job()
            except ValueError as error:  # something in it that no message can hold
                self._give_up_all(f"the trial can't be told to its graders: {error}")
                break
            ended = await self.server.run_until_known("grade", job, self._hear, self._all_known)
            self.from_disk.update(dict.fromkeys(ended.from_disk))
            if len(self.grades) < len(self.names) and not self._was_between(ended):
                self._give_up(ended)
        return tuple(self.grades)

    def _all_known(self) -> bool:
        """Whether nothing counts that the process still does: all grades are given, and there is no workspace that it
        could change, nor a service."""
        private = self.acted.workspace is None and not self.trial.planned.services
        return private and len(self.grades) == len(self.names)

    def _hear(self, body: bytes) -> None:
        try:
            graded = _decoder.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # a grade that can't be read is none
            return
        if graded.index == len(self.grades):
            if graded.missed:
                self.missed[self.names[graded.index]] = graded.missed
            self._take(graded.grade)

    def _was_between(self, ended: Ended) -> bool:
        """Whether the grader in whose phase the process ended had given its grade: then the next had not begun."""
        if ended.kind in ("lost", "cancelled") or not ended.phase.isdecimal():
            return False
        return int(ended.phase) < len(self.grades)

    def _give_up(self, ended: Ended) -> None:
        """The grade of the grader that ended the process; of all the rest when the process never came to grading."""
        error = self._why(ended)
        at_import = ended.phase == "import" or ended.kind in ("lost", "cancelled")
        last = len(self.names) if at_import else len(self.grades) + 1
        for index in range(len(self.grades), last):
            self._take(no_grade(self.trial.world.graders[index], self.names[index], error))

    def _give_up_all(self, why: str) -> None:
        for index in range(len(self.grades), len(self.names)):
            self._take(no_grade(self.trial.world.graders[index], self.names[index], why))

    def _take(self, grade: Grade) -> None:
        self.grades.append(grade if self.bench is None else self.bench.billed(grade))

    def _why(self, ended: Ended) -> str:
        if ended.kind == "timeout" and ended.phase != "import":
            return f"TimeoutError: the grader {DeadlinePassed(self.trial.world.limits.grade_seconds or 0.0).words}"
        return f"the grader's process ended without its grade: {ended.reason}"

    def _job(self) -> Job:
        world, acted, first = self.trial.world, self.acted, len(self.grades)
        planned = self.trial.planned
        error = acted.error
        order = GradeOrder(
            suite=self.trial.suite,
            names=tuple(self.names),
            versions=tuple(source_version(grader) for grader in world.graders),
            first=first,
            task=planned.task,
            number=planned.trial,
            arm=planned.arm,
            seed=planned.seed,
            output=acted.output,
            transcript=acted.transcript,
            status=acted.status,
            error=None if error is None else ErrorInfo(error.kind, error.message, error.type, error.traceback),
            usage=acted.usage,
            seconds=acted.seconds,
            workspace=None if acted.workspace is None else str(acted.workspace),
            template=None if world.template is None else os.path.abspath(world.template),
            template_stamp=world.template_stamp,
            before=self.trial.before,
            diff=None if self.trial.diff is None else dict(self.trial.diff),
            lost=dict(self.trial.lost),
            services=planned.services,
            judge=None if self.bench is None else self.bench.model,
        )
        services = service_variables(planned.services)
        access = ModelAccess(world.gateway.base_url, world.gateway.process_key)
        seconds = world.limits.grade_seconds
        return Job(
            entry="passhat.running._process_child:grade",
            payload=msgspec.Raw(msgspec.json.encode(order)),
            environ=hookless_git(led_environ(self.trial.variables, access.environ() | services)),
            confine=() if world.confine else None,
            only_old_code=True,
            seed=planned.seed,
            limits=process_limits(world, _OUTPUT),
            phases=(("import", LOAD_SECONDS), *((str(index), seconds) for index in range(first, len(self.names)))),
        )
