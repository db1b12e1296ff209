"""Names of files that aren't UTF-8: a trial that leaves one is graded, kept, shown and judged again like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status
from passhat.records import unpack_workspace, workspace_content
from passhat.running import Run, regrade
from passhat.suite import discover

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a file system whose names are bytes")

SUITE = """
    import os
    from passhat import Grade, Suite, Task
    from passhat.agents import Command

    def place(trial, name):
        return os.fsencode(str(trial.workspace)) + b"/" + name

    def prepare(trial):
        open(place(trial, b"of prepare \\xe9"), "w").close()

    def agent(trial):
        open(place(trial, b"caf\\xe9.txt"), "w").close()
        open(place(trial, b"caf\\\\xe9.txt"), "w").close()
        os.symlink(b"/nowhere\\xe9", place(trial, b"link\\xe9"))
        os.symlink(b"there\\xe9", place(trial, b"dangling\\xe9"))
        os.mkfifo(place(trial, b"fifo\\xff"))
        os.mkdir(place(trial, b"folder\\xe9"))
        open(place(trial, b"folder\\xe9/\\xe9"), "w").close()
        return "right"

    def tells(trial):
        return Grade(bool(trial.diff), " | ".join(sorted(trial.diff)))

    def is_there(trial):
        return os.path.exists(place(trial, b"caf\\xe9.txt"))

    suite = Suite("names", tasks=[Task("one")], agent=agent, graders=[tells, is_there], prepare=prepare)
"""
CHANGED = r"caf\\xe9.txt | caf\xe9.txt | dangling\xe9 | folder\xe9/\xe9"


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_a_name_that_is_not_utf_8_is_told_kept_and_judged_again(
    run_file: Callable[..., Run], isolation: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = run_file(SUITE, isolation=isolation)
    (record,) = run.trials()
    assert (record.status, record.passed, record.grades[0].reason) == (Status.COMPLETED, True, CHANGED)
    assert any(r"link\xe9, a link to /nowhere\xe9" in note for note in record.notes)
    assert any(r"fifo\xff" in note for note in record.notes)
    assert record.workspace is not None
    archive = run.path / "workspaces" / record.workspace
    names = sorted(file.name for file in workspace_content(archive).files if file.change)
    assert [name.partition(" -> ")[0] for name in names] == CHANGED.split(" | ")
    folder = tmp_path_factory.mktemp("unpacked")
    assert sorted(unpack_workspace(archive, folder) or {}) == CHANGED.split(" | ")
    ((suite, *_),) = discover(run.path.parent.parent.parent / "eval_here.py")
    found = regrade(run.path, suite)
    assert (found.judged, found.not_judged, found.flips) == (1, (), ())


@pytest.mark.parametrize("what", ["a passed variable", "the suite's folder"])
def test_what_no_trial_can_be_told_is_refused_in_words(tmp_path: Path, what: str) -> None:
    folder = tmp_path
    if what == "the suite's folder":
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9"))
        folder.mkdir()
    (folder / "eval_odd.py").write_text(
        "from passhat import Suite, Task\n"
        "tells = lambda trial: True\n"
        'suite = Suite("odd", tasks=[Task("one")], agent=lambda trial: 1, graders=[tells], pass_env=["ODD"])\n'
    )
    environ: dict[bytes, bytes] = {**os.environb, b"ODD": b"\xe9" if what == "a passed variable" else b"e"}
    command = [sys.executable, "-m", "passhat", "run", "."]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "isn't UTF-8" in done.stderr, "--isolation inline" in done.stderr) == (2, True, True), (
        done.stderr
    )
