"""The verdict of a comparison that could stop early: by its planned looks, each held against its own bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from passhat.comparing._lift import rounded
from passhat.comparing._pairs import Pairs
from passhat.comparing._result import Claim, Lift, LookFacts, Verdict
from passhat.comparing._verdict import Judge, p_text
from passhat.facts import count
from passhat.stats import Look
from passhat.summary import ArmLook, Finding, Report, arm_look, held_out_tasks


class Looked(NamedTuple):
    """What the looks say: the facts of the deciding one (or the last), a judge that rests on it, and its worlds."""

    facts: LookFacts
    judge: Judge
    lift: Lift
    worlds: tuple[Verdict, ...]


def could_stop(before: Report, after: Report) -> bool:
    """Whether the two are arms of one run that stops when their comparison is decided."""
    return bool(before.run.batches) and before.run.run_id == after.run.run_id


def looked(before: Report, pairs: Pairs, lift: Lift, judge: Judge) -> Looked | None:
    """The first look that shows the difference, else the last one that was reached; None where no batch was."""
    run = before.run
    rows = {pair.task: pair.both for pair in pairs.pairs}
    units = {pair.task: pair.unit for pair in pairs.pairs}
    reached = {*rows, *(each.task for each in pairs.blocked)}
    bounded = all(pair.bounded for pair in pairs.pairs)
    last: ArmLook | None = None
    for number, batch in enumerate(run.batches, start=1):
        if not reached & set(batch):
            break
        found = arm_look(rows, run.batches, number, units, level=1 - judge.alpha, bounded=bounded)
        last = found or last
        if found is not None and found.decided:
            break
    return None if last is None else _of(last, lift, judge, stopped=len(reached) < _planned(before))


def _planned(report: Report) -> int:
    """How many tasks the comparison would have had in full."""
    return len(held_out_tasks(report.run))


def _of(found: ArmLook, lift: Lift, judge: Judge, *, stopped: bool) -> Looked:
    look = found.counted
    judges = [replace(judge, alpha=each.bound, look=_claim(each)) for each in found[:3]]
    lifts = [msgspec.structs.replace(lift, estimate=rounded(each.estimate)) for each in found[:3]]
    worlds = tuple(one.verdict(other) for one, other in zip(judges[1:], lifts[1:], strict=True))
    facts = LookFacts(look.look, look.looks, found.tasks, found.of, look.p, look.bound, stopped)
    return Looked(facts, judges[0], lifts[0], worlds)


def _claim(look: Look) -> Claim:
    low, high = look.interval
    test = f"sign-flip at look {look.look} of {look.looks}"
    return Claim((rounded(low), rounded(high)), look.p, test)


def look_text(facts: LookFacts) -> str:
    """The look, as the beginning of a sentence.

    >>> look_text(LookFacts(2, 4, 20, 40, 0.0004, 0.0042, True))
    'look 2 of 4, after 20 of 40 tasks, p < .001, boundary p < .0042'
    """
    bound = f"{facts.boundary:.2g}".removeprefix("0")
    after = f"after {facts.tasks} of {count(facts.planned, 'task')}"
    return f"look {facts.look} of {facts.looks}, {after}, {p_text(facts.p)}, boundary p < {bound}"


def stopped_findings(reports: Sequence[Report], facts: LookFacts | None) -> list[Finding]:
    """That what stopped early is no estimate; of other runs also that the test doesn't know of it."""
    if facts is not None:
        if not facts.stopped:
            return []
        text = (
            f"the comparison stopped at look {facts.look} of {facts.looks}: its verdict holds, and the difference seen "
            "is no estimate: after stopping it is too large on average; only the interval at all looks allows for it"
        )
        return [Finding("stopped-early", "warning", text)]
    early = [each.run.run_id for each in reports if any(one.rule == "stopped-early" for one in each.findings)]
    if not early:
        return []
    text = f"{' and '.join(dict.fromkeys(early))} stopped early: its rates are biased, and so is what is compared here"
    return [Finding("stopped-early", "warning", text)]
