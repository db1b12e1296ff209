"""What has arrived of one case, in the process that reports."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.pytest_plugin._parts import Part
from passhat.pytest_plugin._trial_parts import TrialParts

_OF_CASE = ("rule", "gate", "undecided", "task", "arm", "arms")  # what each part says of its case

_FINE = ("passed", "skipped", "not_needed")


class CaseParts:
    """The trials of a case as far as they are known; ``n`` is how many there are to be."""

    def __init__(self, name: str, n: int) -> None:
        self.name = name
        self.n = n
        self.numbers: dict[str, int] = {}  # of the trials that the session has, by node id
        self.finished: set[int] = set()
        self.lost: set[int] = set()  # that began and have no end: recorded with the verdict
        self.trials: dict[int, TrialParts] = {}
        self.location: tuple[str, int | None, str] = (name.partition("::")[0], None, name)
        self.failed: tuple[int, str] | None = None  # the first trial that didn't pass, with its transcript's JSON
        self.known: Part | None = None  # one that says the rule and the place of the case

    def take(self, part: Part) -> None:
        """One more phase of one of the trials."""
        trial = self.trials.get(part.number)
        if trial is None:
            trial = self.trials[part.number] = TrialParts(self.name, part.number)
        trial.take(part)
        if self.known is None and part.rule:
            self.known = part

    def keep(self, trial: TrialParts) -> None:
        """Keep the transcript of the first trial that didn't pass, for the verdict: those of all are soon let go."""
        first = self.failed is None or trial.number < self.failed[0]
        if first and trial.worst().kind not in _FINE:
            self.failed = trial.number, trial.packed

    @property
    def over(self) -> bool:
        """Whether every trial has ended."""
        return len(self.finished) == self.n

    def lose(self, number: int, message: str, text: str = "") -> None:
        """A trial has no result, though it began."""
        self.take(Part(self.name, number, "???", "interrupted", message, text=text))
        self.lost.add(number)

    def end(self, why: str) -> tuple[int, ...]:
        """Call off what isn't over; returns the numbers of those trials."""
        missing = tuple(number for number in range(1, self.n + 1) if number not in self.finished)
        for number in missing:
            if number in self.trials:
                self.lose(number, why)
            else:
                self.take(Part(self.name, number, "???", "not_started"))
        self.finished.update(missing)
        return missing

    def whole(self) -> list[TrialParts]:
        """All trials in order; of one that couldn't say it, the rule and the place are those of the others."""
        if self.known is not None:
            said: dict[str, Any] = {name: getattr(self.known, name) for name in _OF_CASE}
            for trial in self.trials.values():
                if not trial.parts[0].rule:
                    trial.parts = [msgspec.structs.replace(part, **said) for part in trial.parts]
        return [self.trials[number] for number in sorted(self.trials)]

    def let_go(self) -> None:
        """Forget what is decided: a session may have very many trials."""
        self.trials.clear()
        self.failed = None
        self.known = None
