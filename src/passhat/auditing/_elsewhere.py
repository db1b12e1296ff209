"""The same trials judged in another process, with another order of sets and other addresses in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passhat.auditing._bench import Bench, Played
from passhat.auditing._plays import TaskPlays, playing
from passhat.auditing._plays_rules import always_refused
from passhat.auditing._rules import AuditFinding, finding, some
from passhat.facts import Task
from passhat.graders import source_version

if TYPE_CHECKING:
    from passhat.suite import Suite

_SECONDS = 600.0


class Elsewhere(msgspec.Struct, frozen=True):
    """What another process says: a mark of what it judged with, and verdicts by task, then by grader."""

    mark: list[str]
    verdicts: dict[str, dict[str, list[bool | None]]]


def elsewhere_findings(
    suite: Suite, plays: Sequence[TaskPlays], *, seed: int, flaky: Collection[str] = ()
) -> Iterator[AuditFinding]:
    """Graders whose verdict on a reference, or on doing nothing, differs in another process.

    Of those that are known to be ``flaky`` nothing is said that has been said with that.
    """
    file = suite.found_in
    there = "the suite wasn't found in a file" if file is None else _ask(file, suite.name, seed)
    if not isinstance(there, str) and there.mark != _mark(suite, [each.task for each in plays]):
        there = "the suite is another one there"
    if isinstance(there, str):
        yield finding("not-elsewhere", f"graders weren't compared with those in another process: {there}")
        return
    differing: dict[str, list[str]] = defaultdict(list)
    for each in plays:
        here = verdicts([*each.references[:1], each.stand_ins["nothing"]])
        for name, found in there.verdicts[each.task.id].items():
            if found != here.get(name):
                differing[name].append(each.task.id)
    for name, tasks in differing.items():
        text = f"{name} judges the same play differently in another process, in {some(tasks)}"
        text += always_refused(plays, name) if name not in flaky else ""
        yield finding("grader-flaky", text, tasks=tasks, graders=[name])


def verdicts(plays: Sequence[Played]) -> dict[str, list[bool | None]]:
    """The verdicts on some plays, by grader."""
    found: dict[str, list[bool | None]] = defaultdict(list)
    for play in plays:
        for grade in play.grades:
            found[grade.name].append(grade.passed)
    return dict(found)


def _mark(suite: Suite, tasks: Sequence[Task]) -> list[str]:
    return [*(task.hash for task in tasks), *(source_version(grader) for grader in suite.graders)]


def _ask(file: Path, name: str, seed: int) -> Elsewhere | str:
    """Play in a new interpreter; the reason when it can't."""
    with tempfile.TemporaryDirectory(prefix="passhat-") as folder:
        answer = Path(folder, "verdicts.json")
        order = [sys.executable, "-m", "passhat.auditing._elsewhere", str(file), name, str(seed), str(answer)]
        here = os.environ.get("PYTHONHASHSEED")
        environ = {**os.environ, "PYTHONHASHSEED": "2" if here == "1" else "1"}  # another order of sets than here
        try:
            done = subprocess.run(
                order, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"it took longer than {_SECONDS:.0f} s"
        if done.returncode != 0 or not answer.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else f"exit code {done.returncode}"
        return msgspec.json.decode(answer.read_bytes(), type=Elsewhere)


async def _judge(bench: Bench, tasks: Sequence[Task]) -> dict[str, dict[str, list[bool | None]]]:
    found = {}
    player = bench.suite.reference
    for task in tasks:
        plays = []
        if player is not None and task.reference is not None:
            plays.append(await bench.play(task, playing(player, task.reference)))
        plays.append(await bench.play(task, lambda trial: None))
        found[task.id] = verdicts(plays)
    return found


def _main(file: str, name: str, seed: str, answer: str) -> None:
    from passhat.running import entrance, own_loop
    from passhat.suite import discover

    with entrance() as through, own_loop() as loop:
        suite = discover(file, name)[0].suite
        suite.activate()
        tasks = suite.load_tasks()
        found = loop.run(_judge(Bench(suite, through, seed=int(seed)), tasks))
        Path(answer).write_bytes(msgspec.json.encode(Elsewhere(_mark(suite, tasks), found)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
