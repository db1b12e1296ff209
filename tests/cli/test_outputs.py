"""Reports are written to files as they were when the command began: an agent may put something else there."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from passhat.cli._outputs import Output, OutputError
from passhat.suite import SuiteFileError, TasksFileError, discover, load_tasks

Call = Callable[..., CompletedProcess[str]]

SWAPS = """
import os
from pathlib import Path
from passhat import Suite, Task
HERE = Path(__file__).parent.parent
def agent(trial):
    (manifest,) = HERE.glob(".passhat/runs/*/run.json")
    for path in (HERE / "j.xml", HERE / "h.html", manifest):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    return 1
suite = Suite("swaps", tasks=[Task("a")], agent=agent, graders=[lambda trial: True], script=["x"], hand_picked=True)
"""


def test_a_run_ends_whatever_its_agent_puts_where_reports_and_manifest_go(passhat: Call, folder: Path) -> None:
    (folder / "evals" / "eval_words.py").write_text(SWAPS)
    (folder / "j.xml").write_text("of an earlier run")
    done = passhat("run", "evals", "-q", "--trials", "1", "--junit", "j.xml", "--html", "h.html")
    assert done.returncode == 3, done.stderr  # run.json was changed
    for name, word in (("j.xml", "<testsuite"), ("h.html", "<html")):
        assert stat.S_ISREG(os.lstat(folder / name).st_mode)
        assert word in (folder / name).read_text()
    assert [path.name for path in folder.glob(".*.tmp")] == []


def test_what_the_user_names_is_written_to(tmp_path: Path) -> None:
    place = tmp_path / "pipe"
    os.mkfifo(place)
    output = Output.at(place)
    with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        output.write("for the reader")
        assert reader.read() == b"for the reader"
    assert stat.S_ISFIFO(os.lstat(place).st_mode)
    with pytest.raises(OutputError, match="nobody reads this FIFO"):
        output.write("for nobody")
    os.mkfifo(tmp_path / "other")
    os.replace(tmp_path / "other", place)
    output.write("for nobody")
    assert place.read_text() == "for nobody"


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/dev/stderr"])
def test_standard_output_is_no_file_to_be_replaced(passhat: Call, place: str) -> None:
    done = passhat("run", "evals", "-q", "--json", "--junit", place)
    assert "<testsuite" in (done.stderr if place.endswith("err") else done.stdout)


def test_a_device_stays_one(tmp_path: Path) -> None:
    Output.at(Path(os.devnull)).write("x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_file_is_replaced_whole_with_the_rights_that_it_had(tmp_path: Path) -> None:
    place, link = tmp_path / "report.html", tmp_path / "link.html"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    read = place.open()
    Output.at(link).write("new ü")
    assert link.is_symlink()
    assert place.read_bytes() == "new ü".encode()
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    with read:
        assert read.read() == "old"
    fresh = tmp_path / "deep" / "er" / "report.html"
    Output.at(fresh).write("x")
    was = os.umask(0)
    os.umask(was)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o666 & ~was


def test_a_link_that_an_agent_puts_there_leads_nowhere(tmp_path: Path) -> None:
    place, other = tmp_path / "report.html", tmp_path / "other"
    output = Output.at(place)
    other.write_text("mine")
    place.symlink_to(other)
    output.write("x")
    assert (place.is_symlink(), place.read_text(), other.read_text()) == (False, "x", "mine")


def test_a_file_in_a_folder_that_is_not_ours_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report.html"
    place.write_text("longer than the new one")
    output = Output.at(place)

    def busy(source: object, target: object) -> None:
        raise OSError(16, "Device or resource busy")  # as of a file that is mounted into a container

    monkeypatch.setattr(os, "replace", busy)
    output.write("new")
    assert place.read_text() == "new"
    assert list(tmp_path.iterdir()) == [place]


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="can't be written"):
            Output.at(place).write("x")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
def test_tasks_and_suites_that_are_fifos_are_refused(tmp_path: Path) -> None:
    for name in ("tasks.jsonl", "eval_x.py"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(TasksFileError, match="can't be read: is a FIFO, where a file should be"):
        load_tasks(tmp_path / "tasks.jsonl")
    with pytest.raises(SuiteFileError, match="can't be loaded"):
        discover(tmp_path)
