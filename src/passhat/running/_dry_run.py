"""What a run would take, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from passhat.facts import Manifest
from passhat.running._asked import Asked, Options
from passhat.running._setup import Setup, everything
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.suite import Suite

_NOWHERE = ModelAccess("http://127.0.0.1:9", "passhat-dry-run")


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is expected to take; None is unknown. Money in US dollars, tokens in plus out.

    ``trials`` is exact, without re-runs. Calls, tokens, dollars and seconds are the means of an earlier run of the
    suite with the same model (``based_on`` is its id) times ``trials``; a scripted or simulated model costs nothing.
    ``most_calls`` and ``most_dollars`` are what the limits allow at most. ``judge_calls`` are those of the suite's
    judges when each answers at the first try (None without judges), ``judge_dollars`` the mean of the earlier run.
    """

    tasks: int
    trials: int
    model: str | None
    source: str
    model_calls: int | None
    tokens: int | None
    dollars: float | None
    seconds: float | None
    based_on: str | None
    most_calls: int | None
    most_dollars: float | None
    judge_models: tuple[str, ...] = ()
    judge_calls: int | None = None
    judge_dollars: float | None = None
    most_judge_calls: int | None = None


def dry_run(suite: Suite, *, root: Path | str = ".passhat", **options: Unpack[Options]) -> Expected:
    """What `passhat.run` with the same options would take. Nothing runs and nothing is written.

    Checks all that a run checks before its first trial, and raises what it would raise.
    """
    asked = Asked(**options)
    setup = Setup(suite, asked, selected=asked.select or everything)
    setup.check_gates()
    with led_to(_NOWHERE):
        arms = len(suite.arms())
    trials = len(setup.tasks) * setup.trials * arms
    limits = setup.limits
    earlier = _earlier(suite.name, setup.model.source, setup.model.requested, Path(root))
    free = setup.model.source in ("scripted", "simulated")
    calls = tokens = dollars = seconds = None
    if earlier is not None and earlier.usage is not None:
        share = trials / sum(count.n + count.missing for count in earlier.counts)
        calls = round(earlier.usage.model_calls * share)
        tokens = None if earlier.usage.tokens is None else round(earlier.usage.tokens * share)
        dollars = None if earlier.usage.dollars is None else earlier.usage.dollars * share
        if earlier.seconds is not None:
            seconds = earlier.seconds * share * earlier.concurrency / setup.concurrency
    most = [trials * limits.dollars if limits.dollars is not None else None, limits.run_dollars]
    bounds = [bound for bound in most if bound is not None]
    return Expected(
        tasks=len(setup.tasks),
        trials=trials,
        model=setup.model.requested,
        source=setup.model.source,
        model_calls=calls,
        tokens=tokens,
        dollars=0.0 if free else dollars,
        seconds=seconds,
        based_on=None if earlier is None else earlier.run_id,
        most_calls=None if limits.model_calls is None else trials * limits.model_calls,
        most_dollars=0.0 if free else min(bounds, default=None),
        **_judging(setup, trials, earlier),
    )


def _judging(setup: Setup, trials: int, earlier: Manifest | None) -> dict[str, Any]:
    """What the judges of the suite would take."""
    from passhat.graders.judge import judges_in

    judges = setup.judges
    if judges is None:
        return {}
    calls = trials * sum(judge.calls for judge in judges_in(setup.suite.graders))
    spent = None if earlier is None or earlier.judge_models != judges.names else earlier.judge_usage
    dollars = None
    if judges.source == "simulated" or calls == 0:
        dollars = 0.0
    elif earlier is not None and spent is not None and spent.dollars is not None:
        dollars = spent.dollars * trials / sum(count.n + count.missing for count in earlier.counts)
    bound = setup.limits.judge_calls
    return {
        "judge_models": judges.names,
        "judge_calls": calls,
        "judge_dollars": dollars,
        "most_judge_calls": None if bound is None else trials * bound * len(judges.names),
    }


def _earlier(suite: str, source: str, model: str | None, root: Path) -> Manifest | None:
    """The newest finished run of the suite with the same model."""
    from passhat.records import list_runs

    for entry in list_runs(root):
        found = entry.manifest
        if found is None or found.suite != suite or found.state != "finished" or found.model_requested != model:
            continue
        if found.model_source in (source, "unseen") and any(count.n + count.missing for count in found.counts):
            return found
    return None
