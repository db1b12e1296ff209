"""What ``@pytest.mark.trials`` asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from passhat.facts import EVERY_TRIAL, ONLY_RECORDED, Limits
from passhat.suite import Gate, SuiteError
from passhat.summary import gate_feasibility


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
    limits: Limits | None = None  # of each trial's model calls, tokens and dollars
    unreachable: str = ""  # why ``--trials N`` leaves too few trials for the gate

    @property
    def rule(self) -> str:
        """The gate in words."""
        if self.gate is not None:
            return str(self.gate)
        return EVERY_TRIAL if self.every else ONLY_RECORDED


_KNOWN = ("n", "gate", "simulated", "simulation", "undecided", "judges", "threshold", "arms", "limits")
_METERED = ("model_calls", "tokens", "dollars")


def read(
    mark: pytest.Mark, where: str, forced: str | None, *, live: bool = False, of_suite: bool = False
) -> TrialsMark:
    """Check a marker of the test ``where``; ``forced`` is the text of ``--trials``, which beats its n.

    ``live`` says that a model was named, so that no simulation answers; ``of_suite`` that a suite's graders judge.
    """
    try:
        return _checked(mark, forced, live, of_suite)
    except (SuiteError, _Wrong) as error:
        raise pytest.Collector.CollectError(f"{where}: @pytest.mark.trials: {error}") from None


class _Wrong(Exception):
    """Something in the marker that can't work."""


def _checked(mark: pytest.Mark, forced: str | None, live: bool, of_suite: bool) -> TrialsMark:
    given = mark.kwargs
    unknown = sorted(set(given) - set(_KNOWN))
    if unknown:
        raise _Wrong(f"there is no option {unknown[0]!r}; known: {', '.join(_KNOWN)}")
    if len(mark.args) == 2 and isinstance(mark.args[1], str):
        raise _Wrong(f"the gate is given by name: trials({mark.args[0]!r}, gate={mark.args[1]!r})")
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
    gate, every = _gate(given.get("gate", EVERY_TRIAL))
    simulated = simulated or simulation is not None
    if gate is not None:
        gate = _decidable(gate, judges, threshold, simulated=simulated and not live, of_suite=of_suite)
    possible = None if gate is None else gate_feasibility(gate, tasks=1, trials=n)
    unreachable = "" if possible is None or possible.possible else possible.message
    if unreachable and forced is None:
        raise _Wrong(f"{unreachable} (a gate is proved one-sidedly; the interval that a verdict shows is two-sided)")
    limits = _limits(given.get("limits"))
    return TrialsMark(n, gate, every, simulated, undecided, simulation, judges, threshold, arms, limits, unreachable)


def _limits(asked: Any) -> Limits | None:
    if asked is None:
        return None
    if not isinstance(asked, Limits):
        raise _Wrong(f"limits={asked!r}: must be passhat.Limits, as in limits=Limits(model_calls=100)")
    usual = Limits()
    for name in asked.__struct_fields__:
        if name not in _METERED and getattr(asked, name) != getattr(usual, name):
            raise _Wrong(
                f"limits=Limits({name}={getattr(asked, name)!r}): a test is bounded by {', '.join(_METERED)}; for time "
                "there is pytest-timeout"
            )
    return asked


def _gate(asked: Any) -> tuple[Gate | None, bool]:
    """The gate, and whether every trial must pass."""
    if asked is None or asked == EVERY_TRIAL:
        return None, asked is not None
    gate = asked if isinstance(asked, Gate) else Gate.parse(asked)
    if gate.of != "these tasks":
        raise _Wrong(f"gate {str(gate)!r}: one test is one task; leave out 'of {gate.of}'")
    return gate, False


def _decidable(
    gate: Gate, judges: tuple[Callable[..., Any], ...], threshold: float | None, *, simulated: bool, of_suite: bool
) -> Gate:
    """The gate by the name that its grader has in the record; refused where no trial could say anything about it."""
    from passhat.graders import grader_names

    if gate.rate == "dollars" and simulated:
        raise _Wrong(f"gate {str(gate)!r}: a simulated model has no price, so nothing could decide it")
    if gate.rate != "grader" or of_suite:
        return gate
    names = {name: held_name(name, threshold) for name in grader_names(judges)}
    known = ("test", *names, *names.values())
    if gate.name not in known:
        own = ", ".join(("test", *names))
        raise _Wrong(f"gate {str(gate)!r}: no judge is called {gate.name!r}; known: {own} (test is the test itself)")
    return replace(gate, name=names.get(gate.name, gate.name))


def held_name(judge: str, threshold: float | None) -> str:
    """What a judge's grade is called: its bar stands in it, since a judge may have several."""
    return judge if threshold is None else f"{judge} >= {threshold:g}"


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
