"""Thousands of rows and items are paired without comparing each with each, and as well as small ones."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.graders import _compare, answers, outcome
from passhat.graders import grade as run_grade
from passhat.graders._compare import close, same
from passhat.graders._matching import best_pairs
from passhat.graders._pairing import pair_alike, parts_of_json, parts_of_row
from passhat.graders.outcome import _rows
from passhat.graders.outcome._rows import compare_rows

MANY = 3000


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often two numbers were compared."""
    counted = 0

    def counting(a: Any, b: Any, tolerance: float = 0.0) -> bool:
        nonlocal counted
        counted += 1
        return close(a, b, tolerance)

    monkeypatch.setattr(_compare, "close", counting)
    monkeypatch.setattr(_rows, "close", counting)
    return lambda: counted


@pytest.mark.parametrize(
    ("move", "tolerance", "same_rows"),
    [
        (lambda n: (n, f"n{n}"), 0.0, True),
        (lambda n: (n + 0.1, f"n{n}"), 0.2, True),
        (lambda n: (n + 0.4, "all alike"), 0.5, True),  # each within reach of its neighbour's neighbour
        (lambda n: (n, f"m{n}"), 0.2, False),
        (lambda n: (n + 0.3, f"n{n}"), 0.2, False),
        (lambda n: (n * 7.0, "all alike"), 0.5, False),
    ],
)
def test_the_work_grows_with_the_rows_and_not_with_their_square(
    move: Callable[[int], tuple[Any, ...]], tolerance: float, same_rows: bool, comparisons: Callable[[], int]
) -> None:
    expected = [(n, "all alike" if move(n)[1] == "all alike" else f"n{n}") for n in range(MANY)]
    found = [move(n) for n in range(MANY)]
    random.Random(1).shuffle(found)
    problem = compare_rows(expected, found, ("a", "b"), ordered=False, tolerance=tolerance)
    assert (problem == "") is same_rows
    assert comparisons() < 20 * MANY
    assert len(problem) < 2000


def test_two_numbers_a_row_are_cut_by_either(comparisons: Callable[[], int]) -> None:
    expected = [(n % 30, n, n // 30) for n in range(MANY)]
    found = [(a + 0.1, b - 0.1, c) for a, b, c in expected]
    assert not compare_rows(expected, found, ("a", "b", "c"), ordered=False, tolerance=0.2)
    assert comparisons() < 20 * MANY


def test_two_close_numbers_are_not_parted_by_one_between_them_before_a_power_of_two() -> None:
    unit = 2.0**-53  # below 1, and twice that above
    expected, found = [(1 - 20 * unit, 1.5)], [(1 - unit, 1.5 + 4 * unit), (1 + 2 * unit, 1.5)]
    assert [close(expected[0][0], row[0]) for row in found] == [False, True]
    assert pair_alike(expected, found, 0.0, parts_of_row, lambda a, b: all(map(close, a, b))) == {0: 1}


def test_a_failure_of_many_rows_says_how_many_and_shows_the_first() -> None:
    expected = [(n, "x") for n in range(MANY)]
    found = [(n + 0.5, "x") for n in range(MANY)]
    lines = compare_rows(expected, found, ("a", "b"), ordered=False, tolerance=0.2).splitlines()
    assert lines[0] == f"expected {MANY:,} rows, found {MANY:,}"
    assert lines[1] == "  in (0.5, 'x'): a is 0.5, expected 0"
    assert lines[-1] == f"… and {MANY - 6} more"
    assert len(lines) == 8


def test_an_equal_row_may_be_needed_by_a_row_that_is_only_close() -> None:
    assert not compare_rows([(0,), (1,)], [(0,), (-1,)], ("a",), ordered=False, tolerance=1)


@given(
    st.lists(st.integers(0, 12), max_size=8), st.lists(st.integers(0, 12), max_size=8), st.sampled_from([0.1, 0.2, 0.3])
)
def test_chains_of_neighbours_are_paired_as_well_as_can_be(
    expected: list[int], found: list[int], tolerance: float
) -> None:
    wanted, told = [(n / 10,) for n in expected], [(n / 10,) for n in found]

    def alike(a: Any, b: Any) -> bool:
        return close(a[0], b[0], tolerance)

    pairs = pair_alike(wanted, told, tolerance, parts_of_row, alike)
    assert len(pairs) == len(best_pairs(wanted, told, alike))


def test_rows_that_thousands_of_others_could_be_are_an_error_that_says_the_way_out() -> None:
    rng = random.Random(2)
    rows = [(rng.random(), rng.random()) for _ in range(1500)]
    with pytest.raises(ValueError, match="too many to say which is which: add something that tells them apart"):
        compare_rows(rows, [(a + 0.01, b) for a, b in rows], ("a", "b"), ordered=False, tolerance=0.5)


CELLS = st.one_of(
    st.integers(-3, 3),
    st.floats(-3, 3).map(lambda x: round(x, 1)),
    st.sampled_from(["a", "b", None, True, False, float("inf"), -float("inf")]),
)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=7), st.lists(st.tuples(CELLS, CELLS), max_size=7), st.data())
def test_blocks_give_as_many_pairs_as_comparing_each_with_each(
    expected: list[Any], found: list[Any], data: st.DataObject
) -> None:
    tolerance = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))

    def alike(a: Any, b: Any) -> bool:
        return all(_rows.same_cell(x, y, tolerance) for x, y in zip(a, b, strict=True))

    pairs = pair_alike(expected, found, tolerance, parts_of_row, alike)
    assert len(pairs) == len(set(pairs.values())) == len(best_pairs(expected, found, alike))
    assert all(alike(expected[i], found[j]) for i, j in pairs.items())


JSON = st.recursive(CELLS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner))


@given(st.lists(JSON, max_size=6), st.lists(JSON, max_size=6), st.sampled_from([0.0, 0.5, 1.0]))
def test_json_values_too(expected: list[Any], found: list[Any], tolerance: float) -> None:
    def alike(a: Any, b: Any) -> bool:
        return same(a, b, tolerance)

    pairs = pair_alike(expected, found, tolerance, parts_of_json, alike)
    assert len(pairs) == len(set(pairs.values())) == len(best_pairs(expected, found, alike))


def test_thousands_of_items_are_compared_within_a_tolerance(comparisons: Callable[[], int]) -> None:
    wanted = [{"id": n, "name": f"n{n}"} for n in range(MANY)]
    told = [{"id": n + 0.1, "name": f"n{n}"} for n in reversed(range(MANY))]
    assert run_grade(answers.items(tolerance=0.2), told, expected=wanted).passed is True
    assert comparisons() < 20 * MANY


def test_a_query_of_thousands_of_rows(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("create table big(a, b)")
        database.executemany("insert into big values (?, ?)", [(n, f"n{n}") for n in range(MANY)])
    database.close()
    expect = [[n + 0.1, f"n{n}"] for n in range(MANY)]
    grade = run_grade(outcome.rows("s.db", "select a, b from big", expect, tolerance=0.2), workspace=tmp_path)
    assert grade.passed is True
