"""What can't be calibrated.

PasshatError
└── CalibrationError     no such grader, nothing to judge it by, no such control    (also ValueError)
"""

from __future__ import annotations

from passhat.facts import PasshatError


class CalibrationError(PasshatError, ValueError):
    """A calibration that can't be made; the message names the value and the way out."""
