"""A model is named by provider and name together, and every half of a name is told what is missing."""

from __future__ import annotations

import re

import pytest

from passhat.facts import Task
from passhat.running import ModelSelectionError
from passhat.running._models import choose_model
from passhat.running._selecting import default_model, selected_model
from passhat.scripting import say
from passhat.suite import Suite

KEYS = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2", "GROQ_API_KEY": "sk-3"}


def chosen(
    model: str | None, provider: str | None, environ: dict[str, str], own: str | None, *, simulated: bool = False
) -> str | None:
    """What answers a suite with or without a model of its own."""
    simulation = (lambda request, rng: say("x")) if simulated else None
    suite = Suite("s", tasks=[Task("t")], agent=lambda trial: None, model=own, simulation=simulation)
    return choose_model(suite, selected_model(model, provider), {**KEYS, **environ}).requested


@pytest.mark.parametrize(
    ("model", "provider", "environ", "own", "expected"),
    [
        ("openai/a", None, {}, None, "openai/a"),
        ("a", "openai", {}, None, "openai/a"),
        (" a ", " openai ", {}, None, "openai/a"),
        ("openai/gpt-oss", "groq", {}, None, "groq/openai/gpt-oss"),
        ("openai/a", " ", {}, None, "openai/a"),
        (None, None, {"PASSHAT_MODEL": " openai/e "}, None, "openai/e"),
        (None, None, {"PASSHAT_PROVIDER": " openai ", "PASSHAT_MODEL": " e "}, None, "openai/e"),
        ("openai/a", None, {"PASSHAT_MODEL": "anthropic/e"}, None, "openai/a"),
        ("a", "openai", {"PASSHAT_PROVIDER": "anthropic", "PASSHAT_MODEL": "e"}, None, "openai/a"),
        ("openai/a", None, {}, "anthropic/own", "anthropic/own"),
        (None, None, {"PASSHAT_MODEL": "openai/e"}, "anthropic/own", "anthropic/own"),
        (None, None, {}, "anthropic/own", "anthropic/own"),
        (None, None, {}, None, None),
        (" ", "", {"PASSHAT_PROVIDER": "", "PASSHAT_MODEL": "  "}, None, None),
    ],
)
def test_who_answers(
    model: str | None, provider: str | None, environ: dict[str, str], own: str | None, expected: str | None
) -> None:
    assert chosen(model, provider, environ, own) == expected


WHOLE = {"PASSHAT_PROVIDER": "openai", "PASSHAT_MODEL": "e"}
CLI = "a model needs both, --provider "
DEFAULT = "a default model needs PASSHAT_PROVIDER and PASSHAT_MODEL"


@pytest.mark.parametrize("own", [None, "anthropic/own"])
@pytest.mark.parametrize(
    ("model", "provider", "environ", "words"),
    [
        (None, "openai", {}, f"--provider openai names no model: {CLI}openai --model NAME"),
        ("  ", "openai", {}, "--provider openai names no model"),
        ("a", None, {}, f"--model a names no provider: {CLI}PROVIDER --model NAME, or --model PROVIDER/a"),
        ("a", " ", {}, "--model a names no provider"),
        ("/a", None, {}, "--model /a names no provider"),
        ("openai/", None, {}, f"--model openai/ names no model: {CLI}PROVIDER --model NAME, or --model openai/NAME"),
        ("openai/a", "openai", {}, "names openai twice: --model openai/a alone says both"),
        (None, "openai", WHOLE, "--provider openai names no model"),  # no mixing with the environment
        ("a", None, WHOLE, "--model a names no provider"),
        (None, None, {"PASSHAT_PROVIDER": "openai"}, f"PASSHAT_PROVIDER=openai names no model: {DEFAULT}"),
        (None, None, {"PASSHAT_PROVIDER": "openai", "PASSHAT_MODEL": " "}, "PASSHAT_PROVIDER=openai names no model"),
        (None, None, {"PASSHAT_MODEL": "e"}, f"PASSHAT_MODEL=e names no provider: {DEFAULT}, or PASSHAT_MODEL="),
        ("openai/a", None, {"PASSHAT_MODEL": "e"}, "PASSHAT_MODEL=e names no provider"),
    ],
)
def test_half_of_a_name_is_refused_whoever_says_it(
    model: str | None, provider: str | None, environ: dict[str, str], words: str, own: str | None
) -> None:
    with pytest.raises(ModelSelectionError, match=re.escape(words)):
        chosen(model, provider, environ, own)


def test_an_unknown_provider_is_named_with_those_there_are() -> None:
    with pytest.raises(Exception, match="unknown provider 'opnai': use one of openai, anthropic"):
        chosen("a", "opnai", {}, None)


def test_a_simulation_stands_before_the_default_and_behind_what_is_asked_for() -> None:
    assert chosen(None, None, WHOLE, None, simulated=True) is None
    assert chosen("openai/a", None, WHOLE, None, simulated=True) == "openai/a"
    assert default_model({}) is None
