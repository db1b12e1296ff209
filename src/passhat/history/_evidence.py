"""Which runs may speak for a task: whole ones, judged as the suite is judged now."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from passhat.facts import Manifest
from passhat.history._collect import Found
from passhat.history._errors import HistoryError
from passhat.history._points import left_out


class LeftOut(msgspec.Struct, frozen=True):
    """A run that doesn't count, and why."""

    run: str
    reason: str


def evidence(found: Sequence[Found], last: int) -> tuple[list[Found], tuple[LeftOut, ...]]:
    """The newest ``last`` whole runs, newest first, without those that measured something else; and what was left out.

    A run that was broken off, or that stopped early because its verdict was certain, isn't whole: how far it got may
    depend on how its trials went, so what it has is no fair sample of them. It doesn't use up one of ``last``.
    """
    if last < 1:
        raise HistoryError(f"last={last!r}: must be a whole number of runs, 1 or more")
    taken: list[Found] = []
    out: list[LeftOut] = []
    whole = 0
    for each in reversed(found):
        if whole == last:
            break
        reason = _not_whole(each)
        if not reason:
            whole += 1
            reason = _other(each.manifest, found[-1].manifest)
        if reason:
            out.append(LeftOut(each.manifest.run_id, reason))
        else:
            taken.append(each)
    return taken, tuple(out)


def _not_whole(each: Found) -> str:
    state = each.manifest.state
    if state != "finished":
        return "still running" if state == "running" else state
    return "stopped early, once its verdict was certain" if left_out(each) else ""


def _other(run: Manifest, newest: Manifest) -> str:
    if run.graders != newest.graders:
        return "other graders"
    return "several kinds of source answered" if run.model_source == "mixed" else ""
