"""What is selected, and in which order, with cases in the session."""

from __future__ import annotations

import pytest

SOME = """
import pytest

@pytest.fixture(autouse=True)
def counted(request):
    with open("used.txt", "a") as file:
        print(request.node.name, file=file)

@pytest.mark.trials(3, simulated=True)
@pytest.mark.parametrize("word", ["a", "b", "c"])
def test_words(word):
    assert word != "b"

@pytest.mark.nightly
@pytest.mark.trials(2, simulated=True)
def test_night():
    pass

@pytest.fixture(scope="module", params=["small", "large"])
def size(request):
    with open("made.txt", "a") as file:
        print(request.param, file=file)
    return request.param

@pytest.mark.trials(2, simulated=True)
def test_sized(size):
    assert size == "small"
"""


@pytest.fixture
def some(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nmarkers = nightly\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_some=SOME)
    return pytester


def verdicts(result: pytest.RunResult) -> list[str]:
    """Cases by the line that says how they ended, as ``PASSED test_words[a]``."""
    lines = [line.split()[:2] for line in result.outlines if line.startswith(("PASSED", "FAILED", "ERROR "))]
    return [f"{word} {name.partition('::')[2]}" for word, name in lines if "trial" not in name]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-m", "nightly"], ["PASSED test_night"]),
        (
            ["-m", "not nightly", "-k", "words"],
            ["PASSED test_words[a]", "PASSED test_words[c]", "FAILED test_words[b]"],
        ),
        (
            ["--deselect", "test_some.py::test_words[a-trial2of3]", "test_some.py::test_words[a]"],
            ["PASSED test_words[a]"],
        ),
        (["test_some.py::test_sized[small]"], ["PASSED test_sized[small]"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_verdict_brings_its_trials_whatever_selects_it(
    some: pytest.Pytester, options: list[str], expected: list[str]
) -> None:
    result = some.runpytest("-rpf", *options)
    assert verdicts(result) == expected
    ran = (some.path / "used.txt").read_text().split()
    assert all("trial" in name for name in ran)  # autouse fixtures don't run for a verdict
    assert len(ran) == sum(2 if "sized" in name or "night" in name else 3 for name in expected)


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "2"]], ids=" ".join)
def test_the_last_failed_cases_are_known_after_every_mode(some: pytest.Pytester, mode: list[str]) -> None:
    some.runpytest(*mode)
    expected = ["FAILED test_words[b]", "FAILED test_sized[large]"]
    assert sorted(verdicts(some.runpytest("-rpf", "--lf", *mode))) == sorted(expected)
    listed = some.runpytest("--lf", "--co", "-q").outlines
    assert [line.partition("::")[2] for line in listed if "::" in line and "trial" not in line] == [
        "test_words[b]",
        "test_sized[large]",
    ]


def test_new_cases_come_first_as_new_tests_do(some: pytest.Pytester) -> None:
    some.runpytest()
    some.makepyfile(test_zz="import pytest\n\n@pytest.mark.trials(2, simulated=True)\ndef test_new():\n    pass\n")
    result = some.runpytest("--nf", "-v")
    lines = [line.split()[0] for line in result.outlines if line.startswith("test_") and "::" in line]
    assert lines[:3] == ["test_zz.py::test_new[trial1of2]", "test_zz.py::test_new[trial2of2]", "test_zz.py::test_new"]


def test_fixtures_of_the_module_are_made_once_a_parameter(some: pytest.Pytester) -> None:
    result = some.runpytest("-rpf", "-k", "sized")
    assert verdicts(result) == ["PASSED test_sized[small]", "FAILED test_sized[large]"]
    assert (some.path / "made.txt").read_text().split() == ["small", "large"]


def test_a_marker_that_comes_too_late_fails_the_test_instead_of_running_it_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.trials(3))
        """
    )
    pytester.makepyfile(
        """
        import pytest

        def test_added(): pass

        @pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.trials(3))])
        def test_param(x): pass
        """
    )
    for mode in ([], ["-n", "2"]):
        result = pytester.runpytest(*mode)
        result.assert_outcomes(passed=1, errors=2)
        result.stdout.fnmatch_lines(["*came too late to repeat this test: put it on the function*"])


def test_running_every_test_in_every_worker_is_refused_with_the_way_out(some: pytest.Pytester) -> None:
    result = some.runpytest("-n", "2", "--dist", "each")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*several times its n trials*run tests with trials under --dist load*"])
    plain = some.makepyfile(
        test_plain='import pytest\n\n@pytest.mark.parametrize("x", ["trial1of2"])\ndef test_it(x): pass\n'
    )
    some.runpytest(plain, "-n", "2", "--dist", "each").assert_outcomes(passed=2)
