"""Running suites in a temporary place, and asking the model without a heavy client."""

from __future__ import annotations

import json
import os
import textwrap
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Suite, Task, Trial
from passhat.facts import TrialRecord
from passhat.gateway import Gateway
from passhat.running import Entrance, Run
from passhat.suite import discover
from passhat.trial import led_to


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    """One server for all runs: stopping one takes a fifth of a second."""
    with Gateway() as shared:
        yield shared


@pytest.fixture
def run_here(tmp_path: Path, gateway: Gateway) -> Callable[..., Run]:
    """`passhat.run` with a root of the test's own, and no waiting before a re-run."""

    def here(suite: Suite, **options: Any) -> Run:
        through = Entrance(gateway, dict(os.environ))
        return passhat.run(suite, **{"root": tmp_path / ".passhat", "retry_wait": 0, "through": through, **options})

    return here


@pytest.fixture
def only_trial(run_here: Callable[..., Run]) -> Callable[..., TrialRecord]:
    """Run one trial of one task; its record."""

    def trial(agent: Callable[[Trial], Any], task: Task | None = None, **parts: Any) -> TrialRecord:
        options = {name: parts.pop(name) for name in ("retries", "hook", "keep_bytes") if name in parts}
        suite = Suite("one", tasks=[task or Task("t", input="q", expected="a")], agent=agent, **parts)
        (record,) = run_here(suite, **options).trials()
        return record

    return trial


@pytest.fixture
def ask() -> Callable[..., str]:
    """A chat completion with the trial's own key; raises OSError when it is refused."""
    return ask_model


def ask_model(trial: Trial, text: str = "hello", **fields: Any) -> str:
    """See `ask`."""
    body = {"model": "m-1", "messages": [{"role": "user", "content": text}], **fields}
    request = urllib.request.Request(
        f"{trial.model.openai['base_url']}/chat/completions",
        json.dumps(body).encode(),
        {"authorization": f"Bearer {trial.model.api_key}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            reply = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise OSError(f"{error.code}: {error.read().decode()}") from None
    return str(reply["choices"][0]["message"]["content"])


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory, gateway: Gateway) -> Callable[..., Run]:
    """Write a suite to a file of its own and run it, by default with each trial in a process of its own."""

    def run(text: str, *, isolation: str = "process", beside: Mapping[str, str] | None = None, **options: Any) -> Run:
        folder = tmp_path_factory.mktemp("suite")
        for name, content in (beside or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        file = folder / "eval_here.py"
        file.write_text(textwrap.dedent(text))
        through = options.pop("through", Entrance(gateway, dict(os.environ)))
        with led_to(through.access):
            ((suite, *_),) = discover(file)
        options = {"root": folder / ".passhat", "retry_wait": 0, "seed": 1, "through": through, **options}
        return passhat.run(suite, isolation=isolation, **options)

    return run
