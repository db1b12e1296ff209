"""Checks of files in the workspace."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from passhat.facts import Grade
from passhat.graders._check import Check
from passhat.graders._compare import checked_tolerance, differences, few, short
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._levels import levels, normal
from passhat.graders._names import GraderSetup
from passhat.graders._paths import Gone, inside, listing

_LARGEST = 20_000_000


class Exists(Check):
    """See `exists` and `absent`."""

    def __init__(self, paths: Sequence[str], there: bool) -> None:
        word = "exists" if there else "absent"
        if not paths or not all(isinstance(path, str) and path for path in paths):
            raise GraderSetup(f"outcome.{word} needs paths relative to the workspace, got {list(paths)!r}")
        self.paths = tuple(paths)
        self.there = there
        self.name = f"{word} {', '.join(self.paths)}"

    def __call__(self, trial: Any) -> Grade:
        """Look for the paths."""
        bad = []
        for name in self.paths:
            try:
                found = inside(trial.workspace, name).exists()
            except Gone:
                found = False
            if found is not self.there:
                bad.append(name)
        if not bad:
            return Grade(True, evidence="state")
        what = (
            f"not there: {', '.join(bad)}{listing(trial.workspace)}" if self.there else f"still there: {', '.join(bad)}"
        )
        return Grade(False, what, evidence="state")


def exists(*paths: str) -> Exists:
    """These files or directories are in the workspace.

    >>> import tempfile
    >>> from passhat.graders import grade, outcome
    >>> folder = tempfile.TemporaryDirectory()
    >>> grade(outcome.exists("report.md"), workspace=folder.name).passed
    False
    >>> folder.cleanup()
    """
    return Exists(paths, True)


def absent(*paths: str) -> Exists:
    """These files or directories are not in the workspace.

    >>> import tempfile
    >>> from passhat.graders import grade, outcome
    >>> folder = tempfile.TemporaryDirectory()
    >>> grade(outcome.absent("secrets.txt"), workspace=folder.name).passed
    True
    >>> folder.cleanup()
    """
    return Exists(paths, False)


class Text(Check):
    """See `text`."""

    def __init__(self, path: str, expect: Any, contains: Any, pattern: Any, normalise: Any) -> None:
        if sum(given is not None for given in (contains, pattern)) + (expect is not WHOLE) > 1:
            raise GraderSetup("outcome.text: give one of expect, contains and pattern")
        self.path = path
        self.expect = checked(expect, "outcome.text")
        self.contains = (contains,) if isinstance(contains, str) else None if contains is None else tuple(contains)
        self.pattern = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
        self.normalise = levels(normalise)
        self.name = f"text of {path}"

    def __call__(self, trial: Any) -> Grade:
        """Read the file and compare."""
        try:
            found = normal(read_text(trial.workspace, self.path), self.normalise)
        except Gone as error:
            return Grade(False, str(error), evidence="state")
        if self.contains is not None:
            missing = [part for part in self.contains if normal(part, self.normalise) not in found]
            reason = f"{self.path} doesn't contain {', '.join(short(part) for part in missing)}" if missing else ""
        elif self.pattern is not None:
            reason = "" if self.pattern.search(found) else f"{self.path} has nothing like /{self.pattern.pattern}/"
        else:
            expected = expected_of(self.expect, trial.task)
            if not isinstance(expected, str):
                raise GraderSetup(f"outcome.text: text is expected, got {short(expected)}")
            reason = few(differences(normal(expected, self.normalise), found))
        return Grade(not reason, reason, evidence="state")


def text(
    path: str,
    expect: Any = WHOLE,
    *,
    contains: str | Sequence[str] | None = None,
    pattern: str | re.Pattern[str] | None = None,
    normalise: bool | Sequence[str] = (),
) -> Text:
    """A text file of the workspace equals, contains, or somewhere fits what is expected.

    ``expect`` is as for `exact` (mind that bare text names a key of ``task.expected``: use ``value("…")``);
    ``contains`` is text, or a list of texts that must all be there; ``pattern`` a regular expression.

    >>> import tempfile, pathlib
    >>> from passhat.graders import grade, outcome
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "report.md").write_text('Sales rose by 4 %.')
    >>> grade(outcome.text("report.md", contains=["Sales", "4 %"]), workspace=folder.name).passed
    True
    >>> folder.cleanup()
    """
    return Text(path, expect, contains, pattern, normalise)


class JsonFile(Check):
    """See `json_file`."""

    def __init__(self, path: str, expect: Any, part: str | None, subset: bool, tolerance: float) -> None:
        self.path = path
        self.expect = checked(expect, "outcome.json_file")
        self.part = part
        self.subset = subset
        self.tolerance = checked_tolerance(tolerance)
        self.name = f"JSON in {path}{f' at {part}' if part else ''}"

    def __call__(self, trial: Any) -> Grade:
        """Read the file and compare."""
        expected = expected_of(self.expect, trial.task)
        try:
            found = json.loads(read_text(trial.workspace, self.path))
        except Gone as error:
            return Grade(False, str(error), evidence="state")
        except (ValueError, RecursionError) as error:
            return Grade(False, f"{self.path} is no JSON: {error}", evidence="state")
        return compare_json(expected, found, self.part, self.subset, self.tolerance, self.path)


def json_file(
    path: str, expect: Any = WHOLE, *, part: str | None = None, subset: bool = False, tolerance: float = 0.0
) -> JsonFile:
    """A JSON file of the workspace holds what is expected, or does at ``part`` (``"orders.0.status"``).

    ``subset=True`` compares only the fields that are expected, at every level. Numbers compare as numbers.

    >>> import tempfile, pathlib
    >>> from passhat.graders import grade, outcome
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "order.json").write_text('{"status": "paid", "amount": 20.0}')
    >>> grade(outcome.json_file("order.json", {"amount": 20}, subset=True), workspace=folder.name).passed
    True
    >>> folder.cleanup()
    """
    return JsonFile(path, expect, part, subset, tolerance)


def compare_json(expected: Any, found: Any, part: str | None, subset: bool, tolerance: float, place: str) -> Grade:
    """The grade of JSON data against what is expected of it, or of a part of it."""
    for word in part.split(".") if part else ():
        if isinstance(found, Mapping) and word in found:
            found = found[word]
        elif isinstance(found, list) and word.isdecimal() and int(word) < len(found):
            found = found[int(word)]
        else:
            return Grade(False, f"{place} has no part {part!r}: {short(found)}", evidence="state")
    if subset:
        found = _kept(expected, found)
    reason = few(differences(expected, found, tolerance))
    return Grade(not reason, reason, evidence="state")


def _kept(expected: Any, found: Any) -> Any:
    """What was found, without the fields that weren't expected."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        return {key: _kept(expected[key], item) for key, item in found.items() if key in expected}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [_kept(a, b) for a, b in zip(expected, found, strict=True)]
    return found


def read_text(workspace: Path, name: str) -> str:
    """A file's text, without a byte-order mark. Raises `Gone` when it isn't a readable text file."""
    path = inside(workspace, name)
    if not path.is_file():
        raise Gone(f"there is no file {name} in the workspace{listing(workspace)}")
    if path.stat().st_size > _LARGEST:
        raise Gone(f"{name} is larger than {_LARGEST:,} bytes")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Gone(f"{name} is no UTF-8 text (byte {error.start})") from None
