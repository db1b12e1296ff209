"""The wires: which one a path belongs to, and how each reads and writes."""

from __future__ import annotations

from passhat.gateway._wires._chat import ChatWire
from passhat.gateway._wires._messages import MessagesWire
from passhat.gateway._wires._responses import ResponsesWire
from passhat.gateway._wires._shape import Wire

CHAT: Wire = ChatWire()
RESPONSES: Wire = ResponsesWire()
MESSAGES: Wire = MessagesWire()

WIRES: dict[str, Wire] = {wire.name: wire for wire in (CHAT, RESPONSES, MESSAGES)}
PATHS: dict[str, Wire] = {"/chat/completions": CHAT, "/responses": RESPONSES, "/messages": MESSAGES}


def bare(path: str) -> str:
    """A path without ``/v1`` before it and slashes after it."""
    path = path.rstrip("/")
    return path[3:] if path.startswith("/v1/") else path


__all__ = ["PATHS", "WIRES", "Wire", "bare"]
