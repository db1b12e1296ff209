"""What the report needs, loaded while the processes of a run start: until then this process only waits."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterator

_OF_REPORTS = ("scipy.special", "passhat.reporting")


@contextlib.contextmanager
def loading_for_the_report() -> Iterator[None]:
    """Load it on a thread, which has ended when this has."""
    thread = threading.Thread(target=_load, name="passhat-report", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load() -> None:
    for name in _OF_REPORTS:
        with contextlib.suppress(Exception):  # whoever needs it says what is wrong with it
            importlib.import_module(name)
