"""What can go wrong before anybody reads."""

from __future__ import annotations

from passhat.facts import PasshatError


class ReviewError(PasshatError):
    """A reading list, plan or label that can't be used; the message names the value and the way out."""
