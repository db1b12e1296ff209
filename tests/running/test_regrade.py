"""Recorded trials judged again: by changed graders, without the agent, beside the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import passhat
from passhat import Grade, Limits, Status, Suite, Task, Trial
from passhat.facts import TrialRecord
from passhat.graders import grader
from passhat.records import RunReader
from passhat.reporting import render_regraded
from passhat.running import Flip, GradeChange, NotJudged, Regraded, RegradeInterrupted, Run, RunError
from passhat.suite import discover

RunHere = Callable[..., Run]
TASKS = [Task("a", input=1, expected=1), Task("b", input=2, expected=3)]


def agent(trial: Trial) -> int:
    (trial.workspace / "n.txt").write_text(str(trial.input))
    trial.record("n", trial.input)
    return int(trial.input)


def right(trial: Any) -> Grade:
    return Grade(trial.output == trial.task.expected, f"{trial.output}, expected {trial.task.expected}")


def kept(trial: Any) -> bool:
    return bool((trial.workspace / "n.txt").exists())


def suite_of(**parts: Any) -> Suite:
    return Suite("s", **{"tasks": TASKS, "agent": agent, "graders": [right, kept], "trials": 2, "seed": 1, **parts})


def dead(trial: Trial) -> None:
    raise AssertionError("the agent ran")


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name != ".lock"}


def test_changed_graders_flip_verdicts_beside_the_run_and_no_agent_runs(run_here: RunHere) -> None:
    run = run_here(suite_of())
    before = files(run.path)

    @grader(name="right", version="2")
    def lenient(trial: Any) -> Grade:
        return Grade(trial.output <= trial.task.expected, "at most")

    found = passhat.regrade(run.path, suite_of(agent=dead, graders=[lenient, kept]))
    assert (found.judged, found.unreached, found.not_judged, found.whole) == (4, 0, (), True)
    assert found.graders == {"right": "changed", "kept": "same"}
    change = GradeChange("right", False, True, "2, expected 3", "at most")
    assert found.flips == tuple(Flip("b", trial, "", False, True, (change,)) for trial in range(2))
    assert [(row.task, row.pass_now, row.fail_now, row.without_now) for row in found.by_task] == [("b", 2, 0, 0)]
    (rates,) = found.rates
    assert rates.before is not None
    assert rates.after is not None
    assert (rates.before.estimate, rates.after.estimate) == (0.5, 1.0)
    assert files(run.path) == before
    assert [record.passed for record in run.trials()] == [True, False, True, False]
    assert [record.passed for record in run.reader.trials(grades=found.id)] == [True] * 4
    assert found.path == run.path / "regrades" / f"{found.id}.jsonl"


def test_the_same_graders_give_the_same_grades_to_the_byte_apart_from_times(run_here: RunHere) -> None:
    run = run_here(suite_of(trials=8), concurrency=3)
    texts = []
    for _ in range(2):
        found = passhat.regrade(run.path, suite_of(trials=8), concurrency=3)
        assert (found.flips, found.scores_changed) == ((), 0)
        lines = [json.loads(line) for line in found.path.read_text().splitlines()[1:]]
        for line in lines:
            for grade in line["grades"]:
                del grade["seconds"]
        texts.append(json.dumps(lines))
    assert texts[0] == texts[1]
    recorded = [(r.task, r.trial) for r in run.trials()]
    assert [(line["task"], line["trial"]) for line in json.loads(texts[0])] == recorded
    assert len(run.reader.regrades()) == 2


def test_only_the_chosen_grader_is_asked_and_the_others_keep_their_grades(run_here: RunHere) -> None:
    run = run_here(suite_of())
    asked: list[str] = []

    @grader(name="right", version="2")
    def wrong(trial: Any) -> bool:
        asked.append("right")
        return False

    @grader(name="kept", version="2")
    def never(trial: Any) -> bool:
        raise AssertionError("not chosen")

    found = passhat.regrade(run.path, suite_of(graders=[wrong, never]), graders=["right"])
    assert found.graders == {"right": "changed", "kept": "kept"}
    assert asked == ["right"] * 4
    assert [row.fail_now for row in found.by_task] == [2]
    for record in run.reader.trials(grades=found.id):
        assert [(grade.name, grade.passed) for grade in record.grades] == [("right", False), ("kept", True)]
    head = run.reader.regrades()[0]
    assert (head.only, head.graders["kept"]) == (("right",), run.manifest.graders["kept"])
    with pytest.raises(RunError, match="grader 'rigth': the suite has 'right', 'kept'"):
        passhat.regrade(run.path, suite_of(), graders=["rigth"])


def test_what_is_lost_is_missed_only_by_graders_that_look_at_it(run_here: RunHere) -> None:
    run = run_here(suite_of(), keep_bytes=0)
    found = passhat.regrade(run.path, suite_of(graders=[right]))
    assert (found.judged, found.not_judged, found.whole) == (4, (), True)
    found = passhat.regrade(run.path, suite_of())
    why = "kept looks at what is lost: its workspace wasn't kept"
    assert found.not_judged == tuple(NotJudged(r.task, r.trial, "", why) for r in run.trials())
    assert (found.judged, found.whole) == (0, False)
    assert found.rates[0].missing_after == 4
    assert {record.status for record in run.reader.trials(grades=found.id)} == {Status.UNRESOLVED}

    def said(trial: Any) -> bool:
        return bool(trial.transcript.events)

    frames = run.path / "transcripts.zst"
    frames.write_bytes(b"\0" * frames.stat().st_size)
    found = passhat.regrade(run.path, suite_of(graders=[right, said]))
    assert found.judged == 0
    assert "said looks at what is lost" in found.not_judged[0].why
    assert "is damaged" in found.not_judged[0].why
    assert passhat.regrade(run.path, suite_of(graders=[right])).judged == 4


def test_a_workspace_that_made_room_and_one_that_was_damaged_are_named(run_here: RunHere) -> None:
    run = run_here(suite_of())
    first, second, *_ = (record.workspace for record in run.trials())
    assert first
    assert second
    (run.path / "workspaces" / first).unlink()
    (run.path / "workspaces" / second).write_bytes(b"damaged")
    found = passhat.regrade(run.path, suite_of())
    assert [(each.task, each.trial) for each in found.not_judged] == [("a", 0), ("b", 0)]
    assert found.not_judged[0].why == "kept looks at what is lost: its workspace made room for another one"
    assert "is damaged" in found.not_judged[1].why
    assert found.judged == 2


def test_an_agent_that_made_no_workspace_is_judged_by_an_empty_one(run_here: RunHere) -> None:
    def empty(trial: Any) -> bool:
        return list(trial.workspace.iterdir()) == [] and dict(trial.diff) == {}

    run = run_here(suite_of(agent=lambda trial: 1, graders=[empty]))
    found = passhat.regrade(run.path, suite_of(agent=dead, graders=[empty]))
    assert (found.judged, found.flips) == (4, ())


def test_what_changed_is_what_changed_then_though_the_archive_has_other_times(run_here: RunHere) -> None:
    def prepare(trial: Trial) -> None:
        (trial.workspace / "large.bin").write_bytes(b"0" * 1_500_000)  # told apart by its times
        (trial.workspace / "small.txt").write_text("a")

    def changes(trial: Any) -> bool:
        return dict(trial.diff) == {"n.txt": "added", "small.txt": "changed"}

    def acts(trial: Trial) -> int:
        (trial.workspace / "small.txt").write_text("b")
        return agent(trial)

    run = run_here(suite_of(prepare=prepare, agent=acts, graders=[changes]))
    assert all(record.passed for record in run.trials())
    assert passhat.regrade(run.path, suite_of(prepare=prepare, agent=dead, graders=[changes])).flips == ()


def test_another_expected_answer_is_judged_by_and_another_question_is_not(run_here: RunHere) -> None:
    run = run_here(suite_of(tasks=[*TASKS, Task("c", input=1)]))
    tasks = [Task("a", input=5, expected=1), Task("b", input=2, expected=2)]
    found = passhat.regrade(run.path, suite_of(tasks=tasks))
    assert found.other_answers == ("b",)
    assert [flip.task for flip in found.flips] == ["b", "b"]
    assert {(each.task, each.why) for each in found.not_judged} == {
        ("a", "what the task asks has changed"),
        ("c", "the suite has no task 'c' any more"),
    }


def test_failures_by_other_causes_stay_failures_and_what_no_grader_looks_at_stays(run_here: RunHere) -> None:
    def acts(trial: Trial) -> int:
        if trial.task_id == "a":
            raise ValueError("broken")
        return int(trial.input)

    def broken(trial: Trial) -> None:
        if trial.task_id == "b":
            raise OSError("no disk")

    def anything(trial: Any) -> bool:
        return True

    run = run_here(suite_of(agent=acts, prepare=broken, graders=[right]), retries=0)
    found = passhat.regrade(run.path, suite_of(graders=[anything]))
    assert (found.judged, found.without, found.flips, found.scores_changed) == (2, 2, (), 2)
    assert [(r.status, r.passed, r.score) for r in run.reader.trials(grades=found.id)] == [
        (Status.AGENT_ERROR, False, 1.0),
        (Status.ENVIRONMENT_ERROR, None, None),
    ] * 2


def test_a_failure_whose_environment_did_not_close_is_missing_where_graders_now_pass_it(run_here: RunHere) -> None:
    @contextmanager
    def environment(trial: Any) -> Iterator[int]:
        yield 1
        if not hasattr(trial, "output"):  # the agent's, not a grader's
            raise OSError("can't close")

    def nothing(trial: Any) -> bool:
        return False

    def anything(trial: Any) -> bool:
        return True

    run = run_here(suite_of(tasks=TASKS[:1], trials=1, environment=environment, graders=[nothing]))
    (record,) = run.trials()
    assert (record.status, record.passed) == (Status.COMPLETED, False)
    found = passhat.regrade(run.path, suite_of(tasks=TASKS[:1], trials=1, environment=environment, graders=[anything]))
    (again,) = run.reader.trials(grades=found.id)
    assert (again.status, again.passed, again.score) == (Status.ENVIRONMENT_ERROR, None, None)


def test_a_failure_that_can_not_be_judged_again_stays_one_without_a_score(run_here: RunHere) -> None:
    def fails(trial: Trial) -> None:
        agent(trial)
        raise ValueError("broken")

    run = run_here(suite_of(tasks=TASKS[:1], trials=1, agent=fails, graders=[kept]), keep_bytes=0)
    found = passhat.regrade(run.path, suite_of(tasks=TASKS[:1], trials=1, graders=[kept]))
    assert len(found.not_judged) == 1
    line = json.loads(found.path.read_text().splitlines()[1])
    assert (line["status"], line["passed"], line["score"], line["grades"]) == ("agent_error", False, None, [])
    (record,) = run.reader.trials(grades=found.id)
    assert (record.status, record.passed, record.score) == (Status.AGENT_ERROR, False, None)


def test_a_run_of_another_suite_and_a_suite_without_graders_are_refused(run_here: RunHere) -> None:
    run = run_here(suite_of())
    with pytest.raises(RunError, match="is a run of the suite 's', and this one is 'other'"):
        passhat.regrade(run.path, Suite("other", tasks=TASKS, agent=agent, graders=[right]))
    with pytest.raises(RunError, match="has no graders"):
        passhat.regrade(run.path, suite_of(graders=[]))
    assert run.reader.regrades() == []


def test_a_grader_that_hangs_has_its_deadline(run_here: RunHere) -> None:
    import threading

    run = run_here(suite_of())
    held = threading.Event()

    def hangs(trial: Any) -> bool:
        return held.wait(60)

    found = passhat.regrade(run.path, suite_of(graders=[hangs]), limits=Limits(grade_seconds=0.05))
    held.set()
    assert {record.status for record in run.reader.trials(grades=found.id)} == {Status.GRADER_ERROR}
    assert found.flips[0].grades[-1].why_after.startswith("TimeoutError")


class Press:
    """Presses Ctrl-C when two trials are judged."""

    def __init__(self) -> None:
        self.done = 0

    def started(self, planned: Any, totals: Any) -> None: ...

    def finished(self, record: TrialRecord, totals: Any) -> None:
        self.done += 1
        if self.done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    def ended(self, state: str, totals: Any) -> None: ...


def test_ctrl_c_keeps_what_was_judged_and_says_how_much_was_not(run_here: RunHere) -> None:
    import asyncio

    run = run_here(suite_of(trials=4))
    press = Press()

    async def waits(trial: Any) -> bool:
        if press.done >= 2:
            await asyncio.Event().wait()
        return True

    with pytest.raises(RegradeInterrupted, match="6 trials were not judged again") as stop:
        passhat.regrade(run.path, suite_of(trials=4, graders=[waits]), progress=press)
    found: Regraded = stop.value.regraded
    assert (found.judged, found.unreached, found.interrupted, found.whole) == (2, 6, True, False)
    records = list(run.reader.trials(grades=found.id))
    assert [record.passed for record in records] == [True, True] + [None] * 6
    assert records[-1].notes == ("not judged again: the regrade didn't reach it",)


KILLED = """
import os, signal, sys
from pathlib import Path
import passhat
from passhat import Suite, Task

def judge(trial):
    if len(sys.argv) > 1 and (trial.task.id, trial.number) == ("t2", 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return True

suite = Suite("killed", tasks=[Task(f"t{i}", input=i) for i in range(4)], agent=lambda trial: 1, graders=[judge],
              trials=2, seed=1)

if __name__ == "__main__":
    root = Path(__file__).parent / ".passhat"
    if len(sys.argv) > 1:
        passhat.regrade("last", suite, root=root)
    else:
        passhat.run(suite, root=root)
"""


def test_kill_9_leaves_a_regrade_that_is_whole_for_what_it_has_and_the_run_as_it_was(tmp_path: Path) -> None:
    script = tmp_path / "eval_killed.py"
    script.write_text(KILLED)
    subprocess.run([sys.executable, str(script)], timeout=60, check=True)
    (folder,) = (tmp_path / ".passhat" / "runs").iterdir()
    before = files(folder)
    done = subprocess.run([sys.executable, str(script), "regrade"], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert files(folder) == before
    reader = RunReader(folder)
    (head,) = reader.regrades()
    records = list(reader.trials(grades=head.id))
    assert [record.passed for record in records] == [True] * 6 + [None] * 2


SUITE = """
    from pathlib import Path
    from passhat import Suite, Task

    def prepare(trial):
        (trial.workspace / "kept.bin").write_bytes(b"0" * 1_500_000)

    def agent(trial):
        here = Path(__file__).parent
        with open(here / "log", "a") as log:
            log.write("acted ")
        (trial.workspace / "n.txt").write_text(str(trial.input))
        trial.record("n", trial.input)
        return trial.input

    def state(trial):
        rests = dict(trial.diff) == {"n.txt": "added"} and trial.transcript.events[0].value == trial.input
        return rests and (trial.workspace / "n.txt").read_text() == str(trial.input)

    def small(trial):
        return trial.output < 1

    suite = Suite("apart", tasks=[Task(f"t{i}", input=i) for i in range(3)], prepare=prepare, agent=agent,
                  graders=[state, small], trials=2, concurrency=2)
"""


USES_A_RULE = """
    import rule
    from passhat import Suite, Task

    def judged(trial):
        return rule.holds(trial.output)

    suite = Suite("ruled", tasks=[Task("a", input="x")], agent="its_agent:answer", graders=[judged])
"""


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_a_changed_file_that_graders_call_is_named_though_their_own_source_is_the_same(
    run_file: Callable[..., Run], isolation: str
) -> None:
    beside = {
        "rule.py": "def holds(x):\n    return x == 'x'\n",
        "its_agent.py": "def answer(trial):\n    return 'x'\n",
    }
    run = run_file(USES_A_RULE, beside=beside)
    folder = run.path.parents[2]
    suite = discover(folder / "eval_here.py")[0].suite
    assert passhat.regrade(run.path, suite, isolation=isolation).files_changed == ()
    for name in beside:
        (folder / name).write_text((folder / name).read_text().replace("'x'", "'y'"))
    found = passhat.regrade(run.path, discover(folder / "eval_here.py")[0].suite, isolation=isolation)
    assert found.graders == {"judged": "same"}
    names = [Path(name).name for name in found.files_changed]
    assert "rule.py" in names
    assert isolation == "inline" or names == ["rule.py"]  # no agent runs: its files decide nothing
    assert "changed since the run began, by you or by an agent: " in render_regraded(found)
    assert found.judged == 1


def test_processes_apart_judge_again_without_importing_the_agent(run_file: Callable[..., Run]) -> None:
    run = run_file(SUITE)
    assert [record.passed for record in run.trials()] == [record.task == "t0" for record in run.trials()]
    folder = run.path.parent.parent.parent
    file = folder / "eval_here.py"
    log = (folder / "log").read_text()
    assert passhat.regrade(run.path, discover(file)[0].suite).flips == ()
    text = file.read_text().replace("trial.output < 1", "trial.output < 2")
    file.write_text(text.replace("agent=agent", 'agent="no_such_module:agent"'))
    found = passhat.regrade(run.path, discover(file)[0].suite)
    assert found.isolation == run.manifest.isolation
    assert [(flip.task, flip.after) for flip in found.flips] == [("t1", True)] * 2
    assert (folder / "log").read_text() == log
    for record in run.trials():
        assert record.workspace
        (run.path / "workspaces" / record.workspace).unlink()
    found = passhat.regrade(run.path, discover(file)[0].suite)
    assert (found.judged, len(found.not_judged)) == (0, 6)
    assert found.not_judged[0].why == "state looks at what is lost: its workspace made room for another one"
    assert passhat.regrade(run.path, discover(file)[0].suite, graders=["small"]).judged == 6


def test_the_result_is_json(run_here: RunHere) -> None:
    found = passhat.regrade(run_here(suite_of()).path, suite_of())
    data = msgspec.json.decode(msgspec.json.encode(found))
    assert (data["schema"], data["judged"], data["flips"], data["interrupted"]) == (1, 4, [], False)
    assert data["rates"][0]["before"]["estimate"] == data["rates"][0]["after"]["estimate"] == 0.5
