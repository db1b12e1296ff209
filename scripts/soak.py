"""Random kills of a run of isolated trials: each trial ends up done once, with the result of an uninterrupted run.

    python scripts/soak.py [--trials N] [--kills N] [--slots N] [--seed N]

A runner works through the trials and writes a line for each that is finished. Meanwhile its server, its supervisors or
the runner itself get SIGKILL at random moments; a killed runner is started again and goes on where the journal ends.
After each kill every process that lived below must be gone. Exit code 0 when all that held, else 1.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from passhat.isolation import ForkServer, Job, ServerSpec, Slot, end_leftovers, trial_environ

TARGETS = ("runner", "server", "supervisor", "supervisors", "runner and server", "runner and a supervisor")
SUITE = '''
import os, random, subprocess, tempfile

MARKS = []

def act(payload, channel):
    """Leaves processes and files behind, and tells whether it met any of another trial."""
    MARKS.append(payload)
    channel.emit(payload)
    found = len(MARKS) - 1 + len(os.listdir(os.getcwd())) + len(os.listdir(tempfile.gettempdir()))
    for folder in (os.getcwd(), tempfile.gettempdir(), os.environ["HOME"]):
        open(os.path.join(folder, "left-behind"), "w").close()
    for _ in range(payload % 4):
        subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}, start_new_session=True)
    return {"trial": payload, "found": found, "drawn": random.random()}
'''


# ---- the runner, a process of its own


async def run(folder: Path, trials: int, slots: int) -> None:
    """Do the trials that the journal lacks, telling on stdout whom there is to kill."""
    journal = folder / "journal.jsonl"
    done = {json.loads(line)["trial"] for line in complete_lines(journal)}
    left = iter([number for number in range(trials) if number not in done])
    lines = journal.open("ab", buffering=0)
    end_leftovers()
    path = (str(folder), *sys.path)
    spec = ServerSpec(entry_file=folder / "soak_suite.py", environ=trial_environ(), sys_path=path, slots=slots)
    live: dict[int, Slot] = {}

    async with ForkServer(spec) as server:

        def tell(**more: int) -> None:
            supervisors = [slot.pid for slot in live.values() if slot.alive]
            print(json.dumps({"server": server.pid, "supervisors": supervisors, **more}), flush=True)

        async def work(number: int) -> None:
            for trial in left:
                ended = None
                while ended is None or ended.kind == "lost":
                    if number not in live or not live[number].alive:
                        live[number] = await server.slot()
                        tell()
                    ended = await live[number].run(
                        Job(entry="soak_suite:act", payload=trial, environ=trial_environ(), seed=trial)
                    )
                if ended.kind != "returned" or ended.containment != "proved":
                    raise SystemExit(f"trial {trial} ended as {ended.reason}, {ended.containment}")
                lines.write(ended.raw + b"\n")
                tell(done=trial)

        await asyncio.gather(*(work(number) for number in range(slots)))


def complete_lines(journal: Path) -> list[str]:
    """The journal without a torn tail, which is cut."""
    data = journal.read_bytes() if journal.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        journal.write_bytes(whole)
    return whole.decode().splitlines()


# ---- the one that kills


class Killer:
    """Runs a runner to its end, however often something of it is killed."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._folder = folder
        self._options = options
        self._random = random.Random(options.seed)
        self.kills: dict[str, int] = dict.fromkeys(TARGETS, 0)
        self.starts = 0
        self.survivors: list[int] = []

    def to_the_end(self, kills: int) -> None:
        """Kill something after every few finished trials, as long as there are kills left."""
        pause = max(1, self._options.trials // (kills + 1))
        while True:
            self.starts += 1
            popen = self._start()
            with popen:
                assert popen.stdout is not None
                countdown = self._random.randint(1, 2 * pause - 1)
                for line in popen.stdout:
                    told = json.loads(line)
                    countdown -= "done" in told
                    if kills and countdown <= 0 and told["supervisors"]:
                        kills -= 1
                        countdown = self._random.randint(1, 2 * pause - 1)
                        if self._kill(popen, told):
                            break
            if popen.returncode == 0:
                return
            if popen.returncode != -signal.SIGKILL:
                raise SystemExit(f"the runner ended with {popen.returncode}")

    def _start(self) -> subprocess.Popen[str]:
        options = self._options
        arguments = ["--run", str(self._folder), "--trials", str(options.trials), "--slots", str(options.slots)]
        return subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)

    def _kill(self, popen: subprocess.Popen[str], told: dict[str, Any]) -> bool:
        """Kill a random part of the house. True when the runner was among it."""
        target = self._random.choice(TARGETS)
        self.kills[target] += 1
        pids = []
        if "runner" in target:
            pids.append(popen.pid)
        if "server" in target:
            pids.append(told["server"])
        if "supervisor" in target:
            pids += told["supervisors"] if target.endswith("s") else [self._random.choice(told["supervisors"])]
        watched = self._below(popen.pid if "runner" in target else None, pids)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.survivors += still_there(watched)
        return "runner" in target

    def _below(self, runner: int | None, pids: list[int]) -> dict[int, int]:
        """Descriptors of the processes that must go: all below a killed runner, else below what is killed."""
        found = {}
        for root in [runner] if runner is not None else pids:
            with contextlib.suppress(psutil.Error):
                for process in psutil.Process(root).children(recursive=True):
                    with contextlib.suppress(OSError):
                        found[process.pid] = os.pidfd_open(process.pid)
        return found


def still_there(watched: dict[int, int], seconds: float = 20.0) -> list[int]:
    """The pids that don't go."""
    left = []
    for pid, number in watched.items():
        poller = select.poll()
        poller.register(number, select.POLLIN)
        if not poller.poll(seconds * 1000):
            left.append(pid)
        os.close(number)
    return left


def results(folder: Path) -> list[dict[str, Any]]:
    """The journal's lines, by trial."""
    return sorted((json.loads(line) for line in complete_lines(folder / "journal.jsonl")), key=lambda one: one["trial"])


def soak(options: argparse.Namespace) -> int:
    """An uninterrupted run, then one with kills; 0 when they agree and nothing survived."""
    outcomes = []
    killers = []
    for kills in (0, options.kills):
        with tempfile.TemporaryDirectory(prefix="passhat-soak-") as name:
            folder = Path(name)
            (folder / "soak_suite.py").write_text(SUITE)
            killer = Killer(folder, options)
            killer.to_the_end(kills)
            outcomes.append(results(folder))
            killers.append(killer)
    whole, killed = outcomes
    found = {
        "trials": len(killed),
        "each once": [one["trial"] for one in killed] == list(range(options.trials)),
        "equal to the uninterrupted run": killed == whole,
        "nothing found of another trial": all(one["found"] == 0 for one in killed),
        "survivors": killers[1].survivors,
        "kills": killers[1].kills,
        "runner starts": killers[1].starts,
    }
    print(json.dumps(found, indent=2))
    good = found["each once"] and killed == whole and found["nothing found of another trial"]
    return 0 if good and not killers[1].survivors else 1


def main() -> None:
    """Parse, then soak or run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        asyncio.run(run(options.run, options.trials, options.slots))
        return
    raise SystemExit(soak(options))


if __name__ == "__main__":
    main()
