"""A published pass^k curve is held against the records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from passhat.summary import Report, with_published


def outcomes(histogram: list[int]) -> dict[str, str]:
    """Tasks with so many passes of n: histogram[j] tasks passed j times."""
    n = len(histogram) - 1
    rows = [passes for passes, tasks in enumerate(histogram) for _ in range(tasks)]
    return {f"t{place}": "+" * passes + "-" * (n - passes) for place, passes in enumerate(rows)}


@pytest.fixture
def retail(report_of: Callable[..., Report]) -> Report:
    return report_of(outcomes([3, 9, 11, 32, 59]))


def test_a_curve_of_the_same_counts_is_a_note(retail: Report) -> None:
    found = with_published(retail, ["79.61", "67.4", "58.77", "51.75"]).findings
    finding = next(finding for finding in found if finding.rule == "published-curve")
    assert finding.severity == "note"
    assert "3 with 0, 9 with 1, 11 with 2, 32 with 3, 59 with 4. These records have the same" in finding.message


def test_a_possible_curve_of_other_counts_is_a_warning(report_of: Callable[..., Report]) -> None:
    report = with_published(report_of(outcomes([4, 8, 11, 32, 59])), ["79.61", "67.4", "58.77", "51.75"])
    finding = next(finding for finding in report.findings if finding.rule == "published-curve")
    assert (finding.severity, "other counts" in finding.message) == ("warning", True)


def test_an_impossible_curve_is_an_error_with_the_reason(report_of: Callable[..., Report]) -> None:
    report = with_published(report_of(outcomes([87, 4, 3, 2, 1])), ["9.79", "7.22", "5.67", "3.09"])
    assert report.findings[0].rule == "published-curve"
    assert report.findings[0].severity == "error"
    assert "-6.0 tasks with exactly 2 of 4 passes" in report.findings[0].message


def test_what_is_no_curve_is_refused(retail: Report) -> None:
    with pytest.raises(ValueError, match="must hold numbers"):
        with_published(retail, ["much"])
