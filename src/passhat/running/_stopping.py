"""Stopping when a run is decided: trials that can change no verdict are not run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from passhat.facts import Task, TrialRecord
from passhat.running._errors import RunError
from passhat.running._plan import PlannedTrial
from passhat.suite import Gate


class Stopping(Protocol):
    """Watches the records of a run, and says when nothing is left to find out."""

    @property
    def decided(self) -> bool:
        """Whether no further trial is needed."""
        ...

    def see(self, record: TrialRecord) -> None:
        """Count one record."""
        ...

    async def ready(self, planned: PlannedTrial) -> None:
        """Wait until a trial may start, or is known not to be needed."""
        ...

    def give_up(self) -> None:
        """The run ends early: let go of what waits."""
        ...


class GateStopping:
    """Watches the records of a run, and says when every gate is settled.

    Settled means that no outcome of the trials still to come can change the verdict of the whole plan, so that
    stopping costs no error. A gate that can no longer be met would end undecided or not met: with ``undecided_fails``
    both fail, and that is enough. Only for deciding: the rates of a run that stopped early are not estimates.
    """

    def __init__(
        self,
        gates: Sequence[Gate | str],
        tasks: Iterable[Task],
        trials: int,
        *,
        undecided_fails: bool,
        looks: Mapping[str, int] | None = None,
    ) -> None:
        every = list(tasks)
        held_out = [task for task in every if task.split != "tune"] or every
        self._trials = trials
        self._enough = {"met", "not met", *(["cannot be met"] if undecided_fails else [])}
        self._looks = looks or {}
        self._open = _parsed(gates)
        self._counts = {task.id: [0, 0] for task in held_out}

    @property
    def decided(self) -> bool:
        """Whether nothing is left to find out."""
        return not self._open

    def see(self, record: TrialRecord) -> None:
        """Count one record, and look whether it settles a gate."""
        from passhat.summary import settle

        row = self._counts.get(record.task)
        if row is None or record.passed is None or not record.counts:
            return
        row[0] += 1
        row[1] += record.passed
        rows = [(self._trials, n, c) for n, c in self._counts.values()]
        self._open = [gate for gate in self._open if settle(gate, rows, self._level(gate)).verdict not in self._enough]

    def _level(self, gate: Gate) -> float:
        from passhat.summary import level_at

        return level_at(gate, self._looks.get(str(gate), 1))

    async def ready(self, planned: PlannedTrial) -> None:
        """Nothing waits: each trial is looked at."""

    def give_up(self) -> None:
        """Nothing waits."""


def check_stopping(gates: Sequence[Gate | str], *, order: str, arms: int) -> None:
    """Refuse what can't be stopped without an error of its own. Raises `RunError`.

    A run with arms stops when their comparison is decided, another when its gates are.
    """
    from passhat.summary import can_settle

    if order == "task":
        raise RunError("stop='when-decided': order='task' would leave tasks untried; use 'round' or 'shuffled'")
    if arms > 1:
        if gates:
            raise RunError(
                "stop='when-decided' would end the run when the comparison of its arms is decided, and its gates need "
                "all trials: leave the gates out, or run in full"
            )
        return
    if not gates:
        raise RunError("stop='when-decided': the suite has no gate to decide; give it gates=['pass@1 >= 0.8'] or so")
    for gate in _parsed(gates):
        if not can_settle(gate):
            raise RunError(
                f"stop='when-decided': {gate} can't be settled early; gates such as 'pass@1 >= 0.8' of these tasks can"
            )


def _parsed(gates: Iterable[Gate | str]) -> list[Gate]:
    return [gate if isinstance(gate, Gate) else Gate.parse(gate) for gate in gates]
