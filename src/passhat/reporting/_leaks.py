"""A leak check as an engineer reads it: each way to leak, found or not, or why it can't be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passhat.facts import count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Page
from passhat.reporting._console import Look
from passhat.reporting._text import clean

if TYPE_CHECKING:
    from passhat.auditing import LeakAudit

_SIGNS = {"found": ("✗", BAD), "not found": ("✓", GOOD), "not testable": ("?", WARN)}
_MOST = 8


def render_leaks(audit: LeakAudit, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The leak check as text for a terminal ``width`` columns wide."""
    page = Page(Look(width, color, unicode))
    page.line((clean(audit.suite, 100), STRONG), "  leaks: what one trial leaves to the next")
    parts = [count(audit.tasks, "task"), count(audit.trials, "trial"), f"{count(audit.plays, 'play')} in all"]
    page.line((f"{', '.join(parts)}, isolation {audit.isolation}, model {audit.model_source}", DIM))
    page.gap()
    for check in audit.checks:
        sign, style = _SIGNS[check.verdict]
        page.bullet(sign, style, (f"{check.name} ", STRONG), (check.verdict, style), f": {clean(check.message, 600)}")
        for path in check.paths[:_MOST]:
            page.line((clean(path, 300), DIM), indent=6)
        if len(check.paths) > _MOST:
            page.line((f"… {len(check.paths) - _MOST} more; see --json", DIM), indent=6)
    return page.text()
