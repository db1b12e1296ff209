"""The stored shapes: JSON, tasks, grades, statuses, usage."""

import dataclasses
import enum
import math
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.facts import (
    RULES,
    Grade,
    Limits,
    NotJSON,
    Role,
    Status,
    Task,
    TaskError,
    TrialRecord,
    Usage,
    as_json,
    canonical_json,
    decide,
    derive_seed,
)


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Colour(enum.Enum):
    RED = "red"


def test_plain_objects_become_plain_data() -> None:
    value = {"p": Point(1, (2, 3)), "when": date(2026, 1, 2), "set": {2, 1}, 3: Colour.RED}
    assert as_json(value) == {"p": {"x": 1, "y": [2, 3]}, "when": "2026-01-02", "set": [1, 2], "3": "red"}


def test_a_repeated_object_that_is_no_cycle_is_fine() -> None:
    shared = [1]
    assert as_json([shared, shared]) == [[1], [1]]


def cycle() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "output is nan"),
        ({"a": [1, math.inf]}, r"output\['a'\]\[1\] is inf"),
        (b"x", "output is bytes"),
        (cycle(), r"output\[0\] contains itself"),
        ({"t": "\ud800"}, "lone surrogate"),
        ({(1, 2): 3}, "keys must be text"),
        ({True: 3}, "keys must be text"),
        (object(), "is a object"),
        (lambda: None, "is a function"),
        (deep(5000), "nested more than"),
    ],
)
def test_what_json_cannot_hold_is_named_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(NotJSON, match=message):
        as_json(value, name="output")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_json_data_is_unchanged_and_its_canonical_text_is_stable(value: Any) -> None:
    once = as_json(value)
    assert once == value
    assert canonical_json(once) == canonical_json(value)


def test_canonical_text_ignores_the_order_of_keys() -> None:
    assert canonical_json({"b": 1, "a": {"d": 1, "c": 2}}) == '{"a":{"c":2,"d":1},"b":1}'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, "non-empty id"),
        ({"id": 7}, "non-empty id"),
        ({"id": "a "}, "'a ': character 2 is a space; ids have printable characters and no space at an end"),
        ({"id": "a\x1b[2J"}, "character 2 is U\\+001B;"),
        ({"id": "ab\u202ec"}, "character 3 is U\\+202E RIGHT-TO-LEFT OVERRIDE"),
        ({"id": "a", "split": "train"}, "'tune' or 'holdout'"),
        ({"id": "a", "tags": "slow"}, "list of words"),
        ({"id": "a", "data": [1]}, "object of named values"),
        ({"id": "a", "expected": {"x": math.nan}}, r"expected\['x'\] is nan"),
    ],
)
def test_a_task_that_cannot_be_used_says_which_field_and_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        Task(**fields)


def test_two_tasks_that_ask_the_same_thing_have_one_input_hash() -> None:
    one, two = Task("a", input="x", expected=1), Task("b", input="x", expected=2)
    assert one.input_hash == two.input_hash
    assert one.hash != two.hash


@pytest.mark.parametrize("name", ["seconds", "model_calls", "tokens", "dollars", "memory_bytes"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "5"])
def test_a_limit_must_be_a_positive_number_or_none(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"Limits\\({name}="):
        Limits(**{name: value})


def test_a_limit_on_calls_must_be_whole() -> None:
    with pytest.raises(ValueError, match="whole number"):
        Limits(model_calls=1.5)  # type: ignore[arg-type]


T, F, U = Grade(True), Grade(False), Grade(None)
E = Grade(None, error="boom")


def advisory(grade: Grade) -> Grade:
    return msgspec.structs.replace(grade, role=Role.ADVISORY)


@pytest.mark.parametrize(
    ("grades", "passed", "status"),
    [
        ([], True, Status.COMPLETED),
        ([T, T], True, Status.COMPLETED),
        ([T, F], False, Status.COMPLETED),
        ([E, U, F], False, Status.COMPLETED),
        ([T, E], None, Status.GRADER_ERROR),
        ([T, U], None, Status.UNRESOLVED),
        ([U, E], None, Status.GRADER_ERROR),
        ([T, advisory(F)], True, Status.COMPLETED),
        ([T, advisory(E)], True, Status.COMPLETED),
        ([T, advisory(U)], True, Status.COMPLETED),
    ],
)
def test_required_grades_decide_by_three_valued_logic(grades: list[Grade], passed: bool | None, status: Status) -> None:
    for order in (grades, grades[::-1]):
        verdict = decide(order)
        assert (verdict.passed, verdict.status) == (passed, status)


def test_the_score_is_the_weighted_mean_of_the_grades_that_have_one() -> None:
    grades = [Grade(True, score=0.5, weight=3), Grade(False), Grade(None, error="x", weight=9)]
    assert decide(grades).score == pytest.approx(1.5 / 4)
    assert decide([U]).score is None


def test_a_failed_critical_grade_takes_all_partial_credit_away() -> None:
    verdict = decide([Grade(True, score=1.0), Grade(False, role=Role.CRITICAL)])
    assert (verdict.passed, verdict.score) == (False, 0.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"passed": 1},
        {"passed": True, "score": 1.2},
        {"passed": True, "score": math.nan},
        {"passed": "yes"},
        {"passed": True, "weight": -1},
    ],
)
def test_a_grade_outside_its_meaning_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Grade\\("):
        Grade(**fields)


def test_every_status_has_its_row_in_the_table() -> None:
    assert set(RULES) == set(Status)


def test_unknown_telemetry_is_never_zero() -> None:
    assert Usage.total([]).tokens is None
    both = Usage.total([Usage(1, 10, None, 5), Usage(2)])
    assert (both.model_calls, both.tokens, both.partial, both.dollars) == (3, 15, True, None)
    assert not Usage.total([Usage(1, 10), Usage(1, 5)]).partial
    mixed = Usage.total([Usage(input_tokens=10, output_tokens=5), Usage(unsplit_tokens=7)])
    assert (mixed.tokens, mixed.tokens_whole) == (22, True)
    assert not Usage.total([Usage(input_tokens=10), Usage(unsplit_tokens=7)]).tokens_whole


def test_missing_and_not_planned_are_different_things() -> None:
    skipped = TrialRecord("t", 0, Status.SKIPPED, None)
    lost = TrialRecord("t", 0, Status.INTERRUPTED, None)
    assert (skipped.counts, skipped.missing) == (False, False)
    assert (lost.counts, lost.missing) == (True, True)


def test_a_record_survives_its_own_json() -> None:
    record = TrialRecord("t", 3, Status.COMPLETED, True, grades=(Grade(True, "fine", 0.5),), transcript=(0, 12))
    assert msgspec.json.decode(msgspec.json.encode(record), type=TrialRecord) == record


@given(st.lists(st.integers() | st.text(), min_size=1, max_size=4))
def test_a_seed_depends_on_its_parts_alone(parts: list[Any]) -> None:
    seed = derive_seed(*parts)
    assert seed == derive_seed(*parts)
    assert 0 <= seed < 2**63


def test_money_without_tokens_counts_in_a_total() -> None:
    assert Usage.total([Usage(dollars=0.5), Usage(), Usage(dollars=0.25)]) == Usage(dollars=0.75)


def test_a_role_given_as_its_word_counts_as_that_role() -> None:
    assert Grade(False, role="advisory").role is Role.ADVISORY  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="role='optional'"):
        Grade(False, role="optional")  # type: ignore[arg-type]
