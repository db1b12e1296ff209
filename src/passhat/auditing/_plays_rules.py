"""What the plays say of references and graders."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from passhat.auditing._bench import Played
from passhat.auditing._plays import TaskPlays
from passhat.auditing._rules import AuditFinding, finding, some
from passhat.auditing._steps import steps_in, tool_of
from passhat.facts import Grade, Role, ToolRun, count, plural

_ENOUGH_TASKS = 8
_WRONG = " on a wrong solution"
_LINE = re.compile(r'^ *File "([^"]+)", line (\d+)', re.MULTILINE)
_HOUSE = re.compile(r"[\\/](passhat|site-packages|lib[\\/]python[\d.]+)[\\/]|^<")


def reference_findings(plays: Sequence[TaskPlays], *, player: bool) -> Iterator[AuditFinding]:
    """References that are missing, raise, fail, or can't be carried out, and alternatives likewise."""
    without = [each.task.id for each in plays if not player or each.task.reference is None]
    if without:
        why = "" if player else "; the suite has no reference=, which would play them"
        share = f"{len(without)} of {count(len(plays), 'task')}"
        yield finding("no-reference", f"{share} {plural(len(without), 'has', 'have')} no reference{why}", tasks=without)
    runs = [run for each in plays for play in each.references for run in _runs(play)]
    working = {(run.name, _names(run)) for run in runs if run.error is None}
    for each in plays:
        bad = [play for play in each.references if not play.passed]
        broken = [play for play in bad if not play.ran]
        if broken:
            cause = f"{broken[0].why()}{_place(each.task.reference, broken[0])}"
            yield finding("reference-errors", f"{each.task.id}: {cause}", tasks=[each.task.id], cause=cause)
        elif bad:
            text = f"{each.task.id}: {len(bad)} of {len(each.references)} plays of the reference fail: {bad[0].why()}"
            names = [grade.name for grade in bad[0].stopped_by]
            cause = f"{', '.join(names)} fails the reference"
            text += _refusals(each.task.reference, bad[0])
            yield finding("reference-fails", text, tasks=[each.task.id], cause=cause)
        if each.references and not broken:
            for problem in _unrealised("reference", each.task.reference, each.references[0], working):
                yield finding("reference-unrealised", f"{each.task.id}: {problem}", tasks=[each.task.id])
        yield from _alternatives(each, working)


def _place(solution: Any, play: Played) -> str:
    """At which step a play raised, and in which line of the suite's own code."""
    runs = _runs(play)
    begun = len(runs) - 1 if runs and runs[-1].error is not None else len(runs)
    step = "" if play.before_the_agent else _step(solution, runs, begun)
    lines = _LINE.findall(play.error.traceback if play.error is not None else "")
    own = [f"{PurePath(file).name}:{line}" for file, line in lines if not _HOUSE.search(file)]
    early = "before its first step" if play.before_the_agent else ""
    found = [part for part in (f"at {step}" if step else early, f"in {own[-1]}" if own else "") if part]
    return f" ({', '.join(found)})" if found else ""


def _step(solution: Any, runs: Sequence[ToolRun], place: int) -> str:
    """The step that made a run, or would have made the next one; empty where the runs aren't those of the steps."""
    wanted = [(number, tool) for number, step in enumerate(steps_in(solution), start=1) if (tool := tool_of(step))]
    known = [run.name for run in runs[:place]] == [tool for _, tool in wanted[:place]]
    return "step {}, {}".format(*wanted[place]) if known and place < len(wanted) else ""


def _refusals(solution: Any, play: Played) -> str:
    """The calls that were answered with an error: where a reference that fails may have gone astray.

    Those that a guard blocked are told by another rule.
    """
    runs = _runs(play)
    failed = [
        f"{_step(solution, runs, place) or run.name} was answered with an error: {run.error}"
        for place, run in enumerate(runs)
        if run.error is not None and not run.blocked
    ]
    return f"; on the way {some(failed, 'error', 2)}" if failed else ""


def _alternatives(each: TaskPlays, working: set[tuple[str, frozenset[str]]]) -> Iterator[AuditFinding]:
    """Solutions that the task allows and the graders don't, or that can't be carried out."""
    for number, (solution, play) in enumerate(zip(each.task.alternatives, each.alternatives, strict=False), start=1):
        name = f"alternative {number}"
        if not play.passed:
            state = "; it leaves another final state" if play.ran and each.difference(play) else ""
            text = f"{each.task.id}: {name} fails{state}: {play.why()}"
            yield finding("alternative-fails", text, tasks=[each.task.id])
        for problem in _unrealised(name, solution, play, working) if play.ran else ():
            yield finding("reference-unrealised", f"{each.task.id}: {problem}", tasks=[each.task.id])


def _unrealised(name: str, solution: Any, play: Played, working: set[tuple[str, frozenset[str]]]) -> Iterator[str]:
    """Steps that were not played, were blocked, or make a call of a form that works in no reference.

    A call that only fails here may be meant to. Nothing is said of suites that don't record their tools.
    """
    wanted = [tool for step in steps_in(solution) if (tool := tool_of(step))]
    runs = _runs(play)
    if not working or not wanted:
        return
    for run in runs:
        if run.error is None:
            continue
        known = run.name in {name for name, _ in working}
        if run.blocked or not known or (run.name, _names(run)) not in working:
            why = (
                "is blocked"
                if run.blocked
                else "works with these arguments in no reference"
                if known
                else "never works"
            )
            yield f"{run.name} {why}: {run.error}"
    left_out = Counter(wanted) - Counter(run.name for run in runs)
    if left_out:
        of = f"the {name}" if name == "reference" else name
        steps = left_out.total()
        never = f"{plural(steps, 'was', 'were')} never carried out"
        yield f"{count(steps, 'step')} of {of} {never}: {', '.join(left_out)}"


def _runs(play: Played) -> list[ToolRun]:
    return [event for event in play.transcript.events if isinstance(event, ToolRun)]


def _names(run: ToolRun) -> frozenset[str]:
    return frozenset(run.arguments) if isinstance(run.arguments, dict) else frozenset()


def stand_in_findings(plays: Sequence[TaskPlays]) -> Iterator[AuditFinding]:
    """Tasks that are passed without solving them."""
    passed: dict[str, list[str]] = defaultdict(list)
    for each in plays:
        for name, play in each.stand_ins.items():
            if play.passed:
                passed[name].append(each.task.id)
    for name, tasks in passed.items():
        text = f"an agent that gives {name!r} passes {some(tasks)}"
        yield finding("stand-in-passes", text, tasks=tasks)


def side_findings(plays: Sequence[TaskPlays]) -> Iterator[AuditFinding]:
    """Suites in which acting is always right: an agent that can't leave alone looks good."""
    acts = [each.acts for each in plays if each.acts is not None]
    if len(acts) >= _ENOUGH_TASKS and all(acts):
        yield finding("one-sided", f"all {len(acts)} references change the final state; no task asks to leave it alone")


def grader_findings(plays: Sequence[TaskPlays]) -> Iterator[AuditFinding]:
    """Graders that fail, or say the same whatever happens."""
    yield from _without_verdict(plays)
    grades: dict[str, list[Grade]] = defaultdict(list)
    for each in plays:
        for play in each.all():
            for grade in play.grades:
                grades[grade.name].append(grade)
    solved = any(each.references for each in plays)
    for name, given in grades.items():
        yield from _constant(name, given, solved=solved)


def _without_verdict(plays: Sequence[TaskPlays]) -> Iterator[AuditFinding]:
    """Graders that fail on references, or can't tell; and those that do on anything else that was played."""
    errors: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for each in plays:
        for rule, on, play in _kinds(each):
            for grade in play.grades if play.ran else ():
                undecided = play.passed is None if on == _WRONG else rule == "grader-errors"
                unsure = grade.passed is None and undecided and grade.role is not Role.ADVISORY
                if grade.error is not None or unsure:
                    errors[rule, grade.name, on].append((each.task.id, grade.error or grade.reason or "unknown"))
    told: set[tuple[str, str]] = set()
    for (rule, name, on), found in errors.items():
        if (rule, name) not in told:
            told.add((rule, name))
            tasks = list(dict.fromkeys(task for task, _ in found))
            text = f"{name} gives no verdict{on}, in {some(tasks)}: {found[0][1]}"
            yield finding(rule, text, tasks=tasks, graders=[name])


def _kinds(plays: TaskPlays) -> Iterator[tuple[str, str, Played]]:
    """The rule that a play without a verdict comes under, and what was played, in words."""
    for play in (*plays.references, *plays.alternatives):
        yield "grader-errors", "", play
    for stand_in in (*plays.stand_ins.values(), plays.parrot, *plays.other_parrots):
        if stand_in is not None:
            yield "grader-brittle", " on an agent that solves nothing", stand_in
    for _, play in plays.mutants:
        yield "grader-brittle", _WRONG, play
    for _, play in plays.restated:
        yield "grader-brittle", " on the reference's answer written in another way", play


def flaky_findings(plays: Sequence[TaskPlays]) -> Iterator[AuditFinding]:
    """Graders that say something else the second time."""
    unsteady: dict[str, list[str]] = defaultdict(list)
    for each in plays:
        for play in each.all():
            for first, second in zip(play.grades, play.again, strict=False):
                if (first.passed, first.score_value) != (second.passed, second.score_value):
                    unsteady[first.name].append(each.task.id)
    for name, tasks in unsteady.items():
        text = f"{name} judges the very same trial differently the second time, in {some(list(dict.fromkeys(tasks)))}"
        text += always_refused(plays, name)
        yield finding("grader-flaky", text, tasks=tasks, graders=[name])


def always_refused(plays: Sequence[TaskPlays], name: str) -> str:
    """Where a flaky grader fails the reference all the same, each time: what is said of it apart from its noise."""
    tasks = []
    for each in plays:
        given = [
            grade.passed for play in each.references for grade in (*play.grades, *play.again) if grade.name == name
        ]
        if given and not any(passed is not False for passed in given):
            tasks.append(each.task.id)
    return f"; it fails the reference every time in {some(tasks, most=5)}" if tasks else ""


def _constant(name: str, given: Sequence[Grade], *, solved: bool) -> Iterator[AuditFinding]:
    verdicts = {grade.passed for grade in given}
    role = given[0].role
    passed = sum(grade.passed is True for grade in given)
    plays = f"all {passed} plays" if passed == len(given) else f"{passed} of {len(given)} plays and failed none"
    if False not in verdicts and 2 * passed > len(given):
        if {grade.evidence for grade in given} & {"requested", "returned"} or role is Role.ADVISORY:
            why = "it is only advisory" if role is Role.ADVISORY else "it judges what a model asks for; none was there"
            cause = f"passed {plays}; {why}"
            yield finding("grader-not-provoked", f"{name} {cause}", graders=[name], cause=cause)
        else:
            text = f"{name} passed {plays}, those of agents that do nothing among them"
            yield finding("grader-always-passes", text, graders=[name])
    elif solved and True not in verdicts and role is not Role.ADVISORY:
        yield finding("grader-never-passes", f"{name} passed none of {len(given)} plays", graders=[name])


def rigid_findings(plays: Sequence[TaskPlays]) -> Iterator[AuditFinding]:
    """Graders that refuse the reference's answer when its numbers are written differently, and numbers not tried."""
    for each in plays:
        for what, play in each.restated:
            if play.passed is False:
                names = [grade.name for grade in play.stopped_by]
                text = f"{each.task.id}: with {what} the reference fails: {play.why()}"
                cause = f"{', '.join(names)} fails the reference when its number is written in another usual way"
                yield finding("rigid-number", text, tasks=[each.task.id], graders=names, cause=cause)
    lost = {each.task.id: each.untried for each in plays if each.untried}
    if lost:
        named = some([f"{numbers[0]} of {task}" for task, numbers in lost.items()], "task")
        text = f"whether these may be written in another way wasn't tried, since no usual one is known: {named}"
        yield finding("number-not-tried", text, tasks=list(lost))
