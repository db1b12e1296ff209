"""Why the corrected rate isn't the judge's, in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from passhat.calibrating._result import Correction
from passhat.facts import count

NEAR = 0.01
"""A difference of rates that is called none."""


def explained(found: Correction, table: Sequence[Sequence[int]], elsewhere: str) -> Correction:
    """The correction with its sentence; ``table`` are the labels that it rests on."""
    return msgspec.structs.replace(found, why=" ".join(_sentences(found, table, elsewhere)))


def _sentences(found: Correction, table: Sequence[Sequence[int]], elsewhere: str) -> list[str]:
    if found.corrected is None or found.passed_too_many is None or found.failed_too_many is None:
        return []
    (tp, missed), (slipped, tn) = table
    raw, corrected = found.raw.estimate, found.corrected.estimate
    where = f"On the labelled trials of {elsewhere} the" if elsewhere else "The"
    said = [
        f"{where} judge passes {_of(slipped, slipped + tn)} of what people fail, and fails "
        f"{_of(missed, tp + missed)} of what people pass."
    ]
    many, few = f"{found.passed_too_many:.0f}", f"{found.failed_too_many:.0f}"
    basis = "If it errs here as it does there, among" if elsewhere else "Among all"
    said.append(
        f"{basis} {count(found.judged, 'trial')} that is about {many} passed too many and {few} failed too many:"
    )
    if abs(corrected - raw) < NEAR:
        said.append(f"the two nearly cancel, and people's rate is about the judge's {raw:.3f}.")
    else:
        direction = "lower" if corrected < raw else "higher"
        said.append(f"people's rate is {direction}, {corrected:.3f} and not {raw:.3f}.")
    said.append(
        "The judge's own interval takes each verdict as true: it allows for the number of trials and not for the "
        "judge's errors, and more trials would only narrow it around the wrong rate."
    )
    return said


def _of(part: int, whole: int) -> str:
    return f"{part / whole * 100:.0f} % ({part} of {whole})" if whole else "an unknown share"
