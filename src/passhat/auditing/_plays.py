"""Everything that is played on one task: its reference, what solves nothing, mutants and restatements."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from passhat.auditing._bench import Agent, Bench, Played
from passhat.auditing._omissions import omissions
from passhat.auditing._parrot import play_parrot
from passhat.auditing._restating import restatements
from passhat.auditing._standins import babbler, stand_ins
from passhat.auditing._state import changed
from passhat.auditing._steps import Mutant, Mutator, steps_of
from passhat.facts import Task, ToolRun, canonical_json

BABBLE = "tells all it has seen"


@dataclass
class TaskPlays:
    """The plays on one task."""

    task: Task
    references: list[Played] = field(default_factory=list)
    alternatives: list[Played] = field(default_factory=list)
    stand_ins: dict[str, Played] = field(default_factory=dict)
    parrot: Played | None = None
    other_parrots: list[Played] = field(default_factory=list)
    babble: Played | None = None
    mutants: list[tuple[Mutant, Played]] = field(default_factory=list)
    restated: list[tuple[str, Played]] = field(default_factory=list)
    untried: tuple[str, ...] = ()  # numbers that are expected, and that we know no other way to write

    @property
    def reference(self) -> Played | None:
        """The first play of the reference when all plays of it passed: what mutants are held against."""
        good = bool(self.references) and all(play.passed for play in self.references)
        return self.references[0] if good else None

    @property
    def volatile(self) -> frozenset[str]:
        """Parts of the final state that differ between plays of the same reference."""
        first = self.references[0].state
        return frozenset().union(*(changed(first, play.state) for play in self.references[1:]))

    def difference(self, play: Played) -> frozenset[str]:
        """The parts of the final state in which a play differs from the reference."""
        return changed(self.references[0].state, play.state) - self.volatile

    def allowed(self, play: Played) -> int | None:
        """The alternative, counted from 1, that leaves the same final state as a play; None when there is none."""
        for number, other in enumerate(self.alternatives, start=1):
            if other.passed and not changed(other.state, play.state) - self.volatile:
                return number
        return None

    def says_the_same(self, play: Played) -> bool:
        """Whether a play's output is the reference's."""
        return canonical_json(play.output) == canonical_json(self.references[0].output)

    @property
    def acts(self) -> bool | None:
        """Whether the reference leaves another final state than doing nothing does; None without a reference."""
        if self.reference is None:
            return None
        return bool(self.difference(self.stand_ins["nothing"]))

    def without(self, ignored: Collection[str]) -> TaskPlays:
        """The same plays, as if some graders weren't there."""
        return TaskPlays(
            self.task,
            [play.without(ignored) for play in self.references],
            [play.without(ignored) for play in self.alternatives],
            {name: play.without(ignored) for name, play in self.stand_ins.items()},
            self.parrot and self.parrot.without(ignored),
            [play.without(ignored) for play in self.other_parrots],
        )

    def all(self) -> list[Played]:
        """Every play."""
        rest = [play for _, play in self.mutants] + [play for _, play in self.restated]
        return [
            *self.references,
            *self.alternatives,
            *self.stand_ins.values(),
            *([self.parrot] if self.parrot else []),
            *self.other_parrots,
            *([self.babble] if self.babble else []),
            *rest,
        ]


async def play_known(bench: Bench, task: Task, tasks: tuple[Task, ...], times: int) -> TaskPlays:
    """Play what has a known verdict, and grade it twice: what solves nothing, the reference, its alternatives."""
    plays = TaskPlays(task)
    player = bench.suite.reference
    for name, agent in stand_ins(task, tasks, player, bench.seed).items():
        plays.stand_ins[name] = await bench.play(task, agent, twice=name in ("nothing", "all done"))
    await play_parrot(bench, plays, tasks)
    if player is None or task.reference is None:
        return plays
    for number in range(times):
        plays.references.append(await bench.play(task, playing(player, task.reference), number=number, twice=True))
    for solution in task.alternatives:
        plays.alternatives.append(await bench.play(task, playing(player, solution), twice=True))
    return plays


async def play_changed(bench: Bench, plays: TaskPlays, mutator: Mutator, ignored: Collection[str]) -> None:
    """Play mutants and restatements of a reference that passes each time; ``ignored`` graders have no say in it."""
    task, player = plays.task, bench.suite.reference
    if plays.reference is None or player is None:
        return

    async def play(agent: Agent) -> Played:
        return (await bench.play(task, agent)).without(ignored)

    plays.babble = await play(babbler(player, task.reference))
    for mutant in mutator.mutants(task):
        plays.mutants.append((mutant, await play(playing(player, mutant.reference))))
    for omission in omissions(task.expected, plays.reference.output):
        what = f"{omission.words} of the reply"
        mutant = Mutant(task.id, "leave out", omission.reply, len(steps_of(task)), what, value=omission)
        plays.mutants.append((mutant, await play(_saying(player, task.reference, omission.reply))))
    restated = restatements(plays.reference.output, task.expected, _told(plays))
    plays.untried = restated.untried
    for what, output in restated.ways:
        plays.restated.append((what, await play(_saying(player, task.reference, output))))


def _told(plays: TaskPlays) -> str:
    """What the agent is told, and finds: digits that stand so there may be an id."""
    runs = [event.result for event in plays.references[0].transcript.events if isinstance(event, ToolRun)]
    return canonical_json([plays.task.input, plays.task.data, runs])


def playing(player: Callable[..., Any], reference: Any) -> Agent:
    """An agent that plays a reference solution."""
    return lambda trial: player(trial, reference)


def _saying(player: Callable[..., Any], reference: Any, output: Any) -> Agent:
    """The reference's deeds, with another output."""

    def agent(trial: Any) -> Any:
        done = player(trial, reference)
        if hasattr(done, "__await__"):

            async def waited() -> Any:
                await done
                return output

            return waited()
        return output

    return agent
