"""Whether judges can be asked here, and loading what asks them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from importlib.util import find_spec

from passhat.graders._names import GraderSetup

_PACKAGES = {"anthropic": ("pydantic_ai", "anthropic")}
_OTHERS = ("pydantic_ai", "openai")
_ASKING = "passhat.graders.judge._asking"


def check_installed(models: Iterable[str]) -> None:
    """Raise `GraderSetup` when the packages that ask these models (PROVIDER/NAME) aren't installed."""
    for model in models:
        missing = [name for name in _PACKAGES.get(model.partition("/")[0], _OTHERS) if find_spec(name) is None]
        if missing:
            raise GraderSetup(f"a judge needs {' and '.join(missing)}: pip install passhat[judges]")


def modules_for(models: Iterable[str]) -> tuple[str, ...]:
    """What asks these models. Its import takes seconds, which no grader's deadline should pay for.

    >>> modules_for(["anthropic/claude-opus"])
    ('pydantic_ai.models.anthropic',)
    """
    kinds = {"anthropic" if model.startswith("anthropic/") else "openai" for model in models}
    return tuple(f"pydantic_ai.models.{kind}" for kind in sorted(kinds))


def load(models: Iterable[str]) -> None:
    """Import what asks these models, here and now."""
    for name in (*modules_for(models), _ASKING):
        importlib.import_module(name)
