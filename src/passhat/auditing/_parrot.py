"""An agent that says the input back in a few words of its own, and those of other tasks to compare with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from passhat.auditing._bench import Agent, Bench
from passhat.auditing._rules import AuditFinding, finding
from passhat.facts import Role, Task, derive_seed

if TYPE_CHECKING:
    from passhat.auditing._plays import TaskPlays

_OTHERS = 3
_FREE = ("echo", "all done")


def parroting(told: object) -> Agent:
    """An agent that says something back. The words around it get past a grader that only refuses the bare input."""
    text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, default=str)
    return lambda trial: f"You wrote: {text}"


async def play_parrot(bench: Bench, plays: TaskPlays, tasks: Sequence[Task]) -> None:
    """Say the input back; where that passes, say the inputs of some other tasks too.

    What a simulated judge alone makes of it says nothing: it isn't the judge, and the judge isn't asked.
    """
    task = plays.task
    if task.input in (None, "", [], {}):
        return
    played = await bench.play(task, parroting(task.input))
    if all(grade.name in bench.judges for grade in played.grades if grade.role is not Role.ADVISORY):
        return
    plays.parrot = played
    if played.passed:
        told = [other.input for other in tasks if other.input not in (task.input, None, "") and other.id != task.id]
        rng = random.Random(derive_seed(bench.seed, task.id, "parrot"))
        for other in rng.sample(told, min(_OTHERS, len(told))):
            plays.other_parrots.append(await bench.play(task, parroting(other)))


def parrot_findings(plays: Sequence[TaskPlays], known: set[str]) -> Iterator[AuditFinding]:
    """Tasks whose answer is in their input: saying it back passes, and saying another task's back doesn't.

    ``known`` are tasks whose words are known to leak. Where an echo or a boast passes too, the graders are to blame.
    """
    for each in plays:
        free = any(each.stand_ins[name].passed for name in _FREE)
        if each.parrot is None or not each.parrot.passed or free:
            continue
        if each.other_parrots and all(play.passed for play in each.other_parrots):
            text = f"{each.task.id}: an agent that says another task's input passes"
            cause = "an agent that says another task's input passes"
            yield finding("stand-in-passes", text, tasks=[each.task.id], cause=cause)
        elif each.task.id not in known:
            cause = "an agent that only says the input back, after 'You wrote:', passes"
            yield finding("answer-in-prompt", f"{each.task.id}: {cause}", tasks=[each.task.id], cause=cause)
