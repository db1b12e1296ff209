"""A judge beside people, as an engineer reads it: the table, both rates, why they differ, where it errs, what next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.text import Text

from passhat.calibrating import Calibration, ControlLeak, Estimate, Part, Quality, Rate, Robustness, Share
from passhat.facts import count
from passhat.reporting._bar import bar, scale
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._findings import findings
from passhat.reporting._reading import agreement_words
from passhat.reporting._text import clean, rate, span

_BAR = 21
_ROWS = 12


def render_calibration(found: Calibration, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The calibration as text for a terminal ``width`` columns wide."""
    page = Page(Look(width, color, unicode))
    counts = found.counts
    page.line((f"{clean(found.grader, 60)} beside people", STRONG), (f"  {clean(found.run, 80)}", DIM))
    how = "drawn by chance" if counts.drawn == counts.labelled else f"{counts.drawn} of them drawn by chance"
    where = "" if found.labels_from == found.run else f" in {clean(found.labels_from, 80)}"
    if counts.labelled:
        page.line(
            f"{counts.labelled:,} of {counts.judged:,} judged trials have a verdict of people{where}, {how}; "
            f"{counts.tasks_labelled} of {count(counts.tasks, 'task')}",
            indent=2,
        )
        page.gap()
        _table(page, found.quality)
        page.gap()
        _quality(page, found.quality)
        _raters(page, found)
    else:
        page.line(f"none of {counts.judged:,} judged trials has a verdict of people{where}", indent=2)
    _rates(page, found)
    _parts(page, found.parts)
    if found.robustness is not None:
        _robustness(page, found.robustness)
    findings(page, [each for each in found.findings if each.rule != "refused"])
    _next(page, found)
    return page.text()


def _table(page: Page, quality: Quality) -> None:
    (pp, pf), (fp, ff) = quality.table
    columns = [Column(""), Column("judge passes", "right"), Column("judge fails", "right"), Column("all", "right")]
    rows: list[list[Cell]] = [
        ["people pass", Text(str(pp), GOOD), Text(str(pf), BAD if pf else DIM), str(pp + pf)],
        ["people fail", Text(str(fp), BAD if fp else DIM), Text(str(ff), GOOD), str(fp + ff)],
        [Text("all", DIM), str(pp + fp), str(pf + ff), str(quality.labels)],
    ]
    page.columns(columns, rows)


def _quality(page: Page, quality: Quality) -> None:
    (pp, pf), (fp, ff) = quality.table

    def row(name: str, share: Share, text: str) -> list[Cell]:
        said = text if share.n else "no label speaks to it"
        return [name, Text(rate(share.estimate), STRONG), span(share.interval), Text(said, DIM)]

    rows: list[list[Cell]] = [
        row("sensitivity", quality.sensitivity, f"it passes {pp} of {pp + pf} that people pass"),
        row("specificity", quality.specificity, f"it fails {ff} of {fp + ff} that people fail"),
        row("precision, pass", quality.precision, f"people pass {pp} of {pp + fp} that it passes"),
        row("precision, fail", quality.precision_fail, f"people fail {ff} of {pf + ff} that it fails"),
        row("agreement", quality.agreement, f"{pp + ff} of {quality.labels}"),
        [
            "kappa",
            Text(_signed(quality.kappa), STRONG),
            span(quality.kappa_interval),
            Text("agreement beyond chance", DIM),
        ],
    ]
    columns = [Column(""), Column("", "right"), Column("interval", "right"), Column("", drops=1)]
    page.columns(columns, rows)
    if quality.weighted:
        text = (
            "each label counts for the trials that it stands for: shares are those of the run, counts the labels read"
        )
        page.line((text, DIM), indent=2)


def _signed(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _raters(page: Page, found: Calibration) -> None:
    for pair in found.raters[:3]:
        page.line((f"people among themselves: {agreement_words(pair)}", DIM), indent=2)


def _rates(page: Page, found: Calibration) -> None:
    correction = found.correction
    page.heading("Pass rate", f"of {count(correction.judged, 'judged trial')}; intervals at {found.level * 100:g} %")
    wide = correction.corrected is not None and correction.corrected.tasks_like_these is not None
    columns = [Column(""), Column("rate", "right"), Column("these tasks", "right")]
    columns += [Column("tasks like these", "right", drops=1)] * wide
    columns += [Column(scale(_BAR), drops=2), Column("", drops=3)]

    def row(name: str, known: Estimate | None, style: str, aside: str) -> list[Cell]:
        these = None if known is None else known.these_tasks
        drawn = bar(None if known is None else known.estimate, these, _BAR)
        cells: list[Cell] = [name, Text(rate(None if known is None else known.estimate), style), span(these)]
        cells += [span(None if known is None else known.tasks_like_these)] * wide
        return [*cells, Text(drawn, style or DIM), Text(aside, DIM)]

    rows = [row("by the judge", correction.raw, "", "each verdict taken as true")]
    if correction.people is not None:
        rows.append(row("by people alone", correction.people, "", count(found.counts.drawn, "label")))
    if correction.corrected is not None:
        rows.append(row("corrected", correction.corrected, STRONG, correction.method or ""))
    page.columns(columns, rows)
    if correction.corrected is None:
        page.gap()
        page.bullet("no corrected rate:", WARN, f"{clean(correction.refused, 600)}.")
        page.bullet("way out:", DIM, f"{clean(correction.way_out, 1000)}.")
    else:
        page.gap()
        page.line(clean(correction.why, 1500), indent=2)


def _parts(page: Page, rows: Sequence[Part]) -> None:
    if not rows:
        return
    page.heading("By part", "a pooled figure can hide one on which the judge errs")
    columns = [Column("", shrinks=True, most=30), Column("labels", "right"), Column("sensitivity", "right")]
    columns += [Column("specificity", "right"), Column("kappa", "right", drops=2)]
    columns += [Column("judge", "right", drops=1), Column("corrected", "right"), Column("interval", "right", drops=3)]
    shown = sorted(rows, key=lambda row: (-row.quality.labels, row.by, row.name))[:_ROWS]
    cells: list[list[Cell]] = []
    for row in sorted(shown, key=lambda row: (row.by, row.name)):
        quality, corrected = row.quality, row.corrected
        cells.append(
            [
                f"{row.by} {clean(row.name, 60)}",
                f"{quality.labels}/{row.judged}",
                _of(quality.sensitivity, quality.table[0][0], sum(quality.table[0])),
                _of(quality.specificity, quality.table[1][1], sum(quality.table[1])),
                "–" if quality.kappa is None else f"{quality.kappa:.2f}",
                rate(row.raw, 2),
                Text(rate(None if corrected is None else corrected.estimate, 2), STRONG),
                span(None if corrected is None else corrected.these_tasks, 2),
            ]
        )
    page.columns(columns, cells)
    if len(rows) > _ROWS:
        page.line((f"… {len(rows) - _ROWS} more parts with fewer labels (--json has all)", DIM), indent=2)


def _of(share: Share, part: int, whole: int) -> str:
    return f"{rate(share.estimate, 2)} {part}/{whole}" if whole else "–"


def _robustness(page: Page, found: Robustness) -> None:
    page.heading("Asked again", f"{count(found.trials, 'trial')}, {found.repeats} times each")
    rows: list[list[Cell]] = [
        ["verdict flips", *_rate(found.flips), Text("of trials judged several times as they stand", DIM)],
        ["not as recorded", *_rate(found.recorded), Text("of first verdicts now", DIM)],
    ]
    if found.order is not None:
        favoured = f"of comparisons; {found.first_favoured} favoured the first place"
        rows.append(["flips by order", *_rate(found.order), Text(favoured, DIM)])
    page.columns(_rate_columns("changed"), rows)
    for example in found.flipped[:3]:
        page.line((f"flips: {clean(example.task, 60)} #{example.trial}", DIM), indent=4)
    if not found.leaks:
        return
    page.heading(
        "Answers that must fail", "a control that the criterion rightly passes is no leak: choose with --control"
    )
    page.columns(_rate_columns("passed"), [[leak.kind, *_rate(leak.passed), _leak(leak)] for leak in found.leaks])
    total = found.leaked
    if total.n:
        passed = f"{total.count} of {total.n} passed" if total.count else f"none of {total.n} passed"
        share = f", a leak rate of {rate(total.estimate)} ({span(total.interval)})"
        page.line((passed, BAD if total.count else GOOD), share, indent=2)
    if found.errors:
        page.bullet("!", WARN, f"{found.errors} could not be judged: {clean(found.problem, 300)}")
    for leak in found.leaks:
        if leak.example is not None:
            where = f"{clean(leak.example.task, 60)} #{leak.example.trial}"
            page.bullet("·", DIM, (leak.kind, STRONG), f": {clean(leak.example.reason, 200)}", (f"  {where}", DIM))


def _rate_columns(title: str) -> list[Column]:
    return [Column(""), Column(title, "right"), Column("", "right"), Column("interval", "right"), Column("", drops=1)]


def _rate(found: Rate) -> list[Cell]:
    share = Text(rate(found.estimate), BAD if found.count else DIM)
    return [f"{found.count}/{found.n}" if found.n else "–", share, span(found.interval)]


def _leak(leak: ControlLeak) -> Text:
    asides = [leak.what]
    asides += [f"{leak.unknown} unknown"] * bool(leak.unknown) + [f"{leak.errors} could not be judged"] * bool(
        leak.errors
    )
    return Text(", ".join(asides), DIM)


def _next(page: Page, found: Calibration) -> None:
    reachable = [each for each in found.needed if each.labels is not None]
    if found.counts.labelled and not found.needed:
        return
    page.heading("Next")
    if not found.counts.labelled:
        page.line("have people read trials that chance draws, without seeing the judge's verdicts:", indent=2)
        run, grader = (shlex.quote(clean(name)) for name in (found.labels_from, found.grader))
        page.whole(f"passhat review {run} --grader {grader} --blind", 4)
        return
    for each in reachable:
        more = (each.labels or 0) - found.counts.labelled
        page.bullet("-", DIM, f"{count(more, 'more label')} ({each.labels:,} in all) narrow it to ±{each.width / 2:g}")
    beyond = next((each for each in found.needed if each.labels is None), None)
    if beyond is not None:
        whose = "this run" if found.labels_from == found.run else "labels elsewhere"
        text = f"±{beyond.width / 2:g} is out of reach of {whose}: it takes more trials, not only more labels"
        page.bullet("-", DIM, text)
