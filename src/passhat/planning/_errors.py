"""What can't be planned.

PasshatError
└── PlanError        a pilot that says nothing, or numbers out of range    (also ValueError)
"""

from __future__ import annotations

from passhat.facts import PasshatError


class PlanError(PasshatError, ValueError):
    """A plan that can't be made; the message names the value and the way out."""
