"""Rules about what was measured: which model, when, and from which files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from passhat.facts import NO_MODEL, count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding

_ALIAS_DAYS = 30
_OLD_DAYS = 180
_DATED = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$")


def without_date(model: str) -> str:
    """A model's name without the version at its end.

    >>> without_date("gpt-4o-2024-08-06"), without_date("claude-haiku-4-5-20251001"), without_date("gpt-4o")
    ('gpt-4o', 'claude-haiku-4-5', 'gpt-4o')
    """
    return _DATED.sub("", model)


def model_moved(evidence: Evidence) -> Iterator[Finding]:
    """One name, two versions: the run describes neither."""
    versions: dict[str, set[str]] = {}
    prints: dict[str, set[str]] = {}
    for reported in evidence.manifest.models_reported:
        name, _, fingerprint = reported.partition("@")
        versions.setdefault(without_date(name), set()).add(name)
        prints.setdefault(name, set()).add(fingerprint)
    for name, seen in versions.items():
        if len(seen) > 1:
            yield Finding(
                "model-moved",
                "error",
                f"{name} answered as {named(sorted(seen))} within this run: the model changed version half-way, and "
                "the rates describe a mixture",
            )
    for name, seen in prints.items():
        if len(seen) > 1:
            yield Finding(
                "model-configuration-moved",
                "note",
                f"The provider reported {len(seen)} configurations of {name} (system fingerprints "
                f"{named(sorted(each or 'none' for each in seen))}): its servers weren't all set up alike",
            )


def alias(evidence: Evidence) -> Iterator[Finding]:
    """An alias names another model next month."""
    asked = evidence.manifest.model_requested
    if not asked or evidence.report.model_source not in ("live", "mixed") or _DATED.search(asked):
        return
    names = sorted({reported.partition("@")[0] for reported in evidence.manifest.models_reported} - {asked})
    answered = f", which answered as {named(names)}" if names else ""
    yield Finding(
        "moving-alias",
        "note",
        f"{asked} is an alias{answered}: the provider may point it at another model, so quote the date with the number",
    )


def stale(evidence: Evidence) -> Iterator[Finding]:
    """A result describes a model at a time."""
    when = _date(evidence.manifest.ended or evidence.manifest.started)
    if when is None or not evidence.real or evidence.manifest.model_requested == NO_MODEL:
        return
    days = (evidence.now - when).days
    pinned = _DATED.search(evidence.manifest.model_requested or "") is not None
    if days > (_OLD_DAYS if pinned else _ALIAS_DAYS):
        why = "" if pinned else ", and its model is an alias or unknown, so the model may be another one today"
        yield Finding("stale", "warning", f"This run is {days} days old ({when:%Y-%m-%d}){why}; run it again")


def _date(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def incomplete_record(evidence: Evidence) -> Iterator[Finding]:
    """A number without its record can't be published."""
    manifest = evidence.manifest
    if not evidence.real or not evidence.evaluates:
        return
    lacking = [
        word
        for word, known in (
            ("which model answered", manifest.model_requested or manifest.models_reported),
            ("when it ran", manifest.started),
            ("which release of passhat ran it", manifest.passhat),
        )
        if not known
    ]
    if lacking:
        *others, last = lacking
        said = f"{', '.join(others)} or {last}" if others else last
        yield Finding(
            "incomplete-record", "note", f"The record doesn't say {said}: don't publish the number without it"
        )


def dirty_tree(evidence: Evidence) -> Iterator[Finding]:
    """The commit isn't what ran."""
    git = evidence.manifest.git
    if git is None or git.dirty is False:
        return
    commit = git.commit[:10]
    said = f"The project differed from commit {commit} when this ran: the commit alone won't reproduce it"
    unknown = f"Whether the project differed from commit {commit} when this ran isn't known: git didn't answer"
    yield Finding("uncommitted-changes", "note", said if git.dirty else unknown)


def resumed(evidence: Evidence) -> Iterator[Finding]:
    """The parts of a resumed run may lie days apart."""
    if evidence.manifest.resumed:
        yield Finding("resumed", "note", f"The run was resumed {count(evidence.manifest.resumed, 'time')}")


RULES = (model_moved, alias, stale, incomplete_record, dirty_tree, resumed)
