"""Gates of single tasks: a session of tests says of each test what the session itself said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from passhat.facts import ONLY_RECORDED, Manifest, TaskGate, TrialRecord
from passhat.suite import Gate
from passhat.summary._amounts import Amounts, kept_amounts
from passhat.summary._gates import GateJudge, Terms
from passhat.summary._rates import Population
from passhat.summary._report import GateRow, GateVerdict
from passhat.summary._worlds import Headline


class TaskGates:
    """The gates of the tasks of one arm, and what their trials took."""

    def __init__(self, manifest: Manifest, arm: str) -> None:
        self._manifest = manifest
        self.gates = {each.task: each for each in manifest.task_gates if each.arm == arm}
        kept = kept_amounts([Gate.parse(each.gate) for each in self.gates.values() if each.has_bar])
        self._amounts = {unseen: Amounts(kept, unseen=unseen) for unseen in (False, True)}

    def see(self, record: TrialRecord) -> None:
        """Keep what a trial took, if a gate asks for it."""
        if (gate := self.gates.get(record.task)) is not None:
            self._amounts[gate.model_source == "unseen"].see(record)

    def judge(self, headline: Headline, terms: Terms) -> list[GateRow]:
        """A row for each gate of a task that was tried, in the order of the tasks."""
        rows = []
        for task in headline.tasks:
            gate = self.gates.get(task.task)
            if gate is None:
                continue
            alone = replace(headline, tasks=[task], dependent=False)  # one task shows no dependence on order
            if (row := self._row(gate, alone, terms)) is not None:
                rows.append(msgspec.structs.replace(row, task=task.task))
        return rows

    def _row(self, gate: TaskGate, alone: Headline, terms: Terms) -> GateRow | None:
        if gate.broken:
            return GateRow(gate.gate, "incomplete", None, 1, None, 1.0, f"the test itself is broken: {gate.broken}")
        if not gate.has_bar:
            return _plain(gate, alone, bool(terms.tampered))
        judge = GateJudge(
            msgspec.structs.replace(self._manifest, model_source=gate.model_source),
            alone,
            Population(1, hand_picked=False),
            self._amounts[gate.model_source == "unseen"],
            replace(terms, looks={gate.gate: terms.looks.get(gate.key, 1)}),
        )
        row = judge.judge(Gate.parse(gate.gate))
        return _expected(row, gate)

    def deciding(self, rows: Sequence[GateRow], undecided: str | None) -> list[GateRow]:
        """The rows as they bear on the exit code: what may fail, or may be undecided, bears on nothing."""
        found = []
        for row in rows:
            gate = self.gates[row.task]
            lenient = (undecided or gate.undecided) == "pass"
            green = row.verdict == "met" or (row.verdict == "undecided" and lenient)
            if gate.xfail and not gate.broken:
                if gate.xfail == "must fail" and green:
                    found.append(msgspec.structs.replace(row, verdict="not met"))
            elif not green:
                found.append(row)
        return found

    def loose(self, headline: Headline) -> int:
        """Missing trials of tasks that no rule speaks of."""
        return sum(task.missing for task in headline.tasks if task.task not in self.gates)


def _plain(gate: TaskGate, alone: Headline, tampered: bool) -> GateRow | None:
    """That every trial passes; of outcomes that are only recorded, that there are any."""
    (task,) = alone.tasks
    n, c = alone.trials(task), task.c
    verdict: GateVerdict = "met" if c == n else "not met"
    if (task.missing and c == n) or not n or tampered:
        verdict = "incomplete"
    if gate.gate == ONLY_RECORDED and n and not tampered:
        return None
    missing = f", {task.missing} missing" if task.missing else ""
    row = GateRow(gate.gate, verdict, None, 1, c / n if n else None, 1.0, f"{c} of {n} trials passed{missing}")
    return _expected(row, gate)


def _expected(row: GateRow, gate: TaskGate) -> GateRow:
    if not gate.xfail:
        return row
    return msgspec.structs.replace(row, message=f"{row.message}. The test {gate.xfail}: it is marked xfail")
