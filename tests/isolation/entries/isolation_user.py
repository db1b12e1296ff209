"""Run as an ordinary user: the adversaries end as they should, and the result is told as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil

from passhat.isolation import ForkServer, Job, ProcessLimits, ServerSpec, Slot, trial_environ

HERE = Path(__file__).parent
MB = 1_000_000
JOBS: list[tuple[str, Any, dict[str, Any]]] = [
    ("echo", 7, {}),
    ("c_loop", None, {"seconds": 1.0}),
    ("swallows_cancel", None, {"seconds": 1.0}),
    ("daemonises", None, {"seconds": 1.0}),
    ("hundred_children", None, {"seconds": 1.0}),
    ("replaces_itself", None, {"seconds": 1.0}),
    ("keeper_tree", None, {"seconds": 1.0}),
    ("floods", 1, {}),
    ("allocates", None, {"memory_bytes": 400 * MB}),
    ("too_many", 60, {"processes": 20}),
    ("closes_everything", None, {}),
]


def can_open(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


async def ended_of(slot: Slot, name: str, payload: Any, limits: dict[str, Any]) -> tuple[str, list[Any]]:
    """How a job ended, and how many processes of it are left."""
    environ = trial_environ()
    bounds = ProcessLimits(**{"seconds": 60.0, **limits})
    job = Job(entry=f"isolation_entries:{name}", payload=payload, environ=environ, limits=bounds)
    ended = await slot.run(job)
    below = {process.pid for process in psutil.Process(slot.pid).children(recursive=True)}
    following = await slot.run(Job(entry="isolation_entries:about", environ=environ))
    return name, [ended.kind, ended.limit, ended.containment, len(below - {following.result["pid"]})]


async def main() -> None:
    environ = trial_environ()
    path = (str(HERE), *sys.path)
    told: dict[str, Any] = {"uid": os.geteuid()}
    async with ForkServer(
        ServerSpec(entry_file=HERE / "isolation_entries.py", environ=environ, sys_path=path, slots=len(JOBS))
    ) as server:
        slot = await server.slot()
        told["mode"] = server.report.mode
        keepers = {"runner": os.getpid(), "server": server.pid, "supervisor": slot.pid}
        for guard in (True, False):
            job = Job(entry="isolation_entries:reaches_out", payload=keepers, environ=environ, guard=guard)
            told[f"guard {guard}"] = (await slot.run(job)).result
        while not (ahead := psutil.Process(slot.pid).children()):
            os.sched_yield()
        spare = ahead[0]
        while os.getsid(spare.pid) != spare.pid or spare.status() != psutil.STATUS_SLEEPING:
            os.sched_yield()  # until it waits for its order
        told["spare"] = can_open(f"/proc/{spare.pid}/mem") or can_open(f"/proc/{spare.pid}/environ")
        waiting = [entry for entry in JOBS if "seconds" in entry[2]]  # for their deadlines, side by side
        slots = [await server.slot() for _ in waiting]
        told.update(await asyncio.gather(*(ended_of(own, *entry) for own, entry in zip(slots, waiting, strict=True))))
        for entry in JOBS:
            if entry not in waiting:
                told.update([await ended_of(slot, *entry)])
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
