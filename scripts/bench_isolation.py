"""What process isolation costs: a trial that does nothing, run, graded and recorded as `passhat run` does it.

    python scripts/bench_isolation.py [--trials N] [--flat N] [--imports openai,anthropic] [--json]

Prints the median wall time and the CPU time of a trial, from its start to its line in trials.jsonl, and trials per
second, for several concurrencies; everything lies on tmpfs where there is one. CPU is that of all processes: runner,
server, supervisors, and the trials' own. ``--flat`` runs many trials and says whether the figures stay what they were
and whether anything piles up. Wall figures mean something on an idle machine only: the load is printed beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil

import passhat
from passhat.facts import TrialRecord
from passhat.running import Totals, entrance
from passhat.running._plan import PlannedTrial
from passhat.suite import discover

WARM = 20  # trials before the first that counts
SUITE = """
import passhat

def agent(trial):
    return 1

def right(trial):
    return trial.output == 1

suite = passhat.Suite("nothing", tasks=[passhat.Task("t")], agent=agent, graders=[right])
"""


class Look(NamedTuple):
    """What was used up to a moment: CPU seconds of the runner, of its servers and supervisors, of all dead below."""

    at: float
    runner: float
    keepers: float
    trials: float
    descriptors: int
    keepers_descriptors: int
    memory: int
    processes: int
    zombies: int


def look() -> Look:
    """Now."""
    me = psutil.Process()
    own, keepers, dead, descriptors, zombies = me.cpu_times(), 0.0, 0.0, 0, 0
    below = me.children(recursive=True)
    for process in below:
        with contextlib.suppress(psutil.NoSuchProcess):  # a trial of another slot that ended while we looked
            times = process.cpu_times()
            zombie = process.status() == psutil.STATUS_ZOMBIE
            open_here = 0 if zombie else process.num_fds()
            keepers += times.user + times.system
            dead += times.children_user + times.children_system
            zombies += zombie
            descriptors += open_here
    memory = me.memory_info().rss
    cpu = own.user + own.system
    return Look(time.perf_counter(), cpu, keepers, dead, me.num_fds(), descriptors, memory, len(below), zombies)


class Meter:
    """Looks at the run from its own thread, every so many finished trials."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._done = 0
        self._begun: dict[int, float] = {}
        self.walls: list[float] = []
        self.looks: list[Look] = []

    def started(self, planned: PlannedTrial, totals: Totals) -> None:
        """Note when."""
        self._begun[planned.trial] = time.perf_counter()

    def finished(self, record: TrialRecord, totals: Totals) -> None:
        """Note how long it took; a trial that failed measures nothing."""
        if not record.passed:
            raise SystemExit(f"a do-nothing trial failed: {record}")
        took = time.perf_counter() - self._begun.pop(record.trial)
        if self._done >= WARM:
            self.walls.append(took)
        if self._done >= WARM - 1 and (self._done - WARM + 1) % self._every == 0:
            self.looks.append(look())
        self._done += 1

    def ended(self, state: str, totals: Totals) -> None:
        """Nothing more to see."""


def measured(file: Path, root: Path, trials: int, concurrency: int, every: int) -> Meter:
    """Run so many trials."""
    meter = Meter(every)
    with entrance() as through:
        (found,) = discover(file)
        run = passhat.run(
            found.suite,
            root=root,
            trials=trials + WARM,
            concurrency=concurrency,
            isolation="process",
            through=through,
            progress=meter,
        )
    assert (run.manifest.isolation, run.manifest.containment) == ("process", "proved"), run.manifest.isolation_notes
    return meter


def rate(file: Path, root: Path, trials: int, concurrency: int) -> dict[str, float]:
    """The price of a trial when so many run at once."""
    load = os.getloadavg()[0]
    meter = measured(file, root, trials, concurrency, trials)
    first, last = meter.looks[0], meter.looks[-1]
    runner, keepers, jobs = last.runner - first.runner, last.keepers - first.keepers, last.trials - first.trials
    return {
        "concurrency": concurrency,
        "trials": trials,
        "load": load,
        "per_second": trials / (last.at - first.at),
        "wall_ms": statistics.median(meter.walls) * 1e3,
        "wall_p95_ms": statistics.quantiles(meter.walls, n=20)[-1] * 1e3,
        "cpu_ms": (runner + keepers + jobs) / trials * 1e3,
        "runner_ms": runner / trials * 1e3,
        "supervisors_ms": keepers / trials * 1e3,
        "jobs_ms": jobs / trials * 1e3,
    }


def flat(file: Path, root: Path, trials: int, concurrency: int) -> dict[str, Any]:
    """Whether the first and the last tenth of many trials cost the same, and nothing piles up."""
    tenth = trials // 10
    looks = measured(file, root, tenth * 10, concurrency, tenth).looks
    costs = [sum(b[1:4]) - sum(a[1:4]) for a, b in itertools.pairwise(looks)]
    first, last = looks[0], looks[-1]
    return {
        "trials": tenth * 10,
        "cpu_ms_by_tenth": [cost / tenth * 1e3 for cost in costs],
        "last_by_first": costs[-1] / costs[0],
        "descriptors": [first.descriptors, last.descriptors],
        "supervisors_descriptors": [first.keepers_descriptors, last.keepers_descriptors],
        "runner_mb": [one.memory / 1e6 for one in looks],
        "processes": [first.processes, last.processes],
        "zombies": last.zombies,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    base = Path(tempfile.mkdtemp(prefix="passhat-bench-", dir=memory))
    tempfile.tempdir = os.environ["TMPDIR"] = str(base)
    try:
        suite = base / "eval_bench.py"
        suite.write_text("".join(f"import {name}\n" for name in filter(None, options.imports.split(","))) + SUITE)
        told: dict[str, Any] = {
            "rates": [rate(suite, base / "runs", options.trials, number) for number in options.concurrency]
        }
        if options.flat:
            told["flat"] = flat(suite, base / "runs", options.flat, max(options.concurrency))
        return told
    finally:
        shutil.rmtree(base, ignore_errors=True)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--flat", type=int, default=0, metavar="N")
    parser.add_argument("--imports", default="")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told = run(options)
    if options.json:
        json.dump(told, sys.stdout, indent=2)
        print()
        return
    for rate in told["rates"]:
        print(
            f"{rate['concurrency']:3d} at once: {rate['wall_ms']:6.1f} ms a trial (p95 {rate['wall_p95_ms']:.1f}), "
            f"{rate['per_second']:4.0f} trials/s, CPU {rate['cpu_ms']:.1f} ms = runner {rate['runner_ms']:.2f}"
            f" + supervisors {rate['supervisors_ms']:.2f} + trials {rate['jobs_ms']:.2f}; load {rate['load']:.1f}"
        )
    if "flat" in told:
        print(json.dumps(told["flat"]))


if __name__ == "__main__":
    main()
