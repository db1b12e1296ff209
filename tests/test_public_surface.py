"""What `import passhat` offers, and what it costs."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import passhat

HEAVY = {
    "numpy",
    "scipy",
    "rich",
    "httpx2",
    "httpx",
    "starlette",
    "uvicorn",
    "pydantic",
    "jinja2",
    "zstandard",
    "yaml",
    "click",
}

PACKAGES = [
    "passhat",
    "passhat.agents",
    "passhat.graders",
    "passhat.graders.answers",
    "passhat.graders.judge",
    "passhat.graders.outcome",
    "passhat.graders.trace",
    "passhat.metrics",
    "passhat.scripting",
    "passhat.stats",
]
GIVEN = {
    "passhat": "EvalResult FinishedTrial Run Status Trial",
    "passhat.agents": "Dialogue Finished",
    "passhat.graders.judge": "Judge",
    "passhat.metrics": "MetricValue",
    "passhat.scripting": "Play Reply Request",
    "passhat.stats": "BetaBinomial Corrected Curtailment CurveCheck Extrapolation GateResult JudgeQuality Kappa Look "
    "OrderCheck Paired Refusal StandardError TaskChange TaskChanges",
}
"""What a user is given, by a function that has an example, and doesn't make: its docstring needs none."""


def public_things() -> Iterator[Any]:
    """The functions and classes that a user may name, with the package that offers them."""
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield pytest.param(package, name, thing, id=f"{package}.{name}")


def loaded_after(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after running some code."""
    program = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_passhat_loads_nothing_but_the_standard_library() -> None:
    before = loaded_after("pass")
    new = {name for name in loaded_after("import passhat") - before if name not in sys.stdlib_module_names}
    assert new == {"passhat"}


def test_naming_tasks_and_suites_loads_no_heavy_package() -> None:
    assert not HEAVY & loaded_after("from passhat import Task, Limits, Grade, Suite, Trial, tool")


def test_statistics_load_numpy_only_when_they_compute() -> None:
    assert not HEAVY & loaded_after("import passhat.stats")


@pytest.mark.parametrize("name", passhat.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(passhat, name) is not None


def test_the_list_of_public_names_is_complete_and_sorted() -> None:
    assert list(passhat.__all__) == sorted(passhat._HOME)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        passhat.evaluat  # noqa: B018


@pytest.mark.parametrize(("package", "name", "thing"), [*public_things()])
def test_what_a_user_may_name_is_documented_and_what_a_user_calls_has_an_example(
    package: str, name: str, thing: Any
) -> None:
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert text, "no docstring of its own"
    if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        given = name in GIVEN.get(package, "").split()
        assert (">>>" in text) != given, "has an example: take it off the list" if given else "needs an example"
