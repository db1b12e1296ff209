"""The report for programs."""

from __future__ import annotations

import msgspec

from passhat.summary import Report


def render_json(report: Report, *, indent: int | None = 2) -> str:
    """The report as JSON, schema 1; ``indent=None`` puts it on one line. Unknown values are null, never 0."""
    data = report.to_json()
    return (data if indent is None else msgspec.json.format(data, indent=indent)).decode() + "\n"
