"""What a covered test leaves behind by rarer means reaches no provider either."""

from __future__ import annotations

import _thread
import atexit

import pytest

from passhat.facts import ModelCall
from passhat.pytest_plugin._late import Late

BARE = """
import _thread, threading
import pytest
from openai import OpenAI

SENT = [{"role": "user", "content": "hi"}]
go, done, said = threading.Event(), threading.Event(), []

def ask():
    try:
        said.append(OpenAI(max_retries=0).chat.completions.create(model="m", messages=SENT).choices[0].message.content)
    except BaseException as error:
        said.append(str(error))

def later():
    go.wait(30)
    ask()
    done.set()

def test_covered(trial):
    _thread.start_new_thread(later, ())
    with pytest.raises(TypeError):
        _thread.start_new_thread(None, ())

def test_plain():
    go.set()
    assert done.wait(30)
    assert "the thread that made it was started in a test with trials" in said[0]
    own = threading.Event()
    _thread.start_new_thread(lambda *args, **named: (ask(), said.append((args, named)), own.set()), (1,), {"a": 2})
    assert own.wait(30)
    assert said[1:] == ["live", ((1,), {"a": 2})]
"""
AT_EXIT = """
import atexit, os
import pytest
from openai import OpenAI

SENT = [{"role": "user", "content": "hi"}]

def ask(who):
    try:
        client = OpenAI(max_retries=0, base_url=os.environ["OPENAI_BASE_URL"])
        print(who, client.chat.completions.create(model="m", messages=SENT).choices[0].message.content)
    except BaseException as error:
        print(who, error)

def test_covered(trial):
    assert atexit.register(ask, "covered") is ask
    atexit.register(print, "never shown")
    atexit.unregister(print)

def test_plain():
    atexit.register(ask, who="plain")
"""


def test_a_bare_thread_that_outlives_its_covered_test_is_stopped_and_others_are_not(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(BARE)
    pytester.runpytest("--tb=short", "-p", "no:xdist").assert_outcomes(passed=2)
    assert len(paid) == 1  # the plain test's own


def test_what_atexit_calls_for_a_covered_test_is_stopped_and_for_others_is_not(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(AT_EXIT)
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(passed=2)
    shown = result.stdout.str()
    assert "plain live" in shown
    assert "atexit was told there to make it" in shown.partition("covered ")[2]
    assert "never shown" not in shown
    assert len(paid) == 1


def test_both_are_put_back() -> None:
    before = (_thread.start_new_thread, atexit.register)
    late = Late(lambda: "", lambda: pytest.raises(Exception))  # type: ignore[arg-type,return-value]
    late.install()
    assert atexit.register is not before[1]
    late.remove()
    assert (_thread.start_new_thread, atexit.register) == before
