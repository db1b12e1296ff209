"""Paths in a trial's workspace."""

from __future__ import annotations

import os
from pathlib import Path

from passhat.facts import name_in_text
from passhat.graders._names import GraderSetup


class Gone(Exception):
    """The state that should be looked at isn't there: the agent's failure, not the grader's."""


def inside(workspace: Path, name: str | Path) -> Path:
    """A path in the workspace. One that names a place outside is refused; a link that leads outside is `Gone`."""
    root = workspace.resolve()
    named = Path(os.path.normpath(root / name))
    if not named.is_relative_to(root):
        raise GraderSetup(f"{str(name)!r} leaves the workspace; give a path relative to it")
    path = named.resolve()
    if not path.is_relative_to(root):
        raise Gone(f"{name} is a link that leaves the workspace")
    return path


def listing(workspace: Path, limit: int = 8) -> str:
    """``; it holds a.txt, b.txt``: what is there instead."""
    if not workspace.is_dir():
        return "; there is no workspace"
    names = sorted(name_in_text(entry.name) + ("/" if entry.is_dir() else "") for entry in workspace.iterdir())
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return f"; it holds {', '.join(names[:limit])}{more}" if names else "; it is empty"
