"""Which packages are kept warm, what falls back to fresh interpreters, and the snapshot of the user's code."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.isolation import (
    ForkServer,
    ImportFailed,
    IsolationError,
    Job,
    ServerSpec,
    _fork_server,
    _isolated,
    trial_environ,
)
from passhat.isolation._fork_server import ServerProcess

pytestmark = pytest.mark.asyncio


class Project:
    """A user's folder beside a folder of installed packages."""

    def __init__(self, root: Path, build: Callable[..., ServerSpec]) -> None:
        self.user = root / "user"
        self.installed = root / "site-packages"
        self.user.mkdir()
        self.installed.mkdir()
        self._build = build

    def package(self, name: str, text: str) -> None:
        """An installed module."""
        (self.installed / f"{name}.py").write_text(text)

    def module(self, name: str, text: str) -> Path:
        """A module of the user's own."""
        path = self.user / f"{name}.py"
        path.write_text(text)
        return path

    def spec(self, **changes: Any) -> ServerSpec:
        """A server for the module ``suite``."""
        path = [str(self.installed), str(self.user), *sys.path]
        return self._build(entry_file=self.user / "suite.py", sys_path=path, **changes)


@pytest.fixture
def project(tmp_path: Path, spec: Callable[..., ServerSpec]) -> Project:
    return Project(tmp_path, spec)


def job(entry: str, payload: Any = None) -> Job:
    return Job(entry=entry, payload=payload, environ=trial_environ())


async def warm(server: ForkServer, names: list[str]) -> dict[str, bool]:
    """Which modules a job finds imported already."""
    slot = await server.slot()
    ended = await slot.run(job("isolation_state:imported", names))
    assert ended.kind == "returned", ended.reason
    result: dict[str, bool] = ended.result
    return result


async def test_installed_packages_are_warm_and_the_users_modules_are_not(project: Project) -> None:
    project.package("parcel", "import csv\n")
    project.module("helper", "VALUE = 1\n")
    project.module("suite", "import parcel, helper, numpy\n")
    async with ForkServer(project.spec()) as server:
        assert (server.report.mode, server.report.left_out) == ("process", {})
        assert {Path(path).name for path in server.report.files} == {"suite.py", "helper.py"}
        found = await warm(server, ["parcel", "csv", "numpy.linalg", "helper", "suite"])
    assert found == {"parcel": True, "csv": True, "numpy.linalg": True, "helper": False, "suite": False}


HAZARDS = {
    "thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9999,), daemon=True).start()\n",
        "thread",
    ),
    "socket": ("import socket\nS = socket.socket()\n", "socket"),
    "file": ("import tempfile\nF = open(tempfile.mkstemp()[1], 'w')\n", "open for writing"),
    "device": ("F = open('/dev/zero', 'rb')\nG = open('/dev/ptmx', 'rb', buffering=0)\n", "/dev/pt"),
    "child": ("import subprocess\nP = subprocess.Popen(['sleep', '9999'])\n", "child process"),
    "key": ("import os\nKEY = os.environ['SERVICE_KEY']\n", "SERVICE_KEY"),
    "keys": ("import os\nCONFIG = {'key': os.environ['SERVICE_KEY']}\n", "SERVICE_KEY"),
    "users": ("import helper\n", "user's module helper"),
    "maybe": ("try:\n    import helper\nexcept ImportError:\n    helper = None\n", "user's module helper"),
}


@pytest.mark.parametrize("hazard", HAZARDS)
async def test_a_package_that_is_unfit_for_forking_is_imported_anew_in_each_job(project: Project, hazard: str) -> None:
    text, reason = HAZARDS[hazard]
    project.package("harmless", "")
    project.package("unfit", text)
    project.package("importer", "import unfit\n")
    project.module("helper", "VALUE = 1\n")
    project.module("suite", "import helper, harmless, importer\n")
    async with ForkServer(project.spec(sentinels=("SERVICE_KEY",))) as server:
        assert server.report.mode == "process", server.report
        left_out = server.report.left_out
        assert left_out.keys() == {"unfit", "importer"}
        assert reason in left_out["unfit"]
        found = await warm(server, ["harmless", "unfit", "importer"])
    assert found == {"harmless": True, "unfit": False, "importer": False}


async def test_a_suite_of_harmless_packages_takes_one_interpreter(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    started = subprocess.Popen

    def counted(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        commands.append(command)
        return started(command, **more)

    monkeypatch.setattr(subprocess, "Popen", counted)
    counter = project.user / "imported"
    text = f"with open({str(counter)!r}, 'a') as file: file.write('x')\n"
    project.package("parcel", text)
    project.package("letter", text)
    project.module("helper", "import parcel\nVALUE = 1\n")
    project.module("suite", "import helper\nimport letter\n")
    async with ForkServer(project.spec()) as server:
        assert (server.report.mode, server.report.left_out, len(commands)) == ("process", {}, 1)
        assert await warm(server, ["parcel", "letter", "helper"]) == {"parcel": True, "letter": True, "helper": False}
    assert counter.read_text() == "xxx", "parcel is certain; letter had to be learned"


async def test_a_module_that_stands_before_an_installed_one_only_later_is_the_one_that_jobs_get(
    project: Project,
) -> None:
    project.package("parcel", "VALUE = 'installed'\n")
    vendor = project.user / "vendor"
    vendor.mkdir()
    (vendor / "parcel.py").write_text("VALUE = 'own'\n")
    suite = project.module(
        "suite", f"import sys\nsys.path.insert(0, {str(vendor)!r})\nimport parcel, helper\nVALUES = [parcel.VALUE]\n"
    )
    project.module("helper", "SEEN = []\n")
    async with ForkServer(project.spec()) as server:
        assert await warm(server, ["parcel"]) == {"parcel": False}
        ended = await (await server.slot()).run(job("isolation_state:values", str(suite)))
    assert ended.result["values"] == ["own"], ended.reason


async def test_a_client_that_is_made_by_the_users_code_is_no_hazard_of_a_package(project: Project) -> None:
    project.package("client", "class Client:\n    def __init__(self, key): self.key = key\n")
    project.module("suite", "import os, client\nCLIENT = client.Client(os.environ['SERVICE_KEY'])\n")
    async with ForkServer(project.spec(sentinels=("SERVICE_KEY",))) as server:
        assert (server.report.mode, server.report.left_out) == ("process", {})
        assert await warm(server, ["client"]) == {"client": True}


async def test_an_import_that_hangs_in_a_fork_makes_the_run_spawn_and_says_why(project: Project) -> None:
    project.module("suite", "import os, sys, time\nif 'passhat.isolation._server' in sys.modules: time.sleep(9999)\n")
    async with ForkServer(project.spec(rehearsal_seconds=0.3)) as server:
        assert server.report.mode == "spawn"
        assert "in a fork of the warm server failed (timeout" in server.report.reason
        ended = await (await server.slot()).run(job("isolation_entries:about"))
        assert (ended.kind, ended.containment, ended.result["seen"]) == ("returned", "proved", 1)
    with pytest.raises(IsolationError, match="use mode='auto' or 'spawn'"):
        await ForkServer(project.spec(rehearsal_seconds=0.3, mode="fork")).start()


async def test_code_that_can_not_be_imported_is_told_with_its_error(project: Project) -> None:
    project.module("suite", "import not_installed_anywhere\n")
    with pytest.raises(ImportFailed, match="not_installed_anywhere") as caught:
        await ForkServer(project.spec()).start()
    assert caught.value.error is not None
    assert caught.value.error.type == "ModuleNotFoundError"
    assert "suite.py" in caught.value.error.traceback


async def test_code_that_hangs_at_import_is_told(project: Project) -> None:
    project.module("suite", "while True: pass\n")
    with pytest.raises(ImportFailed, match="timeout") as caught:
        await ForkServer(project.spec(import_seconds=1.0)).start()
    assert caught.value.ended.containment == "proved"


async def test_the_import_sees_a_stand_in_for_each_key(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", "the host's key")
    project.module("suite", "import os\nassert os.environ['SERVICE_KEY'].startswith('passhat-sentinel-')\n")
    async with ForkServer(project.spec(sentinels=("SERVICE_KEY",))) as server:
        assert server.report.mode == "spawn" or server.report.mode == "process"


async def test_variables_that_a_warm_import_set_reach_the_job_unless_it_names_them(project: Project) -> None:
    project.package("setter", "import os\nos.environ['SET_BY_IMPORT'] = '1'\nos.environ['NAMED'] = 'import'\n")
    project.module("suite", "import setter\n")
    async with ForkServer(project.spec()) as server:
        slot = await server.slot()
        environ = {**trial_environ(), "NAMED": "job"}
        seen = (await slot.run(Job(entry="isolation_entries:about", environ=environ))).result["environ"]
    assert (seen["SET_BY_IMPORT"], seen["NAMED"]) == ("1", "job")


@pytest.mark.parametrize("mode", ["fork", "spawn"])
async def test_what_runs_is_the_code_as_it_was_at_the_start(project: Project, mode: str) -> None:
    helper = project.module("helper", "VALUE = 'original'\nSEEN = []\n")
    package = project.user / "tools"
    package.mkdir()
    (package / "__init__.py").write_text("from tools import inner\n")
    (package / "inner.py").write_text("VALUE = 'original'\n")
    suite = project.module("suite", "import helper, tools\nVALUES = [helper.VALUE, tools.inner.VALUE, 'original']\n")
    async with ForkServer(project.spec(mode=mode)) as server:
        slot = await server.slot()
        first = await slot.run(job("isolation_state:values", str(suite)))
        helper.write_text("VALUE = 'forged'\nSEEN = []\n")
        (package / "inner.py").unlink()
        suite.write_text("VALUES = ['forged']\n")
        (project.user / "helper").mkdir()
        (project.user / "helper" / "__init__.py").write_text("VALUE = 'forged'\n")
        second = await slot.run(job("isolation_state:values", str(suite)))
        assert second.from_disk == ("isolation_state",)
    expected = {"values": ["original"] * 3, "seen": 1}
    assert (first.result, second.result) == (expected, expected), (first.reason, second.reason)


async def test_user_modules_imported_later_from_disk_are_named(project: Project) -> None:
    project.module("suite", "")
    project.module("late", "VALUE = 1\n")
    async with ForkServer(project.spec()) as server:
        slot = await server.slot()
        ended = await slot.run(job("isolation_state:import_late", str(project.user)))
    assert ended.from_disk == ("isolation_state", "late")


async def test_a_stopped_server_is_continued_when_it_is_needed_and_ends_by_itself(
    spec: Callable[..., ServerSpec],
) -> None:
    async with ForkServer(spec()) as server:
        process = server._process
        assert isinstance(process, ServerProcess)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        slots = [await server.slot() for _ in range(2)]  # the first one is there already
        os.kill(server.pid, signal.SIGSTOP)
        assert await process.settle()
        assert (await slots[1].run(job("isolation_entries:echo", 1))).result == 1
        os.kill(server.pid, signal.SIGSTOP)
    assert process._popen is not None
    assert process._popen.returncode == 0


async def test_a_server_that_is_stopped_while_it_starts_is_continued(
    spec: Callable[..., ServerSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fork_server, "_AGAIN", 0.05)
    server = ForkServer(spec(mode="fork"))
    starting = asyncio.create_task(server.start())
    while server._start is None or server._start._process is None or server._start._process.pid is None:
        await asyncio.sleep(0)
    first = server._start._process.pid
    os.kill(first, signal.SIGSTOP)
    try:
        assert (await starting).mode == "process"
        assert server.pid == first  # no other one had to be started
    finally:
        await server.close()


async def test_two_servers_live_side_by_side(spec: Callable[..., ServerSpec]) -> None:
    async with ForkServer(spec()) as one, ForkServer(spec()) as two:
        assert one.pid != two.pid
        first = await (await one.slot()).run(job("isolation_entries:echo", 1))
        second = await (await two.slot()).run(job("isolation_entries:echo", 2))
    assert (first.result, second.result) == (1, 2)


async def test_a_server_that_was_killed_is_started_again_at_the_next_slot(spec: Callable[..., ServerSpec]) -> None:
    async with ForkServer(spec()) as server:
        for number in range(2):
            before = server.pid
            assert before is not None
            os.kill(before, signal.SIGKILL)
            slots = [await server.slot() for _ in range(2)]  # the first may be one that is just going
            assert (await slots[1].run(job("isolation_entries:echo", number))).result == number
            assert server.pid != before


async def test_a_server_that_dies_again_and_again_ends_the_run(
    spec: Callable[..., ServerSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_isolated, "_RESTARTS", 0)
    async with ForkServer(spec()) as server:
        await server.slot()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(IsolationError, match="died again after 0 restarts"):
            await server.slot()
