"""Graders: functions of a finished trial that say whether, or how well, it did what was asked.

Any callable is one. `outcome` looks at the state the agent left, `trace` at what happened, `answers` at what it
returned.
"""

from passhat.graders import answers, outcome, trace
from passhat.graders._check import Check
from passhat.graders._combine import all_of, any_of, not_, weighted
from passhat.graders._direct import grade
from passhat.graders._expected import value
from passhat.graders._names import Grader, GraderSetup, grader, grader_name, grader_names
from passhat.graders._run import run_grader, run_grader_async
from passhat.graders._version import source_version
from passhat.graders._wrapped import advisory, critical, required
from passhat.graders.answers import exact

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
    "grader_name",
    "grader_names",
    "not_",
    "outcome",
    "required",
    "run_grader",
    "run_grader_async",
    "source_version",
    "trace",
    "value",
    "weighted",
]
