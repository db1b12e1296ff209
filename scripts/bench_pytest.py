"""What the plugin costs: a session that doesn't use it, and a trial over a parametrised test.

    python scripts/bench_pytest.py [--rounds N] [--check]

Medians of alternating runs in processes of their own. ``--check`` exits 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
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
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return float(ran.stdout.rsplit("seconds=", 1)[1])


_TIMED = """
import sys, time, pytest
status = pytest.main(sys.argv[1:])
print(f"seconds={time.process_time()}")
sys.exit(status)
"""


def medians(rounds: int, *ways: tuple[Path, tuple[str, ...]]) -> list[float]:
    """The median of each way, all of them run in turn."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for index, (folder, options) in enumerate(ways):
            taken[index].append(seconds(folder, *options))
    return [statistics.median(times) for times in taken]


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
        without, loaded = medians(asked.rounds, (plain, off), (plain, ()))
        co_without, co_loaded = medians(asked.rounds, (plain, ("--co", *off)), (plain, ("--co",)))
        few, many, few_trials, many_trials = medians(
            asked.rounds,
            *[(folders[name], ()) for name in ("parametrised10", "parametrised210", "trials10", "trials210")],
        )
    found = {
        "run": loaded / without - 1,
        "collect": co_loaded / co_without - 1,
        "trial": ((many_trials - few_trials) - (many - few)) / 2000,
    }
    print(f"1,000 plain tests: {without:.3f} -> {loaded:.3f} s ({found['run']:+.1%}); bound {BOUNDS['run']:+.0%}")
    change = f"{found['collect']:+.1%}; bound {BOUNDS['collect']:+.0%}"
    print(f"collecting them:   {co_without:.3f} -> {co_loaded:.3f} s ({change})")
    print(
        f"100 and 2,100 parametrised tests: {few:.3f}, {many:.3f} s; as trials: {few_trials:.3f}, {many_trials:.3f} s"
    )
    print(f"a passing trial, its share of verdict and record included: {found['trial'] * 1e6:+.0f} us; bound 100 us")
    print(f"({time.monotonic() - began:.0f} s, processor time, medians of {asked.rounds} alternating runs)")
    broken = [name for name, value in found.items() if value > BOUNDS[name]]
    return 1 if asked.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
