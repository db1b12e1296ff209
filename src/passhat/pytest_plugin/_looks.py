"""What a session measures, and how often the same question was asked of the same code before."""

from __future__ import annotations

import platform

import msgspec
import pytest

from passhat import __version__
from passhat.facts import Manifest, PasshatError
from passhat.pytest_plugin._recording import root_of
from passhat.running import project_files, project_of
from passhat.suite import Gate
from passhat.summary import EarlierLooks


def describe_session(config: pytest.Config) -> Manifest:
    """The manifest of a session's run, before its first trial; ids, times and counts are the writer's."""
    _, git = project_of(config.rootpath)
    return Manifest(
        run_id="",
        suite=f"pytest {config.rootpath.name}",
        passhat=__version__,
        kind="regression",
        isolation="inline",
        seed=config.getoption("passhat_seed") or 0,
        model_requested=config.getoption("passhat_model"),
        git=git,
        host=platform.node(),
        platform=platform.platform(),
        python=platform.python_version(),
    )


class Looks:
    """Counts the looks at the gates of a session's tests: re-running an undecided test until it is green is many."""

    def __init__(self, config: pytest.Config, manifest: Manifest) -> None:
        self._config = config
        self._root = root_of(config)
        self._manifest = manifest
        self._earlier: EarlierLooks | None = None

    def at(self, gate: Gate | str | None, task: str, arm: str) -> int:
        """Which look at a test's gate this is; 1 for the first, and where nothing is recorded or can be read."""
        if gate is None or not (self._root / "runs").is_dir():
            return 1
        try:
            if self._earlier is None:
                self._earlier = EarlierLooks(self.manifest(), self._root)
            return self._earlier.at(gate, task=task, arm=arm)
        except (PasshatError, OSError, ValueError):
            return 1

    def manifest(self) -> Manifest:
        """The session's manifest; the files that were imported stand for the code where no commit does."""
        if self._manifest.git is not None or self._config.pluginmanager.has_plugin("dsession"):
            return self._manifest  # xdist's controller imports no tests: what they are isn't known there
        root, _ = project_of(self._config.rootpath)
        return msgspec.structs.replace(self._manifest, files=project_files(root, None))
