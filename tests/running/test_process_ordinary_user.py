"""`passhat run` as a user without any privilege keeps the same promises. As root, another user is taken for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.running.another_user import NOBODY, interpreter

import passhat
from passhat.isolation import capabilities
from passhat.records import RunReader, find_run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the proof needs Linux")

KEY = "sk-host-0123456789abcdef"
SUITE = """
    import os, signal, subprocess, time
    from pathlib import Path
    from passhat import Limits, Suite, Task

    def flees(trial):
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={})
        (trial.workspace / "pids").write_text(f"{os.getpid()} {child.pid}")
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            pass

    def behaves(trial):
        return {"uid": os.getuid(), "environ": dict(os.environ), "inherited": Path("/proc/self/environ").read_text()}

    def multiplies(trial):
        while True:
            subprocess.Popen(["sleep", "1000"], start_new_session=True)

    def agent(trial):
        return globals()[trial.task_id](trial)

    def tree_is_gone(trial):
        pids = trial.workspace / "pids"
        return not pids.exists() or not any(Path("/proc", pid).exists() for pid in pids.read_text().split())

    suite = Suite("user", tasks=[Task(name) for name in ("flees", "behaves", "multiplies")], agent=agent,
                  graders=[tree_is_gone], limits=Limits(seconds=2, processes=20), confine=CONFINE, concurrency=2)
"""


@pytest.fixture(scope="module")
def run() -> Iterator[tuple[subprocess.CompletedProcess[str], RunReader]]:
    """A run of the command line by that user, on a host that has keys."""
    folder = Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp", f"passhat-user-{os.getpid()}")
    folder.mkdir(mode=0o777)
    changes: dict[str, Any] = {}
    try:
        text = textwrap.dedent(SUITE).replace("CONFINE", str(capabilities().guard))
        (folder / "eval_user.py").write_text(text)
        if os.geteuid() == 0:
            changes = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            for path in (folder, folder / "eval_user.py"):
                os.chown(path, NOBODY, NOBODY)
        paths = [str(Path(passhat.__file__).parents[1]), sysconfig.get_path("purelib")]
        environ = {
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DB_PASSWORD"), KEY),
            **{"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)},
            **{"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(paths)},
        }
        done = subprocess.run(
            [interpreter(), "-m", "passhat", "run", "eval_user.py", "--json", "-q"],
            **{"cwd": folder, "env": environ, "capture_output": True, "text": True, "timeout": 110, **changes},
        )
        assert (folder / ".passhat").exists(), done.stderr
        yield done, RunReader(find_run("last", folder / ".passhat"))
    finally:
        shutil.rmtree(folder)


def test_agents_that_hang_flee_and_multiply_are_ended_and_proved_gone(
    run: tuple[subprocess.CompletedProcess[str], RunReader],
) -> None:
    done, reader = run
    assert done.returncode == 0, done.stderr
    records = {record.task: record for record in reader.trials()}
    ends = {task: (record.status.value, record.passed, record.grades[0].passed) for task, record in records.items()}
    assert ends == {
        "flees": ("timeout", False, True),
        "behaves": ("completed", True, True),
        "multiplies": ("limit", False, True),
    }
    manifest = reader.manifest
    assert (manifest.isolation, manifest.containment) == ("process", "proved"), manifest.isolation_notes
    assert manifest.guard == ("confine" if capabilities().guard else "none")


def test_the_hosts_keys_are_nowhere_in_the_agents_environment(
    run: tuple[subprocess.CompletedProcess[str], RunReader],
) -> None:
    _, reader = run
    (output,) = [record.output for record in reader.trials() if record.task == "behaves"]
    assert output["uid"] == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert output["environ"]["OPENAI_API_KEY"] != KEY
    assert KEY not in json.dumps(output)
