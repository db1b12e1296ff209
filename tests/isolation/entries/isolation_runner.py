"""A runner for tests that kill it: starts a server and busy slots, tells the pids on stdout, and waits."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import psutil

from passhat.isolation import ForkServer, Job, ProcessLimits, ServerSpec, trial_environ

BUSY = ["daemonises", "hundred_children", "keeper_tree", "c_loop"]


async def main() -> None:
    here = Path(__file__).parent
    environ = trial_environ()
    spec = ServerSpec(
        entry_file=here / "isolation_entries.py",
        environ=environ,
        sys_path=(str(here), *sys.path),
        slots=len(BUSY),
        mode=sys.argv[1],  # type: ignore[arg-type]
    )
    async with ForkServer(spec) as server:
        ready = asyncio.Semaphore(0)
        tasks, supervisors = [], []
        for name in BUSY:
            slot = await server.slot()
            limits = ProcessLimits(seconds=300.0)
            job = Job(entry=f"isolation_entries:{name}", payload=30, environ=environ, limits=limits)
            tasks.append(asyncio.create_task(slot.run(job, lambda event: ready.release())))
            supervisors.append(slot.pid)
        for _ in BUSY:
            await ready.acquire()
        everyone = [process.pid for process in psutil.Process().children(recursive=True)]
        told = {"runner": os.getpid(), "server": server.pid, "supervisors": supervisors, "everyone": everyone}
        print(json.dumps(told), flush=True)
        ended = await asyncio.gather(*tasks)
        again = await (await server.slot()).run(Job(entry="isolation_entries:echo", payload=1, environ=environ))
        print(json.dumps({"kinds": [end.kind for end in ended], "again": again.result}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
