"""What can't be compared.

PasshatError
└── CompareError        sides that don't measure the same thing, or a side that isn't there    (also ValueError)
"""

from __future__ import annotations

from passhat.facts import PasshatError


class CompareError(PasshatError, ValueError):
    """Sides that can't be compared; the message says what differs, and how to compare them nevertheless."""
