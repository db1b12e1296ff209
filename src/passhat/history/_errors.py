"""What has no history.

PasshatError
└── HistoryError        no run of a suite, or of the name that was asked for    (also ValueError)
"""

from __future__ import annotations

from passhat.facts import PasshatError


class HistoryError(PasshatError, ValueError):
    """A history that can't be told; the message names what was looked for and where."""
