"""How a judge is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from passhat.graders._names import GraderSetup

UNKNOWN = "unknown"
LONGEST = 40_000
Over = Literal["answer", "trace"]
Models = str | Sequence[str] | None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a judge is asked, whatever it is asked. See `rubric`."""

    over: Over = "answer"
    samples: int = 1
    temperature: float | None = None
    models: tuple[str, ...] = ()
    reference: Callable[[Any], Any] | None = None
    longest: int = LONGEST
    same_model_ok: bool = False


def settings_of(
    name: str,
    *,
    over: Any = "answer",
    samples: Any = 1,
    temperature: Any = None,
    model: Any = None,
    reference: Any = None,
    longest: Any = LONGEST,
    same_model_ok: Any = False,
) -> Settings:
    """Checked settings; `GraderSetup` names what can't be."""
    if over not in ("answer", "trace"):
        raise GraderSetup(f"judge {name!r}: over={over!r}: must be 'answer' or 'trace'")
    if isinstance(samples, bool) or not isinstance(samples, int) or not 1 <= samples <= 99:
        raise GraderSetup(f"judge {name!r}: samples={samples!r}: must be a whole number from 1 to 99")
    if temperature is not None:
        good = isinstance(temperature, int | float) and not isinstance(temperature, bool)
        if not good or not 0 <= temperature <= 2:
            raise GraderSetup(f"judge {name!r}: temperature={temperature!r}: must be a number from 0 to 2, or None")
    models = () if model is None else (model,) if isinstance(model, str) else tuple(model)
    for one in models:
        if not isinstance(one, str) or not all(one.partition("/")):
            raise GraderSetup(f"judge {name!r}: model={one!r}: write PROVIDER/NAME, for example 'openai/gpt-5'")
    if len(set(models)) < len(models):
        raise GraderSetup(f"judge {name!r}: model={models!r}: one model stands there twice; ask it with samples=2")
    if reference is not None and not callable(reference):
        raise GraderSetup(f"judge {name!r}: reference={reference!r}: must be a function of the task")
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 1000:
        raise GraderSetup(f"judge {name!r}: longest={longest!r}: must be a whole number of characters, 1000 or more")
    if not isinstance(same_model_ok, bool):
        raise GraderSetup(f"judge {name!r}: same_model_ok={same_model_ok!r}: must be True or False")
    return Settings(
        over=over,
        samples=samples,
        temperature=None if temperature is None else float(temperature),
        models=models,
        reference=reference,
        longest=longest,
        same_model_ok=same_model_ok,
    )
