"""Files that an agent left, put into the transcript."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from passhat.facts import name_in_text
from passhat.trial import Trial

MOST_FILES = 100
MOST_BYTES = 100_000  # of one file's text; of a larger one the beginning is kept


def collect(trial: Trial, folder: Path, globs: Sequence[str]) -> None:
    """One event a matching file: its size and digest, and its text where it is text. Links are left alone."""
    for number, path in enumerate(_matching(folder, globs)):
        name = name_in_text(path.relative_to(folder).as_posix())
        if number == MOST_FILES:
            trial.event("file", "…", {"left_out": f"only the first {MOST_FILES} files are collected"}, author="file")
            return
        try:
            trial.event("file", name, _content(path), author="file")
        except OSError as error:
            trial.event("file", name, {"error": str(error)}, author="file")


def _matching(folder: Path, globs: Sequence[str]) -> Iterator[Path]:
    found = {path for glob in globs for path in folder.glob(glob)}
    root = folder.resolve()
    return (
        path
        for path in sorted(found)
        if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(root)
    )


def _content(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        head = file.read(MOST_BYTES)
        digest = hashlib.sha256(head)
        size = len(head)
        while block := file.read(1 << 20):
            digest.update(block)
            size += len(block)
    about: dict[str, object] = {"bytes": size, "sha256": digest.hexdigest()}
    try:
        about["text"] = head.decode("utf-8", "strict" if size == len(head) else "ignore")
    except UnicodeDecodeError:
        return about
    if size > len(head):
        about["truncated"] = True
    return about
