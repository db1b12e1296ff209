"""The directories of runs: their names, and making a fresh one."""

from __future__ import annotations

import datetime
import os
import re
import secrets
from pathlib import Path

from passhat.records._disk import make_folder, open_private, sync_folder, write_all
from passhat.records._errors import disk_error


def new_run_folder(root: Path, started: datetime.datetime, suite: str) -> Path:
    """The fresh directory of a run; ``root`` ignores itself in git."""
    runs = root / "runs"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _ignore(root / ".gitignore")
        make_folder(runs)
        while True:
            path = runs / f"{started:%Y%m%dT%H%M%SZ}-{slug(suite)}-{secrets.token_hex(2)}"
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            sync_folder(runs)
            return path
    except OSError as error:
        raise disk_error(error, runs, "No run was started") from error


def _ignore(path: Path) -> None:
    try:
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    try:
        write_all(descriptor, b"*\n")
    finally:
        os.close(descriptor)


def slug(text: str, *, longest: int = 40) -> str:
    """A text as part of a file name: lower-case ASCII letters, digits and single dashes.

    >>> slug("Support desk: refunds/v2")
    'support-desk-refunds-v2'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:longest].strip("-") or "run"
