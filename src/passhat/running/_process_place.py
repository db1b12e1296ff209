"""The directory of one trial: known by what it is, not by its name, which the agent could give to another."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from passhat.isolation import remove_tree, unmount_below
from passhat.running._workspaces import Unfit, seal


class TrialFolder:
    """A new directory below ``parent``, whose name nobody can guess. Held open, so that no other can pass for it."""

    def __init__(self, parent: Path) -> None:
        """Make it; OSError when there is no place for it."""
        self.path = parent / secrets.token_urlsafe(6)
        self.path.mkdir(mode=0o700)
        self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    @property
    def intact(self) -> bool:
        """Whether its path still leads to it."""
        with contextlib.suppress(OSError):
            return self._held >= 0 and os.path.samestat(os.lstat(self.path), os.fstat(self._held))
        return False

    def clear(self) -> None:
        """Remove it, or the link that took its place; what else took its place is left alone. May be called again.

        Raises OSError for what can't be removed.
        """
        try:
            if self.intact:
                unmount_below(self.path)
                remove_tree(self.path)
            elif self.path.is_symlink():
                self.path.unlink()
        finally:
            if self._held >= 0:
                os.close(self._held)
                self._held = -1


def sealed(folder: TrialFolder, place: Path) -> list[str]:
    """Make the workspace ``place`` in a trial's folder safe for graders. Returns remarks on what was done to it.

    Raises `Unfit`, with nothing changed outside, when the folder isn't there any more, and when the workspace can't be
    sealed. To be called when nothing of the trial is alive.
    """
    if not folder.intact:
        raise Unfit("the agent removed or replaced the directory of its trial, with its workspace in it")
    try:
        notes = [f"unmounted before grading: {where}" for where in unmount_below(folder.path)]
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
            place.mkdir(mode=0o700)
            notes.append("the workspace was no directory any more; graders were given an empty one")
    except OSError as error:
        raise Unfit.because(error) from error
    return notes + seal(place)
