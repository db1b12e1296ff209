"""A number that the graders want in one spelling only is found, whatever its unit; what wasn't tried is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from passhat import Grade, Task
from passhat.auditing import Audit
from passhat.auditing._numbers import numbers_in, values_in
from passhat.auditing._restating import restatements
from passhat.graders import grader
from passhat.suite import Suite
from passhat.trial import FinishedTrial

Auditor = Callable[..., Audit]


def ways(words: str, **told: Any) -> set[str]:
    """The spellings that are tried of a number in prose that is expected so."""
    restated = restatements(f"I think it is {words} in all.", told.pop("expected", words), **told)
    return {re.sub(r"^I think it is (.*) in all\.$", r"\1", text) for _, text in restated.ways}


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("$64.00", {"$64", "64.00 dollars"}),
        ("$12.50", {"12.50 dollars"}),
        ("$1,250", {"$1250", "$1,250.00", "1,250 dollars"}),
        ("€1,250.00", {"€1250.00", "€1,250", "1,250.00 euros"}),
        ("12,50 €", {"€12,50"}),
        ("64.00 dollars", {"64 dollars", "$64.00"}),
        ("USD 12", {"USD 12.00", "12 USD", "$12"}),
        ("-$5", {"-$5.00", "-5 dollars"}),
        ("1.250,00 €", {"1250,00 €", "1.250 €", "€1.250,00"}),
        ("64.00", {"64"}),
        ("12.50", {"12.5"}),
        ("12.5", {"12.50"}),
        ("25", {"25.0"}),
        ("25.0", {"25"}),
        ("1,234,500", {"1234500"}),
        ("1234500", {"1,234,500"}),
        ("1.5 million", {"1,500,000"}),
        ("1.5 Million", {"1,500,000"}),
        ("2 trillion", {"2,000,000,000,000"}),
        ("5 million dollars", {"5,000,000 dollars"}),
        ("$5 million", set()),
        ("€2.5 billion", set()),
        ("$5-MILLION", set()),
        ("USD 3 bn", set()),
        ("$5 m", set()),
        ("$12 per cent", set()),
        ("CHF 12", {"CHF 12.00", "12 CHF"}),
        ("12.00 CHF", {"12 CHF", "CHF 12.00"}),
        ("25%", {"25 %", "25 percent"}),
        ("25 percent", {"25%"}),
        ("5 km", {"5km"}),
        ("25kg", {"25 kg"}),
        ("30 days", {"thirty days"}),
        ("3 pens", {"three pens"}),
        ("40 pens", set()),
        ("30 degrees", set()),
        ("three", {"3"}),
        ("-7", {"-7.0", "\u22127"}),
    ],
)
def test_other_ways_to_write_a_number(words: str, others: set[str]) -> None:
    assert ways(words) == others


@pytest.mark.parametrize(
    "words", ["A1001", "2026-12-30", "12:30", "+49 171 555", "1/2", "v1.2.3", "x@12.example", "2026"]
)
def test_codes_dates_times_and_years_are_no_numbers(words: str) -> None:
    assert ways(words) - {"2026.0"} == set()


def test_a_bare_number_that_nobody_expects_may_be_a_label_and_stays() -> None:
    assert ways("25", expected=None) == ways("three", expected={"n": 4}) == set()
    assert ways("25", expected={"n": 25}) == {"25.0"}
    assert ways("$25", expected=None) == {"$25.00", "25 dollars"}


def test_an_answer_of_one_word_is_a_label() -> None:
    assert restatements("three", "three").ways == []


def test_digits_that_the_agent_is_given_may_be_an_id_and_get_no_marks() -> None:
    assert ways("77120394", known="order 77120394 is late") == set()
    assert ways("77120394") == {"77,120,394"}


def test_all_places_of_a_number_are_written_anew() -> None:
    (_, text), _ = restatements("$20.00, I repeat: $20.00 (not $120.00 or 5020.00).").ways[:2]
    assert text.startswith("$20, I repeat: $20 (not $120.00")


@pytest.mark.parametrize("words", ["0.25", "96.12", "2026-12-30", "12:30", "1/2", "+49 171 555"])
def test_a_number_without_another_usual_spelling_is_told(words: str) -> None:
    assert restatements(f"It is {words}.", [words]).untried == (words,)
    assert restatements(f"It is {words}.", None).untried == ()
    assert restatements(f"It is {words}.", [words], known=f"about {words}").untried == ()


def test_of_a_sign_with_a_large_word_it_is_told_that_nothing_was_tried() -> None:
    assert restatements("It is $5 million.", "$5 million").untried == ("5",)


def test_values_are_read_whatever_they_look_like() -> None:
    text = "€1,250.00, 1.250,00 EUR, 12,50, 1.5 million, -3 and twelve; not A7, 2026-01-02 or 10:30"
    found = [each.value for each in numbers_in(text)]
    assert found == [Decimal(text) for text in ("1250.00", "1250.00", "12.50", "1500000", "-3", "12")]
    assert values_in({"a": [1, "2.50", True, None]}) == {Decimal(1), Decimal("2.5")}


SPELLINGS = [
    "$64.00",
    "64.00",
    "€1,250.00",
    "1,234,500",
    "25",
    "25%",
    "5 km",
    "3 pens",
    "12,50 €",
    "USD 12",
    "2026-12-30",
]


def test_an_audit_finds_each_rigid_spelling_and_says_what_it_did_not_try(audited: Auditor) -> None:
    @grader(name="said")
    def said(trial: FinishedTrial) -> Grade:
        return Grade(trial.task.expected in str(trial.output), "other words", evidence="answer")

    tasks = [
        Task(
            f"t{n}", input=f"Question {letter}?", expected=words, reference=[{"say": f"I think it is {words} in all."}]
        )
        for n, (letter, words) in enumerate(zip("abcdefghijk", SPELLINGS, strict=True))
    ]
    suite = Suite(
        "spelt", tasks=tasks, agent=lambda trial: "", reference=lambda trial, steps: steps[0]["say"], graders=[said]
    )
    found = audited(suite)
    rigid = {task for each in found.findings if each.rule == "rigid-number" for task in each.tasks}
    assert rigid == {f"t{n}" for n in range(10)} - {"t4"}  # "25" is in "25.0"
    (note,) = [each for each in found.findings if each.rule == "number-not-tried"]
    assert note.tasks == ("t10",)
    assert "2026-12-30 of t10" in note.message
