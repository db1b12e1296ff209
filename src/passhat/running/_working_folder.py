"""The process's working directory, which code that runs in this process can change."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def same_folder_after() -> Iterator[None]:
    """Go back afterwards to the directory that was current before, where that still can be done.

    What comes after a run (its report, the next suite, the files that were asked for) names paths from there.
    """
    try:
        before = os.getcwd()
    except OSError:  # it was removed: there is nothing to go back to
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.chdir(before)
