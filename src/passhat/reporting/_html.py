"""The report as one page that needs nothing else: no scripts, no fonts, no links out."""

from __future__ import annotations

from passhat.reporting._chart import interval_bar, rate_chart
from passhat.reporting._conclusions import outcome_of
from passhat.reporting._headline import moment, size_of
from passhat.reporting._judging import judging_rows
from passhat.reporting._metrics import class_table, count_tables, figures, levels_of
from passhat.reporting._reading import reading_rows
from passhat.reporting._tables import WORDS, worst_first
from passhat.reporting._text import clean, dollars, rate, seconds, span, tokens
from passhat.summary import Report, is_rate_of_an_agent


def render_html(report: Report, *, run: str | None = None, task_rows: int = 2_000) -> str:
    """A single HTML page in light and dark, readable without scripts and on paper.

    All text is escaped and the page forbids scripts, so that nothing a model wrote can run. At most ``task_rows`` tasks
    are in it, the worst first.
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
        clean=clean, rate=rate, span=span, seconds=seconds, tokens=tokens, dollars=dollars, moment=moment
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
        words=WORDS,
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
