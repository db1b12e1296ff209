"""Checks of the outcome: the state that the agent left behind, whatever it says it did."""

from passhat.graders.outcome._database import rows
from passhat.graders.outcome._files import absent, exists, json_file, text
from passhat.graders.outcome._goal import goal, queries
from passhat.graders.outcome._http import http
from passhat.graders.outcome._workspace import changed_only, unchanged

__all__ = [
    "absent",
    "changed_only",
    "exists",
    "goal",
    "http",
    "json_file",
    "queries",
    "rows",
    "text",
    "unchanged",
]
