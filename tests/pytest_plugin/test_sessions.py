"""What a session does around trials: order, stopping, interruption, lost workers, shards, debuggers."""

from __future__ import annotations

import pytest

from passhat.facts import Status
from passhat.records import RunReader, find_run

SOME = """
import pytest

@pytest.mark.trials(3, simulated=True)
@pytest.mark.parametrize("word", ["a", "b", "c", "d"])
def test_words(word):
    assert word not in "bd"

@pytest.mark.trials(3, simulated=True)
def test_last():
    pass
"""


@pytest.fixture
def some(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_some=SOME)
    return pytester


def last_run(pytester: pytest.Pytester) -> RunReader:
    return RunReader(find_run("last", pytester.path / ".passhat"))


def failed(result: pytest.RunResult) -> list[str]:
    return [line.split()[1].partition("::")[2] for line in result.outlines if line.startswith("FAILED ")]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["-x"], {"test_words[b]"}),
        pytest.param(["-x", "-n", "2"], None, marks=pytest.mark.long),
        (["--maxfail", "2"], {"test_words[b]", "test_words[d]"}),
        (["--maxfail", "2", "-n", "2"], {"test_words[b]", "test_words[d]"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_session_stops_after_so_many_failed_verdicts(
    some: pytest.Pytester, options: list[str], names: set[str] | None
) -> None:
    result = some.runpytest(*options)
    assert result.ret == 1
    found = failed(result)
    assert set(found) == names if names else len(found) == 1


def test_failed_cases_are_run_first_or_step_by_step(some: pytest.Pytester) -> None:
    some.runpytest("-n", "2")
    again = some.runpytest("--ff", "-v")
    lines = [line.partition("::")[2] for line in again.outlines if line.startswith("test_some.py::")]
    assert lines[0].startswith(("test_words[b-trial1of3]", "test_words[d-trial1of3]"))
    assert failed(some.runpytest("--lf")) == ["test_words[b]", "test_words[d]"]
    assert failed(some.runpytest("--lf", "--trials", "2")) == ["test_words[b]", "test_words[d]"]
    assert failed(some.runpytest("--sw")) == ["test_words[b]"]
    assert failed(some.runpytest("--sw")) == ["test_words[b]"]
    assert failed(some.runpytest("--sw", "--sw-skip")) == ["test_words[b]", "test_words[d]"]


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only", "--co"])
def test_a_session_that_runs_no_body_gives_no_verdict_and_no_record(some: pytest.Pytester, option: str) -> None:
    result = some.runpytest(option)
    assert result.ret == 0
    assert "of 3 trials passed" not in result.stdout.str()
    assert not (some.path / ".passhat").exists()


def test_ctrl_c_ends_the_session_without_a_verdict_on_what_did_not_finish(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.trials(2, simulated=True)
        def test_done():
            pass

        @pytest.mark.trials(3, simulated=True)
        def test_it(request):
            if request.node.callspec.params["_passhat_trial"] == 2:
                raise KeyboardInterrupt
        """
    )
    result = pytester.runpytest_subprocess("-rA")
    assert result.ret == 2
    assert "test_it  " not in result.stdout.str()
    result.stdout.fnmatch_lines(["recorded: passhat report *  (the session didn't finish)", "PASSED *::test_done"])
    run = last_run(pytester)
    assert run.manifest.state == "interrupted"
    assert len(list(run.trials())) == 3


def test_a_killed_worker_leaves_the_case_incomplete_and_the_rest_goes_on(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os
        import pytest
        import signal

        @pytest.mark.trials(4, gate="pass@1 >= 0.4", simulated=True)
        def test_it(request):
            if request.node.callspec.params["_passhat_trial"] == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        @pytest.mark.trials(3, simulated=True)
        def test_other():
            pass
        """
    )
    result = pytester.runpytest("-n", "2")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*gate pass@1 >= 0.4 is incomplete: 3 of 3 trials passed, 1 missing*"])
    statuses = [record.status for record in last_run(pytester).trials() if record.task.endswith("test_it")]
    assert sorted(statuses) == sorted([Status.COMPLETED] * 3 + [Status.INTERRUPTED])


@pytest.mark.parametrize(
    "mode",
    [["-p", "no:xdist"], pytest.param(["-n", "2"], marks=pytest.mark.long), ["-n", "2", "--dist", "loadscope"]],
    ids=" ".join,
)
def test_a_fixture_of_the_module_that_fails_at_its_end_is_an_error_of_the_verdict(
    pytester: pytest.Pytester, mode: list[str]
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="module")
        def server():
            yield
            raise OSError("did not stop")

        @pytest.mark.trials(2, simulated=True)
        def test_it(server):
            pass
        """,
        test_other="def test_other(): pass",
    )
    result = pytester.runpytest("-rE", *mode)
    outcomes = result.parseoutcomes()
    assert outcomes.pop("errors", outcomes.pop("error", 0)) in (1, 2)  # in each worker that had the fixture
    assert outcomes == {"passed": 2}  # no trial and no other test is the worse for it
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_it*", "*OSError: did not stop", "*2 of 2 trials passed*"])
    record = next(iter(last_run(pytester).trials()))
    assert record.notes == ("all trials of the case share these fixtures: server",)


def test_each_case_is_in_exactly_one_shard(some: pytest.Pytester) -> None:
    some.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--shard", type=int)

        def pytest_collection_modifyitems(config, items):
            mine = [item for i, item in enumerate(items) if i % 2 == config.getoption("shard")]
            config.hook.pytest_deselected(items=[item for item in items if item not in mine])
            items[:] = mine
        """
    )
    both = [some.runpytest("-rA", "--shard", str(shard)) for shard in (0, 1)]
    names = [line for result in both for line in result.outlines if line.startswith(("PASSED", "FAILED"))]
    assert len(names) == 5
    assert len({name.split()[1] for name in names}) == 5
    assert sorted(name for result in both for name in failed(result)) == ["test_words[b]", "test_words[d]"]


def test_trials_differ_also_under_a_plugin_that_seeds_every_test_alike(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import random

        def pytest_runtest_setup(item):
            random.seed(1)

        def pytest_runtest_call(item):
            random.seed(1)
        """
    )
    pytester.makepyfile(
        """
        import random
        import numpy
        import pytest

        SEEN = []

        @pytest.fixture
        def early():
            return random.random()

        @pytest.mark.trials(5, gate=None, simulated=True)
        def test_draw(early):
            SEEN.append((early, random.random(), numpy.random.random()))

        def test_all_differ():
            assert [len(set(column)) for column in zip(*SEEN)] == [5, 5, 5]
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_trial_draws_the_same_numbers_alone_and_under_randomly(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        test_it="""
        import random
        import pytest

        @pytest.mark.trials(3, gate=None, simulated=True)
        def test_draw(request):
            with open("drawn.txt", "a") as file:
                print(request.node.callspec.params["_passhat_trial"], random.random(), file=file)
        """
    )
    pytester.runpytest()
    pytester.runpytest("test_it.py::test_draw[trial2of3]")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:rerunfailures")
    pytester.runpytest("--randomly-seed=7")
    drawn = (pytester.path / "drawn.txt").read_text().split("\n")[:-1]
    assert len(drawn) == 7
    assert len(set(drawn)) == 3
    pytester.runpytest("--trial-seed", "9")
    assert len(set((pytester.path / "drawn.txt").read_text().split("\n")[:-1])) == 6


def test_a_debugger_stops_in_the_failed_trial(some: pytest.Pytester) -> None:
    some.makepyfile(
        stopper="""
        import pdb

        class Stopper(pdb.Pdb):
            def interaction(self, frame, traceback):
                while traceback.tb_next:
                    traceback = traceback.tb_next
                with open("stops.txt", "a") as file:
                    print(traceback.tb_frame.f_locals["word"], file=file)
        """
    )
    some.syspathinsert()
    result = some.runpytest("--pdb", "--pdbcls=stopper:Stopper", "-k", "test_words")
    result.assert_outcomes(passed=2, failed=2)
    assert (some.path / "stops.txt").read_text().split() == ["b"] * 3 + ["d"] * 3


def test_a_marker_that_cannot_work_is_an_error_in_workers_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n\n@pytest.mark.trials(0)\ndef test_it():\n    pass\n")
    result = pytester.runpytest("-n", "2")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*whole number, 1 or more, got 0*"])


def test_cases_that_always_pass_never_show_certainty(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.trials(5, gate=None, simulated=True)
        @pytest.mark.parametrize("case", range(12))
        def test_it(case):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=12)
    lines = [line for line in result.outlines if "5 of 5 trials passed" in line]
    assert len(lines) == 12
    assert all("pass@1 1.00 [0.56, 1.00]" in line for line in lines)


def test_trials_on_a_class_get_a_verdict_each(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.trials(2, simulated=True)
        class TestAll:
            def test_one(self): pass
            def test_two(self): assert False
        """
    )
    pytester.runpytest().assert_outcomes(passed=1, failed=1)


SPLIT = """
import pytest

DURATIONS = {durations}

class Splits:
    # as pytest-split's least_duration does

    def __init__(self):
        self.cached_durations = dict(DURATIONS)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        stored = self.cached_durations
        known = {item.nodeid: stored[item.nodeid] for item in items if item.nodeid in stored}
        usual = sum(known.values()) / len(known) if known else 1
        groups = [(0, 0, []), (0, 1, [])]
        weighed = [(known.get(item.nodeid, usual), item) for item in sorted(items, key=str)]
        weighed.sort(key=lambda each: -each[0])
        for seconds, item in weighed:
            groups.sort(key=lambda group: group[:2])
            total, number, mine = groups[0]
            groups[0] = (total + seconds, number, [*mine, item])
        (mine,) = (mine for _, number, mine in groups if number == config.getoption("shard"))
        items[:] = [item for item in items if item in mine]

def pytest_addoption(parser):
    parser.addoption("--shard", type=int)

def pytest_configure(config):
    config.pluginmanager.register(Splits(), "pytestsplitplugin")
"""


@pytest.mark.parametrize(
    "durations",
    [
        {},
        {"test_some.py::test_last": 0.2, **{f"test_some.py::test_words[{word}]": 0.05 for word in "abcd"}},
        {"test_some.py::test_words[a]": 0.1, "test_elsewhere.py::test_it": 9.0},
    ],
    ids=["unknown", "known", "some"],
)
def test_shards_by_duration_are_made_of_whole_cases(some: pytest.Pytester, durations: dict[str, float]) -> None:
    some.makeconftest(SPLIT.replace("{durations}", repr(durations)))
    shards = []
    for shard in (0, 1):
        result = some.runpytest("-rA", "--shard", str(shard))
        shards.append({line.split()[1] for line in result.outlines if line.startswith(("PASSED", "FAILED"))})
    assert {len(shard) for shard in shards} == ({1, 4} if len(durations) > 4 else {2, 3})
    assert len(shards[0] | shards[1]) == 5


def test_a_session_whose_workers_die_tells_no_more_failures_than_were_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os
        import pytest
        import signal

        @pytest.mark.trials(2, simulated=True)
        @pytest.mark.parametrize("case", range(8))
        def test_it(case):
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    options = ("-n", "2", "--dist", "loadscope", "--max-worker-restart", "0")
    result = pytester.runpytest(*options, "--maxfail", "2")
    assert result.ret == 1
    result.assert_outcomes(failed=2)
    pytester.runpytest(*options).assert_outcomes(failed=8)
