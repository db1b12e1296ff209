"""Whether two sides measure the same thing: the same tasks, judged by the same graders, answered by the same kind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, get_args

from passhat.comparing._errors import CompareError
from passhat.facts import Manifest, named, plural
from passhat.summary import Finding

Allowed = Literal["graders", "tasks", "sources"]
RECORDED_ELSEWHERE = "recorded elsewhere"
_REAL = ("live", "unseen")
_SHOWN = 5


def check_allowed(words: Collection[str]) -> frozenset[str]:
    """Refuse words that aren't known."""
    for word in words:
        if word not in get_args(Allowed):
            raise CompareError(f"allow_different={word!r}: must be one of {', '.join(get_args(Allowed))}")
    return frozenset(words)


def differences(before: Manifest, after: Manifest, allowed: Collection[str]) -> tuple[Finding, ...]:
    """Refuse sides that don't measure the same thing; what was allowed comes back as findings.

    Raises `CompareError` naming what differs and the option that allows it.
    """
    findings = []
    for word, text in (
        ("sources", _sources(before, after)),
        ("tasks", _tasks(before, after)),
        ("graders", _graders(before, after)),
    ):
        if not text:
            continue
        if word not in allowed:
            raise CompareError(f"{text}; to compare them nevertheless: --allow-different {word}")
        findings.append(Finding(f"different-{word}", "warning", f"compared although {text}"))
    return tuple(findings)


def _sources(before: Manifest, after: Manifest) -> str:
    for manifest in (before, after):
        if manifest.model_source == "mixed":
            return f"in {manifest.run_id} several kinds of model source answered"
    one, two = before.model_source, after.model_source
    if one != two and not (one in _REAL and two in _REAL):
        return f"a {one} model answered in the baseline and a {two} one in the candidate"
    if before.asked != after.asked:
        return f"the baseline is a {before.asked} run and the candidate a {after.asked} one"
    return ""


def _tasks(before: Manifest, after: Manifest) -> str:
    if before.run_id == after.run_id or RECORDED_ELSEWHERE in (before.isolation, after.isolation):
        return ""
    one, two = before.task_hashes, after.task_hashes
    if one and two:
        changed = [task for task in before.task_ids if task in two and one.get(task) != two[task]]
        return f"{_the(changed, 'task')} changed between the two runs" if changed else ""
    if before.tasks_hash and after.tasks_hash and before.tasks_hash != after.tasks_hash:
        return "the tasks of the two runs have different hashes"
    return ""


def _graders(before: Manifest, after: Manifest) -> str:
    if RECORDED_ELSEWHERE in (before.isolation, after.isolation):
        return ""
    one, two = before.graders, after.graders
    names = [name for name in dict.fromkeys((*one, *two)) if one.get(name) != two.get(name)]
    return f"{_the(names, 'grader')} changed between the two runs" if names else ""


def _the(names: Sequence[str], word: str) -> str:
    return f"{plural(len(names), word, word + 's')} {named(map(repr, names), _SHOWN)}"
