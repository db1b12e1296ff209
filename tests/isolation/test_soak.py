"""Random kills of a run of isolated trials; see scripts/soak.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "scripts" / "soak.py"


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [1, 2])
def test_fifty_random_kills_lose_nothing_double_nothing_and_leave_nothing(seed: int) -> None:
    done = subprocess.run([sys.executable, str(SOAK), "--seed", str(seed)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
