"""Random kills of a run and its resumes; see scripts/soak.py, which drives the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOAK = Path(__file__).parents[2] / "scripts" / "soak.py"


def soak(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SOAK), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.long
def test_a_few_kills_lose_nothing_double_nothing_and_leave_nothing() -> None:
    told = soak("--trials", "24", "--kills", "3", "--concurrency", "3", "--seed", "4")
    assert sum(told["kills"].values()) == 3
    assert sum(kills for target, kills in told["kills"].items() if "runner" in target or target == "start-up") >= 1


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1, 2])
def test_fifty_random_kills_lose_nothing_double_nothing_and_leave_nothing(seed: int) -> None:
    told = soak("--seed", str(seed))
    assert (told["trials"], sum(told["kills"].values())) == (400, 50)
