"""What a failing test shows first is the reason, and not the source code of the client that was told it."""

from __future__ import annotations

import pytest

TESTS = """
import pytest
from openai import OpenAI
from passhat.scripting import say

def ask():
    with OpenAI(max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])

class MyError(Exception):
    pass

def test_nobody(trial):
    ask()

def test_beyond(faux):
    faux.script(say("a"))
    ask()
    ask()

def test_wrapped(trial):
    try:
        ask()
    except Exception as error:
        raise MyError("wrapped") from error

def test_asserts(trial):
    try:
        ask()
    except Exception:
        assert 1 == 2
"""
NOBODY = "no model answers this test: a real one costs money and nobody asked for it. Say --model PROVIDER/NAME*"


@pytest.mark.parametrize("options", [("-p", "no:xdist"), ("-n", "2")])
def test_the_reason_of_a_refusal_stands_before_the_users_own_lines_and_in_the_last_lines(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest(*options)
    result.assert_outcomes(failed=4)
    for name, why in (("nobody", NOBODY), ("beyond", "No more scripted replies: 1 reply was scripted*")):
        lines = result.outlines
        first = next(place for place, line in enumerate(lines) if f"_ test_{name} _" in line)
        shown = [line for line in lines[first + 1 : first + 20] if line and not line.startswith("[gw")]
        assert shown[0].startswith(why.rstrip("*"))
        assert shown[1].startswith("test_it.py:")
        result.stdout.fnmatch_lines([f"FAILED test_it.py::test_{name} - {why}"])
    text = result.stdout.str()
    assert "_base_client.py" not in text.partition("_ test_wrapped _")[0].partition("_ test_nobody _")[2]
    assert "assert 1 == 2" in text
    result.stdout.fnmatch_lines(["*MyError: wrapped"])


def test_the_clients_source_code_is_shown_where_it_is_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest("-p", "no:xdist", "--tb=long", "-k", "nobody")
    result.stdout.fnmatch_lines([NOBODY, "*_base_client.py:*"])


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('suite_tests("nope.py")', "*nope.py: *no such file*"),
        ('suite_tests("eval_it.py", gate="grader:x >= 0.5")', "*no grader is called 'x'*"),
    ],
)
def test_what_suite_tests_refuses_is_shown_without_the_way_to_it(
    pytester: pytest.Pytester, call: str, why: str
) -> None:
    pytester.makepyfile(
        eval_it='from passhat import Suite, Task\nsuite = Suite("s", tasks=[Task("t")], agent=lambda trial: 1)\n',
        test_it=f"from passhat.pytest_plugin import suite_tests\n\ntest_it = {call}\n",
    )
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(errors=1)
    text = result.stdout.str()
    assert "passhat/pytest_plugin" not in text
    assert "passhat/suite" not in text
    result.stdout.fnmatch_lines(["test_it.py:3: in <module>", why])


def test_a_failing_test_that_asked_nothing_has_no_empty_transcript(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_it(trial):\n    assert 1 == 2\n")
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*- transcript -*")
