"""The run directory of a test session, written by the process that reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from passhat import __version__
from passhat.facts import Manifest, PasshatError
from passhat.pytest_plugin._environment import host_environment
from passhat.running._models import secrets_of
from passhat.running._seen import Seen

if TYPE_CHECKING:
    from passhat.pytest_plugin._verdict import TrialParts
    from passhat.records import RunWriter


class Recording:
    """Writes each trial when it ends. A directory that can't be written costs the record, never the session."""

    def __init__(self, config: pytest.Config, manifest: Manifest) -> None:
        self._root = config.rootpath / config.getini("passhat_dir")
        self._manifest = msgspec.structs.replace(manifest, passhat=__version__, isolation="inline")
        self._writer: RunWriter | None = None
        self._problem = ""
        self._seen = Seen()
        self._n: dict[str, int] = {}
        self._arms: dict[str, None] = {}
        self._secrets = secrets_of(host_environment(config))

    def manifest_for(self, source: str) -> Manifest:
        """The manifest with the model source of one case."""
        return msgspec.structs.replace(self._manifest, model_source=source)

    def add(self, trial: TrialParts) -> None:
        """Record one trial."""
        task = trial.parts[0].task or trial.case
        self._n[task] = max(self._n.get(task, 0), trial.number)
        self._arms[trial.parts[0].arm] = None
        if self._problem:
            return
        try:
            if self._writer is None:
                from passhat.records import RunWriter

                self._writer = RunWriter.create(self._manifest, root=self._root, redact=self._secrets)
            transcript = trial.transcript()
            self._seen.add(transcript)
            self._writer.append(trial.record(), transcript)
        except (PasshatError, OSError) as error:
            self._problem = f"trials weren't recorded: {error}"

    def close(self, *, whole: bool) -> None:
        """Finish the record; ``whole`` says that every case had its verdict."""
        if self._writer is None:
            return
        try:
            self._writer.finish(
                "finished" if whole else "interrupted",
                task_ids=tuple(self._n),
                trials=max(self._n.values(), default=1),
                arms=tuple(self._arms) or ("",),
                model_source=self._seen.source,
                **self._seen.fields(),
            )
        except (PasshatError, OSError) as error:
            self._problem = f"the record of the trials isn't finished: {error}"

    def closing_lines(self) -> list[str]:
        """What the terminal says of the record."""
        lines = [self._problem] if self._problem else []
        if self._writer is not None:
            lines.append(f"recorded: passhat report {self._writer.run_id}")
        return lines
