"""What the plugin costs: a session that doesn't use it, and a trial over a parametrised test.

    python scripts/bench_pytest.py [--rounds N] [--check]

Alternating runs in processes of their own, after one that fills their cache of bytecode; the median over the rounds of
what was added within a round. ``--check`` exits 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAIN = "".join(f"def test_{i}():\n    pass\n\n" for i in range(1000))
PARAMETRISED = """
import pytest

@pytest.mark.parametrize("trial", range(10))
@pytest.mark.parametrize("case", range({cases}))
def test_it(case, trial):
    pass
"""
TRIALS = """
import pytest

@pytest.mark.trials(10, gate=None, simulated=True)
@pytest.mark.parametrize("case", range({cases}))
def test_it(case):
    pass
"""
QUIET = ["-q", "--no-header", "-p", "no:cacheprovider"]
FOREIGN = ["randomly", "rerunfailures", "cov", "hypothesispytest", "asyncio", "anyio", "xdist", "timeout"]
BOUNDS = {"run": 0.03, "collect": 0.05, "trial": 100e-6}


def seconds(folder: Path, *options: str) -> float:
    """Processor time, user and system, of one session: it isn't changed by what else the machine does."""
    off = [part for name in FOREIGN for part in ("-p", f"no:{name}")]
    command = [sys.executable, "-c", _TIMED, *QUIET, *off, *options]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(folder.parent / "bytecode")
    ran = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    shutil.rmtree(folder / ".passhat", ignore_errors=True)
    return float(ran.stdout.rsplit("seconds=", 1)[1])


_TIMED = """
import sys, time, pytest
status = pytest.main(sys.argv[1:])
print(f"seconds={time.process_time()}")
sys.exit(status)
"""


def rounds_of(rounds: int, *ways: tuple[Path, tuple[str, ...]]) -> list[tuple[float, ...]]:
    """The seconds of each way in each round, all of them run in turn; a round before the first isn't counted."""
    taken = [tuple(seconds(folder, *options) for folder, options in ways) for _ in range(rounds + 1)]
    return taken[1:]


def medians(rows: list[tuple[float, ...]]) -> list[float]:
    """The median of each way."""
    return [statistics.median(times) for times in zip(*rows, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as root:
        folders = {}
        texts = {"plain": PLAIN}
        for cases in (10, 210):
            texts[f"parametrised{cases}"] = PARAMETRISED.replace("{cases}", str(cases))
            texts[f"trials{cases}"] = TRIALS.replace("{cases}", str(cases))
        for name, text in texts.items():
            folders[name] = Path(root, name)
            folders[name].mkdir()
            (folders[name] / "test_it.py").write_text(text)
            (folders[name] / "pytest.ini").write_text("[pytest]\n")
        off = ("-p", "no:passhat")
        plain = folders["plain"]
        running = rounds_of(asked.rounds, (plain, off), (plain, ()))
        collecting = rounds_of(asked.rounds, (plain, ("--co", *off)), (plain, ("--co",)))
        names = ("parametrised10", "parametrised210", "trials10", "trials210")
        repeating = rounds_of(asked.rounds, *[(folders[name], ()) for name in names])
    found = {
        "run": statistics.median(loaded / without - 1 for without, loaded in running),
        "collect": statistics.median(loaded / without - 1 for without, loaded in collecting),
        "trial": statistics.median((b2 - b1) - (a2 - a1) for a1, a2, b1, b2 in repeating) / 2000,
    }
    without, loaded = medians(running)
    print(f"1,000 plain tests: {without:.3f} -> {loaded:.3f} s ({found['run']:+.1%}); bound {BOUNDS['run']:+.0%}")
    without, loaded = medians(collecting)
    print(
        f"collecting them:   {without:.3f} -> {loaded:.3f} s ({found['collect']:+.1%}); bound {BOUNDS['collect']:+.0%}"
    )
    few, many, few_trials, many_trials = medians(repeating)
    print(
        f"100 and 2,100 parametrised tests: {few:.3f}, {many:.3f} s; as trials: {few_trials:.3f}, {many_trials:.3f} s"
    )
    each = statistics.median((many - few) / 2000 for few, many, _, _ in repeating)
    print(
        f"a parametrised test: {each * 1e6:.0f} us; a passing trial, its share of verdict and record included:", end=" "
    )
    print(f"{found['trial'] * 1e6:+.0f} us ({found['trial'] / each:+.0%}); bound {BOUNDS['trial'] * 1e6:.0f} us")
    print(f"({time.monotonic() - began:.0f} s, processor time, medians of {asked.rounds} alternating runs)")
    broken = [name for name, value in found.items() if value > BOUNDS[name]]
    return 1 if asked.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
