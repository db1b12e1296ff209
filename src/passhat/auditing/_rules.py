"""The rules of the audit, and what it finds by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from passhat.facts import PasshatError, count

Severity = Literal["error", "warning", "note"]

RULES: dict[str, tuple[Severity, str]] = {
    "reference-fails": ("error", "a reference solution doesn't pass its own graders each time it is played"),
    "reference-errors": ("error", "playing a reference solution, or preparing its task, raises"),
    "reference-unrealised": ("error", "a step of a reference solution can't be carried out"),
    "alternative-fails": ("error", "a solution that the task lists as another good one doesn't pass"),
    "no-reference": ("warning", "a task has no reference solution, so nothing shows that it can be solved"),
    "stand-in-passes": ("error", "an agent that solves nothing passes a task"),
    "grader-flaky": ("error", "a grader judges the same trial differently the second time, or in another process"),
    "grader-errors": ("error", "a grader fails, or can't tell, on a reference solution"),
    "grader-brittle": ("warning", "a grader raises, or can't tell, on what it should fail"),
    "grader-always-passes": ("error", "a grader that decides passed everything that was played"),
    "grader-never-passes": ("error", "a grader passed nothing that was played, not even a reference solution"),
    "not-elsewhere": ("note", "graders weren't compared with those in another process"),
    "grader-not-provoked": ("note", "a grader had no chance to fail: it judges what a model asks for"),
    "order-blind": ("warning", "a step is needed before others, but a grader accepts it after them"),
    "mutant-survives": ("warning", "a wrong solution that leaves another final state passes"),
    "weak-graders": ("error", "too few of the wrong solutions fail"),
    "argument-unjudged": ("warning", "an argument of a tool can be anything"),
    "fact-unjudged": ("warning", "a reply passes that leaves out one of the things it has to say"),
    "words-unjudged": ("note", "the reply of another task passes"),
    "rigid-number": ("warning", "a number written in another usual way fails"),
    "number-not-tried": ("note", "a number that is expected wasn't written in another way: no usual one is known"),
    "answer-in-prompt": ("error", "what the agent should find out is in what it is told"),
    "unseen-argument": ("warning", "the reference uses something that the agent has no way to know"),
    "unstated-assertion": ("warning", "the graders expect something that is stated nowhere the agent can look"),
    "duplicate-input": ("warning", "two tasks ask the same thing"),
    "nearly-duplicate": ("note", "two tasks ask nearly the same thing, in a few other words"),
    "unbalanced": ("warning", "nearly all tasks ask to act, or nearly all ask to leave alone"),
    "one-sided": ("note", "every reference changes the final state: no task asks to leave things as they are"),
    "never-solved": ("warning", "earlier runs never solved a task: it may be impossible, or a grader broken"),
    "saturated": ("note", "earlier runs solved a task every time: it can't show an improvement any more"),
    "judges-not-asked": ("note", "graders that ask a model were left out, and what only they would fail"),
    "unknown-allowance": ("warning", "the suite silences a rule or a subject that the audit didn't find"),
}
"""Each rule with its severity and what it is about."""

_ORDER = {"error": 0, "warning": 1, "note": 2}


class AuditError(PasshatError):
    """A suite that can't be audited."""


class AuditFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is wrong with a test. ``tasks`` and ``graders`` say which; ``allowed`` is the written reason.

    Findings of a rule that have one ``cause`` are likely mended together: a screen shows them as one.
    """

    rule: str
    severity: Severity
    message: str
    tasks: tuple[str, ...] = ()
    graders: tuple[str, ...] = ()
    allowed: str | None = None
    cause: str = ""


def finding(
    rule: str, message: str, *, tasks: Iterable[str] = (), graders: Iterable[str] = (), cause: str = ""
) -> AuditFinding:
    """A finding by a rule of `RULES`."""
    subjects = tuple(dict.fromkeys(tasks)), tuple(dict.fromkeys(graders))
    return AuditFinding(rule, RULES[rule][0], message, *subjects, cause=cause)


def by_cause(found: Iterable[AuditFinding]) -> list[list[AuditFinding]]:
    """Findings that are mended together, together: more than two of a rule and cause, or any that name graders only."""
    found = list(found)
    groups: dict[tuple[str, str, int], list[AuditFinding]] = {}
    sizes = Counter((each.rule, each.cause) for each in found if each.cause)
    for place, each in enumerate(found):
        alone = not each.cause or (each.tasks and sizes[each.rule, each.cause] <= 2)
        groups.setdefault((each.rule, each.cause, place if alone else -1), []).append(each)
    return list(groups.values())


def some(names: Sequence[str], word: str = "task", most: int = 3) -> str:
    """The names, or a few of them and how many more.

    >>> some(["a", "b"]), some(["a", "b", "c", "d"])
    ('a, b', 'a, b, c and 1 more task')
    """
    shown, more = ", ".join(names[:most]), len(names) - most
    return shown if more <= 0 else f"{shown} and {count(more, 'more ' + word)}"


def settle(found: Iterable[AuditFinding], allow: Sequence[tuple[str, str]]) -> tuple[AuditFinding, ...]:
    """The findings, errors first, those that the suite allows marked with its reason.

    An allowance names a rule, or ``rule:task`` or ``rule:grader`` for that task or grader alone; a finding about
    several is silenced for those, and stays for the others. An allowance that silences nothing is itself a finding.
    """
    used: set[str] = set()
    settled: list[AuditFinding] = []
    for each in found:
        settled += _allowed(each, allow, used)
    for name, _ in allow:
        if name not in used:
            rule = name.partition(":")[0]
            known = "" if rule in RULES else f"; there is no rule {rule!r}: the rules are {', '.join(RULES)}"
            settled.append(finding("unknown-allowance", f"allow={name!r} silences nothing{known}"))
    return tuple(sorted(settled, key=lambda each: (each.allowed is not None, _ORDER[each.severity])))


def _allowed(each: AuditFinding, allow: Sequence[tuple[str, str]], used: set[str]) -> list[AuditFinding]:
    parts: list[AuditFinding] = []
    tasks, graders = list(each.tasks), list(each.graders)
    for name, reason in allow:
        rule, _, subject = name.partition(":")
        if rule != each.rule:
            continue
        if not subject or subject in graders:
            used.add(name)
            return [*parts, msgspec.structs.replace(each, tasks=tuple(tasks), allowed=reason)]
        if subject in tasks:
            used.add(name)
            tasks.remove(subject)
            parts.append(msgspec.structs.replace(each, tasks=(subject,), allowed=reason))
            if not tasks:
                return parts
    return [*parts, msgspec.structs.replace(each, tasks=tuple(tasks))]
