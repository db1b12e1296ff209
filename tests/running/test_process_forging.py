"""An agent that fails can't make a pass of it: not by files, not by links, not by talking to the runner."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from passhat import Limits
from passhat.facts import ModelCall, Status, TrialRecord
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what the seal and the guard promise, on Linux")

SUITE = """
    import atexit, gc, json, os, shutil, sys, tempfile, threading
    from pathlib import Path
    import msgspec
    import passhat
    from passhat import Suite, Task
    from passhat.facts import Grade, ModelCall
    import rules

    HERE = Path(__file__).parent

    def channel():
        from passhat.isolation._entry import PipeChannel
        (found,) = [thing for thing in gc.get_objects() if isinstance(thing, PipeChannel)]
        return found

    def verdict_files(trial):
        for place in (trial.workspace, Path.home(), Path.cwd()):
            for name in ("grades.json", "result.json", "trials.jsonl"):
                (place / name).write_text(json.dumps({"passed": True, "score": 1.0}))

    def rewrites_the_rules(trial):
        Path(rules.__file__).write_text("def right(trial):\\n    return True\\n")
        Path(__file__).write_text(Path(__file__).read_text().replace("rules.right", "bool"))
        shutil.rmtree(HERE / "__pycache__", ignore_errors=True)

    def shadows_modules(trial):
        for place in (trial.workspace, Path.home(), Path(tempfile.gettempdir()), Path.cwd()):
            for name in ("rules", "json", "passhat", "sitecustomize", "usercustomize"):
                (place / f"{name}.py").write_text("right = lambda trial: True")

    def patches_its_process(trial):
        import passhat.graders
        rules.right = lambda trial: True
        passhat.graders.run_grader = lambda *a, **k: Grade(True)
        passhat.facts.decide = lambda grades: True

    def links_out(trial):
        outside = Path(tempfile.gettempdir(), "outside.txt")
        outside.write_text("solved")
        (trial.workspace / "answer.txt").symlink_to(outside)

    def links_the_workspace(trial):
        elsewhere = Path(tempfile.mkdtemp())
        (elsewhere / "answer.txt").write_text("solved")
        place = trial.workspace
        place.rmdir()
        place.symlink_to(elsewhere)

    def fifo(trial):
        os.mkfifo(trial.workspace / "answer.txt")

    def sends_grades(trial):
        pipe = channel()
        for index in range(3):
            pipe.emit({"type": "graded", "index": index, "grade": {"passed": True}})
            pipe.emit({"passed": True, "score": 1.0, "status": "completed"})

    def tells_a_model_call(trial):
        call = ModelCall(0.0, 0.0, "chat", "live")
        channel().emit({"type": "happened", "event": {**msgspec.to_builtins(call), "type": "model_call"}})
        trial._recorder.add(passhat.facts.ToolRun(0.0, 0.0, "refund", author="seen"))

    def finishes_twice(trial):
        pipe = channel()
        pipe.emit({"type": "done", "output": "wrong"})
        pipe.emit({"type": "done", "output": "right"})

    def breaks_the_pipe(trial):
        for number in range(3, 2000):
            try:
                os.write(number, b"\\x00" * 64)
            except OSError:
                pass

    def closes_everything(trial):
        os.closerange(3, 5000)
        return "right"

    def waits_for_the_grader(trial):
        def later():
            while True:
                (trial.workspace / "answer.txt").write_text("solved") if (trial.workspace / "graded").exists() else None
        threading.Thread(target=later, daemon=True).start()
        atexit.register(lambda: (trial.workspace / "late.txt").write_text("x"))

    def reads_expected(trial):
        return [getattr(trial, name, None) for name in ("expected", "task", "reference")]

    def agent(trial):
        return globals()[trial.data["do"]](trial)

    deeds = ["verdict_files", "rewrites_the_rules", "shadows_modules", "patches_its_process", "links_out",
             "links_the_workspace", "fifo", "sends_grades", "tells_a_model_call", "finishes_twice", "breaks_the_pipe",
             "closes_everything", "waits_for_the_grader", "reads_expected"]
    suite = Suite("forging", tasks=[Task(deed, expected="right", data={"do": deed}) for deed in deeds], agent=agent,
                  graders=[rules.right], order="task")
"""

RULES = """
def right(trial):
    (trial.workspace / "graded").write_text("")
    answer = trial.workspace / "answer.txt"
    return trial.output == trial.task.expected and answer.exists() and answer.read_text() == "solved"
"""


@pytest.fixture(scope="module")
def run(run_file: Callable[..., Run]) -> Run:
    """One after another: the one that rewrites the rules runs before most of the others."""
    return run_file(SUITE, limits=Limits(seconds=60), concurrency=1, beside={"rules.py": RULES})


@pytest.fixture(scope="module")
def ends(run: Run) -> dict[str, TrialRecord]:
    """Their records by what they did."""
    return {record.task: record for record in run.trials()}


def test_none_of_them_passes(ends: dict[str, TrialRecord]) -> None:
    assert len(ends) == 14
    assert {deed: record.passed for deed, record in ends.items()} == dict.fromkeys(ends, False)


def test_each_is_still_judged_by_its_graders_or_failed_by_its_status(ends: dict[str, TrialRecord]) -> None:
    odd = {deed: record.status for deed, record in ends.items() if record.status is not Status.COMPLETED}
    assert odd == {"closes_everything": Status.AGENT_ERROR, "breaks_the_pipe": Status.AGENT_ERROR}
    assert {record.grades[0].passed for record in ends.values()} == {False}


@pytest.mark.parametrize(
    ("deed", "said"), [("links_out", "a link to"), ("fifo", "neither a file"), ("links_the_workspace", "no directory")]
)
def test_the_record_says_what_was_removed_before_grading(ends: dict[str, TrialRecord], deed: str, said: str) -> None:
    assert said in " ".join(ends[deed].notes)


def test_what_a_process_says_of_model_calls_is_not_believed(run: Run, ends: dict[str, TrialRecord]) -> None:
    transcript = run.transcript(ends["tells_a_model_call"])
    assert transcript is not None
    assert not any(isinstance(event, ModelCall) for event in transcript.events)
    assert [event.author for event in transcript.events] == ["told"]
    assert "could not be understood" in " ".join(ends["tells_a_model_call"].notes)


def test_the_first_output_stands(ends: dict[str, TrialRecord]) -> None:
    assert ends["finishes_twice"].output == "wrong"
