"""What process isolation costs: a trial that does nothing, acted and graded in processes of their own.

    python scripts/bench_isolation.py [--trials N] [--soak N] [--imports openai,anthropic] [--json]

Prints medians of wall and CPU time a trial (act + grade, workspace made and removed), trials per second for several
concurrencies, and with --soak whether the figures stay flat over many trials. CPU is that of all processes: runner,
supervisors and jobs. Wall figures mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from passhat.isolation import ForkServer, Job, ServerSpec, Slot, capabilities, seal, trial_environ

NOTHING = "passhat.isolation._load:import_file"


class Bench:
    """Runs do-nothing trials of one suite file."""

    def __init__(self, server: ForkServer, suite: Path, base: Path) -> None:
        self._server = server
        self._suite = suite
        self._base = base
        self._environ = trial_environ()
        self._count = 0
        self.jobs: list[float] = []  # CPU of act + grade

    async def trial(self, slot: Slot) -> float:
        """One trial; its wall seconds."""
        self._count += 1
        place = self._base / str(self._count)
        began = time.perf_counter()
        work = place / "work"
        payload = {"file": str(self._suite)}
        act = await slot.run(Job(entry=NOTHING, payload=payload, environ=self._environ, cwd=work, home=place / "home"))
        seal(work)
        grade = await slot.run(Job(entry=NOTHING, payload=payload, environ=self._environ))
        shutil.rmtree(place)
        assert act.kind == grade.kind == "returned", (act.reason, grade.reason)
        self.jobs.append(act.cpu + grade.cpu)
        return time.perf_counter() - began

    async def many(self, count: int, concurrency: int) -> dict[str, float]:
        """So many trials on so many slots."""
        slots = [await self._server.slot() for _ in range(concurrency)]
        for slot in slots:
            await self.trial(slot)
        left = iter(range(count))
        walls: list[float] = []

        async def work(slot: Slot) -> None:
            for _ in left:
                walls.append(await self.trial(slot))

        self.jobs.clear()
        before, began = self._own(slots), time.perf_counter()
        await asyncio.gather(*(work(slot) for slot in slots))
        seconds, after = time.perf_counter() - began, self._own(slots)
        for slot in slots:
            await slot.close()
        runner, supervisors = after[0] - before[0], after[1] - before[1]
        return {
            "concurrency": concurrency,
            "trials": count,
            "per_second": count / seconds,
            "wall_ms": statistics.median(walls) * 1e3,
            "wall_p95_ms": statistics.quantiles(walls, n=20)[-1] * 1e3 if count > 1 else walls[0] * 1e3,
            "cpu_ms": (statistics.mean(self.jobs) + (runner + supervisors) / count) * 1e3,
            "runner_ms": runner / count * 1e3,
            "supervisor_ms": supervisors / count * 1e3,
            "jobs_ms": statistics.median(self.jobs) * 1e3,
        }

    def _own(self, slots: list[Slot]) -> tuple[float, float]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        times = [psutil.Process(slot.pid).cpu_times() for slot in slots]
        return usage.ru_utime + usage.ru_stime, sum(one.user + one.system for one in times)

    async def flat(self, count: int, concurrency: int) -> dict[str, Any]:
        """Whether the first and the last tenth of many trials cost the same, and nothing piles up."""
        slots = [await self._server.slot() for _ in range(concurrency)]
        for slot in slots:
            await self.trial(slot)
        me = psutil.Process()
        self.jobs.clear()
        left = iter(range(count))

        async def work(slot: Slot) -> None:
            for _ in left:
                await self.trial(slot)

        keepers = [psutil.Process(slot.pid) for slot in slots]
        before = me.num_fds(), me.memory_info().rss, sum(one.num_fds() for one in keepers)
        await asyncio.gather(*(work(slot) for slot in slots))
        after = me.num_fds(), me.memory_info().rss, sum(one.num_fds() for one in keepers)
        children = me.children(recursive=True)
        zombies = sum(process.status() == psutil.STATUS_ZOMBIE for process in children)
        for slot in slots:
            await slot.close()
        tenth = max(1, count // 10)
        first, last = (statistics.median(part) * 1e3 for part in (self.jobs[:tenth], self.jobs[-tenth:]))
        return {
            "trials": count,
            "jobs_ms_first_tenth": first,
            "jobs_ms_last_tenth": last,
            "descriptors": [before[0], after[0]],
            "supervisors_descriptors": [before[2], after[2]],
            "runner_mb": [before[1] / 1e6, after[1] / 1e6],
            "processes": len(children),
            "zombies": zombies,
        }


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    base = Path(tempfile.mkdtemp(prefix="passhat-bench-", dir=memory))
    tempfile.tempdir = str(base)
    try:
        suite = base / "bench_suite.py"
        suite.write_text("".join(f"import {name}\n" for name in filter(None, options.imports.split(","))))
        began = time.perf_counter()
        slots = max(options.concurrency)
        async with ForkServer(ServerSpec(entry_file=suite, environ=trial_environ(), slots=slots)) as server:
            bench = Bench(server, suite, base)
            told: dict[str, Any] = {
                "isolation": server.report.mode,
                "reason": server.report.reason,
                "left_out": server.report.left_out,
                "containment": capabilities().containment,
                "start_seconds": time.perf_counter() - began,
                "rates": [await bench.many(options.trials, number) for number in options.concurrency],
            }
            if options.soak:
                told["flat"] = await bench.flat(options.soak, slots)
            return told
    finally:
        shutil.rmtree(base, ignore_errors=True)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("--imports", default="")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told = asyncio.run(run(options))
    if options.json:
        json.dump(told, sys.stdout, indent=2)
        print()
        return
    print(f"{told['isolation']}, {told['containment']}; started in {told['start_seconds']:.1f} s {told['reason']}")
    for rate in told["rates"]:
        print(
            f"{rate['concurrency']:3d} at once: {rate['per_second']:6.0f} trials/s, {rate['wall_ms']:6.1f} ms a trial"
            f" (p95 {rate['wall_p95_ms']:.1f}), CPU {rate['cpu_ms']:.1f} ms = runner {rate['runner_ms']:.2f}"
            f" + supervisors {rate['supervisor_ms']:.2f} + jobs {rate['jobs_ms']:.2f}"
        )
    if "flat" in told:
        print(json.dumps(told["flat"]))


if __name__ == "__main__":
    main()
