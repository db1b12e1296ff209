"""Findings as they stand under a heading, and the sign of each severity."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.reporting._blocks import BAD, DIM, WARN, Page
from passhat.reporting._text import clean
from passhat.summary import Finding, Report, Severity

SIGNS: dict[Severity, tuple[str, str]] = {"error": ("✗", BAD), "warning": ("!", WARN), "note": ("·", DIM)}
"""A sign and its style."""


_ON_INTERVALS = ("order", "conservative-interval")


def folded(report: Report) -> list[Finding]:
    """A report's findings, those on how its intervals came about folded into one last line."""
    found = [each for each in report.findings if each.rule not in _ON_INTERVALS]
    said = [each.message for each in report.findings if each.rule == "conservative-interval"]
    if report.order is not None and any(each.rule == "order" for each in report.findings):
        said.append(f"Dependence of trials on their order: {report.order.verdict}")
    return [*found, Finding("intervals", "note", f"{'. '.join(said)} (docs/statistics.md)")] if said else found


def findings(page: Page, found: Sequence[Finding]) -> None:
    """A heading and a line a finding, its severity in front; nothing without one."""
    if found:
        page.heading("Findings")
    for each in found:
        page.bullet(f"{each.severity:<7}", SIGNS[each.severity][1], clean(each.message, 600))
