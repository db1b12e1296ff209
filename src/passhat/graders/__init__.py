"""Graders: functions of a finished trial that say whether, or how well, it did what was asked.

Any callable is one. `outcome` looks at the state the agent left, `trace` at what happened, `answers` at what it
returned; `judge` asks a model what code can't check.
"""

from passhat.graders import answers, judge, outcome, trace
from passhat.graders._check import Check
from passhat.graders._combine import all_of, any_of, not_, weighted
from passhat.graders._direct import grade
from passhat.graders._expected import value
from passhat.graders._names import Grader, GraderSetup, grader
from passhat.graders._wrapped import advisory, critical, required
from passhat.graders.answers import exact

# For the other rooms of this house, not for its users:
from passhat.graders._names import grader_name as grader_name  # isort: skip
from passhat.graders._names import grader_names as grader_names  # isort: skip
from passhat.graders._run import run_grader as run_grader  # isort: skip
from passhat.graders._run import run_grader_async as run_grader_async  # isort: skip
from passhat.graders._version import remember_version as remember_version  # isort: skip
from passhat.graders._version import source_version as source_version  # isort: skip

__all__ = [
    "Check",
    "Grader",
    "GraderSetup",
    "advisory",
    "all_of",
    "answers",
    "any_of",
    "critical",
    "exact",
    "grade",
    "grader",
    "judge",
    "not_",
    "outcome",
    "required",
    "trace",
    "value",
    "weighted",
]
