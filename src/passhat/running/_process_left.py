"""What is known of a trial in a process beside what its agent left, and what all processes of a trial are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from passhat.isolation import ProcessLimits
from passhat.running._plan import PlannedTrial
from passhat.running._process_orders import SuiteAddress
from passhat.running._spans import Span
from passhat.trial import CLEARED

if TYPE_CHECKING:
    from passhat.running._inline import World


@dataclass(frozen=True)
class Left:
    """What grading needs to know of a trial beside what its agent left; ``diff`` and ``lost`` are a stored trial's.

    ``span``: when its agent was under way; None of a stored one, of which that isn't known.
    """

    world: World
    planned: PlannedTrial
    suite: SuiteAddress
    variables: Mapping[str, str]
    before: dict[str, str] | None = None
    diff: Mapping[str, str] | None = None
    lost: Mapping[str, str] = field(default_factory=dict)
    span: Span | None = None


def led_environ(variables: Mapping[str, str], access: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process whose model clients are led to the gateway."""
    return {name: value for name, value in {**variables, **access}.items() if name not in CLEARED}


def process_limits(world: World, output_bytes: int | None) -> ProcessLimits:
    """What isolation holds a process to; its deadlines are in the phases."""
    limits = world.limits
    return ProcessLimits(
        seconds=None, memory_bytes=limits.memory_bytes, processes=limits.processes, output_bytes=output_bytes
    )
