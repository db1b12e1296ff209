"""Other data, or another template, than when the run began: what grades are worth then, and whose doing it was.

Data may be swapped by a folder above it, which changes no file of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from passhat.facts import ErrorInfo, Grade, Role, named
from passhat.running._data_files import last_change

if TYPE_CHECKING:
    from passhat.running._inline import World
    from passhat.running._spans import Span, Spans

_WHAT = "isn't the folder that was there when the run began: it, or one above it, was replaced, renamed or mounted over"


def unbelieved(grades: Sequence[Grade], moved: Collection[str]) -> tuple[Grade, ...]:
    """The grades without what speaks for the trial, where the data of these names were others before or after it was
    graded."""
    if not moved:
        return tuple(grades)
    error = (
        f"MovedData: {named(sorted(moved))} {_WHAT}. Restore it, and have the trial judged by passhat regrade; with "
        "--confine no trial can do that"
    )
    return tuple(
        grade
        if grade.passed is False and grade.role is not Role.ADVISORY
        else msgspec.structs.replace(grade, passed=None, score=None, error=grade.error or error)
        for grade in grades
    )


def who_moved(moved: Collection[str], span: Span | None, spans: Spans) -> ErrorInfo | None:
    """That it was this trial's agent that moved data before its grading, if nobody else can have: they were in place
    when it began, nothing of the suite's ran before it, and no other trial or grading was under way since."""
    if not moved or span is None or not span.alone or spans.others_since(span):
        return None
    return ErrorInfo(
        "data", f"{named(sorted(moved))} {_WHAT}, while this trial's agent was under way and no other trial"
    )


def changed_by_others(world: World, span: Span, spans: Spans) -> bool:
    """Whether somebody else than the agent of this trial can have changed the template, which was as it was before that
    began: another trial or grading that was under way, or code of the suite's before the agent's turn.

    A template that was changed before and put in its place by a folder above it doesn't tell when that was.
    """
    if world.template is None:
        return False
    try:
        at = last_change(world.template)
    except OSError:
        return False
    before = at < span.began
    others = spans.others_since(span) if before else spans.owners(at) - {span.owner}
    return at > world.template_stamp and (bool(others) or (not before and span.before_turn(at)))
