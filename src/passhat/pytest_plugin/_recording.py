"""The run directory of a test session, written by the process that reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from passhat.facts import Manifest, PasshatError, Transcript, TrialRecord
from passhat.pytest_plugin._environment import host_environment
from passhat.running import Seen, secrets_of

if TYPE_CHECKING:
    from passhat.pytest_plugin._verdict import TrialParts
    from passhat.records import RunWriter

_SECONDS = 0.25  # what a crash of the reporting process may cost


def root_of(config: pytest.Config) -> Path:
    """Where the runs of this project's sessions are."""
    return config.rootpath / str(config.getini("passhat_dir"))


class Recording:
    """Writes each trial when it ends. A directory that can't be written costs the record, never the session."""

    def __init__(self, config: pytest.Config, manifest: Manifest) -> None:
        self._root = root_of(config)
        self._manifest = manifest
        self._writer: RunWriter | None = None
        self._pending: list[TrialParts] = []
        self._wrote = 0.0
        self._problem = ""
        self._seen = Seen()
        self._n: dict[str, int] = {}
        self._place: dict[str, tuple[str, str]] = {}  # of a case: its task and its arm
        self._secrets = secrets_of(host_environment(config))

    def add(self, trial: TrialParts) -> None:
        """Record one trial."""
        task = trial.parts[0].task or trial.case
        self._n[task] = max(self._n.get(task, 0), trial.number)
        self._place[trial.case] = task, trial.parts[0].arm
        self._pending.append(trial)
        if time.monotonic() - self._wrote >= _SECONDS:
            self._write()

    def _write(self) -> None:
        """Write what is pending: many trials of no length in one go, a trial that took its time at once."""
        pending, self._pending = self._pending, []
        try:
            if pending and not self._problem:
                self._append(pending)
        except (PasshatError, OSError) as error:
            self._problem = f"trials weren't recorded: {error}"
        for trial in pending:
            trial.let_go()
        self._wrote = time.monotonic()

    def _append(self, trials: Sequence[TrialParts]) -> None:
        if self._writer is None:
            from passhat.records import RunWriter

            self._writer = RunWriter.create(self._manifest, root=self._root, redact=self._secrets)
        rows: list[tuple[TrialRecord, Transcript | None]] = []
        for trial in trials:
            transcript = trial.transcript()
            if transcript.events:
                self._seen.add(transcript)
            rows.append((trial.record(), transcript if transcript.events else None))
        self._writer.extend(rows)

    def close(self, cases: Iterable[str], *, whole: bool, files: Mapping[str, str]) -> None:
        """Finish the record; ``cases`` are in the order of collection, ``whole`` says that each had its verdict."""
        places = [self._place[case] for case in cases if case in self._place]
        self._write()
        if self._writer is None:
            return
        try:
            self._writer.finish(
                "finished" if whole else "interrupted",
                task_ids=tuple(dict.fromkeys(task for task, _ in places)),
                trials=max(self._n.values(), default=1),
                arms=tuple(dict.fromkeys(arm for _, arm in places)) or ("",),
                model_source=self._seen.source,
                files=files,
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
