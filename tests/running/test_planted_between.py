"""What an agent leaves beside the suite judges nothing when the run is resumed, and is named when it is regraded."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat.facts import Manifest, Status
from passhat.gateway import Gateway
from passhat.records import resume_refusal
from passhat.reporting import render_regraded
from passhat.reporting._conclusions import next_commands
from passhat.running import Entrance, ResumeRefused, Run, resume
from passhat.running._changed_code import changed_at, found_files
from passhat.suite import Suite, discover
from passhat.summary import summarize
from passhat.trial import led_to

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

LATE = """
    from pathlib import Path
    from passhat import Suite, Task

    RULES, LAX = Path(__file__).parent / "lazy_rules.py", "def holds(trial): return True\\n"

    def agent(trial):
        return "wrong"

    def planted(trial):  # when no agent is under way: what one does by itself is its own failure
        if RULES.read_text() != LAX:
            RULES.write_text(LAX)
        return True

    def judged(trial):
        import lazy_rules
        return lazy_rules.holds(trial)

    suite = Suite("late", tasks=[Task("a")], agent=agent, graders=[planted, judged], trials=2)
"""
RULES = {"lazy_rules.py": "def holds(trial): return trial.output == 'right'\n"}
EARLY = """
    from pathlib import Path
    from passhat import Suite, Task
    import early_rules
    try:
        from early_fast import same
    except ImportError:
        same = early_rules.same

    def agent(trial):
        {plant}
        return "wrong"

    def judged(trial):
        return same(trial.output, "right")

    suite = Suite("early", tasks=[Task("a")], agent=agent, graders=[judged])
"""
SAME = {"early_rules.py": "def same(a, b):\n    return a == b\n"}
PLANT = '(Path(__file__).parent / "early_fast.py").write_text("def same(a, b): return True\\n")'
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"


@pytest.fixture
def again(gateway: Gateway) -> Callable[..., Run]:
    """Resume a run with its suite as it is on disk now."""

    def go(run: Run, **options: Any) -> Run:
        return resume(run.path, suite_now(run, gateway), through=Entrance(gateway, dict(os.environ)), **options)

    return go


def suite_now(run: Run, gateway: Gateway) -> Suite:
    for name in ("early_rules", "early_fast", "lazy_rules"):
        sys.modules.pop(name, None)  # as in a command of its own
    with led_to(Entrance(gateway, dict(os.environ)).access):
        ((suite, *_),) = discover(run.path.parents[2] / "eval_here.py")
    return suite


def statuses(run: Run) -> list[tuple[Status, bool | None]]:
    return [(record.status, record.passed) for record in run.trials()]


@pytest.mark.parametrize("isolation", ["process", "spawn"])
def test_a_file_that_the_run_refused_is_refused_by_each_resume_until_it_is_forced(
    run_file: Callable[..., Run], again: Callable[..., Run], isolation: str
) -> None:
    run = run_file(LATE, beside=RULES, isolation=isolation)
    for _ in range(2):
        assert statuses(run) == [(Status.GRADER_ERROR, None)] * 2
        again(run)
    assert statuses(run) == [(Status.GRADER_ERROR, None)] * 2
    again(run, force=True)
    assert statuses(run) == [(Status.COMPLETED, True)] * 2


def test_the_report_sends_nobody_to_resume_with_a_file_that_was_refused(run_file: Callable[..., Run]) -> None:
    run = run_file(LATE, beside=RULES)
    file = str(run.path.parents[2] / "lazy_rules.py")
    report = summarize(run.manifest, run.trials())
    assert report.refused_files == (file,)
    commands = next_commands(report, run.run_id)
    assert not [command for command, _ in commands if command.startswith("passhat resume")]
    why = dict(commands)[f"passhat regrade {run.run_id}"]
    assert f"look at {file} first" in why
    (finding,) = [each for each in report.findings if each.rule == "refused-code"]
    assert file in finding.message


def test_a_regrade_names_what_changed_since_the_run_began_on_screen_and_in_its_record(
    run_file: Callable[..., Run], gateway: Gateway
) -> None:
    run = run_file(LATE, beside=RULES)
    found = passhat.regrade(run.path, suite_now(run, gateway))
    assert [flip.after for flip in found.flips] == [True, True]
    assert found.files_changed == ("lazy_rules.py",)
    assert re.fullmatch(TIME, found.changed_at["lazy_rules.py"])
    shown = " ".join(render_regraded(found).split())
    assert f"by you or by an agent: lazy_rules.py {found.changed_at['lazy_rules.py']}; look at what you" in shown
    report = summarize(run.manifest, run.reader.trials(grades=found.id), regrade=found.id)
    (finding,) = [each for each in report.findings if each.rule == "regraded-by-changed-code"]
    assert "judged 2 trials: lazy_rules.py (" in finding.message


def test_a_regrade_with_files_that_are_as_they_were_names_none(run_file: Callable[..., Run], gateway: Gateway) -> None:
    run = run_file(LATE.replace("if RULES", "if 0 and RULES"), beside=RULES)
    found = passhat.regrade(run.path, suite_now(run, gateway))
    assert (found.files_changed, found.changed_at) == ((), {})
    assert not [note for record in run.reader.trials(grades=found.id) for note in record.notes]


def test_a_module_that_an_agent_left_for_the_top_of_the_suite_forbids_to_resume(
    run_file: Callable[..., Run], again: Callable[..., Run]
) -> None:
    run = run_file(EARLY.format(plant=PLANT), beside=SAME)
    assert not [passed for _, passed in statuses(run) if passed]
    with pytest.raises(
        ResumeRefused, match=rf"file early_fast\.py is new to the run \(last written {TIME}\)"
    ) as caught:
        again(run)
    assert "by you and by no agent" in str(caught.value)
    assert again(run, force=True).manifest.state == "finished"


def test_a_module_that_was_changed_says_when_and_one_that_was_restored_is_no_reason(
    run_file: Callable[..., Run], again: Callable[..., Run]
) -> None:
    run = run_file(EARLY.format(plant="pass"), beside=SAME)
    rules = run.path.parents[2] / "early_rules.py"
    rules.write_text("def same(a, b):\n    return True\n")
    with pytest.raises(ResumeRefused, match=rf"file early_rules\.py changed \(last written {TIME}\)"):
        again(run)
    rules.write_text(SAME["early_rules.py"])
    assert again(run).manifest.state == "finished"


def test_a_package_that_was_there_under_another_name_is_new_to_the_run(
    run_file: Callable[..., Run], again: Callable[..., Run]
) -> None:
    run = run_file(
        EARLY.format(plant='(Path(__file__).parent / "other").rename(Path(__file__).parent / "early_fast")'),
        beside={**SAME, "other/__init__.py": "def same(a, b): return True\n"},
    )
    with pytest.raises(ResumeRefused, match=r"file early_fast/__init__\.py is new to the run"):
        again(run)


def test_a_run_that_went_to_another_place_is_resumed_there(
    run_file: Callable[..., Run], again: Callable[..., Run], tmp_path: Path
) -> None:
    run = run_file(EARLY.format(plant="pass"), beside=SAME)
    shutil.copytree(run.path.parents[2], tmp_path / "copy")
    copy = Run(tmp_path / "copy" / run.path.relative_to(run.path.parents[2]))
    assert again(copy).manifest.state == "finished"


@pytest.mark.parametrize(
    ("written", "reasons"),
    [
        ({}, ["file a.py changed"]),
        (
            {"a.py": "then", "b.py": "later"},
            ["file a.py changed (last written then)", "file b.py is new to the run (last written later)"],
        ),
    ],
)
def test_files_that_changed_are_told_with_their_time(written: Mapping[str, str], reasons: list[str]) -> None:
    old, new = (Manifest(run_id="r", suite="s", files={"a.py": value}) for value in ("1", "2"))
    assert resume_refusal(old, new, written=written) == reasons
    assert resume_refusal(old, new, written=written, forced=True) == []


def test_a_link_is_as_new_as_the_newer_of_itself_and_what_it_leads_to(tmp_path: Path) -> None:
    file, link = tmp_path / "file.py", tmp_path / "link.py"
    file.touch()
    link.symlink_to(file)
    while changed_at(link) == file.stat().st_ctime_ns:
        link.unlink()
        link.symlink_to(file)
    assert changed_at(link) == link.lstat().st_ctime_ns
    while file.stat().st_ctime_ns <= link.lstat().st_ctime_ns:
        file.touch()
    assert changed_at(link) == file.stat().st_ctime_ns
    assert changed_at(tmp_path / "none" / "gone.py") == changed_at(tmp_path)


def test_modules_are_found_by_their_names_where_nothing_is_installed(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for name in ("one.py", "package/__init__.py", "package/part.py"):
        (tmp_path / name).touch()
    found = found_files(["one", "package", "package.part", "gone"], [str(tmp_path / "nowhere"), str(tmp_path)])
    assert [Path(file).relative_to(tmp_path).as_posix() for file in found] == [
        "one.py",
        "package/__init__.py",
        "package/part.py",
    ]
