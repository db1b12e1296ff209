"""What a run would take, before it is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passhat.facts import count
from passhat.reporting._text import clean, dollars, seconds, tokens

if TYPE_CHECKING:
    from passhat.running import Expected


def render_expected(suite: str, expected: Expected) -> str:
    """A few lines about one suite: exact where it can be, an earlier run's means where there is one."""
    model = expected.model or {"live": "whatever the agent asks for"}.get(expected.source, f"a {expected.source} model")
    size = f"{count(expected.trials, 'trial')} of {count(expected.tasks, 'task')}"
    lines = [
        f"{clean(suite, 100)}: {size}; {clean(model, 100)} answers",
        f"  model calls  {_known(expected.model_calls)}{_most(expected.most_calls)}",
        f"  tokens       {tokens(expected.tokens)}",
        f"  dollars      {dollars(expected.dollars)}"
        + (
            ""
            if expected.most_dollars is None or expected.dollars == 0
            else f"  (at most {dollars(expected.most_dollars)})"
        ),
        f"  time         {seconds(expected.seconds)}",
    ]
    if expected.judge_calls is not None:
        lines.append(_judged(expected))
    based = f"estimated from {expected.based_on}" if expected.based_on else "no earlier run to estimate from"
    return "\n".join([*lines, f"  {based}"])


def _judged(expected: Expected) -> str:
    names = ", ".join(clean(name, 60) for name in expected.judge_models)
    calls = f"{_known(expected.judge_calls)}{_most(expected.most_judge_calls)}"
    price = "price unknown" if expected.judge_dollars is None else dollars(expected.judge_dollars)
    return f"  judge calls  {calls}, {price}; {names}"


def _known(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _most(value: int | None) -> str:
    return "" if value is None else f"  (at most {value:,})"
