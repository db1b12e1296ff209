"""Runs of the same thing: their trials pooled, their gates judged at the look that the newest of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from passhat.facts import TrialRecord
from passhat.history._collect import Found
from passhat.history._points import left_out
from passhat.history._result import Reruns
from passhat.records import RunReader
from passhat.summary import EarlierLooks, GateRow, same_thing, served, summarize

_SAME_ANSWERS = ("scripted", "simulated", "replayed")
"""Models that say the same again to the same seed: such a run has nothing new, however often it is made."""


def reruns(found: Sequence[Found], level: float) -> tuple[Reruns, ...]:
    """Groups of two or more whole runs of one commit, model, set of tasks and graders, oldest first.

    Runs that were broken off, or that stopped early because their verdict was certain, are in none: what they happened
    to have then is no estimate. As looks they count.
    """
    groups: dict[tuple[object, ...], list[Found]] = {}
    for each in found:
        run = each.manifest
        key = same_thing(run)
        if key is not None and run.git is not None and run.state == "finished" and not left_out(each):
            groups.setdefault((*key, served(run)), []).append(each)
    return tuple(_pooled(group, found, level) for group in groups.values() if len(group) > 1)


def _pooled(group: Sequence[Found], found: Sequence[Found], level: float) -> Reruns:
    newest = group[-1].manifest
    arm = newest.main_arm
    looks = EarlierLooks.among(newest, found).of(newest.gates, arm=arm)
    fresh, repeats = _parted(group, arm)
    trials = sum(each.manifest.trials for each in fresh)
    whole = msgspec.structs.replace(newest, trials=trials, counts=(), arms=(arm,))
    report = summarize(whole, _renumbered(fresh, arm), arm=arm, level=level, ks=(1,), looks=looks)
    rate = report.rate(1)
    return Reruns(
        commit=newest.git.commit if newest.git else "",
        runs=tuple(each.manifest.run_id for each in group),
        trials=report.trials.counted,
        pass_at_1=report.pass_at_1,
        these_tasks=None if rate is None else rate.these_tasks,
        gates=report.gates,
        message=_message(len(group), len(repeats), report.gates),
        repeats=tuple(each.manifest.run_id for each in repeats),
    )


def _parted(group: Sequence[Found], arm: str) -> tuple[list[Found], list[Found]]:
    """The runs that say something new, and those that only say again what one before them said."""
    fresh: list[Found] = []
    repeats: list[Found] = []
    known: set[tuple[int, object]] = set()
    for each in group:
        run = each.manifest
        said = run.model_source if run.model_source in _SAME_ANSWERS else _outcomes(each, arm)
        (repeats if (run.seed, said) in known else fresh).append(each)
        known.add((run.seed, said))
    return fresh, repeats


def _outcomes(found: Found, arm: str) -> frozenset[tuple[object, ...]]:
    """What each trial came to, its transcript included where there is one."""
    records = (record for record in RunReader(found.path).trials() if record.arm == arm)
    return frozenset((each.task, each.trial, each.passed, each.score, each.fingerprint) for each in records)


def _renumbered(group: Sequence[Found], arm: str) -> Iterator[TrialRecord]:
    """All records of one arm, the trials of each run after those of the run before."""
    offset = 0
    for each in group:
        for record in RunReader(each.path).trials():
            if record.arm == arm:
                yield msgspec.structs.replace(record, trial=record.trial + offset)
        offset += each.manifest.trials


def _message(runs: int, repeats: int, gates: Sequence[GateRow]) -> str:
    said = f"{runs} runs of one commit"
    if repeats:
        said += f" ({repeats} with the seed and the answers of an earlier one: no new evidence, so not counted again)"
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
