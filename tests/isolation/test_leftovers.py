"""Only what is proved to be a dead runner's is ended and removed: a run in another namespace is left alone."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passhat.isolation import _leftovers, end_leftovers, home_environ, remove_tree
from passhat.isolation._leftovers import _short, make_scratch, remove_scratch, runner_marker
from passhat.running._process_place import TrialFolder

CODE = "import sys; from passhat.isolation._leftovers import *; print(runner_marker(), make_scratch(), flush=True); "
STAYS = [sys.executable, "-c", CODE + "sys.stdin.read()"]
ELSEWHERE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]


def other_namespaces() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*ELSEWHERE, "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not other_namespaces(), reason="this user can't make namespaces here")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for popen in started:
        popen.kill()
        popen.communicate()


Started = list["subprocess.Popen[str]"]


def start(started: Started, command: list[str], marker: str | None = None) -> subprocess.Popen[str]:
    environ = {**os.environ, **({} if marker is None else {"PASSHAT_RUN": marker})}
    started.append(subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environ))
    return started[-1]


def said(popen: subprocess.Popen[str]) -> tuple[str, Path]:
    assert popen.stdout is not None
    marker, scratch = popen.stdout.readline().split()
    return marker, Path(scratch)


@needs_namespaces
def test_a_run_in_another_pid_namespace_is_left_alone_while_it_lives(started: Started, folder: Path) -> None:
    runner = start(started, [*ELSEWHERE, *STAYS])
    marker, scratch = said(runner)
    caused = start(started, ["sleep", "9999"], marker)
    assert end_leftovers() == ()
    assert caused.poll() is None
    assert scratch.is_dir()
    runner.communicate()
    assert end_leftovers() == ()  # who it was can't be proved from here
    assert caused.poll() is None
    assert not scratch.exists()  # but that nobody holds its lock can


@needs_namespaces
def test_a_run_elsewhere_touches_nothing_of_a_run_here(started: Started) -> None:
    mine = Path(make_scratch())
    mine.chmod(0o300)
    (mine / "trial").mkdir()
    caused = start(started, ["sleep", "9999"], runner_marker())
    ends = "from passhat.isolation import end_leftovers; print(end_leftovers())"
    for way in (ELSEWHERE, [word for word in ELSEWHERE if word != "--mount-proc"], []):
        assert subprocess.check_output([*way, sys.executable, "-c", ends], text=True) == "()\n"
    assert caused.poll() is None
    assert (mine / "trial").is_dir()


def test_what_a_dead_runner_left_here_is_ended_and_removed(started: Started) -> None:
    runner = start(started, STAYS)
    marker, scratch = said(runner)
    scratch.chmod(0o300)
    caused = start(started, ["sleep", "9999"], marker)
    assert end_leftovers() == ()
    runner.communicate()
    assert end_leftovers() == (caused.pid,)
    assert caused.wait() == -signal.SIGKILL
    assert not scratch.exists()


@pytest.mark.parametrize("change", ["start", "boot", "namespace", "old form", "no pid", "a group"])
def test_a_marker_without_proof_ends_nothing(started: Started, folder: Path, change: str) -> None:
    runner = start(started, STAYS)
    marker, _ = said(runner)
    runner.communicate()
    pid, begun, where = marker.split(":")
    boot, _, space = where.partition(".")
    changed = {
        "start": f"{os.getpid()}:{runner_marker().split(':')[1]}:{where}",
        "boot": f"{pid}:{begun}:000000000000.{space}",
        "namespace": f"{pid}:{begun}:{boot}.1",
        "old form": f"{pid}:{begun}",
        "no pid": f"x:{begun}:{where}",
        "a group": f"0:{begun}:{where}",
    }[change]
    caused = start(started, ["sleep", "9999"], changed)
    assert end_leftovers() == ()
    assert caused.poll() is None


def test_a_scratch_directory_without_its_lock_is_left_alone_unless_it_is_empty(started: Started) -> None:
    runner = start(started, STAYS)
    _, scratch = said(runner)
    (scratch / ".lock").unlink()
    (scratch / "whose").touch()
    runner.communicate()
    end_leftovers()
    assert scratch.is_dir()
    (scratch / "whose").unlink()  # killed between its lock and itself
    end_leftovers()
    assert not scratch.exists()


@pytest.mark.parametrize("calls", range(7))
def test_a_scratch_directory_whose_removal_was_cut_short_is_removed_by_the_next_run(
    started: Started, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    runner = start(started, STAYS)
    _, scratch = said(runner)
    for name in ("a", "b"):
        (scratch / name).mkdir()
        (scratch / name / "file").touch()
    runner.communicate()
    done = iter(range(calls))

    def cut(call: Callable[..., None]) -> Callable[..., None]:
        def instead(*words: Any, **more: Any) -> None:
            if next(done, None) is None:
                raise KeyboardInterrupt  # as if it were killed here
            call(*words, **more)

        return instead

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        for name in ("unlink", "rmdir"):
            patched.setattr(os, name, cut(getattr(os, name)))
        end_leftovers()
    end_leftovers()
    assert not scratch.exists()


def test_what_took_the_place_of_a_scratch_directory_is_removed_and_not_what_it_leads_to(folder: Path) -> None:
    scratch, outside = Path(make_scratch()), folder / "outside"
    outside.mkdir(mode=0o500)
    shutil.rmtree(scratch)
    scratch.symlink_to(outside)
    remove_scratch(scratch)
    assert not scratch.is_symlink()
    assert outside.stat().st_mode & 0o777 == 0o500


def test_what_can_not_be_removed_keeps_its_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = Path(make_scratch())
    for name in ("stays", "goes"):
        (scratch / name).mkdir()
    scratch.chmod(0o300)

    def remove(path: str) -> None:
        if path.endswith("stays"):
            raise OSError(errno.EBUSY, "mounted")
        remove_tree(path)

    with monkeypatch.context() as patched:
        patched.setattr(_leftovers, "remove_tree", remove)
        with pytest.raises(OSError, match="mounted"):
            remove_scratch(scratch)
    assert sorted(path.name for path in scratch.iterdir()) == [".lock", "stays"]
    remove_scratch(scratch)
    assert not scratch.exists()


def test_locks_of_removed_directories_are_let_go(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        shutil.rmtree(make_scratch())
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_a_scratch_that_could_not_be_made_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*words: object, **more: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    assert tempfile.gettempdir() == str(folder)
    before = set(os.listdir("/proc/self/fd"))
    for name in ("open", "rename"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, refuses)
            with pytest.raises(OSError, match="Too many open files"):
                make_scratch()
        assert list(folder.iterdir()) == []
    assert set(os.listdir("/proc/self/fd")) <= before


def test_one_that_was_being_made_when_its_runner_was_killed_is_removed(folder: Path, started: Started) -> None:
    marker, _ = said(popen := start(started, STAYS))
    dying, living = (folder / f".passhat-new-{_short(whose)}-0" for whose in (marker, runner_marker()))
    for place in (dying, living):
        place.mkdir()
    end_leftovers()
    assert dying.exists()
    popen.kill()
    popen.wait()
    end_leftovers()
    assert [place.exists() for place in (dying, living)] == [False, True]


def test_what_others_put_beside_scratch_directories_is_left_alone(folder: Path) -> None:
    names = [
        "passhat-",
        "passhat-bench-1",
        "passhat-a.b.c",
        "passhat-é.1.2.3-0",
        ".passhat-new-",
        "passhat-1.1.000000.1-0",
    ]
    for name in names:
        (folder / name).mkdir()
    assert end_leftovers() == ()
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_sockets_fit_below_the_directory_for_temporary_files_of_a_trial(folder: Path) -> None:
    """Chromium's needs 45 bytes there, of the 107 that a socket's path may have."""
    longest = "2hwcf.kf12oi.012345.1ulajuk"  # of the largest pid, after years
    assert _short("4194303:1234567890:0123456789ab.4026531836") == longest
    place = Path(make_scratch()).name.replace(_short(runner_marker()), longest)
    made = TrialFolder(Path(make_scratch()))
    below = home_environ(Path("/tmp", place, made.path.name, "home"))["TMPDIR"]
    made.clear()
    assert len(below) <= 107 - 45
