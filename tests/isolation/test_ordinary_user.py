"""The same promises for a user without any privilege. As root, another user is taken for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat.isolation import capabilities

PROGRAM = Path(__file__).parent / "entries" / "isolation_user.py"
NOBODY = 65534


def interpreter() -> list[str]:
    """An interpreter of this version that the other user may run; ours may lie in a closed home."""
    names = [sys.executable, shutil.which(f"python3.{sys.version_info[1]}", path="/usr/bin:/usr/local/bin") or ""]
    for name in filter(None, names):
        if readable(name):
            tried = subprocess.run(
                [name, "-c", "import ctypes"], user=NOBODY, group=NOBODY, capture_output=True, cwd="/"
            )
            if tried.returncode == 0:
                return [name]
    pytest.skip(f"no Python {sys.version_info[0]}.{sys.version_info[1]} that user {NOBODY} may run")


def readable(name: str) -> bool:
    """Whether anybody may reach a file."""
    path = Path(os.path.realpath(name))
    return all(parent.stat().st_mode & 0o001 for parent in [path, *path.parents])


def run_as_user() -> dict[str, Any]:
    command = [sys.executable]
    changes: dict[str, Any] = {}
    environ = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    if os.geteuid() == 0:
        command = interpreter()
        changes = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        source = Path(passhat.__file__).parents[1]
        environ["PYTHONPATH"] = os.pathsep.join([str(source), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [*command, str(PROGRAM)], env=environ, cwd="/", capture_output=True, text=True, timeout=120, **changes
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_an_ordinary_user_has_the_same_promises() -> None:
    told = run_as_user()
    assert told.pop("uid") != 0
    assert told.pop("mode") == "process"
    guarded, free = told.pop("guard True"), told.pop("guard False")
    if capabilities().guard:
        assert set(guarded.values()) == {False}
    assert free["runner signal"] is True
    assert (free["supervisor memory"], free["server memory"]) == (False, False)  # they are not dumpable
    assert told.pop("spare") is False  # nor is what is forked ahead, until it has its order
    assert told == {
        "echo": ["returned", None, "proved", 0],
        "c_loop": ["timeout", None, "proved", 0],
        "swallows_cancel": ["timeout", None, "proved", 0],
        "daemonises": ["timeout", None, "proved", 0],
        "hundred_children": ["timeout", None, "proved", 0],
        "replaces_itself": ["timeout", None, "proved", 0],
        "keeper_tree": ["timeout", None, "proved", 0],
        "floods": ["limit", "output", "proved", 0],
        "allocates": ["limit", "memory", "proved", 0],
        "too_many": ["limit", "processes", "proved", 0],
        "closes_everything": ["exited", None, "proved", 0],
    }
