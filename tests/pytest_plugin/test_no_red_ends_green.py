"""A session that owes a test its verdict isn't green, however its trials were lost; and what failed stays failed."""

from __future__ import annotations

from textwrap import dedent

import pytest

from passhat.facts import Status
from passhat.records import RunReader, find_run

FAILING = """
import pytest

@pytest.mark.trials(5, simulated=True)
def test_it():
    assert 0
"""
HOOKS = {
    "finish": """
        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_collection_finish(session):
            result = yield
            session.items[:] = session.items[::2]
            return result
        """,
    "select": """
        class Late:  # comes after every plugin that was there when tests were collected
            @pytest.hookimpl(wrapper=True, tryfirst=True)
            def pytest_collection_modifyitems(self, items):
                result = yield
                items[:] = items[1:]
                return result

        def pytest_itemcollected(item):
            if not item.config.pluginmanager.has_plugin("late"):
                item.config.pluginmanager.register(Late(), "late")
        """,
    "loop": """
        def pytest_runtestloop(session):
            session.items[:] = session.items[:2]
        """,
    "nothing": """
        def pytest_runtestloop(session):
            session.items[:] = []
        """,
    "protocol": """
        class Late:
            @pytest.hookimpl(tryfirst=True)
            def pytest_runtest_protocol(self, item):
                return True if "trial5of5" in item.name else None

        def pytest_runtestloop(session):
            session.config.pluginmanager.register(Late(), "late")
        """,
    "verdict": """
        class Late:  # comes after every plugin that was there when tests were collected
            @pytest.hookimpl(wrapper=True, tryfirst=True)
            def pytest_collection_modifyitems(self, items):
                result = yield
                items[:] = items[:-1]
                return result

        def pytest_itemcollected(item):
            if not item.config.pluginmanager.has_plugin("late"):
                item.config.pluginmanager.register(Late(), "late")
        """,
}
SAID = {
    "finish": "Trials 2, 4 of 5 have no result: a hook took trials out of the session*",
    "select": "Trial 1 of 5 has no result: a hook took trials out of the session*",
    "loop": "Trials 3-5 of 5 have no result: a hook took trials out of the session*",
    "nothing": "Trials 1-5 of 5 have no result: a hook took trials out of the session*",
    "protocol": "Trial 5 of 5 has no result: no report of them came, though the session ended by itself*",
    "verdict": "*5 x assert 0*",
}


def last_run(pytester: pytest.Pytester) -> RunReader:
    return RunReader(find_run("last", pytester.path / ".passhat"))


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("outcome", ["assert 0", "assert 1"])
def test_a_hook_that_keeps_trials_from_running_leaves_no_test_green(
    pytester: pytest.Pytester, hook: str, outcome: str
) -> None:
    pytester.makeconftest("import pytest\n" + dedent(HOOKS[hook]))
    pytester.makepyfile(test_it=FAILING.replace("assert 0", outcome))
    result = pytester.runpytest("-p", "no:xdist", "--junitxml=out.xml", "test_it.py")
    if (hook, outcome) == ("verdict", "assert 1"):  # all trials ran
        result.assert_outcomes(passed=1)
        return
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([SAID[hook]])
    assert '<failure message="' in (pytester.path / "out.xml").read_text()
    assert pytester.runpytest("--cache-show", "cache/lastfailed").stdout.str().count("test_it.py::test_it") == 1


def test_what_was_not_run_is_missing_from_the_record_and_the_session_did_not_finish(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(dedent(HOOKS["loop"]))
    pytester.makepyfile(test_it=FAILING)
    result = pytester.runpytest("-p", "no:xdist", "test_it.py")
    result.stdout.fnmatch_lines(["recorded: passhat report *  (the session didn't finish)"])
    run = last_run(pytester)
    assert run.manifest.state == "interrupted"
    assert [record.trial for record in run.trials()] == [0, 1]


def test_another_plugins_exit_status_is_left_alone(pytester: pytest.Pytester) -> None:
    more = """
        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_sessionfinish(session):
            session.exitstatus = 7
            return (yield)
        """
    pytester.makeconftest("import pytest\n" + dedent(HOOKS["loop"]) + dedent(more))
    pytester.makepyfile(test_it=FAILING)
    result = pytester.runpytest("-p", "no:xdist", "test_it.py")
    assert result.ret == 7
    result.assert_outcomes(failed=1)


@pytest.mark.parametrize("code", ["returncode=0", "returncode=1", ""])
def test_a_trial_that_ends_the_session_leaves_its_test_incomplete(pytester: pytest.Pytester, code: str) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.trials(3, gate="pass@1 >= 0.2", simulated=True)
        def test_it(trial):
            if trial.number == 1:
                pytest.exit("bye", {code})
        """
    )
    result = pytester.runpytest("-p", "no:xdist")
    if not code:  # as Ctrl-C: nobody takes it for a result
        assert result.ret == 2
        assert "no result" not in result.stdout.str()
        return
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*: 1 of 1 trials passed, 2 missing*"])
    result.stdout.fnmatch_lines(["Trials 2-3 of 3 have no result: pytest.exit ended the session: bye."])


def test_a_session_that_is_ended_after_a_red_verdict_is_not_green(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.trials(2, gate="every trial", simulated=True)
        def test_it():
            assert 0

        def test_last():
            pytest.exit("bye", returncode=0)
        """
    )
    result = pytester.runpytest("-p", "no:xdist", "-p", "no:randomly")
    result.assert_outcomes(failed=1)
    assert result.ret == 1


KILLED = """
import os
import pytest
import signal

@pytest.mark.trials(4, gate="pass@1 >= 0.4", simulated=True)
def test_it(request):
    if "trial{number}of" in request.node.name:
        os.kill(os.getpid(), signal.SIGKILL)
    assert {holds}
"""


@pytest.mark.parametrize("holds", [0, 1])
def test_workers_that_die_and_are_not_replaced_leave_the_test_incomplete(pytester: pytest.Pytester, holds: int) -> None:
    pytester.makepyfile(KILLED.format(number=2, holds=holds))
    result = pytester.runpytest("-n", "1", "--max-worker-restart=0")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Trials 3-4 of 4 have no result: 1 worker died, and none was left to go on*"])
    result.stdout.fnmatch_lines([f"*incomplete: *{holds} of 1 trials passed, 3 missing*"])
    assert [record.status for record in last_run(pytester).trials()] == [Status.COMPLETED, Status.INTERRUPTED]


def test_a_first_trial_that_dies_takes_no_gate_with_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(KILLED.format(number=1, holds=0))
    result = pytester.runpytest("-n", "1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*gate pass@1 >= 0.4 is undecided: 0 of 3 trials passed, 1 missing*"])
    (gate,) = last_run(pytester).manifest.task_gates
    assert gate.gate == "pass@1 >= 0.4"


@pytest.mark.parametrize("part", ["deciding", "running", "selecting", "leading"])
def test_no_part_of_the_plugin_can_be_left_out(pytester: pytest.Pytester, part: str) -> None:
    pytester.makepyfile(FAILING)
    result = pytester.runpytest("-p", f"no:passhat-{part}")
    assert result.ret == 4
    assert f"-p no:passhat-{part} leaves out a part of passhat" in result.stderr.str()


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "1"]], ids=" ".join)
def test_a_test_that_is_collected_twice_is_refused(pytester: pytest.Pytester, mode: list[str]) -> None:
    pytester.makepyfile(test_it=FAILING)
    result = pytester.runpytest("--keep-duplicates", "test_it.py", "test_it.py", *mode)
    assert result.ret == 4
    assert "test_it.py::test_it is collected more than once" in result.stderr.str() + result.stdout.str()


XFAIL = """
import pytest

trials = pytest.mark.trials(6, gate="pass@1 >= 0.4", simulated=True)
many = pytest.mark.trials(20, gate="pass@1 >= 0.5", simulated=True)
some_errors = pytest.mark.xfail(raises=ZeroDivisionError, reason="known")

@trials
def test_one_call_failed(trial):
    if trial.number == 3:
        pytest.xfail("hiccup")
    assert 0

@trials
def test_every_call_xfailed(trial):
    pytest.xfail("known")

@many
def test_one_call_passed(trial):
    if trial.number == 3:
        pytest.xfail("hiccup")

@some_errors
@trials
def test_others_failed(trial):
    assert trial.number, "another"
    1 / 0

@some_errors
@trials
def test_expected_xfailed(trial):
    1 / 0

@some_errors
@many
def test_met_xpassed(trial):
    assert trial.number, "another"

@pytest.mark.xfail(strict=True)
@pytest.mark.trials(3, gate="pass@1 >= 0.36", simulated=True, undecided="fail")
def test_undecided_failed(trial):
    if trial.number == 1:
        pytest.skip("later")

@pytest.fixture
def broken(trial):
    if trial.number == 3:
        raise OSError("down")

@trials
def test_missing_failed(trial, broken):
    pytest.xfail("known")
"""


def test_a_verdict_is_expected_to_fail_only_where_each_failed_trial_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(XFAIL)
    result = pytester.runpytest("-rA", "-p", "no:xdist")
    lines = [line.split()[:2] for line in result.outlines if line.startswith(("PASSED", "FAILED", "XFAIL", "XPASS"))]
    found = {name.partition("::")[2].strip(): outcome.lower() for outcome, name in lines}
    assert len(found) == 8
    assert {name: name.rpartition("_")[2][:5] for name in found} == {name: said[:5] for name, said in found.items()}


def test_a_hook_that_speaks_in_place_of_a_body_ends_its_trial(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_call(item):
            if "trial2of4" in item.name:
                pytest.skip("later")
            if "trial3of4" in item.name:
                raise AssertionError("no body")
        """
    )
    pytester.makepyfile("import pytest\n\n@pytest.mark.trials(4, simulated=True)\ndef test_it():\n    pass\n")
    result = pytester.runpytest("-p", "no:xdist")
    result.stdout.fnmatch_lines(["2 of 3 trials passed: *", "1 x no body"])
