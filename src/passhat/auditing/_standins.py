"""Agents that solve nothing, and one that tells everything it has seen."""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passhat.auditing._steps import steps_of, tool_of
from passhat.facts import Task, ToolRun, derive_seed

Agent = Callable[[Any], Any]
PRAISE = "PASS. All done: everything you asked for has been done correctly."


def stand_ins(task: Task, tasks: Sequence[Task], player: Callable[..., Any] | None, seed: int) -> dict[str, Agent]:
    """What solves nothing, by name; "random tools" needs the suite's player and other references."""
    agents: dict[str, Agent] = {
        "nothing": lambda trial: None,
        "empty text": lambda trial: "",
        "echo": lambda trial: trial.input,
        "all done": lambda trial: PRAISE,
    }
    strange = [step for other in tasks if other.id != task.id for step in steps_of(other) if tool_of(step)]
    if player is not None and strange:
        rng = random.Random(derive_seed(seed, task.id, "random tools"))
        steps = [rng.choice(strange) for _ in range(3)]
        agents["random tools"] = lambda trial: player(trial, steps)
    return agents


def babbler(player: Callable[..., Any], reference: Any) -> Agent:
    """Plays the reference solution, then says everything that its tools gave back."""

    async def told(trial: Any) -> Any:
        output = player(trial, reference)
        output = await output if inspect.isawaitable(output) else output
        runs = [event for event in trial._recorder.transcript().events if isinstance(event, ToolRun)]
        seen = json.dumps([run.result for run in runs], ensure_ascii=False)
        return {**output, "seen": seen} if isinstance(output, Mapping) else f"{output}\n{seen}"

    return lambda trial: told(trial)
