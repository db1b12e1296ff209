"""The audit on a terminal: what is told, how wide it is, and that nothing in it can hurt."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rich.cells import cell_len

from passhat.auditing import Audit, AuditFinding, Equivalent, GraderScore
from passhat.auditing._audit import Mutants
from passhat.facts import Role
from passhat.reporting import render_audit

HOSTILE = "x\x1b[2J\x1b]0;owned\x07\r\n\u202eright to left\u2066 \x9b31m\u200b" + "long-id-" * 60
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def audit_of(text: str, *, findings: int = 1, **fields: Any) -> Audit:
    """An audit in which everything that comes from tasks, graders and the suite is one text."""
    found = [AuditFinding("reference-fails", "error", f"{text}: {text}", (text,), (text,)) for _ in range(findings)]
    found.append(AuditFinding("mutant-survives", "warning", text, (text,), allowed=text))
    return Audit(
        **{
            "suite": text,
            "tasks": 3,
            "references": 3,
            "times": 2,
            "plays": 1234,
            "seed": 0,
            "mutants": Mutants(made=10, killed=7, survived=1, equivalent=1, not_realised=1, score=0.875),
            "graders": (GraderScore(text, Role.CRITICAL, "state", 8, 7, 3, 0.875),),
            "equivalents": (Equivalent(text, text, text), Equivalent(text, text, text)),
            "findings": tuple(found),
            **fields,
        }
    )


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("color", [False, True])
def test_hostile_names_and_reasons_stay_inside_the_terminal(width: int, color: bool) -> None:
    text = render_audit(audit_of(HOSTILE), width=width, color=color)
    bare = _COLOR.sub("", text) if color else text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", bare)
    assert max(cell_len(line) for line in bare.splitlines()) <= width
    assert "\\x1b[2J" in bare


def test_a_long_reason_is_cut_and_says_so() -> None:
    text = render_audit(audit_of("word " * 4000), width=80)
    assert len(text) < 6000
    assert "…" in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_numbers_and_rules_are_whole_on_a_narrow_terminal(width: int) -> None:
    text = " ".join(render_audit(audit_of("refunds"), width=width).split())
    for part in (
        "3 tasks, 3 references × 2, 1,234 plays in all, seed 0",
        "10 wrong solutions made of the references: 7 fail, 1 pass, 1 as good as the reference,",
        "1 can't be played or judged",
        "mutation score 0.875",
        "✗ error reference-fails: refunds: refunds",
        "Allowed by the suite · mutant-survives: refunds (refunds)",
        "2 refunds",
    ):
        assert part in text


def test_a_narrow_terminal_keeps_a_graders_score_to_the_last() -> None:
    lines = [" ".join(line.split()) for line in render_audit(audit_of("refunds"), width=80).splitlines()]
    assert "refunds critical state 8 7 0.87 3" in lines or "refunds critical state 8 7 0.88 3" in lines
    narrow = [" ".join(line.split()) for line in render_audit(audit_of("refunds"), width=40).splitlines()]
    assert any(re.fullmatch(r"refunds.* 8 7 0\.8[78]", line) for line in narrow)


def test_many_findings_of_one_rule_are_counted() -> None:
    text = render_audit(audit_of("refunds", findings=30), width=80)
    assert text.count("✗ error") == 8
    assert "… 22 more findings by reference-fails; see --json" in text


def test_a_clean_audit_says_none_and_alternatives_are_counted() -> None:
    text = render_audit(audit_of("refunds", findings=0, alternatives=2), width=80)
    assert "3 references × 2, 2 alternatives" in text
    assert re.search(r"Findings\n +none", text)


def test_an_audit_without_references_says_once_that_there_are_none_and_how_to_give_some() -> None:
    text = render_audit(audit_of("t", references=0, mutants=Mutants(0, 0, 0, 0, 0, None)))
    assert "no reference, " in text
    assert "Give tasks a\nreference=" in text
    for zeros in ("0 wrong", "0 fail", "0 pass", "mutation score"):
        assert zeros not in text


def test_a_terminal_without_unicode_gets_none() -> None:
    render_audit(audit_of("refunds"), width=60, unicode=False).encode("ascii")
