"""What a failed verdict lists of its trials."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from passhat.pytest_plugin._trial_parts import TrialParts


def listing(trials: Sequence[TrialParts], most: int = 3) -> list[str]:
    """Reasons by how often they occurred, and the whole text of the first failures that differ."""
    worst = [(trial.number, trial.worst()) for trial in trials]
    counts = Counter(_stem(part.message) for _, part in worst if part.message)
    shown = {_stem(part.message): part.message for _, part in reversed(worst)}
    lines = [f"{count} x {shown[stem]}" for stem, count in counts.most_common(10)]
    different = {_stem(part.text): (number, part) for number, part in reversed(worst) if part.text}
    for number, part in sorted(different.values(), key=lambda row: row[0])[:most]:
        lines += ["", f"--- trial {number}: {part.kind} ---", _end_of(part.text)]
    return lines


def _stem(text: str) -> str:
    """The text without what differs from object to object, so that the same failure is told once.

    >>> _stem("<Order object at 0x7f3a12c4> is late")
    '<Order object at 0x…> is late'
    """
    return re.sub(r"\btrial\d+of\d+\b", "trial…", re.sub(r"\b0x[0-9a-fA-F]+", "0x…", text))


def _end_of(text: str, most: int = 40) -> str:
    lines = [line if len(line) <= 500 else f"{line[:500]}…" for line in text.rstrip().splitlines()]
    return "\n".join(lines if len(lines) <= most else [f"… {len(lines) - most} lines", *lines[-most:]])
