"""Nothing is loaded while the report of a test is made."""

from __future__ import annotations

import pytest

CONFTEST = """
import sys
import pytest

LATE = []

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item):
    before = {*sys.modules}
    report = yield
    LATE.extend(sorted({*sys.modules} - before))
    return report

def pytest_terminal_summary(terminalreporter):
    terminalreporter.line(f"loaded late: {LATE}")
"""
TESTS = """
import pytest
from openai import OpenAI
from passhat.scripting import call, say

def test_fails(faux):
    faux.script(call("refund", {"order": "A1"}), say("done"))
    sent = [{"role": "user", "content": "hi"}]
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    OpenAI(max_retries=0).chat.completions.create(model="m", messages=sent, tools=tools)
    faux.record("note", 1)
    assert faux.pending == 2
"""


def test_what_shows_a_transcript_is_loaded_before_the_first_test_runs(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--- transcript ---*", "loaded late: [[][]]"])
