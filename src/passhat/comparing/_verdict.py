"""The verdict in words, and what would be needed where there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from passhat.comparing._pairs import Pairs, World
from passhat.comparing._result import Claim, Lift, Needs, Target, Verdict
from passhat.facts import count
from passhat.stats import MIN_DIFFERENCES, smallest_all_pass, tasks_needed

MATTERS = 0.05
"""The difference that "no difference" is measured by where no margin is given: 5 points."""

_MOST_TRIALS = 1000


@dataclass(frozen=True)
class Judge:
    """How a verdict is reached. ``alpha`` is the p value needed, ``margin`` the difference that matters (0: any).

    ``look`` is what a planned look says, in a comparison that could stop early: the verdict then rests on it.
    """

    alpha: float
    margin: float
    of: Target
    level: float
    look: Claim | None = None

    @property
    def small(self) -> float:
        """A difference that is no difference."""
        return self.margin or MATTERS

    def claim(self, lift: Lift) -> Claim | None:
        """The claim that the verdict rests on."""
        if self.look is not None:
            return self.look
        return lift.these_tasks if self.of == "these tasks" else lift.tasks_like_these

    def verdict(self, lift: Lift) -> Verdict:
        """Within a given margin: no difference. Else by the test's p value; else by the interval, against 5 points."""
        claim = self.claim(lift)
        if claim is None:
            return "can't tell"
        low, high = claim.interval
        within = -self.small < low and high < self.small
        if within and self.margin:
            return "no difference"
        if claim.p <= self.alpha and lift.estimate:
            return "better" if lift.estimate > 0 else "worse"
        return "no difference" if within else "can't tell"

    def fails(self, lift: Lift) -> bool:
        """Whether a loss is the margin or more."""
        return lift.estimate <= -self.margin + 1e-12


def needs(rows: Sequence[tuple[int, int, int, int]], lift: Lift, judge: Judge) -> Needs:
    """How many more tasks, or trials of each, would find the difference seen (or the one that matters, if larger).

    From the variances that the two sides show: within tasks and, for tasks like these, between them.
    """
    difference = min(1.0, max(abs(lift.estimate), judge.small))
    tasks, trials = len(rows), min(min(row[0], row[2]) for row in rows)
    within, between = spread(rows)
    population = judge.of == "tasks like these"
    whole = tasks_needed(difference, trials, within=within, between=between, of=judge.of, level=judge.level, power=0.8)
    continuity = _continuity(difference, judge)
    # even where nothing varied, so few trials don't rule the difference out
    least = smallest_all_pass(1 - difference, (1 + judge.level) / 2) if difference < 1 else 1
    fewest = max(math.ceil(least / trials), MIN_DIFFERENCES * population)
    more_tasks: int = max(math.ceil(whole + continuity / trials), fewest) - tasks
    scale = tasks_needed(difference, 1, within=1.0, of="these tasks", level=judge.level, power=0.8)
    room = float(tasks)
    if population:
        room -= tasks_needed(difference, 1, within=0.0, level=judge.level, power=0.8)
        room -= scale * between
    more_trials: int | None = None
    if room > 0:
        more_trials = max(math.ceil((scale * within + continuity) / room), math.ceil(least / tasks)) - trials
    if more_trials is not None and more_trials > _MOST_TRIALS:
        more_trials = None
    return Needs(difference, max(1, more_tasks), None if more_trials is None else max(1, more_trials))


def _continuity(difference: float, judge: Judge) -> float:
    """The trials a side that the tests' caution costs on top of the normal approximation.

    Both count by whole trials: N trials show N * difference - 1 only, which costs 2 / difference of them (Fleiss, Tytun
    & Ury 1980). CMH also takes its variance from both sides put together, which the difference widens; for
    the sign-flip test `tasks_needed` holds that already.
    """
    trials = 2 / difference
    if judge.of == "these tasks":
        z = (tasks_needed(1, 1, within=1.0, of="these tasks", level=judge.level, power=power) for power in (0.5, 0.8))
        none, wanted = (value**0.5 for value in z)
        trials += none * wanted / 2
    return trials


def spread(rows: Sequence[tuple[int, int, int, int]]) -> tuple[float, float]:
    """(within, between): the two sides' trial variances summed, and the variance of the true differences.

    Unbiased where tasks have two trials or more. With single trials the two can't be told apart: what the differences
    show counts as within.
    """
    differences = [c2 / n2 - c1 / n1 for n1, c1, n2, c2 in rows]
    if all(max(n1, n2) == 1 for n1, _, n2, _ in rows):
        return sum(each * each for each in differences) / len(differences), 0.0
    sides = [[(n1, c1) for n1, c1, _, _ in rows], [(n2, c2) for _, _, n2, c2 in rows]]
    within, noise = 0.0, 0.0
    for side in sides:
        parts = [c * (n - c) / (n * (n - 1)) for n, c in side if n > 1]
        mean = sum(c / n for n, c in side) / len(side)
        variance = sum(parts) / len(parts) if parts else mean * (1 - mean)
        within += variance
        noise += variance * sum(1 / n for n, _ in side) / len(side)
    if len(differences) < 2:
        return within, 0.0
    centre = sum(differences) / len(differences)
    total = sum((each - centre) ** 2 for each in differences) / (len(differences) - 1)
    return within, max(0.0, total - noise)


def message_of(
    verdict: Verdict,
    lift: Lift | None,
    pairs: Pairs,
    judge: Judge,
    needed: Needs | None,
    worlds: Sequence[Verdict],
    at: str = "",
) -> str:
    """The verdict as a sentence or two; ``at`` says at which look it was reached, with its p value."""
    if lift is None:
        return "nothing to compare: no task has a verdict on both sides"
    claim = judge.claim(lift)
    if claim is None:
        return f"nothing can be said of tasks like these: {_refusal(pairs)}"
    if verdict == "can't tell" and len(set(worlds)) > 1:
        return (
            f"{count(pairs.missing, 'trial')} without a verdict could decide it: at worst for the candidate the "
            f"verdict would be {worlds[0]!r}, at best {worlds[1]!r}"
        )
    low_end, high_end = claim.interval
    low, high = points(low_end), points(high_end)
    where = f"{points(lift.estimate)} points on {judge.of}, between {low} and {high} ({p_text(claim.p)})"
    if at:
        where = f"{at}: {points(lift.estimate)} points, between {low} and {high} at all looks"
    if verdict == "no difference":
        return f"no difference larger than {judge.small * 100:g} points: {where}"
    if verdict == "can't tell":
        return f"{where}{_too_few_moved(pairs, judge)}{needed_text(needed)}"
    small = ", less than the margin" if judge.margin and abs(lift.estimate) < judge.margin else ""
    return f"{where}{small}{_wider(judge) if low_end <= 0 <= high_end else ''}"


def _wider(judge: Judge) -> str:
    """Why a difference is proved although its interval holds 0."""
    if judge.look is None and judge.of == "these tasks":
        return ". The test decides; the interval is the more cautious of the two, and so holds 0 as well"
    return ". The test decides; the interval allows also for a task unlike all those seen, and so holds 0 as well"


def _refusal(pairs: Pairs) -> str:
    if pairs.hand_picked:
        return "the tasks were picked by hand"
    return f"{count(pairs.units, 'independent task')} can't stand for others"


def moved(pairs: Pairs) -> int:
    """How many tasks have another pass rate on the two sides."""
    return sum(bool(pair.difference) for pair in pairs.pairs)


def _too_few_moved(pairs: Pairs, judge: Judge) -> str:
    if judge.of != "tasks like these" or moved(pairs) >= MIN_DIFFERENCES:
        return ""
    return f"; {too_few_moved(moved(pairs))}"


def too_few_moved(tasks: int) -> str:
    """Why so few tasks that moved can prove nothing about others.

    >>> too_few_moved(5)
    'only 5 tasks moved, and fewer than 6 can never reach p = .05 (5 reach .0625 at best)'
    >>> too_few_moved(1)
    'only 1 task moved, and fewer than 6 can never reach p = .05 (1 reaches 1 at best)'
    """
    best = f"{2 / 2**tasks:.4g}".lstrip("0") if tasks else "1"
    words = f"only {count(tasks, 'task')} moved" if tasks else "no task moved"
    reach = count(tasks, "reaches", "reach")
    return f"{words}, and fewer than {MIN_DIFFERENCES} can never reach p = .05 ({reach} {best} at best)"


def needed_text(needed: Needs | None) -> str:
    """What would settle it, as the end of a sentence."""
    if needed is None:
        return ""
    ways = [f"about {count(needed.tasks, 'more task')}"] if needed.tasks else []
    if needed.trials:
        ways.append(f"{count(needed.trials, 'more trial')} of each")
    alone = "" if needed.trials else " (more trials alone would not)"
    return f"; {' or '.join(ways)} would find a difference of {needed.difference * 100:.3g} points{alone}"


def points(value: float) -> str:
    """A difference in points with its sign.

    >>> points(0.125), points(-0.04), points(0.0)
    ('+12.5', '−4.0', '0.0')
    """
    text = f"{abs(value) * 100:.1f}"
    return text if float(text) == 0 else f"{'+' if value > 0 else '−'}{text}"


def p_text(p: float) -> str:
    """A p value as people write it.

    >>> p_text(0.0312), p_text(0.00001), p_text(1.0)
    ('p = .031', 'p < .001', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    return "p = 1" if p > 0.9995 else f"p = {p:.3f}".replace("0.", ".")


WORLDS: tuple[World, World] = ("worst", "best")
