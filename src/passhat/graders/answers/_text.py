"""The answer's text: patterns, parts, choices, likeness."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

from passhat.facts import Grade
from passhat.graders._compare import short
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._levels import levels, normal
from passhat.graders._names import GraderSetup, checked_threshold
from passhat.graders._run import EPSILON
from passhat.graders.answers._answer import AnswerCheck, Part, failed, no_text, passed


class Regex(AnswerCheck):
    """See `regex`."""

    def __init__(self, pattern: str | re.Pattern[str], whole: bool, part: Part) -> None:
        try:
            self.pattern = re.compile(pattern)
        except (re.error, TypeError) as error:
            raise GraderSetup(f"answers.regex: {pattern!r} is no regular expression: {error}") from None
        self.name = f"like /{self.pattern.pattern[:40]}/"
        self.whole = whole
        self.part = part

    def _judge(self, found: Any, trial: Any) -> Grade:
        if not isinstance(found, str):
            return no_text(found)
        hit = self.pattern.fullmatch(found) if self.whole else self.pattern.search(found)
        return passed() if hit else failed(f"nothing like /{self.pattern.pattern}/ in {short(found)}")


def regex(pattern: str | re.Pattern[str], *, whole: bool = False, part: Part = None) -> Regex:
    """The answer contains what the pattern describes, or is nothing else with ``whole=True``.

    >>> from passhat.graders import answers, grade
    >>> grade(answers.regex(r"order [A-Z]\\d+"), "I refunded order A1.").passed
    True
    """
    return Regex(pattern, whole, part)


class Contains(AnswerCheck):
    """See `contains`."""

    def __init__(self, expect: Any, normalise: Any, part: Part) -> None:
        self.name = "contains"
        self.expect = checked(expect, "answers.contains")
        self.normalise = levels(normalise)
        self.part = part

    def _judge(self, found: Any, trial: Any) -> Grade:
        wanted = expected_of(self.expect, trial.task)
        parts = [wanted] if isinstance(wanted, str) else wanted
        good = isinstance(parts, list | tuple) and parts
        if not good or not all(isinstance(item, str) and item for item in parts):
            raise GraderSetup(f"answers.contains: text or a list of texts is expected, got {short(wanted)}")
        if not isinstance(found, str):
            return no_text(found)
        text = normal(found, self.normalise)
        missing = [item for item in parts if normal(item, self.normalise) not in text]
        score = 1 - len(missing) / len(parts)
        if not missing:
            return passed(score=score)
        return failed(f"not in the answer: {', '.join(map(short, missing[:8]))}; it is {short(found)}", score=score)


def contains(expect: Any = WHOLE, *, normalise: bool | Sequence[str] = (), part: Part = None) -> Contains:
    """The answer contains the expected text, or all of the expected texts. The score is the share that is there.

    Mind that bare text names a key of ``task.expected``: ``contains(value("refund"))`` or ``contains(["refund"])``.

    >>> from passhat.graders import answers, grade
    >>> grade(answers.contains(["refund", "A1"]), "The refund for A1 is on its way.").passed
    True
    """
    return Contains(expect, normalise, part)


class Choice(AnswerCheck):
    """See `choice`."""

    def __init__(self, choices: Sequence[str], expect: Any, find: bool, part: Part) -> None:
        if isinstance(choices, str) or not all(isinstance(item, str) and item.strip() for item in choices):
            raise GraderSetup(f"answers.choice: choices must be a list of words, got {choices!r}")
        keys = [_key(item) for item in choices]
        if len(keys) < 2 or len(set(keys)) < len(keys):
            raise GraderSetup(f"answers.choice: two or more different choices are needed, got {list(choices)!r}")
        self.name = "choice"
        self.choices = tuple(choices)
        self.expect = checked(expect, "answers.choice")
        self.find = find
        self.part = part

    def _judge(self, found: Any, trial: Any) -> Grade:
        wanted = expected_of(self.expect, trial.task)
        if not isinstance(wanted, str) or _key(wanted) not in map(_key, self.choices):
            raise GraderSetup(
                f"answers.choice: {short(wanted)} is expected, which is none of {', '.join(self.choices)}"
            )
        if not isinstance(found, str):
            return no_text(found)
        named = self._named(found)
        if len(named) == 1 and self.find and (denied := self._denied(found, named[0])):
            return failed(f"the answer says {denied!r}, which is no choice: {short(found)}")
        if len(named) != 1:
            what = f"several choices ({', '.join(named)})" if named else f"none of {', '.join(self.choices)}"
            return failed(f"the answer names {what}: {short(found)}")
        return passed() if _key(named[0]) == _key(wanted) else failed(f"expected {wanted}, found {named[0]}")

    def _named(self, text: str) -> list[str]:
        alone = [item for item in self.choices if _key(item) == _key(text)]
        if alone or not self.find:
            return alone
        left = text
        named: list[str] = []
        for item in sorted(self.choices, key=len, reverse=True):  # "not guilty" before "guilty"
            left, count = re.subn(_as_words(item), "\0", left)
            if count:
                named.append(item)
        return [item for item in self.choices if item in named]

    def _denied(self, text: str, item: str) -> str | None:
        """Where the text denies the choice that it names: "not a refund"."""
        hit = None if _key(item) == _key(text) else re.search(_DENIAL + _as_words(item), text)
        return None if hit is None else hit[0]


_DENIAL = r"(?i:\b(?:not|no|never|neither|nor|without|\w+n['’]t|cannot)\s+(?:(?:be|an?|the|for)\s+){0,2})"


def _as_words(item: str) -> str:
    """A pattern for a choice as words in a text; a single letter must stand as it is."""
    words = re.escape(item.strip()).replace("\\ ", r"\s+")
    return rf"(?<!\w){words}(?!\w)" if len(item.strip()) == 1 else rf"(?<!\w)(?i:{words})(?!\w)"


def choice(choices: Sequence[str], expect: Any = WHOLE, *, find: bool = False, part: Part = None) -> Choice:
    """The answer is the expected one of the choices: "B", "(b)" and " b. " are all B.

    ``find=True`` looks for the choices as words in a longer text, and wants exactly one of them to be named. Naming
    several is a failure: hedging is no choice. So is one with a denial right before it ("not a refund"); a denial
    further away ("a refund is out of the question") isn't noticed, so ask the agent for the bare word where you can.

    >>> from passhat.graders import answers, grade
    >>> grade(answers.choice(["A", "B"]), "(b)", expected="B").passed
    True
    """
    return Choice(choices, expect, find, part)


class Fuzzy(AnswerCheck):
    """See `fuzzy`."""

    def __init__(self, expect: Any, threshold: float, words: bool, normalise: Any, part: Part) -> None:
        needs("rapidfuzz", "answers.fuzzy")
        bar = checked_threshold(threshold)
        if not bar:
            raise GraderSetup(f"threshold={threshold!r}: must be above 0, or every answer passes")
        self.name = "fuzzy"
        self.expect = checked(expect, "answers.fuzzy")
        self.threshold = bar
        self.words = words
        self.normalise = levels(normalise)
        self.part = part

    def _judge(self, found: Any, trial: Any) -> Grade:
        from rapidfuzz import fuzz

        wanted = expected_of(self.expect, trial.task)
        options = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(options, list | tuple) or not options or not all(isinstance(o, str) and o for o in options):
            raise GraderSetup(f"answers.fuzzy: text or a list of texts is expected, got {short(wanted)}")
        if not isinstance(found, str):
            return no_text(found)
        alike = fuzz.token_sort_ratio if self.words else fuzz.ratio
        text = normal(found, self.normalise)
        scored = [(alike(normal(option, self.normalise), text) / 100, option) for option in options]
        score, nearest = max(scored, key=lambda pair: pair[0])
        bar = self.threshold if self.threshold is not None else 1.0
        if score >= bar - EPSILON:
            return passed(score=score)
        reason = f"{score:.3f} alike, {bar:g} needed: expected {short(nearest)}, found {short(found)}"
        return failed(reason, score=score)


def fuzzy(
    expect: Any = WHOLE,
    *,
    threshold: float = 0.9,
    words: bool = False,
    normalise: bool | Sequence[str] = True,
    part: Part = None,
) -> Fuzzy:
    """The answer reads nearly like the expected text, or like one of several.

    The score is rapidfuzz's ratio of equal characters (2 × the longest common subsequence over both lengths, 0..1); it
    passes at ``threshold`` or above. ``words=True`` puts the words in order first. Likeness is no meaning: "I refunded
    it" and "I refused it" are alike. Needs ``pip install passhat[graders]``.

    >>> from passhat.graders import answers, grade
    >>> grade(answers.fuzzy(), "Your refund was issued!", expected="Your refund was issued.").passed
    True
    """
    return Fuzzy(expect, threshold, words, normalise, part)


def needs(package: str, who: str) -> None:
    """Refuse early when an optional package isn't installed."""
    if importlib.util.find_spec(package) is None:
        raise GraderSetup(f"{who} needs the package {package}: pip install 'passhat[graders]'")


def _key(text: str) -> str:
    """A choice without case, spaces around it, and the marks that people put around a letter."""
    return re.sub(r"\s+", " ", text.strip().strip("()[]{}<>\"'`*_.,:;!").strip()).casefold()
