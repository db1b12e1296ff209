"""Runs of the same thing are looks at it: pooled, counted, and judged together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from passhat.facts import TrialRecord
from passhat.history._collect import Found
from passhat.history._points import main_arm
from passhat.history._result import Reruns
from passhat.records import RunReader
from passhat.suite import Gate
from passhat.summary import GateRow, same_thing, summarize


def reruns(found: Sequence[Found], level: float) -> tuple[Reruns, ...]:
    """Groups of two or more runs of one commit, model, set of tasks and graders, oldest first."""
    groups: dict[tuple[object, ...], list[Found]] = {}
    for each in found:
        key = same_thing(each.manifest)
        if key is not None and each.manifest.git is not None:
            key = (*key, each.manifest.gates)
            groups.setdefault(key, []).append(each)
    return tuple(_pooled(group, level) for group in groups.values() if len(group) > 1)


def _pooled(group: Sequence[Found], level: float) -> Reruns:
    first = group[-1].manifest
    arm = main_arm(first)
    looks = sum(max(1, each.manifest.looks) for each in group)
    whole = msgspec.structs.replace(
        first, looks=looks, trials=sum(each.manifest.trials for each in group), counts=(), arms=(arm,)
    )
    report = summarize(whole, _renumbered(group, arm), arm=arm, level=level, ks=(1,))
    rate = report.rate(1)
    error = max((1 - Gate.parse(gate).level for gate in first.gates), default=1 - level)
    true_error = 1 - (1 - error) ** looks
    return Reruns(
        commit=first.git.commit if first.git else "",
        runs=tuple(each.manifest.run_id for each in group),
        trials=report.trials.counted,
        pass_at_1=report.pass_at_1,
        these_tasks=None if rate is None else rate.these_tasks,
        true_error=true_error,
        gates=report.gates,
        message=_message(looks, true_error, report.gates),
    )


def _renumbered(group: Sequence[Found], arm: str) -> Iterator[TrialRecord]:
    """All records of one arm, the trials of each run after those of the run before."""
    offset = 0
    for each in group:
        for record in RunReader(each.path).trials():
            if record.arm == arm:
                yield msgspec.structs.replace(record, trial=record.trial + offset)
        offset += each.manifest.trials


def _message(looks: int, true_error: float, gates: Sequence[GateRow]) -> str:
    said = f"{looks} runs of one commit"
    if not gates:
        return f"{said}: their trials are pooled"
    verdicts = ", ".join(f"{row.gate} {row.verdict}" for row in gates)
    return (
        f"{said} are {looks} looks at its gates: run until one is green, a bar that the agent only just fails would be "
        f"met up to {true_error * 100:.0f} % of the time. Over all trials, each look at its share of the error: "
        f"{verdicts}"
    )
