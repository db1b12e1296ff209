"""The last lines of a session: what was skipped and how to run it, what is only recorded, what counts as what."""

from __future__ import annotations

import pytest

LIVE = """
import pytest

@pytest.mark.trials(3)
@pytest.mark.parametrize("word", ["a", "b"])
def test_live(trial, word):
    pass
"""
RECORDED = """
import pytest

@pytest.mark.trials(4, gate=None, simulated=True)
@pytest.mark.parametrize("place", range({cases}))
def test_recorded(place, trial):
    assert trial.number < 1
"""
SUBTESTS = """
import pytest

trials = pytest.mark.trials(3, simulated=True)

@trials
def test_body(subtests):
    with subtests.test("x"):
        assert 0

@trials
def test_good(subtests):
    with subtests.test("x"):
        pass
    with subtests.test("y"):
        pytest.skip("later")

@trials
def test_expected(subtests):
    with subtests.test("x"):
        pytest.xfail("known")

@pytest.fixture
def early(subtests):
    with subtests.test("set-up"):
        assert 0

@trials
def test_set_up(early):
    pass

@pytest.fixture
def late(subtests):
    yield
    with subtests.test("tear-down"):
        assert 0

@trials
def test_tear_down(late):
    pass
"""


def test_skipped_live_trials_are_counted_with_the_way_to_run_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LIVE)
    result = pytester.runpytest("-q", "-p", "no:xdist")
    result.assert_outcomes(skipped=2)
    text = " ".join(result.stdout.str().split())
    assert "2 tests with trials were skipped, since a real model costs money: say --model PROVIDER/NAME, or" in text
    assert "recorded:" not in text  # nothing ran
    pytester.makepyfile(LIVE.replace("(3)", "(3, simulated=True)"))
    assert "were skipped" not in pytester.runpytest("-q", "-p", "no:xdist").stdout.str()


def test_what_is_only_recorded_says_so_with_its_count(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RECORDED.format(cases=1))
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*::test_recorded[[]0[]]  recorded only: 1 of 4 trials passed: pass@1 0.25*"])


def test_many_cases_that_are_only_recorded_are_summed_up(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RECORDED.format(cases=51))
    result = pytester.runpytest("-p", "no:xdist")
    result.stdout.fnmatch_lines(
        ["51 cases passed; they are in the report; of 51 that are recorded only, 51 of 204 trials passed"]
    )


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "1"]], ids=" ".join)
def test_subtests_of_trials_are_in_no_count(pytester: pytest.Pytester, mode: list[str]) -> None:
    pytest.importorskip("_pytest.subtests")
    pytester.makepyfile(SUBTESTS)
    result = pytester.runpytest("-q", *mode)
    assert result.parseoutcomes() == {"failed": 3, "passed": 2}
    result.stdout.fnmatch_lines_random(["*::test_set_up  0 of 3 trials*", "*::test_tear_down  0 of 3 trials*"])


def test_a_timeout_by_a_thread_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from passhat.running import exits_refused

        BEFORE = exits_refused()

        @pytest.mark.timeout(0.2, method="thread")
        @pytest.mark.trials(1, simulated=True)
        @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
        def test_it():
            while exits_refused() == BEFORE:
                pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["1 x timeout: pytest-timeout's timer ran out*"])
