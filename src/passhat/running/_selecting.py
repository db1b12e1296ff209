"""A model by provider and name: both together, from the command line or from the environment, never one of each."""

from __future__ import annotations

from collections.abc import Mapping

from passhat.running._errors import ModelSelectionError

PROVIDER, MODEL = "PASSHAT_PROVIDER", "PASSHAT_MODEL"

_OWN_MODELS = ("anthropic", "google", "mistral", "openai")
"""Providers that serve their own models only; others serve models whose names begin with these."""


def selected_model(model: str | None, provider: str | None = None) -> str | None:
    """PROVIDER/NAME from what was asked for: ``model`` alone holds both, or ``provider`` and ``model`` each one.

    Blanks at the ends don't count, and a blank value is none. None when neither is given. Raises
    `ModelSelectionError` for half of a pair, and for two providers.

    >>> selected_model(" openai/gpt-5 "), selected_model("openai/gpt-oss-20b", "groq"), selected_model(None)
    ('openai/gpt-5', 'groq/openai/gpt-oss-20b', None)
    """
    name, by = _said(model), _said(provider)
    if name is None:
        if by is None:
            return None
        raise ModelSelectionError(f"--provider {by} names no model: a model needs both, --provider {by} --model NAME")
    if by is not None:
        if name.startswith(f"{by}/"):
            raise ModelSelectionError(
                f"--provider {by} --model {name} names {by} twice: --model {name} alone says both"
            )
        first = name.partition("/")[0]
        if by in _OWN_MODELS and first in _OWN_MODELS:
            raise ModelSelectionError(
                f"--provider {by} --model {name} names two providers: --model {name} alone asks {first}; where a base "
                f"URL of yours stands for {by} and serves it, write --model {by}/{name}"
            )
        return f"{by}/{name}"
    if not _whole(name):
        raise ModelSelectionError(
            f"--model {name} {_lacks(name)}: a model needs both, --provider PROVIDER --model NAME, or "
            f"--model {_completed(name, 'PROVIDER')}"
        )
    return name


def whole_model(model: str | None) -> str | None:
    """PROVIDER/NAME as a keyword has it, trimmed; None for none. Raises `ModelSelectionError` for a name alone.

    >>> whole_model("gpt-5")
    Traceback (most recent call last):
    ...
    passhat.running._errors.ModelSelectionError: model='gpt-5' names no provider: write PROVIDER/NAME, as 'openai/gpt-5'
    """
    name = _said(model)
    if name is not None and not _whole(name):
        whole = _completed(name, "openai")
        raise ModelSelectionError(f"model={name!r} {_lacks(name)}: write PROVIDER/NAME, as {whole!r}")
    return name


def default_model(environ: Mapping[str, str]) -> str | None:
    """PROVIDER/NAME from ``PASSHAT_PROVIDER`` and ``PASSHAT_MODEL``; the latter alone may hold both. None without.

    Raises `ModelSelectionError` for half of a pair.

    >>> default_model({"PASSHAT_PROVIDER": "openai", "PASSHAT_MODEL": " gpt-5 "})
    'openai/gpt-5'
    """
    name, by = _said(environ.get(MODEL)), _said(environ.get(PROVIDER))
    if by is not None:
        if name is None:
            raise ModelSelectionError(f"{PROVIDER}={by} names no model: a default model needs {PROVIDER} and {MODEL}")
        return f"{by}/{name}"
    if name is not None and not _whole(name):
        raise ModelSelectionError(
            f"{MODEL}={name} names no provider: a default model needs {PROVIDER} and {MODEL}, or "
            f"{MODEL}=PROVIDER/{name}"
        )
    return name


def _said(text: str | None) -> str | None:
    return None if text is None else text.strip() or None


def _whole(name: str) -> bool:
    provider, _, rest = name.partition("/")
    return bool(provider.strip() and rest.strip())


def _lacks(name: str) -> str:
    """What half of a pair doesn't name."""
    return "names no model" if name.partition("/")[0].strip() and "/" in name else "names no provider"


def _completed(name: str, provider: str) -> str:
    """The whole pair, with a word where a half is lacking."""
    one, slash, two = (part.strip() for part in name.partition("/"))
    return f"{one or provider}/{two or 'NAME'}" if slash else f"{provider}/{name}"
