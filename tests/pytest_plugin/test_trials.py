"""Repeated trials of ordinary tests: verdicts, fresh fixtures, seeds, and what the session reports."""

from pathlib import Path

import pytest

from passhat.facts import Status
from passhat.pytest_plugin._cases import case_of
from passhat.records import RunReader, find_run

CASES = """
import random
import pytest

KEPT = []

def number(request):
    return request.node.callspec.params["_passhat_trial"]

@pytest.fixture
def fresh():
    return []

@pytest.mark.trials(6, gate="pass@1 >= 0.5", simulated=True)
def test_passes(fresh):
    fresh.append(1)
    assert fresh == [1]

@pytest.mark.trials(6, gate="pass@1 >= 0.5", simulated=True)
def test_fails():
    assert False, "never right"

@pytest.mark.trials(4, simulated=True)
@pytest.mark.parametrize("word", ["a", "b"])
def test_params(word, request):
    assert word == "a" or number(request) != 2

@pytest.mark.trials(4, gate=None, simulated=True)
def test_recorded_only(request):
    assert number(request) > 2

@pytest.mark.trials(3, simulated=True)
def test_raises():
    raise RuntimeError("agent broke")

class TestInside:
    def setup_method(self):
        self.state = []

    @pytest.mark.trials(3, simulated=True)
    def test_method(self):
        self.state.append(1)
        assert len(self.state) == 1

def test_plain():
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_cases=CASES)
    return pytester


def test_a_trials_id_is_the_cases_id_with_a_number() -> None:
    assert case_of("a.py::T::test_x[b-c-trial12of20]") == ("a.py::T::test_x[b-c]", 12, 20)
    assert case_of("a.py::test_x[trial1of2]") == ("a.py::test_x", 1, 2)
    assert case_of("a.py::test_x[trial1of2-b]") is None


def test_the_session_is_recorded_as_a_run(suite: pytest.Pytester) -> None:
    suite.runpytest()
    reader = RunReader(find_run("last", suite.path / ".passhat"))
    records = list(reader.trials())
    assert len(records) == 6 + 6 + 8 + 4 + 3 + 3
    assert reader.manifest.state == "finished"
    assert {r.status for r in records if r.task.endswith("test_raises")} == {Status.AGENT_ERROR}
    seeds = [record.seed for record in records]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize(
    ("arguments", "outcomes"),
    [
        (["-k", "test_passes"], {"passed": 1}),
        (["test_cases.py::test_params[a]"], {"passed": 1}),
        (["test_cases.py::test_params"], {"passed": 1, "failed": 1}),
        (["test_cases.py::test_params[b-trial2of4]"], {"failed": 1}),
        (["test_cases.py::test_params[b-trial1of4]"], {"passed": 1}),
        (["-k", "trial2of4"], {"passed": 1, "failed": 2}),
        (["test_cases.py::TestInside"], {"passed": 1}),
        (
            ["--deselect", "test_cases.py::test_fails", "--deselect", "test_cases.py::test_raises"],
            {"passed": 5, "failed": 1},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_cases_and_trials_are_selected_as_tests_are(
    suite: pytest.Pytester, arguments: list[str], outcomes: dict[str, int]
) -> None:
    result = suite.runpytest(*arguments)
    found = {name: count for name, count in result.parseoutcomes().items() if name in ("passed", "failed", "errors")}
    assert found == outcomes


def test_last_failed_runs_the_failed_cases_again(suite: pytest.Pytester) -> None:
    suite.runpytest()
    result = suite.runpytest("--lf")
    result.assert_outcomes(failed=3)


def test_collecting_lists_trials_and_verdicts(suite: pytest.Pytester) -> None:
    result = suite.runpytest("--co", "-q", "-k", "test_passes")
    result.stdout.fnmatch_lines(["test_cases.py::test_passes[[]trial1of6[]]", "test_cases.py::test_passes"])
    assert not (suite.path / ".passhat").exists()


def test_each_trial_draws_its_own_random_numbers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import random
        import pytest

        SEEN = []

        @pytest.fixture
        def early():
            return random.random()

        @pytest.mark.trials(5, gate=None, simulated=True)
        def test_draw(early):
            SEEN.append((early, random.random()))

        def test_all_differ():
            assert len(set(SEEN)) == len({a for a, _ in SEEN}) == len({b for _, b in SEEN}) == 5
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_test_that_is_broken_ends_as_an_error_at_its_first_trial(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        RUNS = []

        @pytest.mark.trials(5, gate=None, simulated=True)
        def test_typo():
            RUNS.append(1)
            undefined_name

        @pytest.mark.trials(5, gate=None, simulated=True)
        def test_fixture(no_such_fixture):
            pass

        @pytest.mark.trials(5, gate=None, simulated=True)
        def test_import():
            import no_such_module

        def test_ran_once():
            assert RUNS == [1]
        """
    )
    result = pytester.runpytest("-p", "no:asyncio", "-p", "no:anyio")
    result.assert_outcomes(errors=3, passed=1)
    result.stdout.fnmatch_lines_random(["*NameError: name 'undefined_name' is not defined*", "*no_such_fixture*"])


def test_a_case_whose_trials_could_not_be_set_up_is_incomplete(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def service(request):
            if request.node.callspec.params["_passhat_trial"] == 2:
                raise OSError("no service")

        @pytest.mark.trials(4, simulated=True)
        def test_it(service):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["incomplete: 3 of 3 trials passed, 1 missing*", "*1 of 4 has no verdict*", "*OSError in setup: no service*"]
    )


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("trials", "give the number of trials"),
        ("trials(0)", "whole number, 1 or more, got 0"),
        ("trials(True)", "whole number, 1 or more, got True"),
        ("trials(5, gates='x')", "no option 'gates'"),
        ("trials(5, gate='pass@1 > 0.5')", "use >= or <="),
        ("trials(5, gate='pass@1 >= 0.9')", "can't be met"),
        ("trials(5, undecided='maybe')", "must be 'pass' or 'fail'"),
        ("trials(5, 'pass@1 >= 0.5')", "the gate is given by name: trials(5, gate='pass@1 >= 0.5')"),
        ("trials(5, gate='grader:foo >= 0.5')", "no judge is called 'foo'; known: test (test is the test itself)"),
        ("trials(5, simulated=True, gate='dollars <= 1')", "a simulated model has no price"),
    ],
)
def test_a_marker_that_cannot_work_is_refused_at_collection(pytester: pytest.Pytester, mark: str, message: str) -> None:
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.{mark}\ndef test_it():\n    pass\n")
    result = pytester.runpytest()
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()


def test_a_live_model_costs_money_so_its_trials_are_skipped_unless_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n\n@pytest.mark.trials(3)\ndef test_it():\n    pass\n")
    result = pytester.runpytest("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*say --model PROVIDER/NAME, or --trials N*"])
    pytester.runpytest("--trials", "4").assert_outcomes(passed=1)


def test_expected_failures_apply_to_the_verdict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.xfail(reason="known")
        @pytest.mark.trials(3, simulated=True)
        def test_known():
            assert False

        @pytest.mark.xfail(strict=True, reason="was known")
        @pytest.mark.trials(3, simulated=True)
        def test_fixed():
            pass
        """
    )
    pytester.runpytest().assert_outcomes(xfailed=1, failed=1)


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="subtests came with pytest 9")
def test_a_failed_subtest_fails_its_trial_and_not_the_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.trials(4, gate=None, simulated=True)
        def test_it(subtests, request):
            with subtests.test("one"):
                assert request.node.callspec.params["_passhat_trial"] != 1

        @pytest.mark.trials(2, simulated=True)
        def test_shows(subtests):
            with subtests.test("one"):
                left, right = 1, 2
                assert left == right
        """
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        ["*test_shows*", "*2 x subtest: assert 1 == 2", "--- trial 1: *", ">*assert left == right", "E*assert 1 == 2"]
    )
    result.stdout.fnmatch_lines(["*test_it  recorded only: 3 of 4 trials passed*"])


def test_async_tests_fail_as_often_as_they_fail(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.asyncio
        @pytest.mark.trials(4, gate=None, simulated=True)
        async def test_it():
            assert False

        @pytest.mark.trials(4, gate=None, simulated=True)
        async def test_no_plugin():
            assert False
        """
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines_random(["*0 of 4 trials passed*", "*no plugin runs it*"])


def test_a_unittest_method_cannot_be_repeated(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest
        import pytest

        class TestIt(unittest.TestCase):
            @pytest.mark.trials(3)
            def test_it(self):
                pass
        """
    )
    result = pytester.runpytest()
    assert result.ret == 2
    assert "make it a plain class" in result.stdout.str() + result.stderr.str()


def test_junit_has_one_failing_case_and_keeps_trials_green(suite: pytest.Pytester) -> None:
    suite.runpytest("--junitxml=out.xml", "-k", "test_fails")
    text = Path(suite.path / "out.xml").read_text()
    assert text.count("<failure") == 1
    assert text.count('<skipped type="pytest.skip" message="trial failed: never right"') == 6
    assert '<property name="verdict" value="not met"' in text


def test_a_session_without_trials_prints_and_writes_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_plain():\n    pass\n")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    assert "passhat" not in result.stdout.str().replace("plugins: ", "").replace("passhat-0", "")
    assert not (pytester.path / ".passhat").exists()


def test_a_session_without_trials_loads_four_modules_and_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import sys

        def pytest_unconfigure(config):
            heavy = ("numpy", "scipy", "httpx2", "msgspec", "starlette", "uvicorn", "yaml", "rich", "pydantic")
            with open("loaded.txt", "w") as file:
                for name in sorted(sys.modules):
                    if name.split(".")[0] in ("passhat", *heavy):
                        print(name, file=file)
        """
    )
    pytester.makepyfile("def test_plain():\n    pass\n")
    pytester.runpytest_subprocess("-p", "no:anyio").assert_outcomes(passed=1)
    loaded = (pytester.path / "loaded.txt").read_text().split()
    assert loaded == [
        "passhat",
        "passhat.pytest_plugin",
        "passhat.pytest_plugin._fixtures",
        "passhat.pytest_plugin._keys",
    ]


def test_a_trial_that_leaves_the_process_fails_and_the_session_goes_on(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os
        import pytest

        REAL = os._exit

        @pytest.mark.trials(6, gate="pass@1 >= 0.5", simulated=True)
        def test_leaves():
            os._exit(0)

        def test_after():
            assert os._exit is REAL
        """
    )
    result = pytester.runpytest_subprocess()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*would have ended the whole process*"])
    assert result.parseoutcomes()["passed"] == 1


def test_trials_leave_nothing_on_their_items(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection_modifyitems(items):
            kept = items[0].runtest
            items[0].runtest = lambda: kept()  # another plugin's

        def pytest_sessionfinish(session):
            left = [sorted(set(vars(item)) & {"setup", "runtest"}) for item in session.items[:2]]
            assert left == [["runtest"], []] and session.items[0].runtest.__name__ == "<lambda>"
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def fresh():
            return []

        @pytest.mark.trials(2, simulated=True)
        def test_it(fresh):
            pass
        """
    )
    assert pytester.runpytest("-p", "no:xdist").ret == 0


def test_the_terminal_keeps_no_report_of_a_trial_whose_verdict_is_told(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_terminal_summary(terminalreporter):
            kept = [(report.nodeid, report.when) for reports in terminalreporter.stats.values() for report in reports]
            print("kept:", sorted(kept))
        """
    )
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.trials(3, gate=None, simulated=True)
        def test_trials(request):
            if "trial2" in request.node.name:
                pytest.skip("not today")

        def test_plain():
            print("a teardown section is shown with -rP")
        """
    )
    assert pytester.runpytest_subprocess("-p", "no:terminal").ret == 0
    text = pytester.runpytest().stdout.str()
    phases = [(name, when) for name in ("test_plain", "test_trials") for when in ("call", "setup", "teardown")]
    assert f"kept: {[(f'test_it.py::{name}', when) for name, when in phases]}" in text


def test_no_transcript_stays_in_memory_when_its_test_is_over(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import gc
        from passhat.facts import ModelCall

        def pytest_sessionfinish(session):
            gc.collect()
            print("calls in memory:", sum(isinstance(thing, ModelCall) for thing in gc.get_objects()))
            print("model calls:", session.config.calls)
        """
    )
    pytester.makepyfile(
        test_it="""
        import json
        import os
        import urllib.request
        import pytest
        from passhat.scripting import say

        def ask():
            headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
            sent = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
            address = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
            urllib.request.urlopen(urllib.request.Request(address, sent, headers)).close()

        @pytest.mark.trials(4, gate=None, simulated=True)
        def test_it(faux, request):
            faux.script(say("hello"))
            ask()
            request.config.calls = getattr(request.config, "calls", 0) + len(faux.transcript.model_calls)

        def test_plain(faux, request):
            faux.script(say("hello"))
            ask()
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*calls in memory: 0", "model calls: 4"])
