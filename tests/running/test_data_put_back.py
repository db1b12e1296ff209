"""What trials read and one of them changes: seen also if it was put back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status
from passhat.running import Run
from passhat.running._data_files import DataFiles
from passhat.suite import Suite
from passhat.summary import summarize

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

PUTS_BACK = """
    import os
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def agent(trial):
        if trial.number == 0:
            (HERE / "{file}").write_text("wrong")
        if trial.number == 2:
            (HERE / "{file}").write_text("right")
        return "wrong"

    def same(trial):
        return trial.output == (HERE / "{file}").read_text()

    suite = Suite("back", tasks=[Task("a")], agent=agent, graders=[same], trials=3, data=["{data}"])
"""


@pytest.mark.parametrize(
    ("file", "data", "named"),
    [("answers.txt", "answers.txt", "answers.txt"), ("fixtures/a.txt", "fixtures", "fixtures: a.txt")],
)
@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_a_change_of_the_data_that_is_put_back_is_seen_and_the_run_is_never_green(
    run_file: Callable[..., Run], isolation: str, file: str, data: str, named: str
) -> None:
    text = PUTS_BACK.format(file=file, data=data)
    run = run_file(text, isolation=isolation, beside={file: "right"}, concurrency=1)
    assert run.manifest.data_changed == (f"{named}, put back by the end",)
    report = summarize(run.manifest, run.trials())
    (message,) = [finding.message for finding in report.findings if finding.rule == "data-changed"]
    assert named in message
    assert "--confine" in message
    assert (report.exit_code, report.exit_reason) == (
        3,
        "incomplete: what its trials read was changed while it went on",
    )


def tick(folder: Path) -> None:
    """Let the file system's clock go on."""
    probe = folder.parent / f"{folder.name}.probe"
    probe.touch()
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        probe.touch()


def files_of(folder: Path, *data: str) -> DataFiles:
    suite = Suite("s", tasks=[{"id": "a"}], agent="agents:any", graders=[], data=list(data))
    object.__setattr__(suite, "file", folder / "eval_s.py")
    return DataFiles(suite)


def test_what_a_link_to_a_folder_leads_to_is_part_of_the_data(tmp_path: Path) -> None:
    for name in ("fx", "v1", "v2"):
        (tmp_path / name).mkdir()
    (tmp_path / "v1/ans").write_text("1")
    (tmp_path / "v2/ans").write_text("1")
    (tmp_path / "fx/current").symlink_to("../v1")
    data = files_of(tmp_path, "fx")
    before = data.hashes()
    tick(tmp_path)
    assert data.changed_since(before) == ()
    (tmp_path / "v1/ans").write_text("2")
    assert data.changed_since(before) == ("fx: current/ans",)
    before = data.hashes()
    tick(tmp_path)
    (tmp_path / "fx/new").symlink_to("../v2")
    (tmp_path / "fx/new").rename(tmp_path / "fx/current")
    (tmp_path / "v2/ans").write_text("2")
    assert "current" in data.changed_since(before)[0]
    assert "put back" not in data.changed_since(before)[0]


def test_links_that_lead_round_in_a_circle_or_to_the_root_are_gone_through_once(tmp_path: Path) -> None:
    (tmp_path / "fx/deep").mkdir(parents=True)
    (tmp_path / "fx/deep/up").symlink_to("..")
    (tmp_path / "fx/deep/all").symlink_to("/")
    (tmp_path / "fx/deep/self").symlink_to(".")
    (tmp_path / "fx/deep/gone").symlink_to("nowhere")
    (tmp_path / "fx/deep/loop").symlink_to("loop")
    data = files_of(tmp_path, "fx")
    before = data.hashes()
    tick(tmp_path)
    assert data.changed_since(before) == ()
    (tmp_path / "fx/deep/up").unlink()
    assert data.changed_since(before) == ("fx: deep, deep/self",)


def test_a_file_that_is_moved_away_and_back_was_changed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    data = files_of(tmp_path, "a.txt")
    before = data.hashes()
    tick(tmp_path)
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    (tmp_path / "b.txt").rename(tmp_path / "a.txt")
    assert data.changed_since(before) == ("a.txt, put back by the end",)


SWAPS = """
    import os
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def swap():
        os.rename(HERE / "fx", HERE / "kept")
        os.rename(HERE / "other", HERE / "fx")

    def put_back():
        os.rename(HERE / "fx", HERE / "other")
        os.rename(HERE / "kept", HERE / "fx")

    DO = {{"before": lambda: None, "swaps": swap, "after": lambda: None, "restores": put_back, "fine": lambda: None}}

    def agent(trial):
        DO[trial.task_id]()
        return "wrong"

    def same(trial):
        return trial.output == (HERE / "fx/cases/answer.txt").read_text()

    def differs(trial):
        return trial.output != "right"

    suite = Suite("swaps", tasks=[Task(name) for name in DO], agent=agent, graders=[{graders}], data=["{data}"])
"""
BESIDE = {"fx/cases/answer.txt": "right", "other/cases/answer.txt": "wrong"}


@pytest.mark.parametrize("data", ["fx/cases", "fx/cases/answer.txt"])
@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_no_grade_is_believed_that_rests_on_data_put_in_the_place_of_the_run_s_by_a_folder_above_it(
    run_file: Callable[..., Run], isolation: str, data: str
) -> None:
    text = SWAPS.format(graders="same", data=data)
    run = run_file(text, isolation=isolation, beside=BESIDE, concurrency=1, order="task")
    found = {record.task: record for record in run.trials()}
    its_own = (Status.AGENT_ERROR, False) if isolation == "process" else (Status.GRADER_ERROR, None)
    assert {task: (record.status, record.passed) for task, record in found.items()} == {
        "before": (Status.COMPLETED, False),
        "swaps": its_own,
        "after": (Status.GRADER_ERROR, None),
        "restores": (Status.COMPLETED, False),
        "fine": (Status.COMPLETED, False),
    }
    (grade,) = found["after"].grades
    assert grade.error is not None
    assert grade.error.startswith(f"MovedData: {data} isn't the folder that was there when the run began")
    assert run.manifest.data_changed == (f"{data}: other data in its place, put back by the end",)
    assert summarize(run.manifest, run.trials()).exit_code == 3


def test_but_that_a_trial_failed_is_believed(run_file: Callable[..., Run]) -> None:
    text = SWAPS.format(graders="same, lambda trial: False", data="fx/cases")
    run = run_file(text, beside=BESIDE, concurrency=1, order="task")
    assert {(record.status, record.passed) for record in run.trials()} == {(Status.COMPLETED, False)}


def test_a_folder_is_known_by_what_it_is_and_not_by_when_it_or_what_is_above_it_changed(tmp_path: Path) -> None:
    for name in ("up/fx/deep", "up/other", "store/v1", "spare/v1"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "store/v1/a.txt").touch()
    (tmp_path / "up/fx/to_folder").symlink_to("../../store/v1")
    (tmp_path / "up/fx/to_file").symlink_to("../../store/v1/a.txt")
    (tmp_path / "up/fx/to_nothing").symlink_to("nowhere")
    data = files_of(tmp_path, "up/fx")
    assert data.moved() == ()  # nothing is known yet
    data.hashes()
    (tmp_path / "up/new").touch()
    (tmp_path / "up").chmod(0o700)
    (tmp_path / "up/other").rename(tmp_path / "up/another")
    (tmp_path / "up").rename(tmp_path / "away")
    (tmp_path / "away").rename(tmp_path / "up")
    assert data.moved() == ()
    for folder in ("up", "store"):
        (tmp_path / folder).rename(tmp_path / "away")
        assert data.moved() == ("up/fx",)
        (tmp_path / "away").rename(tmp_path / folder)
        assert data.moved() == ()
    (tmp_path / "store").rename(tmp_path / "away")
    (tmp_path / "spare").rename(tmp_path / "store")
    assert data.moved() == ("up/fx",)
