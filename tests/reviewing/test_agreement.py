"""How far raters agree, and where not."""

from __future__ import annotations

import random

import pytest

from passhat.facts import Fault, Label
from passhat.reviewing import rater_agreement

WORDS = ("pass", "fail", "unclear")


def said(rater: str, words: list[str], task: str = "t", faults: list[Fault | None] | None = None) -> list[Label]:
    given: list[Fault | None] = faults or [None] * len(words)
    return [
        Label(task, i, word, rater, "", fault=fault)  # type: ignore[arg-type]
        for i, (word, fault) in enumerate(zip(words, given, strict=True))
    ]


def two(seed: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    first = [rng.choices(WORDS, (5, 4, 1))[0] for _ in range(60)]
    return first, [word if rng.random() < 0.8 else rng.choice(WORDS) for word in first]


@pytest.mark.parametrize(("seed", "kappa"), [(1, 0.7518382352941176), (2, 0.8398576512455516), (3, 0.8095238095238095)])
def test_kappa_is_what_scikit_learn_gives(seed: int, kappa: float) -> None:
    """Values of cohen_kappa_score in scikit-learn 1.9.1 on the same words."""
    first, second = two(seed)
    [pair] = rater_agreement([*said("ann", first), *said("ben", second)])
    assert pair.agreement.kappa == pytest.approx(kappa, abs=1e-12)
    assert pair.agreement.interval is not None
    assert pair.agreement.interval[0] < kappa < pair.agreement.interval[1]
    assert pair.agreement.agreed == sum(a == b for a, b in zip(first, second, strict=True))


def test_kappa_is_the_same_whoever_is_named_first() -> None:
    first, second = two(5)
    [pair] = rater_agreement([*said("ann", first), *said("ben", second)])
    [turned] = rater_agreement([*said("ann", second), *said("ben", first)])
    assert pair.agreement.kappa == pytest.approx(turned.agreement.kappa)


def test_a_rater_with_one_verdict_only_agrees_no_more_than_by_chance() -> None:
    """Two passes and two fails of one, four passes of the other: agreement .5, and no agreement beyond chance."""
    [pair] = rater_agreement([*said("ann", ["pass", "pass", "fail", "fail"]), *said("ben", ["pass"] * 4)])
    assert (pair.agreement.observed, pair.agreement.kappa) == (0.5, 0.0)


def test_several_raters_are_compared_pair_by_pair_over_what_both_read() -> None:
    labels = [
        *said("ann", ["pass", "fail"]),
        *said("ben", ["pass", "pass"]),
        *said("cy", ["fail"]),
        *said("dee", [], "x"),
    ]
    found = {pair.agreement.raters: (pair.agreement.n, pair.agreement.agreed) for pair in rater_agreement(labels)}
    assert found == {("ann", "ben"): (2, 1), ("ann", "cy"): (1, 0), ("ben", "cy"): (1, 0)}


def test_agreement_is_given_by_tag_and_differences_by_task_and_trial() -> None:
    labels = [*said("ann", ["pass", "fail"], "a"), *said("ben", ["fail", "pass"], "a")]
    labels += [*said("ann", ["pass"], "b"), *said("ben", ["pass"], "b")]
    [pair] = rater_agreement(labels, tags={"a": ["hard", "late"], "b": ["late"]})
    assert [(row.tag, row.agreement.n, row.agreement.agreed) for row in pair.by_tag] == [("hard", 2, 0), ("late", 3, 1)]
    assert pair.tasks == {"a": 2}
    assert [(each.task, each.trial, each.labels[0].verdict) for each in pair.differences] == [
        ("a", 0, "pass"),
        ("a", 1, "fail"),
    ]


def test_a_difference_in_whose_fault_it_was_is_a_difference_too() -> None:
    labels = [
        *said("ann", ["fail"] * 3, faults=["agent", "task", None]),
        *said("ben", ["fail"] * 3, faults=["agent"] * 3),
    ]
    [pair] = rater_agreement(labels)
    assert (pair.both_blamed, pair.same_fault, pair.tasks) == (2, 1, {})
    [difference] = pair.differences
    assert (difference.trial, difference.verdicts) == (1, False)


def test_labels_on_a_criterion_are_compared_with_labels_on_the_same_one_only() -> None:
    labels = [Label("t", 0, "pass", "ann", "", grader="tone"), Label("t", 0, "fail", "ben", "")]
    assert rater_agreement(labels) == ()
    assert rater_agreement(labels, grader="tone") == ()
    assert len(rater_agreement([*labels, Label("t", 0, "pass", "ben", "", grader="tone")], grader="tone")) == 1
