"""What trials read and one of them changes: seen also if put back, and no fair start for those that come after."""

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
TEMPLATE = """
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def agent(trial):
        (HERE / "start/r.txt").write_text("good" if trial.number < 2 else "bad")
        {then}
        return "done"

    def good(trial):
        return (trial.workspace / "r.txt").read_text() == "good"

    suite = Suite("start", tasks=[Task("a")], agent=agent, graders=[good], trials=3, template="start")
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


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_a_trial_whose_template_was_changed_has_no_fair_start(run_file: Callable[..., Run], isolation: str) -> None:
    run = run_file(
        TEMPLATE.format(then=""), isolation=isolation, beside={"start/r.txt": "bad"}, concurrency=1, retries=0
    )
    first, *later = run.trials()
    assert (first.passed, first.status) != (True, Status.COMPLETED)
    for record in later:
        assert record.status is Status.ENVIRONMENT_ERROR
        assert record.error is not None
        assert (record.error.kind, "start/r.txt" in record.error.message) == ("template", True)
        assert "Restore it" in record.error.message


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_an_agent_that_changes_its_own_template_and_catches_the_refusal_has_failed(
    run_file: Callable[..., Run], isolation: str
) -> None:
    then = "\n        ".join(["try:", "    trial.workspace", "except Exception:", "    pass"])
    run = run_file(TEMPLATE.format(then=then), isolation=isolation, beside={"start/r.txt": "bad"}, concurrency=1)
    first = next(iter(run.trials()))
    assert (first.passed, first.status) == (False, Status.AGENT_ERROR)
    assert first.error is not None
    assert "the template was changed while the run went on" in first.error.message


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
