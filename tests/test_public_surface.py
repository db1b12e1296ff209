"""What `import passhat` offers, and what it costs."""

import subprocess
import sys

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
