"""Does a trial leave something to the next one? The suite's own agent is run, and looked at from outside."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from passhat.auditing._leak_traces import PARTS, Files, Key, Trace, changed_files, files_beside, traces_of
from passhat.auditing._markers import marked, marker_of
from passhat.auditing._rules import AuditError
from passhat.facts import Task, count, named
from passhat.running import entrance, run
from passhat.summary import ExitCode

if TYPE_CHECKING:
    from passhat.running import Entrance, Run
    from passhat.suite import Suite

LeakVerdict = Literal["found", "not found", "not testable"]
Traces = Mapping[Key, Trace]


class LeakCheck(msgspec.Struct, frozen=True):
    """One way to leak, and what was seen of it. ``trials`` names (task, trial) where it was found, ``paths`` files."""

    name: str
    verdict: LeakVerdict
    message: str
    trials: tuple[tuple[str, int], ...] = ()
    paths: tuple[str, ...] = ()


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
    isolation: Literal["inline", "process", "spawn"] = "process",
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
    nobody = model is None and suite.model is None and suite.script is None and suite.simulation is None
    with ExitStack() as undo:
        if through is None:
            through = undo.enter_context(entrance())
        root = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="passhat-leaks-")))
        bare = suite.replace(gates=(), script=() if nobody else suite.script)
        say = progress or (lambda _: None)

        def runs(name: str, select: Callable[[Sequence[Task]], Sequence[Task]]) -> Run:
            say(name)
            return run(
                bare,
                root=root / name,
                trials=trials,
                seed=seed,
                order="round",
                concurrency=1,
                isolation=isolation,
                model=model,
                select=select,
                through=through,
                retries=0,
            )

        before = files_beside(suite)
        forward = runs("forward", list)
        first = traces_of(forward)
        if nobody and any(trace.calls for trace in first.values()):
            raise AuditError(
                f"Suite({suite.name!r}): --leaks runs the suite's own agent, which asks a model, and no script or "
                "simulation answers for it; name the model that may be paid for with --model PROVIDER/NAME"
            )
        seen = _Seen(
            forward=first,
            again=traces_of(runs("again", list)),
            backward=traces_of(runs("backward", lambda tasks: list(reversed(tasks)))),
            marked=traces_of(runs("marked", marked), markers := _markers(suite.load_tasks())),
        )
        checks = (
            _order(seen),
            _marker(seen, markers),
            _files(before, files_beside(suite)),
            _transcripts(seen),
            _git(seen),
        )
        manifest = forward.manifest
    return LeakAudit(
        suite=suite.name,
        tasks=len(manifest.task_ids),
        trials=trials,
        plays=sum(map(len, (seen.forward, seen.again, seen.backward, seen.marked))),
        isolation=manifest.isolation,
        model_source=manifest.model_source,
        checks=checks,
    )


@dataclass(frozen=True)
class _Seen:
    """The traces of the four runs."""

    forward: Traces
    again: Traces
    backward: Traces
    marked: Traces


def _markers(tasks: Sequence[Task]) -> dict[str, str]:
    """The markers by task id, of the tasks that could take one."""
    return {task.id: marker_of(task) for task, new in zip(tasks, marked(tasks), strict=True) if new != task}


def _order(seen: _Seen) -> LeakCheck:
    keys = [key for key in seen.forward if key in seen.again and key in seen.backward]
    if len({task for _, task, _ in keys}) < 2:
        return LeakCheck("order", "not testable", "there is one task only, so no other order")
    parts = set.intersection(*(_equal_parts(seen.forward[key], seen.again[key]) for key in keys))
    if "verdict" not in parts:
        unsteady = [key for key in keys if "verdict" not in _equal_parts(seen.forward[key], seen.again[key])]
        text = f"{count(len(unsteady), 'trial')} ended otherwise when simply repeated ({_named(unsteady)})"
        return LeakCheck("order", "not testable", f"{text}: by chance, by a clock, or by a state left from run to run")
    moved = [key for key in keys if parts - _equal_parts(seen.forward[key], seen.backward[key])]
    if moved:
        text = f"{count(len(moved), 'trial')} went otherwise when the tasks ran backward, and alike when repeated"
        return LeakCheck("order", "found", f"{text}: {_named(moved)}", _trials(moved))
    compared = " and ".join(name for name in PARTS if name in parts)
    rest = "" if len(parts) == len(PARTS) else "; the rest differs when simply repeated"
    text = f"{count(len(keys), 'trial')} went alike, forward and backward (compared: {compared}{rest})"
    return LeakCheck("order", "not found", text)


def _equal_parts(one: Trace, other: Trace) -> set[str]:
    return {name for name, mark in one.parts.items() if other.parts[name] == mark}


def _marker(seen: _Seen, markers: Mapping[str, str]) -> LeakCheck:
    if len(markers) < 2:
        return LeakCheck("marker", "not testable", "fewer than two tasks have text in their input to plant a word in")
    found = [(key, *stranger) for key, trace in seen.marked.items() for stranger in trace.strangers]
    if found:
        (_, task, number), where, mark = found[0]
        other = next(name for name, word in markers.items() if word == mark)
        text = f"a word planted in task {other!r} turned up in {where}, in trial {number} of task {task!r}"
        keys = list(dict.fromkeys(key for key, _, _ in found))
        rest = f"; {count(len(keys), 'trial')} in all" if len(keys) > 1 else ""
        return LeakCheck("marker", "found", text + rest, _trials(keys))
    return LeakCheck("marker", "not found", f"words planted in {len(markers)} tasks stayed in their own trials")


def _files(before: Files, after: Files) -> LeakCheck:
    changed = changed_files(before, after)
    if changed:
        text = f"{count(len(changed), 'file')} beside the suite changed while its trials ran"
        return LeakCheck("files", "found", text, paths=tuple(changed))
    return LeakCheck("files", "not found", f"none of {count(len(after), 'file')} beside the suite changed")


def _transcripts(seen: _Seen) -> LeakCheck:
    marks: dict[tuple[str, str], list[str]] = {}
    for (arm, task, _), trace in seen.forward.items():
        if trace.calls:
            marks.setdefault((arm, task), []).append(trace.fingerprint)
    several = {key: found for key, found in marks.items() if len(found) > 1}
    if not several:
        return LeakCheck("transcripts", "not testable", "no task has two trials that asked a model")
    same = sorted({task for (_, task), found in several.items() if len(set(found)) == 1})
    if len(same) == len({task for _, task in several}):
        text = f"the trials of each of {count(len(same), 'task')} are all the same: a cache, or no chance in the model"
        return LeakCheck("transcripts", "not testable", text)
    if same:
        text = f"all trials of {count(len(same), 'task')} are the same although those of other tasks differ"
        return LeakCheck("transcripts", "not found", f"{text}: {named(same)}")
    return LeakCheck("transcripts", "not found", f"trials differ in each of {count(len(several), 'task')}")


def _git(seen: _Seen) -> LeakCheck:
    found = [(key, trouble) for key, trace in seen.forward.items() for trouble in trace.repositories]
    if not found:
        return LeakCheck("git", "not found", "no workspace held a git repository")
    bad = [(key, trouble) for key, trouble in found if trouble]
    if bad:
        (_, task, number), trouble = bad[0]
        text = f"the workspace of trial {number} of task {task!r} {trouble}"
        return LeakCheck("git", "found", text, _trials([key for key, _ in bad]))
    return LeakCheck(
        "git", "not found", f"{count(len(found), 'repository', 'repositories')} with no history but its own"
    )


def _trials(keys: Sequence[Key]) -> tuple[tuple[str, int], ...]:
    return tuple(dict.fromkeys((task, trial) for _, task, trial in keys))


def _named(keys: Sequence[Key]) -> str:
    return named([f"{task}#{trial}" for _, task, trial in keys])
