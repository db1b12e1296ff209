"""The report as one page that needs nothing else: no scripts, no fonts, no links out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from passhat.reporting._chart import interval_bar, rate_chart, stretched
from passhat.reporting._conclusions import next_commands, outcome_of
from passhat.reporting._findings import folded
from passhat.reporting._headline import (
    conservative_words,
    flip_words,
    has_like,
    meaning,
    moment,
    more_words,
    size_of,
    spent_words,
    telling_k,
    verdict_words,
)
from passhat.reporting._judging import judging_rows
from passhat.reporting._metrics import class_table, count_tables, figures, levels_of
from passhat.reporting._reading import reading_rows
from passhat.reporting._tables import each_trial, ended, failures_title, worst_first, worst_tags
from passhat.reporting._text import clean, dollars, in_a_line, rate, seconds, span, tokens
from passhat.summary import Report, is_rate_of_an_agent

if TYPE_CHECKING:
    from markupsafe import Markup

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def render_html(report: Report, *, run: str | None = None, task_rows: int = 2_000) -> str:
    """A single HTML page in light and dark, readable without scripts and on paper.

    All text is escaped and the page forbids scripts, so that nothing a model wrote can run. At most ``task_rows`` tasks
    are in it, the worst first. ``run`` is what commands call the run: the page then says how to read its trials.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("passhat.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        clean=clean,
        in_a_line=in_a_line,
        whole_options=_whole_options,
        rate=rate,
        span=span,
        seconds=seconds,
        tokens=tokens,
        dollars=dollars,
        moment=moment,
    )
    tasks = worst_first(report.by_task)
    page = environment.get_template("report.html")
    return page.render(
        report=report,
        run=run,
        size=size_of(report),
        real=is_rate_of_an_agent(report.run),
        outcome=outcome_of(report),
        tasks=tasks[:task_rows],
        more_tasks=max(0, len(tasks) - task_rows),
        ended=ended,
        like=has_like(report),
        meaning=meaning(like=has_like(report)),
        conservative=conservative_words(report),
        telling=None if (k := telling_k(report)) is None else report.rate(k, hat=True),
        more=more_words,
        findings=folded(report),
        stretched=bool(report.pass_hat) and stretched([row.k for row in report.pass_hat]),
        verdicts="; ".join(
            part for part in (", ".join(words for words, _ in verdict_words(report)), flip_words(report)) if part
        ),
        each=each_trial,
        tags=worst_tags(report),
        failures=failures_title(report),
        spent=spent_words(report),
        commands=next_commands(report, run) if run else [],
        reading=reading_rows(report),
        judging=judging_rows(report),
        figures=figures(report),
        metric_levels=levels_of(report.metrics),
        class_tables=[table for metric in report.metrics if (table := class_table(metric)) is not None],
        count_tables=[table for metric in report.metrics for table in count_tables(metric)],
        # Markup: both charts are made of numbers and our own words
        chart=Markup(rate_chart(report)),  # noqa: S704
        bar=lambda estimate, ends: Markup(interval_bar(estimate, ends)),  # noqa: S704
    )


def _whole_options(text: str) -> Markup:
    """Escaped text in which no option of a command is broken at its hyphens."""
    from markupsafe import Markup, escape

    return Markup(_OPTION.sub(r'<span class="whole">\g<0></span>', str(escape(text))))  # noqa: S704
