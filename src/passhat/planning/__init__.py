"""How many tasks and trials? From a pilot run, or from assumed rates, before money is spent."""

from passhat.planning._errors import PlanError
from passhat.planning._pilot import RESPONSE, Pilot, assumed, pilot_of, variances
from passhat.planning._plan import Plan, Size, Ways, make_plan, power_of

__all__ = [
    "RESPONSE",
    "Pilot",
    "Plan",
    "PlanError",
    "Size",
    "Ways",
    "assumed",
    "make_plan",
    "pilot_of",
    "power_of",
    "variances",
]
