"""A scripted model for any program: ``passhat gateway --script replies.yaml``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from passhat.facts import Limits, ModelCall
from passhat.gateway import Faults, Gateway, Session
from passhat.scripting._declarative import load


def serve_script(
    path: str | Path,
    *,
    port: int = 0,
    seed: int | None = None,
    faults: Any = None,
    sink: Callable[[str, ModelCall], None] | None = None,
) -> Gateway:
    """A gateway that plays the file for every key it is asked with, each key a trial of its own from the start.

    It is not started yet: use it as a context manager, or call ``start``. ``sink`` is given the key and the event of
    each call. ``faults`` come before those of the file. Raises `ScriptError` for a file that can't be read.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "replies.yaml")
    >>> _ = path.write_text("replies:\\n- say: hello\\n")
    >>> with serve_script(path) as gateway:
    ...     print(gateway.base_url)
    http://127.0.0.1:...
    >>> folder.cleanup()
    """
    play = load(path)
    chosen = play.seed if seed is None else seed
    struck = Faults(*Faults.of(faults).faults, *play.faults.faults)

    def welcome(gateway: Gateway, key: str) -> Session:
        def told(event: ModelCall) -> None:
            if sink is not None:
                sink(key, event)

        free = Limits(model_calls=None)
        return gateway.open(play.mode(), key=key, label=key, seed=chosen, faults=struck, limits=free, sink=told)

    return Gateway(port=port, welcome=welcome)
