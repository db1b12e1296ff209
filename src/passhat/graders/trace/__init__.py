"""Checks of what happened. Each says what it looks at: *requested*, *returned* or *executed*.

Where nothing tells, a check is *unknown*: neither a pass nor a failure, and ``verify`` raises. None of them wants one
exact sequence of events unless it is told to.
"""

from passhat.graders.trace._arguments import any_order, matches, whole
from passhat.graders.trace._calls import called, never, only
from passhat.graders.trace._counts import at_most, exactly
from passhat.graders.trace._evidence import Evidence, TraceCheck
from passhat.graders.trace._listed import calls
from passhat.graders.trace._order import after, before
from passhat.graders.trace._reference import as_requested
from passhat.graders.trace._results import handed_off, no_result_ignored, returned_error
from passhat.graders.trace._talk import confirmed, stop_reason
from passhat.graders.trace._texts import TEMPLATES, UUID, text_never

__all__ = [
    "TEMPLATES",
    "UUID",
    "Evidence",
    "TraceCheck",
    "after",
    "any_order",
    "as_requested",
    "at_most",
    "before",
    "called",
    "calls",
    "confirmed",
    "exactly",
    "handed_off",
    "matches",
    "never",
    "no_result_ignored",
    "only",
    "returned_error",
    "stop_reason",
    "text_never",
    "whole",
]
