"""A folder with a small suite, and a way to call the command line as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SUITE = """
from passhat import Grade, Limits, Suite, Task
from passhat.scripting import say
from openai import OpenAI

client = OpenAI()


def agent(trial):
    sent = [{"role": "user", "content": trial.input}]
    return client.chat.completions.create(model="m", messages=sent).choices[0].message.content


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
            env={**environ, "COLUMNS": "100", **more},
            capture_output=True,
            text=True,
            timeout=100,
        )

    return call
