"""What can go wrong before anybody reads.

PasshatError
└── ReviewError     a reading list, plan or label that can't be used    (also ValueError)
"""

from __future__ import annotations

from passhat.facts import PasshatError


class ReviewError(PasshatError, ValueError):
    """A reading list, plan or label that can't be used; the message names the value and the way out."""
