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
from passhat.summary._counted import Counted
from passhat.summary._findings import Evidence, find_all
from passhat.summary._gates import Terms
from passhat.summary._metrics import metric_values
from passhat.summary._order import look_at_order
from passhat.summary._rates import Population, Table, default_ks
from passhat.summary._reading import reading_of
from passhat.summary._report import MissingPolicy, OrderRow, Report, TrialCounts
from passhat.summary._rows import by_split, by_tag, error_rows, grader_rates, task_row, usage_totals
from passhat.summary._tally import Tally, TaskTally
from passhat.summary._title import title_of
from passhat.summary._verdicts import Verdicts, judge_gates, undecided_policy
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
      every one up to the smallest n unless given; of many the telling ones, and those of the gates.
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
    undecided_policy(manifest, undecided)
    level = manifest.level if level is None else level
    given = manifest.gates if gates is None else gates
    parsed = tuple(Gate.parse(gate) if isinstance(gate, str) else gate for gate in given)
    watch = ((label.task, label.trial) for label in labels or ())
    tally = Tally(manifest, arm=_arm(manifest, arm), policy=policy, watch=watch, open_ended=planned is not None)
    counted = Counted.of(manifest, records, tally, parsed, planned)

    headline, order = _by_order(counted.headline, manifest)
    rate = headline.pass_rate()
    population = Population(rate.units if rate else 0, manifest.hand_picked)
    terms = Terms(looks or {}, mixed_allowed=mix_sources, tampered=counted.tampered, undecided=undecided)
    verdicts = judge_gates(counted, headline, population, parsed, terms)
    table = Table(headline, population, level, refused=[], rules=[])
    chosen = default_ks(min(rate.ns) if rate else 0, (gate.k for gate in parsed)) if ks is None else tuple(ks)
    report = _report(counted, headline, table, chosen, order, verdicts)
    reading = None if labels is None else reading_of(labels, tally, headline, population, level)
    report = msgspec.structs.replace(report, regrade=regrade, reading=reading, refused_files=tuple(tally.refused))
    findings = find_all(Evidence(report, tally, headline, population, table, parsed, now or datetime.now(UTC)))
    return msgspec.structs.replace(report, findings=findings)


def _by_order(headline: Headline, manifest: Manifest) -> tuple[Headline, OrderRow | None]:
    """The headline as it is once the order of the trials was looked at, and what that showed."""
    order = look_at_order(headline.tasks) if manifest.asked == "evaluation" else None
    return replace(headline, dependent=order is not None and order.verdict == "dependence found"), order


def _report(
    counted: Counted,
    headline: Headline,
    table: Table,
    ks: Sequence[int],
    order: OrderRow | None,
    verdicts: Verdicts,
) -> Report:
    """All that the counts say, before people's labels and the findings."""
    manifest, tally, level = counted.manifest, counted.tally, table.level
    splits = [tally.splits[name] for name in {task.split for task in headline.tasks} if name in tally.splits]
    rows = tuple(task_row(task, headline.trials(task), level) for task in tally.tasks.values())
    names = {task.task for task in headline.tasks}
    in_headline = [row for row in rows if row.task in names]
    return Report(
        title=title_of(manifest),
        run=manifest,
        arm=tally.arm,
        asked=manifest.asked,
        model_source=manifest.model_source,
        isolation=manifest.isolation,
        tasks=len(headline.tasks),
        trials=_trial_counts(headline),
        level=level,
        pass_at=table.rates(ks, "pass@k"),
        pass_hat=table.rates(ks, "pass^k"),
        score=table.score(),
        order=order,
        flip_rate=flip_rate((row.n, row.c) for row in in_headline),
        verdicts=dict(Counter(row.verdict for row in in_headline)),
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
        gates=verdicts.rows,
        undecided=verdicts.undecided,
        exit_code=int(verdicts.code),
        exit_reason=verdicts.why,
        judging=counted.judges.row(manifest),
    )


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


def _arm(manifest: Manifest, asked: str | None) -> str:
    if asked is None:
        return manifest.main_arm
    if asked not in manifest.arms:
        raise ValueError(f"arm={asked!r}: the run has {', '.join(map(repr, manifest.arms))}")
    return asked


def _trial_counts(headline: Headline) -> TrialCounts:
    tasks: Sequence[TaskTally] = headline.tasks
    counted, missing = sum(task.n for task in tasks), headline.missing
    return TrialCounts(counted + missing, counted, missing, headline.policy)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
