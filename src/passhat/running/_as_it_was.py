"""Importing the code of a run that goes on: what isn't as the run had it is refused before any of it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from passhat.facts import Manifest, moment
from passhat.isolation._importable import Importable
from passhat.isolation._late import LateImports
from passhat.isolation._once import Once, read_once
from passhat.isolation._snapshot import ModuleKinds
from passhat.running._changed_code import began, changed_at, shown
from passhat.running._errors import ResumeRefused
from passhat.running._manifest import is_of_project, project_of


def was_importable(manifest: Manifest, root: Path) -> dict[str, dict[str, str]]:
    """What could be imported when a run began, as far as it recorded that; of the project with this root. Of no file
    the content: what the run recorded of some is for the modules that it has compiled."""
    found: dict[str, dict[str, str]] = {}
    for name in (*manifest.files, *manifest.importable):
        folder, file = os.path.split(root / name)
        found.setdefault(folder, {})[file] = ""
    return found


@contextlib.contextmanager
def as_it_was(manifest: Manifest, file: Path) -> Iterator[None]:
    """While inside, this process imports the user's files only as this run had them, and from their source.

    ``file`` is the suite's, or the folder that it is in. Raises `ResumeRefused` at the end for what was refused, also
    where the importing code has caught that. Of a run that doesn't say when it began nothing is known.
    """
    if not began(manifest):
        yield
        return
    imports = _AsItWas(manifest, file)
    imports.complain()
    try:
        with imports.from_source_only():
            yield
    except Exception:
        imports.complain()
        raise
    imports.complain()


class _AsItWas(LateImports):
    def __init__(self, manifest: Manifest, file: Path) -> None:
        self._root, _ = project_of(file if file.is_dir() else file.parent)
        super().__init__(ModuleKinds(), began(manifest), then=Importable(was_importable(manifest, self._root)))
        self._run = manifest
        inline = manifest.isolation == "inline"  # what it recorded is what that process had imported for any purpose
        self._timed = not inline
        self._whole = not inline and shown(file, self._root) == (manifest.source_file or "").partition("::")[0]
        here = self._whole or (inline and (self._root / (manifest.source_file or "").partition("::")[0]).is_file())
        gone = [name for name in manifest.files if here and not (self._root / name).exists()]
        self._reasons: dict[str, None] = dict.fromkeys(f"file {name} is gone" for name in gone)

    def _refuse_changed(self, name: str, file: str) -> NoReturn:
        place = shown(file, self._root)
        what = "changed" if place in self._run.files else "is new to the run"
        self._reasons[f"file {place} {what} (last written {moment(changed_at(file))})"] = None
        raise ImportError(f"{name} isn't imported: {file} {what}", name=name, path=file)

    def _changed(self, file: str) -> bool:
        if shown(file, self._root) not in self._run.files:
            return self._is_new(file) or (self._timed and super()._changed(file))
        try:
            return self._differs(file, read_once(file))
        except OSError:
            return True

    def _differs(self, file: str, once: Once) -> bool:
        was = self._run.files.get(shown(file, self._root))
        if was is not None:
            return once.digest != was
        return self._is_new(file) or (self._timed and super()._differs(file, once))

    def _is_new(self, file: str) -> bool:
        return self._whole and is_of_project(file, self._root) and file.endswith(".py") and os.path.isfile(file)

    def _refuse(self, name: str, file: str, why: str) -> NoReturn:
        self._reasons[f"file {shown(file, self._root)} is gone"] = None
        super()._refuse(name, file, why)

    def complain(self) -> None:
        """Raise `ResumeRefused` if anything was refused."""
        if self._reasons:
            raise ResumeRefused(self._run.run_id, sorted(self._reasons), unread=True) from None
