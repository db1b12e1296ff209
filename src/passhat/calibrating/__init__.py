"""A judge beside people: how far they agree, and the pass rate as people would have judged it."""

from passhat.calibrating._calibrate import ALL, Labelled, calibrate
from passhat.calibrating._errors import CalibrationError
from passhat.calibrating._labels_file import read_labels
from passhat.calibrating._result import (
    Calibration,
    Correction,
    Counts,
    Dimension,
    Estimate,
    Needed,
    Quality,
    Share,
    Stratum,
)

__all__ = [
    "ALL",
    "Calibration",
    "CalibrationError",
    "Correction",
    "Counts",
    "Dimension",
    "Estimate",
    "Labelled",
    "Needed",
    "Quality",
    "Share",
    "Stratum",
    "calibrate",
    "read_labels",
]
