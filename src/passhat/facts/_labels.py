"""What people say of a trial after reading it."""

from __future__ import annotations

from typing import Literal

import msgspec

Fault = Literal["agent", "task", "grader", "environment", "simulator"]


class Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """One person's verdict on one trial; ``at`` is UTC, ISO 8601."""

    task: str
    trial: int
    verdict: Literal["pass", "fail", "unclear"]
    rater: str
    at: str
    arm: str = ""
    fault: Fault | None = None
    note: str = ""
    grader: str = ""  # the criterion that was judged, when it was one and not the whole trial
    blind: bool = False  # the judge's verdict was hidden
    sample: str = ""  # how the trial was chosen: "all", "random", "failed", …
