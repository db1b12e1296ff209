"""Findings as they stand under a heading, and the sign of each severity."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.reporting._blocks import BAD, DIM, WARN, Page
from passhat.reporting._text import clean
from passhat.summary import Finding, Severity

SIGNS: dict[Severity, tuple[str, str]] = {"error": ("✗", BAD), "warning": ("!", WARN), "note": ("·", DIM)}
"""A sign and its style."""


def findings(page: Page, found: Sequence[Finding]) -> None:
    """A heading and a line a finding, its severity in front; nothing without one."""
    if found:
        page.heading("Findings")
    for each in found:
        page.bullet(f"{each.severity:<7}", SIGNS[each.severity][1], clean(each.message, 600))
