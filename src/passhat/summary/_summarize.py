"""From a run to its report, in one pass over the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import msgspec

from passhat.facts import Label, Manifest, TrialRecord
from passhat.suite import Gate
from passhat.summary._amounts import Amounts, kept_amounts
from passhat.summary._findings import Evidence, find_all
from passhat.summary._gates import GateJudge, exit_code
from passhat.summary._judging import JudgeTally
from passhat.summary._measure import unit_keys
from passhat.summary._metrics import metric_values
from passhat.summary._order import look_at_order
from passhat.summary._rates import Population, Table, default_ks
from passhat.summary._reading import reading_of
from passhat.summary._report import MissingPolicy, Report, TrialCounts
from passhat.summary._rows import by_split, by_tag, error_rows, grader_rates, task_row, usage_totals
from passhat.summary._tally import Tally, TaskTally
from passhat.summary._task_gates import TaskGates
from passhat.summary._title import title_of
from passhat.summary._worlds import Headline


def summarize(
    manifest: Manifest,
    records: Iterable[TrialRecord],
    *,
    missing: MissingPolicy | None = None,
    level: float | None = None,
    ks: Sequence[int] | None = None,
    gates: Sequence[Gate | str] | None = None,
    undecided: str | None = None,
    regrade: str | None = None,
    labels: Sequence[Label] | None = None,
    planned: int | Mapping[str, int] | None = None,
    arm: str | None = None,
    mix_sources: bool = False,
    looks: Mapping[str, int] | None = None,
    now: datetime | None = None,
) -> Report:
    """Say what a run says: rates, intervals, findings, gate verdicts, exit code.

    ``records`` may come in any order and are read once; memory grows with the number of tasks. What is left None is
    taken from the manifest.

    - ``missing`` is what a trial without a verdict counts as: *bound* (left out of the estimates, both bounds stand
      beside them, a gate must hold at both), *fail*, *exclude* (left out, said so), *exclude-provider* (as *bound*,
      and a provider's failure is missing rather than the agent's failure).
    - ``level`` is that of all two-sided intervals; each gate has its own. ``ks`` are the k of pass@k and pass^k,
      every one up to the smallest n unless given.
    - ``regrade`` is the id of the regrade whose grades the ``records`` have in place of the run's own.
    - ``labels`` are what people say of the trials and still holds; None where nobody could say anything.
    - ``planned`` is the number of trials meant for each task, or for named ones; 0 says that what is recorded is all
      that was meant, as in a table of outcomes that others recorded.
    - ``arm`` is the arm to describe: the baseline, or the first, unless named.
    - ``looks`` says which look this is at a gate, by the gate's text: see `EarlierLooks`.
    - ``mix_sources`` lets gates hold over a run whose answers came from several kinds of source.
    - ``now`` is the date that staleness is measured against.

    Raises ValueError for unknown words, an unknown arm, and a trial that is recorded twice;
    `passhat.suite.SuiteError` for a gate that can't be read.

    >>> from passhat.facts import Status
    >>> trial = lambda i, ok: TrialRecord(task="t", trial=i, status=Status.COMPLETED, passed=ok)
    >>> report = summarize(Manifest(run_id="r", suite="s", trials=4), [trial(i, i > 0) for i in range(4)])
    >>> report.pass_at_1, report.rate(2, hat=True).estimate, report.by_task[0].verdict
    (0.75, 0.5, 'flaky')
    """
    policy = _policy(missing or manifest.missing_policy)
    fails = _undecided_fails(manifest, undecided)
    level = manifest.level if level is None else level
    given = manifest.gates if gates is None else gates
    parsed = [Gate.parse(gate) if isinstance(gate, str) else gate for gate in given]
    watch = ((label.task, label.trial) for label in labels or ())
    tally = Tally(manifest, arm=_arm(manifest, arm), policy=policy, watch=watch, open_ended=planned is not None)
    amounts = Amounts(kept_amounts(parsed), unseen=manifest.model_source == "unseen")
    judges, task_gates = JudgeTally(), TaskGates(manifest, tally.arm)
    for record in records:
        if tally.add(record):
            amounts.see(record)
            task_gates.see(record)
            judges.see(record)
    tally.finish(planned)

    headline = _headline(tally, manifest, policy)
    order = look_at_order(headline.tasks) if manifest.asked == "evaluation" else None
    headline = replace(headline, dependent=order is not None and order.verdict == "dependence found")
    population = Population(_units(headline), manifest.hand_picked)
    table = Table(headline, population, level, refused=[], rules=[])
    chosen = default_ks(_smallest_n(headline)) if ks is None else tuple(ks)
    pass_at, pass_hat = table.rates(chosen, "pass@k"), table.rates(chosen, "pass^k")
    tampered = manifest.state == "damaged" or manifest.tampered or bool(tally.unforeseen)
    judge = GateJudge(
        manifest,
        headline,
        population,
        amounts,
        mixed_allowed=mix_sources,
        looks=looks or {},
        not_needed=_not_needed(tally),
        tampered=tampered,
    )
    verdicts = [judge.judge(gate) for gate in parsed]
    by_task = task_gates.judge(headline, looks or {}, mixed=mix_sources, tampered=tampered)
    bearing = [*verdicts, *task_gates.deciding(by_task, undecided)]
    lost = task_gates.loose(headline)
    code, why = exit_code(bearing, parsed, lost, headline.policy, undecided_fails=fails, tampered=tampered)
    splits = [tally.splits[name] for name in {task.split for task in headline.tasks} if name in tally.splits]
    rows = tuple(task_row(task, headline.trials(task), level) for task in tally.tasks.values())
    in_headline = {task.task for task in headline.tasks}
    report = Report(
        title=title_of(manifest),
        run=manifest,
        arm=tally.arm,
        asked=manifest.asked,
        model_source=manifest.model_source,
        isolation=manifest.isolation,
        tasks=len(headline.tasks),
        trials=_trial_counts(headline),
        level=level,
        pass_at=pass_at,
        pass_hat=pass_hat,
        score=table.score(),
        order=order,
        flip_rate=flip_rate((row.n, row.c) for row in rows if row.task in in_headline),
        verdicts=dict(Counter(row.verdict for row in rows if row.task in in_headline)),
        graders=grader_rates(headline, level),
        metrics=metric_values(manifest, tally.arm),
        by_task=rows,
        by_tag=by_tag(headline, level),
        by_split=by_split(tally.tasks.values(), headline, level),
        failures=_sorted(sum((split.failures for split in splits), Counter())),
        missing=_sorted(sum((split.missing for split in splits), Counter())),
        errors=error_rows(splits),
        usage=usage_totals(tally),
        findings=(),
        gates=(*verdicts, *by_task),
        undecided="fail" if fails else "pass",
        exit_code=int(code),
        exit_reason=why,
        regrade=regrade,
        judging=judges.row(manifest),
        reading=None if labels is None else reading_of(labels, tally, headline, population, level),
    )
    evidence = Evidence(report, tally, headline, population, table, tuple(parsed), now or datetime.now(UTC))
    return _with_findings(report, evidence)


def _with_findings(report: Report, evidence: Evidence) -> Report:
    return msgspec.structs.replace(report, findings=find_all(evidence))


def flip_rate(counts: Iterable[tuple[int, int]]) -> float | None:
    """The share of tasks that both passed and failed, among those with at least 2 trials; None when there is none.

    >>> flip_rate([(4, 4), (4, 1), (4, 0), (4, 3)])
    0.5
    """
    tried = [0 < c < n for n, c in counts if n >= 2]
    return sum(tried) / len(tried) if tried else None


def _policy(word: str) -> MissingPolicy:
    for known in get_args(MissingPolicy):
        if word == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"missing={word!r}: must be one of {', '.join(map(repr, get_args(MissingPolicy)))}")


def _undecided_fails(manifest: Manifest, word: str | None) -> bool:
    word = word or manifest.undecided or ("fail" if manifest.kind == "regression" else "pass")
    if word not in ("pass", "fail"):
        raise ValueError(f"undecided={word!r}: must be 'pass' or 'fail'")
    return word == "fail"


def _arm(manifest: Manifest, asked: str | None) -> str:
    if asked is None:
        return manifest.main_arm
    if asked not in manifest.arms:
        raise ValueError(f"arm={asked!r}: the run has {', '.join(map(repr, manifest.arms))}")
    return asked


def _headline(tally: Tally, manifest: Manifest, policy: MissingPolicy) -> Headline:
    """The tasks outside the tune split; all of them when there are no others. Tasks that were skipped whole are out."""
    planned = [task for task in tally.tasks.values() if task.planned]
    held_out = [task for task in planned if task.split != "tune"]
    keys = unit_keys(((task.task, task.family) for task in tally.tasks.values()), manifest.duplicate_inputs)
    return Headline(held_out or planned, policy, keys)


def _not_needed(tally: Tally) -> list[TaskTally]:
    """The held-out tasks of which no trial was run, because a run that stops early needed none."""
    return [task for task in tally.tasks.values() if task.unplanned and not task.planned and task.split != "tune"]


def _units(headline: Headline) -> int:
    rate = headline.pass_rate()
    return rate.units if rate else 0


def _smallest_n(headline: Headline) -> int:
    rate = headline.pass_rate()
    return min(rate.ns) if rate else 0


def _trial_counts(headline: Headline) -> TrialCounts:
    tasks: Sequence[TaskTally] = headline.tasks
    counted, missing = sum(task.n for task in tasks), headline.missing
    return TrialCounts(counted + missing, counted, missing, headline.policy)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
