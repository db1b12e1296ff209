"""A duration in words, the same wherever one is shown."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(0.034), duration(3), duration(12.34), duration(125), duration(7325)
    ('34 ms', '3.0 s', '12.3 s', '2 min 05 s', '2 h 02 min')
    """
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
