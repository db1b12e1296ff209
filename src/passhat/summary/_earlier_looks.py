"""How often a gate was asked of the same code before a run: each earlier run in which it wasn't met is a look at it.

So is one that was broken off: its rate was there to be seen while it ran, and whoever stops what looks bad and starts
again has looked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from passhat.facts import Manifest, TrialRecord, digest
from passhat.records import RecordError, RunReader, list_runs
from passhat.suite import Gate
from passhat.summary._summarize import summarize


def same_code(run: Manifest) -> tuple[str, ...] | None:
    """What identifies the code that a run measured: its commit, with what differed from it; None where unknown.

    Without a repository, or with changes whose content isn't known, the hashes of the project's files stand for it.
    """
    files = digest(sorted(run.files.items())) if run.files else ""
    if run.git is None:
        return ("", "", files) if files else None
    if run.git.dirty is False:
        return run.git.commit, "", ""
    changes = run.git.changes or files
    return (run.git.commit, changes, "") if changes else None


def same_thing(run: Manifest) -> tuple[object, ...] | None:
    """What makes two runs of a suite looks at one thing: code, model, tasks, graders, arms. None where unknown.

    Which model answered is told by `served` apart from this: a run that ended early, or that no model answered, may
    not know it.
    """
    code = same_code(run)
    if code is None:
        return None
    graders = tuple(sorted(run.graders.items()))
    return *code, run.model_requested, _source(run), run.tasks_hash, graders, run.arms


def served(run: Manifest) -> tuple[str, ...]:
    """The models that answered, by the names that the provider gave; empty where none is known."""
    return tuple(sorted({model.partition("@")[0] for model in run.models_reported}))


def _source(run: Manifest) -> str:
    """Who was to answer: an agent that calls no model is *live* until its run has finished, and *unseen* then."""
    if run.model_source == "mixed":
        return "mixed"
    source = run.source_planned or run.model_source
    return "live" if source == "unseen" else source


KnownLooks = dict[tuple[Path, str, str | None, str | None, int], bool]
"""Whether a run was a look at a gate: by its place, the gate, the task and the arm if one is meant, and its number."""


class EarlierLooks:
    """The earlier runs below ``root`` that looked at the same thing as ``run``, read when they are needed.

    A look is a run of the same suite, commit (with its uncommitted changes), model, tasks, graders and arms, started
    before ``run``, in which the gate was not met: a gate that was met needs no other look. A run that hasn't finished,
    and that isn't resumed, is one as soon as one of its trials has a verdict. The verdict of each is found again at its
    own share of the error.

    A session of tests has gates of single tasks: ``at(gate, task=…)`` then judges that task's trials alone, among the
    runs of the same suite, code and requested model that have the task.

    It lives here, above `passhat.records` and below everything that reports, so that ``passhat run``, ``report`` and
    the pytest plugin count alike: give what `at` returns to `summarize` as ``looks``.
    """

    def __init__(self, run: Manifest, root: Path | str) -> None:
        self._run = run
        self._known: KnownLooks = {}
        self._find: Callable[[], Iterable[tuple[Path, Manifest]]] = lambda: _below(root)
        self._runs: list[tuple[Path, Manifest]] | None = None
        self._records: dict[Path, list[TrialRecord]] = {}

    @classmethod
    def among(
        cls, run: Manifest, runs: Sequence[tuple[Path, Manifest]], known: KnownLooks | None = None
    ) -> EarlierLooks:
        """Looks among these runs, wherever they lie. ``known`` is added to: who asks for many runs gives one to all."""
        made = cls(run, "")
        made._find = lambda: runs
        if known is not None:
            made._known = known
        return made

    def at(self, gate: Gate | str, *, task: str | None = None, arm: str | None = None) -> int:
        """Which look at the gate this run is: 1 for the first."""
        gate = Gate.parse(gate) if isinstance(gate, str) else gate
        looks = 1
        for path, run in self._same(whole=task is None):
            key = (path, str(gate), task, arm, looks)
            if key not in self._known:
                self._known[key] = self._is_look(path, run, gate, task, arm, looks)
            looks += self._known[key]
        return looks

    def _is_look(self, path: Path, run: Manifest, gate: Gate, task: str | None, arm: str | None, looks: int) -> bool:
        """Whether a run, itself look number ``looks``, was one: it showed something, and not that the gate is met."""
        manifest = msgspec.structs.replace(run, task_gates=())
        if arm is not None and arm not in manifest.arms:
            return False
        records = self._read(path)
        ended = manifest.state == "finished"
        if not ended and all(record.passed is None for record in records):
            return False  # nothing was seen of it
        number = {str(gate): looks}
        if task is None:
            (row,) = summarize(manifest, records, arm=arm, ks=(1,), gates=(gate,), looks=number, mix_sources=True).gates
        else:
            side = manifest.main_arm if arm is None else arm
            records = [record for record in records if (record.task, record.arm) == (task, side)]
            if not records:
                return False
            alone = msgspec.structs.replace(manifest, task_ids=(task,), trials=len(records), counts=())
            (row,) = summarize(alone, records, arm=arm, ks=(), gates=(gate,), looks=number, planned=len(records)).gates
        return row.verdict in ("not met", "undecided") or (row.verdict == "incomplete" and not ended)

    def of(self, gates: Iterable[Gate | str], *, arm: str | None = None) -> dict[str, int]:
        """Which look this run is at each of its gates, by the gate's text."""
        side = self._run.main_arm if arm is None else arm
        own = [each for each in self._run.task_gates if each.arm == side and each.has_bar]
        found = {str(gate): self.at(gate, arm=arm) for gate in _parsed(gates)}
        return found | {each.key: self.at(each.gate, task=each.task, arm=each.arm) for each in own}

    def _same(self, *, whole: bool) -> Sequence[tuple[Path, Manifest]]:
        this = self._run
        code = same_code(this)
        if code is None:
            return ()
        if self._runs is None:
            self._runs = [(path, each) for path, each in _earlier(this, self._find()) if same_code(each) == code]
        if whole:
            return [(path, each) for path, each in self._runs if _alike(each, this)]
        return [(path, each) for path, each in self._runs if each.model_requested == this.model_requested]

    def _read(self, path: Path) -> list[TrialRecord]:
        if path not in self._records:
            try:
                self._records[path] = list(RunReader(path).trials())
            except RecordError:
                self._records[path] = []  # damaged: nothing was seen of it
        return self._records[path]


def _parsed(gates: Iterable[Gate | str]) -> list[Gate]:
    return [Gate.parse(gate) if isinstance(gate, str) else gate for gate in gates]


def _below(root: Path | str) -> list[tuple[Path, Manifest]]:
    return [(entry.path, entry.manifest) for entry in list_runs(root) if entry.manifest is not None]


def _alike(one: Manifest, two: Manifest) -> bool:
    """Whether two runs look at the same thing; where one doesn't know who answered, that makes no difference."""
    names = {served(one), served(two)} - {()}
    return len(names) < 2 and same_thing(one) == same_thing(two)


def _earlier(this: Manifest, runs: Iterable[tuple[Path, Manifest]]) -> list[tuple[Path, Manifest]]:
    """The runs of the same suite that started before, oldest first."""
    found = [each for each in runs if each[1].suite == this.suite and each[1].run_id != this.run_id]
    before = [each for each in found if _when(each[1]) < _when(this) and not (this.run_id == "" and _is_ours(*each))]
    return sorted(before, key=lambda each: _when(each[1]))


def _is_ours(path: Path, run: Manifest) -> bool:
    """Whether this process is writing a run: then it is the one that is going on, and no earlier one."""
    if run.state != "running":
        return False
    holder = RunReader(path).writer
    return holder is not None and holder.pid == os.getpid()


def _when(run: Manifest) -> tuple[bool, str, str]:
    """When a run began; one without a start is the one that is going on."""
    return not run.started, run.started, run.run_id
