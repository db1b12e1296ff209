"""Suites as tests, judges of a marker, and arms by an ordinary parameter."""

from __future__ import annotations

import pytest

from passhat.facts import Role, Status
from passhat.records import RunReader, find_run

EVAL = """
from openai import OpenAI
from passhat import Suite, Task
from passhat.graders import exact, trace
from passhat.scripting import call, say

def policy(request, rng):
    asked = request.messages[-1].text
    if asked == "crash":
        return say("")
    return say("4" if asked == "2+2" or rng.random() < 0.5 else "5")

def agent(trial):
    with OpenAI(max_retries=0, **trial.model.openai) as client:
        sent = [{"role": "user", "content": trial.input}]
        text = client.chat.completions.create(model="m", messages=sent).choices[0].message.content
    return {"": None}.get(text, text) or 1 / 0

suite = Suite(
    "sums",
    tasks=[
        Task("easy", input="2+2", expected="4", tags=("plain",)),
        Task("hard", input="3+1", expected="4"),
        Task("crash", input="crash", expected="4"),
    ],
    agent=agent,
    graders=[exact(), trace.at_most(model_calls=2).as_("brisk", role="advisory")],
    trials=4,
    kind="regression",
    simulation=policy,
)
"""


def last_run(pytester: pytest.Pytester) -> RunReader:
    return RunReader(find_run("last", pytester.path / ".passhat"))


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "2"]], ids=" ".join)
def test_a_suite_gives_one_verdict_a_task(pytester: pytest.Pytester, mode: list[str]) -> None:
    pytester.makepyfile(
        eval_sums=EVAL,
        test_sums="from passhat.pytest_plugin import suite_tests\n\ntest_sums = suite_tests('eval_sums.py')\n",
    )
    result = pytester.runpytest("-rA", *mode)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "PASSED test_sums.py::test_sums[[]easy[]]",
            "FAILED test_sums.py::test_sums[[]hard[]] - * of 4 trials passed*",
            "FAILED test_sums.py::test_sums[[]crash[]] - 0 of 4 trials passed*",
            "4 x ZeroDivisionError: division by zero",
            "test_sums.py:3 is where the test begins",
        ]
    )
    run = last_run(pytester)
    assert run.manifest.model_source == "simulated"
    records = {(record.task, record.trial): record for record in run.trials()}
    assert len(records) == 12
    easy = records["test_sums.py::test_sums[easy]", 0]
    assert [grade.name for grade in easy.grades] == ["exact", "brisk"]
    assert (easy.output, easy.tags, easy.usage.model_calls) == ("4", ("plain",), 1)
    assert records["test_sums.py::test_sums[crash]", 3].status is Status.AGENT_ERROR
    transcript = run.transcript(easy)
    assert transcript is not None
    assert transcript.model_calls[0].messages[0].text == "2+2"


def test_a_suites_tests_take_a_gate_a_number_of_trials_and_a_suite_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        eval_sums=EVAL,
        test_sums="""
        import sys
        sys.path.insert(0, ".")
        from eval_sums import suite
        from passhat.pytest_plugin import suite_tests

        test_gated = suite_tests(suite, trials=6, gate="pass@1 >= 0.05")
        test_recorded = suite_tests(suite.replace(kind="capability"))
        """,
    )
    result = pytester.runpytest("-k", "hard")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_gated[[]hard[]]  gate pass@1 >= 0.05 is met*"])
    pytester.runpytest("test_sums.py::test_gated[crash-trial3of6]").assert_outcomes(failed=1)


JUDGED = """
import pytest
from passhat import Grade
from passhat.graders import grader
from passhat.scripting import say

@grader(name="kind words")
def kind(trial):
    assert trial.transcript.model_calls == ()
    assert (trial.workspace / "note.txt").read_text() == trial.output
    return 0.4 if "sorry" in trial.output else 0.9

@grader
async def lost(trial):
    return None if trial.task.expected == "lost" else True

def number(request):
    return request.node.callspec.params["_passhat_trial"]

def talk(trial, request, **more):
    text = "sorry" if number(request) == 1 else "of course"
    (trial.workspace / "note.txt").write_text(text)
    trial.submit(text, input="please", **more)

@pytest.mark.trials(4, simulated=True, judges=[kind, lost])
def test_recorded(trial, request):
    talk(trial, request)

@pytest.mark.trials(4, simulated=True, gate=None, judges=[kind], threshold=0.5)
def test_decided(trial, request):
    talk(trial, request)

@pytest.mark.trials(4, simulated=True, judges=[kind, lost], threshold=0.3)
def test_unknown(trial, request):
    talk(trial, request, expected="lost")

@pytest.mark.trials(4, simulated=True, judges=[kind])
def test_fails_itself(trial, request):
    talk(trial, request)
    assert number(request) != 2
"""


def test_judges_record_without_failing_and_fail_below_a_threshold(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_judged=JUDGED)
    result = pytester.runpytest("-rA")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "*test_recorded  4 of 4 trials passed*",
            "*test_decided  recorded only: 3 of 4 trials passed*",
            "*test_unknown  incomplete: 0 of 0 trials passed, 4 missing*",
            "*judge lost: returned None*",
            "*test_fails_itself  3 of 4 trials passed*",
        ]
    )
    records = {(record.task.partition("::")[2], record.trial): record for record in last_run(pytester).trials()}
    first = records["test_recorded", 0]
    assert [(grade.name, grade.role, grade.score_value) for grade in first.grades[1:]] == [
        ("kind words", Role.ADVISORY, 0.4),
        ("lost", Role.ADVISORY, 1.0),
    ]
    assert (first.passed, first.output) == (True, "sorry")
    decided = records["test_decided", 0]
    assert decided.passed is False
    assert decided.error is not None
    assert "judge kind words scored 0.40, needs 0.5" in decided.error.message
    assert records["test_unknown", 0].status is Status.GRADER_ERROR
    assert [grade.passed for grade in records["test_fails_itself", 1].grades] == [False, False]
    alone = pytester.runpytest("test_judged.py::test_decided[trial1of4]")
    alone.assert_outcomes(failed=1)
    alone.stdout.fnmatch_lines(["*judge kind words scored 0.40, needs 0.5*"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("judges=len", "must be a list of graders"),
        ("judges=5", "must be a list of graders"),
        ("judges=['nice']", "a judge is a function"),
        ("judges=[len], threshold=2", "must be a number in 0..1"),
        ("threshold=0.5", "there are none"),
        ("judges=[len]", "use the fixture trial or faux"),
        ("arms='agent'", "the test has no such parameter"),
        ("arms=3", "must be the name of a parameter"),
    ],
)
def test_judges_and_arms_that_cannot_work_are_refused(pytester: pytest.Pytester, options: str, message: str) -> None:
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.trials(3, {options})\ndef test_it():\n    pass\n")
    result = pytester.runpytest()
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()


def test_the_values_of_a_parameter_are_recorded_as_arms_of_one_task(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import random
        import pytest

        def old(): return random.random()
        def new(): return random.random() + 1

        @pytest.mark.trials(5, simulated=True, arms="agent", gate=None)
        @pytest.mark.parametrize("word", ["a", "b"])
        @pytest.mark.parametrize("agent", [old, new])
        def test_it(agent, word, trial):
            trial.record("drawn", agent() % 1)
            assert agent is new
        """
    )
    pytester.runpytest("-n", "2").assert_outcomes(passed=4)
    run = last_run(pytester)
    assert run.manifest.arms == ("old", "new")
    records = list(run.trials())
    name = "test_the_values_of_a_parameter_are_recorded_as_arms_of_one_task.py::test_it"
    assert {(r.task, r.arm, r.passed) for r in records} == {
        (f"{name}[{word}]", arm, arm == "new") for word in "ab" for arm in ("old", "new")
    }
    seeds = {(r.task, r.trial, r.seed) for r in records}
    assert len(seeds) == 10  # the arms of a task share their seeds
