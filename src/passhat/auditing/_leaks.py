"""Does a trial leave something to the next one? The suite's own agent is run, and looked at from outside."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from passhat.auditing._leak_checks import LeakCheck, Seen, check_leaks
from passhat.auditing._leak_traces import files_beside, traces_of
from passhat.auditing._markers import marked, marker_of
from passhat.auditing._rules import AuditError
from passhat.facts import Manifest, Task
from passhat.running import entrance, run
from passhat.summary import ExitCode

if TYPE_CHECKING:
    from passhat.running import Entrance, Run
    from passhat.suite import Suite

Isolation = Literal["inline", "process", "spawn"]


class LeakAudit(msgspec.Struct, frozen=True):
    """What the leak checks of a suite found. ``plays`` counts the trials that were run for them."""

    suite: str
    tasks: int
    trials: int
    plays: int
    isolation: str
    model_source: str
    checks: tuple[LeakCheck, ...]
    schema: int = 1

    @property
    def exit_code(self) -> ExitCode:
        """1 when a leak was found."""
        return ExitCode.GATE_NOT_MET if any(each.verdict == "found" for each in self.checks) else ExitCode.FINE


def audit_leaks(
    suite: Suite,
    *,
    trials: int = 2,
    seed: int = 0,
    isolation: Isolation = "process",
    model: str | None = None,
    through: Entrance | None = None,
    progress: Callable[[str], None] | None = None,
) -> LeakAudit:
    """Run a suite's agent four times over, one trial at a time, and look for what one trial leaves to another.

    - *order*: the same trials forward, forward again and backward. What is the same in every repeated trial, and not
      when turned round, was left by an earlier trial. An agent that differs by itself can't be tested so.
    - *marker*: a word of its own is planted in each task's input; it must not turn up in another task's trial, be it in
      what the agent asked the model, in its output or in its workspace.
    - *files*: nothing beside the suite (its folder, its template) may change.
    - *transcripts*: trials of one task with different seeds should not all be one and the same.
    - *git*: a repository in the workspace may hold no history that isn't its own: no link to one outside, no branches
      or old commits beside the one that is checked out, in which the answer may stand.

    ``model`` is PROVIDER/NAME and costs money; without it the suite's own script or simulation must answer, or the
    agent ask no model. Nothing is recorded. Raises `AuditError` when nobody answers, and what `passhat.run` raises.
    """
    if trials < 1:
        raise AuditError(f"trials={trials}: at least one trial a task is run")
    with ExitStack() as undo:
        if through is None:
            through = undo.enter_context(entrance())
        root = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="passhat-leaks-")))
        runs = _Runs(suite, root, trials, seed, isolation, model, through, progress or (lambda _: None))
        seen, manifest = runs.all()
    return LeakAudit(
        suite=suite.name,
        tasks=len(manifest.task_ids),
        trials=trials,
        plays=seen.plays,
        isolation=manifest.isolation,
        model_source=manifest.model_source,
        checks=check_leaks(seen),
    )


@dataclass(frozen=True)
class _Runs:
    """The four runs of one suite, alike but for its tasks."""

    suite: Suite
    root: Path
    trials: int
    seed: int
    isolation: Isolation
    model: str | None
    through: Entrance
    progress: Callable[[str], None]

    def all(self) -> tuple[Seen, Manifest]:
        """What all runs left, and the manifest of the first."""
        before = files_beside(self.suite)
        forward = self._run("forward", list)
        first = traces_of(forward)
        if self._nobody_answers and any(trace.calls for trace in first.values()):
            raise AuditError(
                f"Suite({self.suite.name!r}): --leaks runs the suite's own agent, which asks a model, and no script or "
                "simulation answers for it; name the model that may be paid for with --model PROVIDER/NAME"
            )
        again = traces_of(self._run("again", list))
        backward = traces_of(self._run("backward", lambda tasks: list(reversed(tasks))))
        with_words = self._run("marked", marked)
        markers = _markers(self.suite.load_tasks())
        planted = traces_of(with_words, markers)
        return Seen(first, again, backward, planted, markers, before, files_beside(self.suite)), forward.manifest

    @property
    def _nobody_answers(self) -> bool:
        suite = self.suite
        return self.model is None and suite.model is None and suite.script is None and suite.simulation is None

    def _run(self, name: str, select: Callable[[Sequence[Task]], Sequence[Task]]) -> Run:
        self.progress(name)
        return run(
            self.suite.replace(gates=(), script=() if self._nobody_answers else self.suite.script),
            root=self.root / name,
            trials=self.trials,
            seed=self.seed,
            order="round",
            concurrency=1,
            isolation=self.isolation,
            model=self.model,
            select=select,
            through=self.through,
            retries=0,
        )


def _markers(tasks: Sequence[Task]) -> dict[str, str]:
    """The markers by task id, of the tasks that could take one."""
    return {task.id: marker_of(task) for task, new in zip(tasks, marked(tasks), strict=True) if new != task}
