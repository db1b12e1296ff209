"""Entries that look at which modules a job finds, and at the user's code as it runs."""

from __future__ import annotations

import sys
from typing import Any

from passhat.isolation import Channel
from passhat.isolation._load import import_file


def imported(payload: Any, channel: Channel) -> Any:
    return {name: name in sys.modules for name in payload}


def values(payload: Any, channel: Channel) -> Any:
    import_file({"file": payload}, channel)
    seen = sys.modules["helper"].SEEN
    seen.append(1)
    return {"values": sys.modules["suite"].VALUES, "seen": len(seen)}


def import_late(payload: Any, channel: Channel) -> Any:
    sys.path.insert(0, payload)
    return __import__("late").VALUE
