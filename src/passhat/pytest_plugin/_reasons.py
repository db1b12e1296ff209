"""Where a request was refused here, the reason stands first, and the client's own source code isn't shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ExceptionChainRepr, ReprEntryNative

from passhat.pytest_plugin._parts import first_line, storable

_LIBRARIES = {"site-packages", "dist-packages"}
_OURS = Path(__file__).parents[1]


def reason_first(report: pytest.TestReport, error: pytest.ExceptionInfo[Any], why: str, config: pytest.Config) -> None:
    """Put ``why`` before a failing test's trace-back, and in the session's last lines.

    Where the test ended by the client's own error, of which it shows pages, the trace-back is that of the user's code,
    unless ``--tb`` or ``--full-trace`` asks for more.
    """
    if not why or not isinstance(report.longrepr, ExceptionChainRepr):
        return
    chosen = config.option.tbstyle != "auto" or config.option.fulltrace
    if not chosen and not isinstance(error.value, AssertionError) and _of_a_library(error.traceback[-1]):
        kept = error.traceback.filter(lambda entry: not _of_a_library(entry))
        if kept:
            shorter = error.getrepr(style="short", abspath=False, tbfilter=lambda found: _kept(found.traceback))
            if isinstance(shorter, ExceptionChainRepr):
                report.longrepr = shorter
    shown: Any = report.longrepr
    shown.chain[0][0].reprentries.insert(0, ReprEntryNative([f"{storable(why)}\n\n"]))
    if shown.reprcrash is not None:
        shown.reprcrash.message = first_line(storable(why), 500)


def _kept(traceback: Any) -> Any:
    return traceback.filter(lambda entry: not _of_a_library(entry)) or traceback


def _of_a_library(entry: Any) -> bool:
    """Whether a frame is of an installed package, or ours."""
    path = Path(str(entry.path))
    return bool(_LIBRARIES & {*path.parts}) or path.is_relative_to(_OURS) or bool(entry.ishidden(None))
