"""Checks of what the agent changed in its workspace, against the state after ``prepare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passhat.facts import Grade
from passhat.graders._check import Check
from passhat.graders._compare import few
from passhat.graders.outcome._patterns import path_test


class Unchanged(Check):
    """See `unchanged`."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns) or ("**",)
        self._fits = path_test(self.patterns, "outcome.unchanged")
        self.name = f"unchanged {', '.join(self.patterns)}" if patterns else "unchanged"

    def __call__(self, trial: Any) -> Grade:
        """Look for changes of these files."""
        bad = [f"{path} was {kind}" for path, kind in sorted(trial.diff.items()) if self._fits(path)]
        return Grade(not bad, few(bad), evidence="state")


def unchanged(*patterns: str) -> Unchanged:
    """The agent added, removed and changed none of these files; without a pattern, no file at all.

    Patterns are as in .gitignore: ``unchanged("tests/", "*.lock")``.

    >>> from passhat.graders import grade, outcome
    >>> changed = {"src/app.py": "changed", "tests/test_app.py": "changed"}
    >>> grade(outcome.unchanged("*.lock"), diff=changed).passed, grade(outcome.unchanged("tests/"), diff=changed).passed
    (True, False)
    """
    return Unchanged(patterns)


class ChangedOnly(Check):
    """See `changed_only`."""

    def __init__(self, patterns: Sequence[str], required: bool) -> None:
        self.patterns = tuple(patterns)
        self._fits = path_test(self.patterns, "outcome.changed_only")
        self.required = required
        self.name = f"changed only {', '.join(self.patterns)}"

    def __call__(self, trial: Any) -> Grade:
        """Look for changes of other files."""
        changes = sorted(trial.diff.items())
        bad = [f"{path} was {kind}" for path, kind in changes if not self._fits(path)]
        if not bad and self.required and not changes:
            return Grade(
                False, f"nothing was changed; expected a change of {', '.join(self.patterns)}", evidence="state"
            )
        return Grade(not bad, few(bad), evidence="state")


def changed_only(*patterns: str, required: bool = False) -> ChangedOnly:
    """All that the agent added, removed or changed fits one of these patterns.

    Doing nothing passes, unless ``required=True``. ``changed_only("src/", "CHANGELOG.md")``

    >>> from passhat.graders import grade, outcome
    >>> changed = {"src/app.py": "changed", "tests/test_app.py": "changed"}
    >>> grade(outcome.changed_only("src/"), diff=changed).passed
    False
    >>> grade(outcome.changed_only("src/", "tests/"), diff=changed).passed
    True
    """
    return ChangedOnly(patterns, required)
