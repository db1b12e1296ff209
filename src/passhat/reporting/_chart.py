"""A small chart of pass^k and pass@k over k with their intervals, as SVG without scripts or outside resources."""

from __future__ import annotations

import math
from collections.abc import Sequence

from passhat.summary import Rate, Report

WIDTH, HEIGHT = 640, 260
_LABEL = 44  # between two labels of the axis
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 84, 14, 34


def rate_chart(report: Report) -> str:
    """Both curves with bars for *these tasks* and whiskers for *tasks like these*; empty where there is no curve.

    Everything in it is a number or one of our own words, so it is safe to put into a page as it is.
    """
    ks = [row.k for row in report.pass_hat if row.these_tasks is not None]
    if len(ks) < 2:
        return ""
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="pass^k and pass@k for k from {ks[0]} to {ks[-1]}, with intervals">'
    ]
    parts += _grid(ks)
    wide = report.conservative_ks
    parts += _curve(report.pass_at, ks, "at", "pass@k", -5, wide)
    parts += _curve(report.pass_hat, ks, "hat", "pass^k", 5, wide)
    return "\n".join([*parts, "</svg>"])


def _x(ks: Sequence[int], k: int) -> float:
    room = WIDTH - _LEFT - _RIGHT
    if stretched(ks):
        return _LEFT + 14 + (room - 28) * math.log(k / ks[0]) / math.log(ks[-1] / ks[0])
    return _LEFT + room * ((ks.index(k) + 0.5) / len(ks))


def stretched(ks: Sequence[int]) -> bool:
    """Whether some k between the first and the last are left out: equal steps would then bend the curves."""
    return len(ks) != ks[-1] - ks[0] + 1


def _y(value: float) -> float:
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - value)


def _grid(ks: Sequence[int]) -> list[str]:
    lines = []
    for step in range(5):
        value = step / 4
        y = _y(value)
        lines.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        lines.append(f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for k in _labelled(ks):
        lines.append(f'<text class="tick" x="{_x(ks, k):.1f}" y="{HEIGHT - 12}" text-anchor="middle">k={k}</text>')
    return lines


def _labelled(ks: Sequence[int]) -> list[int]:
    """The k that are written below the axis: the first, the last, and between them those that have room."""
    shown = [ks[0]]
    for k in ks[1:-1]:
        if min(_x(ks, k) - _x(ks, shown[-1]), _x(ks, ks[-1]) - _x(ks, k)) >= _LABEL:
            shown.append(k)
    return [*shown, ks[-1]]


def _curve(rates: Sequence[Rate], ks: Sequence[int], name: str, label: str, shift: int, wide: range) -> list[str]:
    rows = [row for row in rates if row.k in ks and row.these_tasks is not None]
    lines = []
    for row in rows:
        x = _x(ks, row.k) + shift
        for ends, kind in (
            (row.tasks_like_these, "like"),
            (row.these_tasks, "these rule" if row.k in wide else "these"),
        ):
            if ends is not None:
                low, high = ends
                lines.append(
                    f'<line class="{name} {kind}" x1="{x:.1f}" y1="{_y(low):.1f}" x2="{x:.1f}" y2="{_y(high):.1f}"/>'
                )
    known = [(row, row.estimate) for row in rows if row.estimate is not None]
    points = " ".join(f"{_x(ks, row.k) + shift:.1f},{_y(value):.1f}" for row, value in known)
    lines.append(f'<polyline class="{name} path" points="{points}"/>')
    lines += [
        f'<circle class="{name} dot" cx="{_x(ks, row.k) + shift:.1f}" cy="{_y(value):.1f}" r="3.5">'
        f"<title>{label.replace('k', str(row.k))} = {value:.3f}</title></circle>"
        for row, value in known
    ]
    if known:
        row, value = known[-1]
        y = _y(value) + (4 if len(known) > 1 else 4 + 2 * shift)
        lines.append(f'<text class="{name} name" x="{WIDTH - _RIGHT + 10}" y="{y:.1f}">{label}</text>')
    return lines


def interval_bar(estimate: float | None, ends: tuple[float, float] | None) -> str:
    """A bar from 0 to 1 with an interval and a dot, for a table's row."""
    if estimate is None:
        return ""
    low, high = ends or (estimate, estimate)
    return (
        '<svg class="bar" viewBox="0 0 108 12" aria-hidden="true"><line class="grid" x1="4" y1="6" x2="104" y2="6"/>'
        f'<line class="range" x1="{4 + 100 * low:.1f}" y1="6" x2="{4 + 100 * high:.1f}" y2="6"/>'
        f'<circle class="dot" cx="{4 + 100 * estimate:.1f}" cy="6" r="3.5"/></svg>'
    )
