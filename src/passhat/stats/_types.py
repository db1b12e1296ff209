"""The words that arguments may be, and the shapes that counts and scores may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, SupportsIndex, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Rate: TypeAlias = Literal["pass^k", "pass@k"]
"""``pass^k``: all of k trials pass. ``pass@k``: at least one of k trials passes."""

Target: TypeAlias = Literal["these tasks", "tasks like these"]
"""What an interval is about: the suite's own tasks, or the population they were drawn from."""

Side: TypeAlias = Literal["both", "lower", "upper"]
"""Two-sided, or a one-sided bound that spends the whole error on one end (what a gate uses)."""

Counts: TypeAlias = "Sequence[SupportsIndex] | NDArray[np.integer[Any]]"
"""Whole numbers, one a task: a list, a tuple or an integer array."""

Scores: TypeAlias = "Sequence[SupportsFloat] | NDArray[np.floating[Any]] | NDArray[np.integer[Any]]"
"""Numbers, one a task."""
