"""A folder with a small suite, and a way to call the command line as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

SUITE = """
import json
import urllib.request

from passhat import Grade, Limits, Suite, Task
from passhat.scripting import say


def agent(trial):
    sent = {"model": "m", "messages": [{"role": "user", "content": trial.input}]}
    headers = {"Authorization": f"Bearer {trial.model.api_key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{trial.model.base_url}/chat/completions", json.dumps(sent).encode(), headers)
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def policy(request, rng):
    word = request.messages[-1].text
    if word == "never":
        return say("no")
    return say("yes" if word == "always" or rng.random() < 0.5 else "no")


def says_yes(trial):
    return Grade(trial.output == "yes", f"said {trial.output}")


tasks = [Task("always", input="always", tags=("easy",)), Task("often", input="sometimes"), Task("never", input="never")]
suite = Suite("words", tasks=tasks, agent=agent, graders=[says_yes], simulation=policy, trials=4, hand_picked=True)
"""

"""Its agent has no client: loading one takes longer than all else of so small a run."""

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one suite."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "eval_words.py").write_text(SUITE)
    return tmp_path


@pytest.fixture
def passhat(folder: Path) -> Call:
    """Call the command line in the project's folder; no key and no colour in its environment."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_", "PASSHAT_"))
    }

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "passhat", *arguments],
            cwd=folder,
            # no bytecode: a suite that a test writes anew within a second, as long as before, would stay the old one
            env={**environ, "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1", **more},
            capture_output=True,
            text=True,
            timeout=100,
        )

    return call


@pytest.fixture
def here(folder: Path, called_here: Call) -> Call:
    """The same call within the tests' own process, which has everything loaded: for what only reads or is refused."""
    return partial(called_here, folder)
