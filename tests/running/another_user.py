"""Who runs a suite where it isn't root that does."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

NOBODY = 65534


def interpreter() -> str:
    """One of this version that the other user may run; ours may lie in a closed home."""
    if os.geteuid() != 0:
        return sys.executable
    names = [sys.executable, shutil.which(f"python3.{sys.version_info[1]}", path="/usr/bin:/usr/local/bin")]
    for name in filter(None, names):
        path = Path(os.path.realpath(name))
        if all(parent.stat().st_mode & 0o001 for parent in [path, *path.parents]):
            return name
    pytest.skip(f"no Python 3.{sys.version_info[1]} that user {NOBODY} may run")
