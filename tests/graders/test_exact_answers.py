from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.facts import Task
from passhat.graders import GraderSetup, exact, run_grader, value
from passhat.graders._compare import close, differences, few, same, short
from passhat.graders._matching import best_pairs
from passhat.trial import FinishedTrial


def trial(output: Any, expected: Any = None) -> FinishedTrial:
    return FinishedTrial(Task("t", input="q", expected=expected), output)


@pytest.mark.parametrize(
    ("expected", "output", "passed"),
    [
        (3, 3, True),
        (25, 25.0, True),
        (0.3, 0.1 + 0.2, True),
        (3, "3", False),
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (True, True, True),
        ("a", "A", False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2.0}]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (10**17, 10**17 + 1, False),
        (10**400, 1.5, False),
        ("text", None, False),
        ("text", "", False),
        ("text", float("nan"), False),
        ("text", b"text", False),
        ("text", object(), False),
    ],
)
def test_an_answer_is_compared_as_data(expected: Any, output: Any, passed: bool) -> None:
    assert run_grader(exact(), trial(output, expected)).passed is passed


def test_what_is_expected_may_be_the_whole_a_key_a_value_or_a_function() -> None:
    task = {"amount": 20, "steps": [{"id": "A1"}], "a.b": 7}
    assert run_grader(exact("amount"), trial(20, task)).passed is True
    assert run_grader(exact("steps.0.id"), trial("A1", task)).passed is True
    assert run_grader(exact("a.b"), trial(7, task)).passed is True
    assert run_grader(exact(value("amount")), trial("amount", task)).passed is True
    assert run_grader(exact(value(None)), trial(None)).passed is True
    assert run_grader(exact(20), trial(20.0)).passed is True
    assert run_grader(exact(lambda task: task.input), trial("q")).passed is True


@pytest.mark.parametrize(
    ("expect", "expected", "message"),
    [
        ("amuont", {"amount": 20}, "names a key of task.expected, which has 'amount' in task 't'"),
        ("amount", 20, "which is 20 in task 't'; for the text itself write expect=value('amount')"),
        ("steps.5", {"steps": [1]}, "expect='steps.5' names a key"),
        ("amount", "x" * 200, "..."),
    ],
)
def test_an_expectation_that_isnt_there_is_an_error_of_the_grader(expect: Any, expected: Any, message: str) -> None:
    grade = run_grader(exact(expect), trial(20, expected))
    assert grade.passed is None
    assert message in str(grade.error)


def test_a_task_without_an_expected_answer_cant_be_passed_by_saying_nothing() -> None:
    grade = run_grader(exact(), trial(None))
    assert grade.passed is None
    assert "task 't' has no expected answer" in str(grade.error)


def test_a_part_of_the_output_can_be_compared() -> None:
    output = {"total": 3, "items": ["a"]}
    assert run_grader(exact(3, part="total"), trial(output)).passed is True
    assert run_grader(exact(1, part=lambda output: len(output["items"])), trial(output)).passed is True
    grade = run_grader(exact(3, part="sum"), trial(output))
    assert (grade.passed, grade.error) == (False, None)
    assert "the output has no part 'sum'" in grade.reason
    assert run_grader(exact(3, part=0), trial(None)).passed is False


@pytest.mark.parametrize(
    ("how", "output", "passed"),
    [
        (True, "  Café\u00a0 AU lait ", True),
        ((), "cafe\u0301 au lait", False),
        ("unicode", "cafe\u0301 au lait", True),
        ("case", "CAFÉ AU LAIT", True),
        ("strip", " café au lait\n", True),
        ("spaces", "café  au\tlait", True),
        ("spaces", " café au lait", False),
        (["spaces", "strip"], " café   au lait ", True),
        (["punctuation", "case"], "Café au lait!", True),
        (True, "café au lait!", False),
    ],
)
def test_text_is_levelled_only_as_far_as_was_asked(how: Any, output: str, passed: bool) -> None:
    assert run_grader(exact(normalise=how), trial([{"a": output}], [{"a": "café au lait"}])).passed is passed


def test_an_unknown_way_of_levelling_is_refused() -> None:
    with pytest.raises(GraderSetup, match="normalise: 'lower' is unknown; use True, or some of strip, case"):
        exact(normalise=["lower"])
    with pytest.raises(GraderSetup, match="names no key"):
        exact("")
    bad: Any
    for bad in (-1, float("nan"), True, "0.1"):
        with pytest.raises(GraderSetup, match="tolerance="):
            exact(tolerance=bad)


def test_a_tolerance_is_absolute_and_reaching_it_is_enough() -> None:
    assert run_grader(exact(tolerance=0.01), trial(96.13, 96.12)).passed is True
    assert run_grader(exact(tolerance=0.01), trial(96.14, 96.12)).passed is False
    assert run_grader(exact(tolerance=2), trial([10], [12])).passed is True
    assert run_grader(exact(tolerance=1), trial([10], [12])).passed is False


def test_a_failure_shows_the_difference_in_a_few_lines() -> None:
    expected = {"a": {"b": [1, 2, 3]}, "c": "x" * 1000, "d": 1}
    output = {"a": {"b": [1, 5]}, "c": "y" * 1000, "e": 2}
    reason = run_grader(exact(), trial(output, expected)).reason
    assert reason.splitlines()[:2] == ["a.b[1]: expected 2, found 5", "a.b[2]: missing (expected 3)"]
    assert "d: missing (expected 1)" in reason
    assert "e: unexpected 2" in reason
    assert "c: from character 0: expected …'xxx" in reason
    assert len(reason) < 1000
    many = run_grader(exact(), trial([1] * 5000, [0] * 5000)).reason
    assert many.splitlines()[-1] == "… and 1000 or more"
    (line,) = differences("a" * 500 + "b", "a" * 500 + "c" * 9)
    assert "from character 500" in line
    assert "aab'…" in line
    assert "aaccccccccc'…" in line
    (line,) = differences("a" * 500, "a" * 10)
    assert "(500 and 10 characters)" in line
    assert list(differences([1, 2, 3], [1])) == ["[1]: missing (expected 2)", "[2]: missing (expected 3)"]
    assert list(differences({"a": {}}, {"a": {"b": 1}})) == ["a.b: unexpected 1"]


def test_long_values_are_shown_short() -> None:
    assert len(short(list(range(100_000)))) < 200
    assert short(b"x" * 10_000).endswith("(10000 bytes)")
    assert len(short({"a": "x" * 400})) <= 120
    assert few([str(i) for i in range(9)], 6).endswith("… and 3 more")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON)
def test_every_value_is_the_same_as_itself(data: Any) -> None:
    assert same(data, data)
    assert list(differences(data, data)) == []


@settings(deadline=None)
@given(JSON, JSON)
def test_sameness_has_no_direction(one: Any, other: Any) -> None:
    assert same(one, other) == same(other, one)


def test_closeness_of_numbers() -> None:
    assert close(0.1 + 0.2, 0.3)
    assert close(sum([0.1] * 100), 10)  # a sum of floats is off in its last bits
    assert not close(1.0, 1.0 + 1e-12)
    assert not close(1e15 + 1, 1e15)
    assert not close(1e300, 1e300 * (1 + 1e-12))
    assert close(1e23, 10**23)
    assert close(2**60, float(2**60))
    assert not close(float(2**60), 2**60 + 1)
    assert not close(1000000001.0, 1000000000, 0.5)
    assert not close(float("nan"), float("nan"))
    assert close(10**400, 10**400)
    assert not close(10**400, 10**401)
    assert not close(0.0, 1e-12)


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(0, 7), max_size=4), max_size=8), st.integers(0, 8))
def test_pairs_are_as_many_as_there_can_be(wishes: list[set[int]], things: int) -> None:
    import itertools

    pairs = best_pairs(wishes, list(range(things)), lambda wish, thing: thing in wish)
    assert len(set(pairs.values())) == len(pairs)
    assert all(thing in wishes[index] for index, thing in pairs.items())
    best = 0
    for choice in itertools.product(*[[None, *[t for t in wish if t < things]] for wish in wishes[:6]]):
        used = [item for item in choice if item is not None]
        if len(set(used)) == len(used):
            best = max(best, len(used))
    assert len(best_pairs(wishes[:6], list(range(things)), lambda wish, thing: thing in wish)) == best


def test_many_pairs_take_little_time_and_no_deep_recursion() -> None:
    count = 2000
    pairs = best_pairs(range(count), range(count), lambda wish, thing: thing in (wish, wish - 1))
    assert len(pairs) == count
