"""How many tasks and trials? From a pilot run, or from assumed rates, before money is spent."""

from passhat.planning._errors import PlanError
from passhat.planning._finding import Direction, power_of
from passhat.planning._pilot import Kind, Pilot, assumed, pilot_of
from passhat.planning._plan import Plan, Size, Smallest, Ways, make_plan
from passhat.planning._response import variances

__all__ = [
    "Direction",
    "Kind",
    "Pilot",
    "Plan",
    "PlanError",
    "Size",
    "Smallest",
    "Ways",
    "assumed",
    "make_plan",
    "pilot_of",
    "power_of",
    "variances",
]
