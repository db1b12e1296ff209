"""What ``@pytest.mark.trials`` asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from passhat.suite import Gate, SuiteError
from passhat.summary import gate_feasibility

EVERY = "every trial"


@dataclass(frozen=True)
class TrialsMark:
    """A marker, checked. ``gate`` is None when every trial must pass (``every``) or outcomes are only recorded."""

    n: int
    gate: Gate | None = None
    every: bool = True
    simulated: bool = False
    undecided: Literal["pass", "fail"] | None = None
    simulation: Callable[..., Any] | None = None
    judges: tuple[Callable[..., Any], ...] = ()
    threshold: float | None = None
    arms: str | None = None
    unreachable: str = ""  # why ``--trials N`` leaves too few trials for the gate

    @property
    def rule(self) -> str:
        """The gate in words."""
        if self.gate is not None:
            return str(self.gate)
        return EVERY if self.every else "none"


_KNOWN = ("n", "gate", "simulated", "simulation", "undecided", "judges", "threshold", "arms")


def read(mark: pytest.Mark, where: str, forced: str | None) -> TrialsMark:
    """Check a marker of the test ``where``; ``forced`` is the text of ``--trials``, which beats its n."""
    try:
        return _checked(mark, forced)
    except (SuiteError, _Wrong) as error:
        raise pytest.Collector.CollectError(f"{where}: @pytest.mark.trials: {error}") from None


class _Wrong(Exception):
    """Something in the marker that can't work."""


def _checked(mark: pytest.Mark, forced: str | None) -> TrialsMark:
    given = mark.kwargs
    unknown = sorted(set(given) - set(_KNOWN))
    if unknown:
        raise _Wrong(f"there is no option {unknown[0]!r}; known: {', '.join(_KNOWN)}")
    if len(mark.args) + ("n" in given) != 1:
        raise _Wrong("give the number of trials, as in trials(20)")
    n = _whole(mark.args[0] if mark.args else given["n"])
    if forced is not None:
        n = count(forced)
    simulated, simulation = given.get("simulated", False), given.get("simulation")
    if simulation is not None and not callable(simulation):
        raise _Wrong(f"simulation={simulation!r}: must be a function of (request, rng)")
    if not isinstance(simulated, bool):
        raise _Wrong(f"simulated={simulated!r}: must be True or False")
    undecided, arms = given.get("undecided"), given.get("arms")
    if undecided not in (None, "pass", "fail"):
        raise _Wrong(f"undecided={undecided!r}: must be 'pass' or 'fail'")
    if arms is not None and (not isinstance(arms, str) or not arms.isidentifier()):
        raise _Wrong(f"arms={arms!r}: must be the name of a parameter of the test")
    judges, threshold = _judges(given.get("judges", ()), given.get("threshold"))
    gate, every = _gate(given.get("gate", EVERY))
    possible = None if gate is None else gate_feasibility(gate, tasks=1, trials=n)
    unreachable = "" if possible is None or possible.possible else possible.message
    if unreachable and forced is None:
        raise _Wrong(unreachable)
    simulated = simulated or simulation is not None
    return TrialsMark(n, gate, every, simulated, undecided, simulation, judges, threshold, arms, unreachable)


def _gate(asked: Any) -> tuple[Gate | None, bool]:
    """The gate, and whether every trial must pass."""
    if asked is None or asked == EVERY:
        return None, asked is not None
    gate = asked if isinstance(asked, Gate) else Gate.parse(asked)
    if gate.of != "these tasks":
        raise _Wrong(f"gate {str(gate)!r}: one test is one task; leave out 'of {gate.of}'")
    return gate, False


def _judges(judges: Any, threshold: Any) -> tuple[tuple[Callable[..., Any], ...], float | None]:
    if not isinstance(judges, list | tuple):
        raise _Wrong(f"judges={judges!r}: must be a list of graders, as in judges=[{getattr(judges, '__name__', '…')}]")
    for judge in judges:
        if not callable(judge):
            raise _Wrong(f"judges=[{judge!r}]: a judge is a function of the finished trial")
    if threshold is None:
        return tuple(judges), None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise _Wrong(f"threshold={threshold!r}: must be a number in 0..1, or None to record without failing")
    if not judges:
        raise _Wrong(f"threshold={threshold!r} is for judges, and there are none")
    return tuple(judges), float(threshold)


def count(text: str) -> int:
    """The number of ``--trials N``."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise pytest.UsageError(f"--trials {text}: must be a whole number, 1 or more")
    return int(text)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _Wrong(f"the number of trials must be a whole number, 1 or more, got {value!r}")
    return value
