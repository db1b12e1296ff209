"""Did it get better? A baseline and its candidates, compared task by task.

The same tasks are paired, each difference has an interval for
*these tasks* and one for *tasks like these*, and a verdict says in words what the trials can carry.
"""

from passhat.comparing._compare import compare
from passhat.comparing._errors import CompareError
from passhat.comparing._group_key import duplicate_keys, group_key, javascript_json
from passhat.comparing._result import (
    ArmFacts,
    Blocked,
    Candidate,
    Claim,
    Comparison,
    Delta,
    Lift,
    LookFacts,
    Needs,
    TagLift,
    TaskPair,
)
from passhat.comparing._verdict import p_text, points

__all__ = [
    "ArmFacts",
    "Blocked",
    "Candidate",
    "Claim",
    "CompareError",
    "Comparison",
    "Delta",
    "Lift",
    "LookFacts",
    "Needs",
    "TagLift",
    "TaskPair",
    "compare",
    "duplicate_keys",
    "group_key",
    "javascript_json",
    "p_text",
    "points",
]
