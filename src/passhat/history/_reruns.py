"""Runs of the same thing: their trials pooled, their gates judged at the look that the newest of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from passhat.facts import TrialRecord
from passhat.history._collect import Found
from passhat.history._result import Reruns
from passhat.records import RunReader
from passhat.summary import EarlierLooks, GateRow, same_thing, summarize


def reruns(found: Sequence[Found], level: float) -> tuple[Reruns, ...]:
    """Groups of two or more runs of one commit, model, set of tasks and graders, oldest first."""
    groups: dict[tuple[object, ...], list[Found]] = {}
    for each in found:
        key = same_thing(each.manifest)
        if key is not None and each.manifest.git is not None:
            groups.setdefault(key, []).append(each)
    return tuple(_pooled(group, level) for group in groups.values() if len(group) > 1)


def _pooled(group: Sequence[Found], level: float) -> Reruns:
    newest = group[-1].manifest
    arm = newest.main_arm
    looks = EarlierLooks.among(newest, group).of(newest.gates, arm=arm)
    trials = sum(each.manifest.trials for each in group)
    whole = msgspec.structs.replace(newest, trials=trials, counts=(), arms=(arm,))
    report = summarize(whole, _renumbered(group, arm), arm=arm, level=level, ks=(1,), looks=looks)
    rate = report.rate(1)
    return Reruns(
        commit=newest.git.commit if newest.git else "",
        runs=tuple(each.manifest.run_id for each in group),
        trials=report.trials.counted,
        pass_at_1=report.pass_at_1,
        these_tasks=None if rate is None else rate.these_tasks,
        gates=report.gates,
        message=_message(len(group), report.gates),
    )


def _renumbered(group: Sequence[Found], arm: str) -> Iterator[TrialRecord]:
    """All records of one arm, the trials of each run after those of the run before."""
    offset = 0
    for each in group:
        for record in RunReader(each.path).trials():
            if record.arm == arm:
                yield msgspec.structs.replace(record, trial=record.trial + offset)
        offset += each.manifest.trials


def _message(runs: int, gates: Sequence[GateRow]) -> str:
    said = f"{runs} runs of one commit"
    if not gates:
        return f"{said}: their trials are pooled"
    verdicts = ", ".join(f"{row.gate} {row.verdict}{f' (look {row.looks})' * (row.looks > 1)}" for row in gates)
    if max(row.looks for row in gates) == 1:
        return f"{said}, none of them a second look at a gate that wasn't met. Over all trials: {verdicts}"
    risk = max(row.error or 0.0 for row in gates)
    return (
        f"{said}, and a gate that isn't met is looked at again: run until one is green, a bar that the agent only just "
        f"misses would be met up to {risk * 100:.2g} % of the time. Over all trials, each "
        f"look at its share of the error: {verdicts}"
    )
