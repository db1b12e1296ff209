"""Where a test's workspace is: its ``tmp_path``, or a directory that is made when something asks for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

_LONGEST = 30  # of a name, as pytest's own directories have it


class Place:
    """A test that asks for ``tmp_path`` itself finds its workspace there; else no directory is made unasked."""

    def __init__(self, request: pytest.FixtureRequest, places: pytest.TempPathFactory) -> None:
        self._item: pytest.Item = request.node
        self._places = places
        self._own: Path | None = None
        self._given: Path | None = None
        if "tmp_path" in request.fixturenames:
            self._given = request.getfixturevalue("tmp_path")

    def made(self) -> Path:
        """The directory."""
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = self._places.mktemp(re.sub(r"\W", "_", self._item.name)[:_LONGEST])
        return self._own

    def over(self, *, failed: bool) -> None:
        """Remove a directory that was made here, where pytest's settings say so."""
        kept = {"all": True, "failed": failed}
        if self._own is not None and not kept.get(self._item.config.getini("tmp_path_retention_policy"), False):
            shutil.rmtree(self._own, ignore_errors=True)
