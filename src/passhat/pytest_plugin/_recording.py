"""The run directories of a test session, written by the process that reports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from passhat.facts import Manifest, PasshatError, TaskGate, Transcript, TrialRecord
from passhat.pytest_plugin._environment import host_environment
from passhat.pytest_plugin._outline import Arms, Outline, Place
from passhat.running import Seen, secrets_of

if TYPE_CHECKING:
    from passhat.pytest_plugin._trial_parts import TrialParts
    from passhat.records import RunWriter

_SECONDS = 0.25  # what a crash of the reporting process may cost


def root_of(config: pytest.Config) -> Path:
    """Where the runs of this project's sessions are."""
    return config.rootpath / str(config.getini("passhat_dir"))


class _Run:
    """One run directory, and what its trials' transcripts say of the models."""

    def __init__(self, writer: RunWriter) -> None:
        self.writer = writer
        self.seen = Seen()
        self.ran = False  # whether any trial did: most sessions of a laptop only skip those that cost money

    def append(self, trials: Sequence[TrialParts]) -> None:
        """Write trials in one go."""
        rows: list[tuple[TrialRecord, Transcript | None]] = []
        for trial in trials:
            transcript = trial.transcript() if trial.used_a_model else None
            if transcript is not None and transcript.events:
                self.seen.add(transcript)
            record = trial.record()
            self.ran = self.ran or record.counts
            rows.append((record, transcript if transcript is not None and transcript.events else None))
        self.writer.extend(rows)


class Recording:
    """Writes each trial when it ends. A directory that can't be written costs the record, never the session."""

    def __init__(self, config: pytest.Config, manifest: Manifest, outline: Outline) -> None:
        self._root = root_of(config)
        self._manifest = manifest
        self._outline = outline
        self._runs: dict[Arms, _Run] = {}
        self._pending: dict[Arms, list[TrialParts]] = {}
        self._gates: dict[Arms, list[TaskGate]] = {}
        self._wrote = 0.0
        self._problem = ""
        self._unfinished = ""
        self._secrets = secrets_of(host_environment(config))

    def add(self, trial: TrialParts) -> None:
        """Record one trial."""
        first = trial.parts[0]
        self._outline.learn(trial.case, Place(first.task or trial.case, first.arm, first.arms))
        self._pending.setdefault(first.arms, []).append(trial)
        if time.monotonic() - self._wrote >= _SECONDS:
            self.write()

    def run_of(self, arms: Arms) -> str:
        """The id of the run in which such trials are recorded; empty where they can't be."""
        try:
            return "" if self._problem else self._run(arms).writer.run_id
        except (PasshatError, OSError) as error:
            self._problem = f"trials weren't recorded: {error}"
            return ""

    def decided(self, arms: Arms, gate: TaskGate) -> None:
        """Keep the rule that a case was judged by, so that a report of the record says the same."""
        self._gates.setdefault(arms, []).append(gate)

    def write(self) -> None:
        """Write what is pending: many trials of no length in one go, a trial that took its time at once."""
        pending, self._pending = self._pending, {}
        for arms, trials in pending.items():
            try:
                if not self._problem:
                    self._run(arms).append(trials)
            except (PasshatError, OSError) as error:
                self._problem = f"trials weren't recorded: {error}"
            for trial in trials:
                trial.let_go()
        self._wrote = time.monotonic()

    def _run(self, arms: Arms) -> _Run:
        from passhat.records import RunWriter

        for each in () if arms in self._runs else self._outline.first(arms):
            if each not in self._runs:
                plan = msgspec.structs.replace(self._manifest, **self._outline.fields(each))
                self._runs[each] = _Run(RunWriter.create(plan, root=self._root, redact=self._secrets))
        return self._runs[arms]

    def close(self, *, whole: bool, files: Mapping[str, str]) -> None:
        """Finish the record; ``whole`` says that each case had its verdict."""
        self.write()
        self._unfinished = "" if whole else "  (the session didn't finish)"
        for arms, run in self._runs.items():
            plan = self._outline.fields(arms)
            try:
                run.writer.update_manifest(**plan)
                run.writer.finish(
                    "finished" if whole else "interrupted",
                    model_source=run.seen.source,
                    task_gates=tuple(self._gates.get(arms, ())),
                    files=files,
                    **run.seen.fields(),
                )
            except (PasshatError, OSError) as error:
                self._problem = f"the record of the trials isn't finished: {error}"

    def closing_lines(self) -> list[str]:
        """What the terminal says of the record."""
        lines = [self._problem] if self._problem else []
        for arms, run in self._runs.items():
            if not run.ran:
                continue
            if len(run.writer.manifest.arms) > 1:
                lines.append(f"recorded: passhat compare {run.writer.run_id} ({', '.join(arms)}){self._unfinished}")
            else:
                lines.append(f"recorded: passhat report {run.writer.run_id}{self._unfinished}")
        return lines
