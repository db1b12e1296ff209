"""Whether a call is one that a check is about: by the arguments that were asked for, or by those that ran."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from passhat.facts import ToolUse
from passhat.graders.trace._arguments import matches
from passhat.graders.trace._evidence import holds, several

RECORD = "record runs with @passhat.tool, and say recorded=True where every run is recorded"


def read(wanted: Any, arguments: Any, malformed: bool = False) -> bool | None:
    """Whether arguments are those that are wanted; None where they can't be read.

    What is no JSON object (cut off, JSON that was quoted once more, nothing at all) is not other arguments. Free text,
    which some tools take, is read by a pattern, a text or a function.

    >>> read({"order": "A1"}, {"order": "A1"}), read({"order": "A1"}, '{"order": "A', malformed=True)
    (True, None)
    """
    if wanted is None:
        return True
    if isinstance(arguments, Mapping) and not malformed:
        return matches(wanted, arguments)
    if not isinstance(arguments, str):
        return None
    if isinstance(wanted, str | re.Pattern):
        return matches(wanted, arguments) or (None if malformed else False)
    free = callable(wanted) and not malformed and is_free_text(arguments)
    return matches(wanted, arguments) if free else None


def is_free_text(arguments: Any) -> bool:
    """Whether arguments are text that isn't meant as JSON."""
    return isinstance(arguments, str) and arguments.strip()[:1] not in ("", "{", "[", '"')


def fits(wanted: Any, use: ToolUse, evidence: str) -> bool | None:
    """Whether a call has the wanted arguments: those of its recorded run for "executed", else those of the request.

    None where nothing tells: they can't be read, or no run was recorded.
    """
    if wanted is None:
        return True
    if evidence == "executed" and use.run is None:
        return None
    if use.run is not None and (evidence == "executed" or use.requested is None):
        return read(wanted, use.run.arguments)
    return read(wanted, use.arguments, use.requested is not None and use.requested.malformed)


def counts(wanted: Any, use: ToolUse, evidence: str, recorded: bool = False) -> bool | None:
    """Whether a call has this evidence and these arguments; None when nothing tells."""
    known = holds(use, evidence, recorded)
    if known is False:
        return False
    fit = fits(wanted, use, evidence)
    return fit if known or fit is False else None


def concerns(wanted: Any, use: ToolUse, evidence: str, recorded: bool = False) -> bool | None:
    """As `counts`, where what surely ran with such arguments counts at every level: for bans and duties."""
    asked = counts(wanted, use, evidence, recorded)
    if asked or evidence == "executed" or not use.executed:
        return asked
    ran = fits(wanted, use, "executed")
    return asked if ran is False else ran


def happened(
    uses: Sequence[ToolUse], evidence: str, recorded: bool, wanted: Any = None
) -> tuple[list[ToolUse], list[ToolUse]]:
    """Calls that count against a ban, and those of which nothing tells. What surely ran counts at every level."""
    known = [(use, concerns(wanted, use, evidence, recorded)) for use in uses]
    return [use for use, answer in known if answer], [use for use, answer in known if answer is None]


def untold_of(uses: Sequence[ToolUse], evidence: str) -> str:
    """Why nothing tells of these calls."""
    return unread(uses, evidence) or f"nothing tells whether it ran: {several(uses)}; {RECORD}"


def unread(uses: Sequence[ToolUse], evidence: str) -> str:
    """A word on those of the calls whose arguments can't be read; empty when all can."""
    strange = [use for use in uses if not readable(use, evidence)]
    return f"arguments that are no JSON object could be any: {several(strange)}" if strange else ""


def readable(use: ToolUse, evidence: str = "requested") -> bool:
    """Whether a call's arguments are a JSON object, at this evidence."""
    ran = use.run is None or isinstance(use.run.arguments, Mapping)
    if evidence == "executed" or use.requested is None:
        return ran
    return isinstance(use.arguments, Mapping) and not use.requested.malformed and (ran or use.executed is False)
