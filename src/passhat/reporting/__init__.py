"""Renders a report, a trial, a list of runs or the progress of a run. Computes nothing: `passhat.summary` does.

The names load on first use, since each form needs other packages.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from passhat.reporting._audit import render_audit
    from passhat.reporting._calibration import render_calibration
    from passhat.reporting._comparison import render_comparison, render_verdicts
    from passhat.reporting._console import Look, look_of
    from passhat.reporting._expected import render_expected
    from passhat.reporting._graduation import render_graduation
    from passhat.reporting._history import render_history
    from passhat.reporting._html import render_html
    from passhat.reporting._json import render_json
    from passhat.reporting._junit import render_junit
    from passhat.reporting._leaks import render_leaks
    from passhat.reporting._markdown import render_markdown
    from passhat.reporting._plan import render_plan
    from passhat.reporting._progress import ProgressLine
    from passhat.reporting._raters import render_raters, render_reading_plan
    from passhat.reporting._regraded import render_regraded
    from passhat.reporting._runs import render_runs, render_trials
    from passhat.reporting._terminal import render_terminal
    from passhat.reporting._text import clean, clean_block
    from passhat.reporting._transcript import render_transcript
    from passhat.reporting._trial import TrialPage, render_trial, trial_page

_HOME = {
    "Look": "_console",
    "ProgressLine": "_progress",
    "TrialPage": "_trial",
    "clean": "_text",
    "clean_block": "_text",
    "look_of": "_console",
    "render_calibration": "_calibration",
    "render_comparison": "_comparison",
    "render_audit": "_audit",
    "render_expected": "_expected",
    "render_graduation": "_graduation",
    "render_history": "_history",
    "render_html": "_html",
    "render_json": "_json",
    "render_junit": "_junit",
    "render_leaks": "_leaks",
    "render_markdown": "_markdown",
    "render_plan": "_plan",
    "render_regraded": "_regraded",
    "render_raters": "_raters",
    "render_reading_plan": "_raters",
    "render_runs": "_runs",
    "render_terminal": "_terminal",
    "render_transcript": "_transcript",
    "render_trial": "_trial",
    "render_trials": "_runs",
    "render_verdicts": "_comparison",
    "trial_page": "_trial",
}

__all__ = [
    "Look",
    "ProgressLine",
    "TrialPage",
    "clean",
    "clean_block",
    "look_of",
    "render_audit",
    "render_calibration",
    "render_comparison",
    "render_expected",
    "render_graduation",
    "render_history",
    "render_html",
    "render_json",
    "render_junit",
    "render_leaks",
    "render_markdown",
    "render_plan",
    "render_raters",
    "render_reading_plan",
    "render_regraded",
    "render_runs",
    "render_terminal",
    "render_transcript",
    "render_trial",
    "render_trials",
    "render_verdicts",
    "trial_page",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
