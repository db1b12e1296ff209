"""What a session records is what it said: each test's own number of trials, and arms in a run of their own."""

from __future__ import annotations

import pytest

from passhat.cli import main
from passhat.comparing import compare
from passhat.facts import TaskCount
from passhat.records import RunReader, list_runs
from passhat.summary import Report, summarize

UNEVEN = """
import pytest

@pytest.mark.trials(3, simulated=True)
def test_three(): pass

@pytest.mark.trials(8, simulated=True)
def test_eight(): pass
"""
ARMS = """
import pytest

@pytest.mark.trials(5, gate=None, simulated=True, arms="agent")
@pytest.mark.parametrize("agent", ["old", "new"])
def test_adds(agent, trial):
    assert agent == "old" or trial.number > 1

@pytest.mark.trials(4, gate=None, simulated=True, arms="agent")
@pytest.mark.parametrize("agent", ["old", "new"])
def test_more(agent):
    pass
"""


def runs(pytester: pytest.Pytester) -> list[RunReader]:
    """The runs of the sessions, the last first."""
    return [RunReader(entry.path) for entry in list_runs(pytester.path / ".passhat")]


def said(reader: RunReader, arm: str | None = None) -> Report:
    return summarize(reader.manifest, reader.trials(), arm=arm)


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "2"]], ids=" ".join)
def test_tests_with_other_numbers_of_trials_are_all_whole(pytester: pytest.Pytester, mode: list[str]) -> None:
    pytester.makepyfile(test_it=UNEVEN)
    pytester.runpytest(*mode).assert_outcomes(passed=2)
    (reader,) = runs(pytester)
    assert reader.manifest.counts == (
        TaskCount("test_it.py::test_three", 3, 3),
        TaskCount("test_it.py::test_eight", 8, 8),
    )
    report = said(reader)
    assert (report.trials.counted, report.trials.missing, report.exit_code) == (11, 0, 0)
    assert "k-stops-short" not in {finding.rule for finding in report.findings}


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "2"]], ids=" ".join)
def test_tests_with_and_without_arms_are_two_runs(pytester: pytest.Pytester, mode: list[str]) -> None:
    pytester.makepyfile(test_a=ARMS, test_b=UNEVEN)
    result = pytester.runpytest(*mode)
    result.assert_outcomes(passed=6)
    found = {reader.manifest.arms: reader for reader in runs(pytester)}
    assert set(found) == {("",), ("old", "new")}
    plain, arms = found["",], found["old", "new"]
    assert [(row.task, row.n, row.missing) for row in said(plain).by_task] == [
        ("test_b.py::test_three", 3, 0),
        ("test_b.py::test_eight", 8, 0),
    ]
    assert (said(arms).trials.missing, said(arms, "new").trials.missing) == (0, 0)
    (against,) = compare(said(arms), said(arms, "new")).candidates
    assert (against.pairs, against.total) == (2, 2)
    result.stdout.fnmatch_lines_random(
        [
            f"recorded: passhat report {plain.manifest.run_id}",
            f"recorded: passhat compare {arms.manifest.run_id} (old, new)",
        ]
    )
    if "-n" not in mode:
        assert runs(pytester)[0].manifest.arms == ("old", "new")  # what `passhat compare last` takes


def test_the_baseline_is_the_first_arm_that_is_written_in_whatever_order_tests_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=ARMS)
    pytester.makeconftest("def pytest_collection_modifyitems(items):\n    items.reverse()\n")
    pytester.runpytest().assert_outcomes(passed=4)
    assert runs(pytester)[0].manifest.arms == ("old", "new")


def test_an_arm_of_which_some_tests_were_not_selected_lacks_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=ARMS)
    pytester.runpytest("--deselect", "test_a.py::test_more[new]").assert_outcomes(passed=3)
    (reader,) = runs(pytester)
    assert reader.manifest.trials_of == {"old": {"test_a.py::test_more": 4}, "new": {"test_a.py::test_more": 0}}
    assert (said(reader).trials.missing, said(reader, "new").trials.missing) == (0, 0)


def test_a_session_that_was_broken_off_lacks_what_it_meant_to_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=UNEVEN.replace("test_three(): pass", "test_three(trial):\n    if trial.number: raise KeyboardInterrupt")
    )
    pytester.runpytest_subprocess()
    (reader,) = runs(pytester)
    report = said(reader)
    assert reader.manifest.state == "interrupted"
    assert [(row.n, row.missing) for row in report.by_task] == [(1, 2), (0, 8)]
    assert report.exit_code == 3


def test_a_session_is_resumed_by_running_pytest_again_and_a_report_says_no_double_that_none_was(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.makepyfile(test_it=UNEVEN)
    assert "a double answered" not in pytester.runpytest("-p", "no:xdist").stdout.str()
    capsys.readouterr()
    root = ["--root", str(pytester.path / ".passhat")]
    with pytest.raises(SystemExit, match="2"):
        main(["resume", "last", *root])
    assert "is a session of pytest, which no suite goes on with: run pytest again" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", "last", *root])
    assert "which model answered was not seen" in capsys.readouterr().out
