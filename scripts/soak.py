"""Random kills of `passhat run`, with `passhat resume` until it is finished: nothing lost, doubled or left behind.

    python scripts/soak.py [--trials N] [--kills N] [--concurrency N] [--seed N]

A suite whose agents ask the model, leave files and start processes of their own is run once undisturbed. Then it is run
again, and the runner, its server or its supervisors get SIGKILL at random moments, while trials run and while a run
starts; a killed runner is followed by a resume. After each kill, every process that lived below must be gone. In the
end each trial must be recorded once, with the result that it had undisturbed. Exit code 0 when all that held, else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from passhat.records import RunReader, find_run

TARGETS = ("runner", "server", "supervisor", "supervisors", "runner and server", "runner and a supervisor", "start-up")
TASKS = 8
SUITE = f'''
import json, os, random, subprocess, tempfile, urllib.request
from pathlib import Path
from passhat import Suite, Task
from passhat.scripting import say

SEEN = []

def ask(trial):
    body = {{"model": "m", "messages": [{{"role": "user", "content": trial.input}}]}}
    headers = {{"authorization": f"Bearer {{trial.model.api_key}}", "content-type": "application/json"}}
    url = trial.model.openai["base_url"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]

def agent(trial):
    """Leaves processes and files behind, and tells whether it met any of another trial."""
    SEEN.append(trial.task_id)
    places = [Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
    met = len(SEEN) - 1 + sum(path.name != ".tmp" for place in places for path in place.iterdir())
    for place in [*places, trial.workspace]:
        (place / "left-behind").write_text(trial.task_id)
    for _ in range(trial.number % 3):
        subprocess.Popen(["sleep", "600"], env={{"PATH": os.environ["PATH"]}}, start_new_session=True)
    return {{"said": ask(trial), "met": met, "drawn": random.random()}}

def alone(trial):
    return trial.output["met"] == 0 and (trial.workspace / "left-behind").read_text() == trial.task.id

def lucky(trial):
    return round(trial.output["drawn"], 3)

lucky.threshold = 0.3

suite = Suite("soak", tasks=[Task(f"t{{i}}", input=f"question {{i}}") for i in range({TASKS})], agent=agent,
              graders=[alone, lucky], simulation=lambda request, rng: say(f"answer {{rng.random()}}"))
'''


class House:
    """One root of runs with its suite, and the `passhat` that works on it."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.root = folder / ".passhat"
        self._options = options
        (folder / "tmp").mkdir()
        (folder / "eval_soak.py").write_text(SUITE)

    def start(self) -> subprocess.Popen[bytes]:
        """Begin the run, or go on with it."""
        options = self._options
        words = ["--root", str(self.root), "--concurrency", str(options.concurrency), "-q", "--json"]
        if self.path is not None:
            words = ["resume", self.path.name, "eval_soak.py", *words]
            if any(record.status.value == "environment_error" for record in RunReader(self.path).trials()):
                words += ["--retry", "environment_error"]  # what was lost is never tried again unasked
        else:
            words = ["run", "eval_soak.py", "--trials", str(options.trials // TASKS), "--seed", "7", *words]
        environ = {**os.environ, "TMPDIR": str(self.folder / "tmp")}
        return subprocess.Popen(
            [sys.executable, "-m", "passhat", *words], cwd=self.folder, env=environ, stdout=subprocess.DEVNULL
        )

    @property
    def path(self) -> Path | None:
        """The run's directory, once there is one."""
        found = sorted((self.root / "runs").glob("*/run.json"))
        return found[0].parent if found else None

    @property
    def lines(self) -> int:
        """How many trials are recorded."""
        return 0 if self.path is None else (self.path / "trials.jsonl").read_bytes().count(b"\n")

    def results(self) -> list[tuple[Any, ...]]:
        """What must be equal in both runs, a row a trial; every line and every transcript is read."""
        reader = RunReader(find_run("last", self.root))
        rows = []
        for record in reader.trials():
            transcript = reader.transcript(record)
            calls = 0 if transcript is None else len(transcript.model_calls)
            output = json.dumps(record.output, sort_keys=True)
            rows.append(
                (
                    record.task,
                    record.trial,
                    record.status.value,
                    record.passed,
                    record.score,
                    output,
                    record.seed,
                    calls,
                )
            )
        if reader.problems:
            raise SystemExit(f"the run is damaged: {reader.problems}")
        return sorted(rows)


class Killer:
    """Brings a run to its end, however often something of it is killed."""

    def __init__(self, house: House, options: argparse.Namespace) -> None:
        self._house = house
        self._random = random.Random(options.seed)
        self._pause = max(1, options.trials * 4 // (options.kills * 5))  # so that the last kill finds trials running
        self._left = options.kills
        self._most = options.kills + 10  # each start but the last few must be owed to a kill
        self.kills = dict.fromkeys(TARGETS, 0)
        self.starts = 0
        self.watched = 0
        self.survivors: list[int] = []

    def to_the_end(self) -> None:
        """Kill after every few recorded trials, as long as there are kills left."""
        while self.starts < self._most:
            self.starts += 1
            popen = self._house.start()
            with popen:
                self._harass(popen)
            if popen.returncode == 0:
                return
            if popen.returncode not in (-signal.SIGKILL, 3):  # 3: trials were lost too often, and are missing
                raise SystemExit(f"passhat ended with {popen.returncode}")
        raise SystemExit(f"not finished after {self.starts} starts of passhat")

    def _harass(self, popen: subprocess.Popen[bytes]) -> None:
        """Kill parts of a runner until it is gone or nothing more is to be killed."""
        while self._left and popen.poll() is None:
            target = self._random.choice(TARGETS)
            if target == "start-up":
                self._wait_in_start(self._random.uniform(0.0, 2.0))
            elif not self._wait(popen, self._random.randint(1, 2 * self._pause - 1)):
                return
            time.sleep(self._random.uniform(0.0, 0.05))
            self._kill(popen, target)

    def _wait_in_start(self, seconds: float) -> None:
        """So long, but not into the trials: on a fast machine they would be over before all kills are done."""
        late, before = time.monotonic() + seconds, self._house.lines
        while time.monotonic() < late and self._house.lines == before:
            time.sleep(0.005)

    def _wait(self, popen: subprocess.Popen[bytes], trials: int) -> bool:
        """Until so many more trials are recorded; False when the runner ended before."""
        until = self._house.lines + trials
        while self._house.lines < until:
            if popen.poll() is not None:
                return False
            time.sleep(0.005)
        return True

    def _kill(self, popen: subprocess.Popen[bytes], target: str) -> None:
        server, supervisors = members(popen.pid)
        pids = [popen.pid] if "runner" in target or target == "start-up" else []
        if "server" in target:
            pids += server
        if "supervisor" in target and supervisors:
            pids += supervisors if target == "supervisors" else [self._random.choice(supervisors)]
        if not pids or popen.poll() is not None:
            return  # between two servers, or already over
        self._left -= 1
        self.kills[target] += 1
        with watching(pids) as below:
            self.watched += len(below)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.survivors += [pid for pid, descriptor in below.items() if not ends(descriptor)]
        if popen.pid in pids:
            popen.wait()


def members(runner: int) -> tuple[list[int], list[int]]:
    """The runner's server, and its supervisors."""
    servers, supervisors = [], []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(runner).children():
            if any("passhat.isolation._server" in word for word in process.cmdline()):
                servers.append(process.pid)
                supervisors += [child.pid for child in process.children()]
    return servers, supervisors


@contextlib.contextmanager
def watching(roots: list[int]) -> Iterator[dict[int, int]]:
    """Descriptors of all processes below ``roots``, and of those that aren't our own children."""
    found: dict[int, int] = {}
    for root in roots:
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(root).children(recursive=True):
                with contextlib.suppress(OSError):
                    if process.pid not in found:
                        found[process.pid] = os.pidfd_open(process.pid)
    try:
        yield found
    finally:
        for descriptor in found.values():
            os.close(descriptor)


def ends(descriptor: int, seconds: float = 20.0) -> bool:
    """Whether a process ends; the bound is for the program to end, not a promise."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def soak(options: argparse.Namespace) -> int:
    """An undisturbed run, then one with kills; 0 when they agree and nothing survived."""
    with tempfile.TemporaryDirectory(prefix="passhat-soak-") as name:
        calm, storm = Path(name, "calm"), Path(name, "storm")
        for folder in (calm, storm):
            folder.mkdir()
        whole = House(calm, options)
        if whole.start().wait() != 0:
            raise SystemExit("the undisturbed run failed")
        house = House(storm, options)
        killer = Killer(house, options)
        killer.to_the_end()
        expected, got = whole.results(), house.results()
        begun, left = len(list((house.root / "runs").iterdir())), [path.name for path in (storm / "tmp").iterdir()]
    found = {
        "trials": len(got),
        "each once": max(Counter(row[:2] for row in got).values()) == 1 and len(got) == len(expected),
        "equal to the undisturbed run": got == expected,
        "of them passed": sum(row[3] is True for row in got),
        "kills": killer.kills,
        "processes below what was killed": killer.watched,
        "survivors": killer.survivors,
        "starts of passhat": killer.starts,
        "run directories": begun,
        "left in the temporary directory": left,
    }
    print(json.dumps(found, indent=2))
    differing = [pair for pair in zip(expected, got, strict=False) if pair[0] != pair[1]]
    for pair in differing[:3]:
        print("expected {}\n     got {}".format(*pair), file=sys.stderr)
    return 0 if found["each once"] and got == expected and not killer.survivors and begun == 1 and not left else 1


def main() -> None:
    """Parse, then soak."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=400, help=f"a multiple of {TASKS}")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    raise SystemExit(soak(parser.parse_args()))


if __name__ == "__main__":
    main()
