"""A judge beside people: how far they agree, and the pass rate as people would have judged it."""

from passhat.calibrating._calibrate import ALL, Labelled, calibrate
from passhat.calibrating._controls import CONTROLS
from passhat.calibrating._errors import CalibrationError
from passhat.calibrating._result import (
    Calibration,
    Correction,
    Counts,
    Dimension,
    Estimate,
    Needed,
    Part,
    Quality,
    Share,
)
from passhat.calibrating._robustness import REPEATS, Probe, probes, robustness
from passhat.calibrating._robustness_result import ControlLeak, Rate, Robustness

__all__ = [
    "ALL",
    "CONTROLS",
    "REPEATS",
    "Calibration",
    "CalibrationError",
    "ControlLeak",
    "Correction",
    "Counts",
    "Dimension",
    "Estimate",
    "Labelled",
    "Needed",
    "Part",
    "Probe",
    "Quality",
    "Rate",
    "Robustness",
    "Share",
    "calibrate",
    "probes",
    "robustness",
]
