"""Published curves: inverted where they are possible, refused with the reason where they are not."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.stats import Refused, check_curve, suite_rate

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
_SHARED = Path(os.environ.get("PASSHAT_SHARED_DATA", _BESIDE)) / "tau2_leaderboard_histograms.csv"


def curve_of(histogram: list[int]) -> list[float]:
    n = len(histogram) - 1
    counts = [j for j, tasks in enumerate(histogram) for _ in range(tasks)]
    return [suite_rate(n, counts, k=k) for k in range(1, n + 1)]


@pytest.mark.skipif(not _SHARED.exists(), reason="the published curves are not beside this repository")
def test_every_other_published_curve_inverts_to_its_histogram() -> None:
    with _SHARED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[::2]
    assert rows
    for row in rows:
        curve = [float(row[f"pass{k}"]) for k in (1, 2, 3, 4)]
        found = check_curve(4, int(row["n_tasks"]), curve)
        assert found.histogram == tuple(int(row[f"N{j}"]) for j in range(5)), row
        assert found.fits == 1


def test_a_published_curve_that_cannot_be_is_found_out_with_the_reason() -> None:
    for curve in ([9.79, 7.22, 5.67, 3.09], [0.0979, 0.0722, 0.0567, 0.0309], ["9.79", "7.22", "5.67", "3.09"]):
        found = check_curve(4, 97, curve)
        assert not found.possible
        assert (found.histogram, found.fits, found.counts) == (None, 0, ())
        assert found.reason.startswith("the curve needs -6.0 tasks with exactly 2 of 4 passes")


@st.composite
def histograms(draw: st.DrawFn) -> list[int]:
    n = draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(0, 40), min_size=n + 1, max_size=n + 1))
    return counts if sum(counts) else [1, *counts[1:]]


@given(histograms(), st.sampled_from([1, 100]), st.sampled_from([4, 6, 17]))
@settings(deadline=None)
def test_a_real_curve_inverts_to_the_tasks_it_came_from(histogram: list[int], scale: int, places: int) -> None:
    n, tasks = len(histogram) - 1, sum(histogram)
    curve = [round(rate * scale, places) for rate in curve_of(histogram)]
    unit: Any = "percent" if scale == 100 else "rate"
    found = check_curve(n, tasks, curve, unit=unit, decimals=places)
    assert found.possible
    if found.fits == 1:
        assert found.histogram == tuple(histogram)
        assert sorted(found.counts) == sorted(j for j, m in enumerate(histogram) for _ in range(m))
    elif found.histogram:
        other = [round(rate * scale, places) for rate in curve_of(list(found.histogram))]
        assert other == pytest.approx(curve, abs=1.01 * 10**-places)


@given(histograms(), st.data())
@settings(deadline=None)
def test_an_exact_curve_with_one_number_shifted_by_less_than_a_task_is_impossible(
    histogram: list[int], data: Any
) -> None:
    n, tasks = len(histogram) - 1, sum(histogram)
    curve = curve_of(histogram)
    k = data.draw(st.integers(1, n))
    curve[k - 1] += 0.4 / tasks
    found = check_curve(n, tasks, curve, unit="rate", decimals=12)
    assert not found.possible or found.histogram != tuple(histogram)
    if k == n:
        assert not found.possible


@pytest.mark.parametrize(
    ("n", "tasks", "curve", "reason"),
    [
        (2, 10, ["0.50", "0.60"], "pass^2 (0.6) is above pass^1 (0.5): it can only fall as k grows"),
        (2, 10, [120.0, 50.0], "pass^1 is 1.2: a rate lies within 0..1"),
        (2, 10, [-0.1, -0.2], "pass^1 is -0.1: a rate lies within 0..1"),
        (2, 10, ["0.5000", "0.4500"], "pass^2 of 0.45 is 4.500 of 10 sets of 2 trials: 10 tasks of 2 trials"),
        (3, 10, ["0.500", "0.400", "0.100"], "the curve needs -6.0 tasks with exactly 1 of 3 passes (pass^1 and"),
        (2, 10, ["0.900", "0.700"], "the curve needs -1.0 tasks with exactly 0 of 2 passes (the rates do not fit"),
    ],
)
def test_each_reason_is_given_in_words(n: int, tasks: int, curve: list[float | str], reason: str) -> None:
    found = check_curve(n, tasks, curve)
    assert not found.possible
    assert found.reason.startswith(reason)


def test_numbers_that_fit_one_by_one_but_not_as_whole_tasks_are_impossible() -> None:
    # each number is a whole count within its rounding, and no N_j is negative beyond it
    impossible = [
        curve
        for a in range(100)
        for b in range(a)
        if not (found := check_curve(2, 7, curve := [a / 100, b / 100])).possible
        and "no whole numbers of 7 tasks" in found.reason
    ]
    for curve in impossible:
        for histogram in ((x, y, 7 - x - y) for x in range(8) for y in range(8 - x)):
            assert [round(r, 2) for r in curve_of(list(histogram))] != curve
    assert impossible


def test_coarse_rounding_says_how_many_histograms_fit() -> None:
    found = check_curve(8, 200, [0.85, 0.75, 0.67, 0.6, 0.55, 0.5, 0.46, 0.43])
    assert found.possible
    assert (found.fits, found.reason) == (1000, "1000+ histograms fit")
    assert len(found.counts) == 200
    two = check_curve(2, 12, [0.5, 0.4], decimals=1)
    assert two.reason == f"{two.fits} histograms fit"
    with pytest.raises(Refused, match="rounded too coarsely for 5000 tasks of 12 trials"):
        check_curve(12, 5000, [0.9, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4])


def test_trailing_zeros_of_strings_count() -> None:
    assert check_curve(1, 1000, [0.5]).fits > check_curve(1, 1000, ["0.500"]).fits == 1


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ([0.5], r"curve must hold pass\^1 to pass\^2, got \[0.5\]"),
        ("ab", r"curve must hold pass\^1 to pass\^2"),
        ([0.5, "x"], "curve must hold numbers, got 'x'"),
        ([0.5, None], "curve must hold numbers, got None"),
        ([0.5, float("nan")], "curve must hold finite numbers, got nan"),
        (["0.5", "Infinity"], "curve must hold finite numbers, got 'Infinity'"),
    ],
)
def test_what_is_no_curve_is_refused(curve: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_curve(2, 10, curve)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="unit must be 'rate', 'percent' or None, got '%'"):
        check_curve(1, 10, [0.5], unit="%")  # type: ignore[arg-type]
