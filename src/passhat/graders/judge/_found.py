"""The judges among a suite's graders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from passhat.graders.judge._judge import Judge


def judges_in(graders: Iterable[Any]) -> Iterator[Judge]:
    """Every judge among graders, also inside combined and wrapped ones.

    >>> from passhat.graders import all_of, exact, judge
    >>> polite = judge.rubric("polite", "The answer is polite.")
    >>> [found.name for found in judges_in([exact(), all_of(exact(), polite)])]
    ['polite']
    """
    for grader in graders:
        if isinstance(grader, Judge):
            yield grader
            continue
        parts = [*(getattr(grader, "graders", None) or ()), getattr(grader, "inner", None)]
        yield from judges_in(part for part in parts if part is not None)
