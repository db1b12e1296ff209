"""The thread that a gateway's server runs on."""

from __future__ import annotations

import threading


class ServerThread(threading.Thread):
    """One a server; its requests are the gateway's own, such as those that it forwards."""


def in_gateway() -> bool:
    """Whether this code runs on a gateway's own thread, of whichever gateway."""
    return isinstance(threading.current_thread(), ServerThread)
