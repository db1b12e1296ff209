"""A judge whose own request was refused has given no grade, whatever it returns then."""

from __future__ import annotations

import pytest

from passhat.facts import ModelCall
from passhat.records import RunReader, find_run

JUDGES = """
import os
import urllib.request
import pytest
from openai import OpenAI
from passhat.scripting import say
from passhat.trial import FinishedTrial

SENT = [{"role": "user", "content": "hi"}]
BEFORE = OpenAI(max_retries=0)

def ask(client):
    try:
        client.chat.completions.create(model="m", messages=SENT)
    except Exception:
        pass
    return 0.9

def own(trial):
    return ask(OpenAI(max_retries=0))

def made_at_import(trial):
    return ask(BEFORE)

def with_an_address(trial):
    return ask(OpenAI(max_retries=0, base_url="https://api.openai.com/v1", api_key="sk-real"))

def of_another_provider(trial):
    try:
        urllib.request.urlopen("https://api.groq.com/openai/v1/models")
    except Exception:
        pass
    return True

def in_a_process(trial):
    import subprocess, sys
    code = "import os, urllib.request; urllib.request.urlopen(os.environ['GROQ_BASE_URL'] + '/chat/completions')"
    subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.DEVNULL)
    return True

async def asynchronous(trial):
    return own(trial)

def plain(trial):
    return 0.9
"""

MARKED = """
@pytest.mark.trials(2, simulation=lambda request, rng: say("simulated"), judges=[JUDGE, plain], threshold=0.5)
def test_judged(trial):
    trial.submit(OpenAI(max_retries=0).chat.completions.create(model="m", messages=SENT).choices[0].message.content)
"""

ALL = ("own", "made_at_import", "with_an_address", "of_another_provider", "in_a_process", "asynchronous")


@pytest.mark.parametrize("judge", ALL)
def test_a_judge_that_swallows_its_refusal_gives_an_error_in_place_of_a_grade(
    pytester: pytest.Pytester, paid: list[ModelCall], judge: str
) -> None:
    pytester.makepyfile(test_it=JUDGES + MARKED.replace("JUDGE", judge))
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*incomplete: 0 of 0 trials passed, 2 missing*", f"2 x judge {judge}: *"])
    run = RunReader(find_run("last", pytester.path / ".passhat"))
    grades = [grade for record in run.trials() for grade in record.grades if grade.name == f"{judge} >= 0.5"]
    assert [(grade.passed, grade.score) for grade in grades] == [(None, None)] * 2
    others = [grade.passed for record in run.trials() for grade in record.grades if grade.name == "plain >= 0.5"]
    assert others == [True, True]
    assert paid == []


def test_a_judge_that_only_records_has_an_error_too(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    pytester.makepyfile(test_it=JUDGES + MARKED.replace("JUDGE", "own").replace("threshold=0.5", "threshold=None"))
    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=1)
    run = RunReader(find_run("last", pytester.path / ".passhat"))
    assert all("no model answers a client that a judge" in str(record.grades[1].error) for record in run.trials())


def test_a_judge_that_swallows_the_limit_gives_an_error(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    many = "\ndef many(trial):\n    client = OpenAI(max_retries=0)\n    return [ask(client) for _ in range(51)][-1]\n"
    pytester.makepyfile(test_it=JUDGES + many + MARKED.replace("JUDGE", "many"))
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "--judge-model", "openai/judge")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["2 x judge many: *limit of 50 model calls is reached*"])
    assert len(paid) == 100


GRADED = """
from passhat import Suite, Task
from passhat.pytest_plugin import suite_tests

suite = Suite("s", tasks=[Task("t", input=1)], agent=lambda trial: 1, graders=[JUDGE], trials=1, script=[],
              kind="regression")
test_suite = suite_tests(suite)
"""


@pytest.mark.parametrize("grader", ["own", "made_at_import"])
def test_a_grader_of_a_suite_that_swallows_its_refusal_is_an_error(
    pytester: pytest.Pytester, paid: list[ModelCall], grader: str
) -> None:
    pytester.makepyfile(test_it=JUDGES + GRADED.replace("JUDGE", grader))
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    result.assert_outcomes(errors=1)
    assert paid == []
