"""What a reader has to know before relying on a calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from passhat.calibrating._correct import SINGLE_TRIALS
from passhat.calibrating._refusing import concentrated
from passhat.calibrating._result import Correction, Counts, Quality
from passhat.calibrating._weights import Weighed, strata_of
from passhat.facts import Label, count, plural
from passhat.summary import Finding, JudgedTrials, SetAside

FEW_LABELS = 50
"""Below this every figure is rough."""
_NAMED = 3
LOPSIDED = 0.8
"""From here on raw agreement flatters a judge that always gives one verdict."""


def findings(
    counts: Counts, quality: Quality, correction: Correction, labelled: Sequence[Weighed], found: JudgedTrials
) -> Iterator[Finding]:
    """All findings but those on single parts."""
    n = counts.labelled
    if 0 < n < FEW_LABELS:
        labels = count(n, "label is", "labels are")
        yield _warn("few-labels", f"{labels} few: below {FEW_LABELS} every figure here is rough")
    if correction.refused and n:
        yield _warn("refused", f"no corrected rate: {correction.refused}; {correction.way_out}")
    if n:
        yield from _lopsided(quality)
    if correction.method == "post-stratified":
        yield from _better(quality)
        yield from _unseen(labelled)
    yield from _chosen(counts)
    left = counts.unclear + counts.ties
    if left:
        yield _aside(left > 0.05 * (n + left), "unclear", _left_out(counts))
    yield from _in_sight(counts)
    if correction.raw.method == SINGLE_TRIALS:
        yield _note(
            "unequal-trials",
            "the judge judged more trials of some tasks than of others: its rate counts each trial once here, and each "
            "task once in the report",
        )
    yield from _concentrated(labelled)
    yield from _unused(counts, found.tuned)
    yield from _rubric_unsaid(found.rubric_unsaid)
    yield from _set_aside(found.set_aside)


def _chosen(counts: Counts) -> Iterator[Finding]:
    """Labels of trials that somebody chose say nothing of the others."""
    n = counts.labelled
    chosen = n - counts.drawn
    were = plural(chosen, "was", "were")
    if chosen and counts.drawn:
        yield _note("chosen", f"{chosen} of {n} labelled trials {were} chosen, not drawn: that says nothing of others")
    elif chosen:
        yield _warn(
            "chosen",
            f"{plural(n, 'the labelled trial', f'all {n} labelled trials')} {were} chosen, not drawn: sensitivity, "
            "specificity and agreement are of what was chosen, not of the run",
        )


def _in_sight(counts: Counts) -> Iterator[Finding]:
    """Who sees the judge's verdict tends to agree with it."""
    n = counts.labelled
    seen = n - counts.blind
    if n and seen:
        yield _warn(
            "not-blind",
            f"{seen} of {count(n, 'labelled trial')} {plural(seen, 'was', 'were')} read with the judge's verdict in "
            "sight, which flatters the agreement: review with --blind",
        )


def _concentrated(labelled: Sequence[Weighed]) -> Iterator[Finding]:
    """Trials of a task are alike: many labels of few tasks are worth less than they seem."""
    few = concentrated(labelled)
    if few is not None:
        yield _warn(
            "concentrated",
            f"the labels keep to {count(few[0], 'task')}, where chance would have reached about {few[1]:.0f}: the "
            "intervals treat each task as one observation; spread labels over tasks",
        )


def _rubric_unsaid(labels: int) -> Iterator[Finding]:
    """Labels that don't name the rubric that they answer."""
    if labels:
        yield _note(
            "rubric-unsaid",
            f"{count(labels, 'label does', 'labels do')}n't say on which rubric {plural(labels, 'it was', 'they were')}"
            " given: the one that judged is taken for it; passhat review writes it down",
        )


def _better(quality: Quality) -> Iterator[Finding]:
    """Whether the labels don't show that the judge is better than chance: labels of the run make up for any judge."""
    found = quality.better_than_chance
    if found is None:
        good = sum(quality.table[0]) > 0
        yield _note(
            "one-sided-labels",
            f"people {'pass' if good else 'fail'} all {count(quality.labels, 'labelled trial')}: how the judge does "
            f"where people {'fail' if good else 'pass'} isn't known",
        )
    elif found <= 0:
        yield _warn(
            "no-better-than-chance",
            "the labels don't show that the judge is better than chance: sensitivity + specificity − 1 may be as low "
            f"as {found:.2f}; the corrected rate holds whatever the judge does, its own verdicts say little",
        )


def _unseen(labelled: Sequence[Weighed]) -> Iterator[Finding]:
    """A verdict of the judge that no label speaks to: those trials may all be either."""
    for word, stratum in zip(("passed", "failed"), strata_of(labelled)[1:], strict=True):
        if stratum.items and not stratum.labels:
            yield _warn(
                "unseen-verdict",
                f"no label is of a trial that the judge {word}: people may pass all or none of "
                f"{count(stratum.items, 'such trial')}, and the corrected interval allows for both",
            )


def _lopsided(quality: Quality) -> Iterator[Finding]:
    """Tables in which raw agreement, or kappa, says little."""
    (pp, pf), (fp, ff) = quality.table
    n = quality.labels
    share = max(pp + pf, fp + ff) / n
    if quality.kappa is None:
        yield _note("kappa", "kappa is undefined: people and the judge gave all labelled trials the same verdict")
    elif 0 in (pp + fp, pf + ff):
        yield _warn(
            "kappa", "the judge gave all labelled trials one verdict: it agrees no better than chance, kappa is 0"
        )
    elif LOPSIDED <= share < 1:
        word = "pass" if pp + pf > fp + ff else "fail"
        yield _note(
            "lopsided",
            f"people {word} {share * 100:.0f} % of the labelled trials: a judge that always says so would agree as "
            "often; read specificity and the precisions, not the raw agreement",
        )


def _left_out(counts: Counts) -> str:
    parts = [f"{counts.unclear} unclear"] * bool(counts.unclear)
    parts += [f"{counts.ties} on which raters are divided"] * bool(counts.ties)
    left, read = counts.unclear + counts.ties, count(counts.labelled + counts.unclear + counts.ties, "read trial")
    return (
        f"{' and '.join(parts)} of {read} {plural(left, 'is', 'are')} left out; have a further person "
        f"read {plural(left, 'it', 'them')}"
    )


def _unused(counts: Counts, tuned: int) -> Iterator[Finding]:
    if counts.other_labels:
        other = counts.other_labels
        yield _note(
            "whole-trials",
            f"{count(other, 'label judges', 'labels judge')} whole trials that other graders decide too, "
            f"{plural(other, 'is', 'are')} not used: "
            "label the criterion itself (passhat review RUN --grader NAME)",
        )
    if counts.unknown or counts.errors:
        parts = [f"could not tell in {count(counts.unknown, 'trial')}"] * bool(counts.unknown)
        parts += [f"failed in {counts.errors}"] * bool(counts.errors)
        yield _aside(True, "not-judged", f"the judge {' and '.join(parts)}: no rate here speaks of those")
    if counts.unasked:
        yield _note(
            "unasked",
            f"{count(counts.unasked, 'trial')} with an empty answer failed by rule, without asking the judge: "
            f"{plural(counts.unasked, 'it counts', 'they count')} in no rate here",
        )
    if tuned:
        yield _note("tuned", f"{count(tuned, 'trial')} of split tune {plural(tuned, 'stands', 'stand')} apart")


_WHY = {
    "older": "older than {their} trial{s}, which ran again since: have {them} read again",
    "no trial": "as the run has no such trial",
    "rubric": "given on another rubric than the one that judged: have {them} read again by that one",
    "probability": "as {their} probability must be above 0 and at most 1: give {them} again",
}


def _set_aside(labels: Sequence[SetAside]) -> Iterator[Finding]:
    """Labels that aren't used, each reason by itself."""
    for why, words in _WHY.items():
        these = [each.label for each in labels if each.why == why]
        if these:
            named = [_where(label) for label in these[:_NAMED]]
            if why == "probability":
                named = [f"{where}: {label.probability!r}" for where, label in zip(named, these, strict=False)]
            named += [f"{len(these) - _NAMED} more"] * (len(these) > _NAMED)
            one = len(these) == 1
            words = words.format(their="its" if one else "their", s="" if one else "s", them="it" if one else "them")
            several = "label is" if one else "labels are"
            yield _warn("set-aside", f"{len(these)} {several} set aside, {words} ({', '.join(named)})")


def _where(label: Label) -> str:
    arm = f"{label.arm} " if label.arm else ""
    return f"{arm}{label.task} #{label.trial}" + (f" by {label.rater}" if label.rater else "")


def _warn(rule: str, message: str) -> Finding:
    return Finding(rule, "warning", message)


def _note(rule: str, message: str) -> Finding:
    return Finding(rule, "note", message)


def _aside(warning: bool, rule: str, message: str) -> Finding:
    return _warn(rule, message) if warning else _note(rule, message)
