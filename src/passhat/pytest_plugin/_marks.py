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

    @property
    def rule(self) -> str:
        """The gate in words."""
        if self.gate is not None:
            return str(self.gate)
        return EVERY if self.every else "none"


def read(mark: pytest.Mark, where: str, forced: str | None) -> TrialsMark:
    """Check a marker of the test ``where``; ``forced`` is the text of ``--trials``, which beats its n."""

    def wrong(problem: str) -> pytest.UsageError:
        return pytest.UsageError(f"{where}: @pytest.mark.trials: {problem}")

    known = {"n", "gate", "simulated", "simulation", "undecided"}
    unknown = sorted(set(mark.kwargs) - known)
    if unknown:
        raise wrong(f"there is no option {unknown[0]!r}; known: {', '.join(sorted(known))}")
    if len(mark.args) + ("n" in mark.kwargs) != 1:
        raise wrong("give the number of trials, as in trials(20)")
    n = _whole(mark.args[0] if mark.args else mark.kwargs["n"], wrong)
    if forced is not None:
        n = count(forced)
    simulated = mark.kwargs.get("simulated", False)
    simulation = mark.kwargs.get("simulation")
    if simulation is not None and not callable(simulation):
        raise wrong(f"simulation={simulation!r}: must be a function of (request, rng)")
    undecided = mark.kwargs.get("undecided")
    if not isinstance(simulated, bool):
        raise wrong(f"simulated={simulated!r}: must be True or False")
    if undecided not in (None, "pass", "fail"):
        raise wrong(f"undecided={undecided!r}: must be 'pass' or 'fail'")
    text = mark.kwargs.get("gate", EVERY)
    if text is None or text == EVERY:
        return TrialsMark(n, None, text is not None, simulated or simulation is not None, undecided, simulation)
    try:
        gate = text if isinstance(text, Gate) else Gate.parse(text)
    except SuiteError as error:
        raise wrong(str(error)) from None
    if gate.of != "these tasks":
        raise wrong(f"gate {str(gate)!r}: one test is one task; leave out 'of {gate.of}'")
    possible = gate_feasibility(gate, tasks=1, trials=n)
    if not possible.possible:
        raise wrong(possible.message)
    return TrialsMark(n, gate, False, simulated or simulation is not None, undecided, simulation)


def count(text: str) -> int:
    """The number of ``--trials N``."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise pytest.UsageError(f"--trials {text}: must be a whole number, 1 or more")
    return int(text)


def _whole(value: Any, wrong: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise wrong(f"the number of trials must be a whole number, 1 or more, got {value!r}")
    return value
