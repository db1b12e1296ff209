"""The wires: which one a path belongs to, and how each reads and writes."""

from __future__ import annotations

from passhat.gateway._wires._chat import ChatWire
from passhat.gateway._wires._shape import Wire

CHAT: Wire = ChatWire()

WIRES: dict[str, Wire] = {wire.name: wire for wire in (CHAT,)}
PATHS: dict[str, Wire] = {"/chat/completions": CHAT}


def bare(path: str) -> str:
    """A path without ``/v1`` before it and slashes after it."""
    path = path.rstrip("/")
    return path[3:] if path.startswith("/v1/") else path


__all__ = ["PATHS", "WIRES", "Wire", "bare"]
