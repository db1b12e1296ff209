"""The report as an engineer reads it: what was measured, how often it works, where it doesn't, and what to do next."""

from __future__ import annotations

from passhat.reporting._blocks import Page
from passhat.reporting._conclusions import conclusions
from passhat.reporting._console import Look
from passhat.reporting._headline import head, headline
from passhat.reporting._judging import judging
from passhat.reporting._metrics import metrics
from passhat.reporting._reading import reading
from passhat.reporting._tables import failures, graders, tags, tasks
from passhat.summary import Report


def render_terminal(
    report: Report,
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    run: str | None = None,
    task_rows: int = 15,
) -> str:
    """The report as text for a terminal ``width`` columns wide.

    ``run`` is what `passhat show` calls the run (an id or a path); with it the next commands are named. At most
    ``task_rows`` tasks are listed, the worst first, then how many more there are. Text that comes from tasks, graders
    and models can't move the cursor, change colours or reorder the line.
    """
    look = Look(width, color, unicode)
    page = Page(look)
    head(page, report, run)
    headline(page, report)
    metrics(page, report)
    tasks(page, report, task_rows)
    tags(page, report)
    failures(page, report)
    graders(page, report)
    judging(page, report)
    reading(page, report)
    conclusions(page, report, run)
    return page.text()
