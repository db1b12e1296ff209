"""A judge beside people: how far they agree, and the pass rate as people would have judged it."""

from passhat.calibrating._calibrate import ALL, Labelled, calibrate
from passhat.calibrating._controls import CONTROLS
from passhat.calibrating._errors import CalibrationError
from passhat.calibrating._leaks import Leak, Rate, Robustness
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
from passhat.calibrating._robustness import REPEATS, Probe, probes, robustness

__all__ = [
    "ALL",
    "CONTROLS",
    "REPEATS",
    "Calibration",
    "CalibrationError",
    "Correction",
    "Counts",
    "Dimension",
    "Estimate",
    "Labelled",
    "Leak",
    "Needed",
    "Probe",
    "Quality",
    "Rate",
    "Robustness",
    "Share",
    "Stratum",
    "calibrate",
    "probes",
    "robustness",
]
