"""What a run tells while it goes on, and what it writes down about itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Limits, Status, Suite, Task, Trial
from passhat.facts import AgentEvent, ModelCall, Transcript, Usage
from passhat.graders import exact
from passhat.running import Expected, Run, RunError, Totals, dry_run
from passhat.running._manifest import project_of
from passhat.running._progress import Board
from passhat.running._seen import Seen
from passhat.scripting import reply, say

RunHere = Callable[..., Run]
TASKS = [Task(f"t{i}", input=i, expected=i) for i in range(4)]


class Watch:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.started_: list[str] = []
        self.totals: list[Totals] = []
        self.states: list[str] = []

    def started(self, planned: Any, totals: Totals) -> None:
        self.started_.append(planned.task.id)

    def finished(self, record: Any, totals: Totals) -> None:
        self.totals.append(totals)

    def ended(self, state: str, totals: Totals) -> None:
        self.states.append(state)


def test_progress_hears_of_every_step_with_running_totals(run_here: RunHere, ask: Callable[..., str]) -> None:
    def agent(trial: Trial) -> Any:
        ask(trial)
        if trial.task_id == "t3":
            raise RuntimeError("no")
        return trial.input if trial.task_id != "t2" else "wrong"

    watch = Watch()
    answer = reply("x", usage=Usage(1, 5, 0, 5, 0, 0.25))
    suite = Suite("s", tasks=TASKS, agent=agent, graders=[exact()], simulation=lambda request, rng: answer)
    run_here(suite, progress=watch)
    assert watch.started_ == ["t0", "t1", "t2", "t3"]
    assert [t.pass_at_1 for t in watch.totals] == [1.0, 1.0, pytest.approx(2 / 3), 0.5]
    last = watch.totals[-1]
    assert (last.planned, last.done, last.running, last.passed, last.failed, last.missing) == (4, 4, 0, 2, 2, 0)
    assert last.failures == {"completed": 1, "agent_error": 1}
    assert (last.usage.model_calls, last.usage.tokens, last.usage.dollars) == (4, 40, 1.0)
    assert last.seconds_left == 0.0
    assert watch.states == ["finished"]


def test_the_time_left_is_estimated_from_the_trials_that_this_process_ran() -> None:
    now = [100.0]
    board = Board(10, None, lambda: now[0])
    record = passhat.facts.TrialRecord("t", 0, Status.COMPLETED, True)
    board.add_earlier(record)
    assert board.totals().seconds_left is None
    now[0] = 106.0
    board.finished(record)
    board.finished(record)
    assert (board.totals().seconds, board.totals().seconds_left) == (6.0, 21.0)


def test_attempts_count_in_the_totals(run_here: RunHere) -> None:
    def prepare(trial: Trial) -> None:
        raise OSError("no")

    watch = Watch()
    run_here(Suite("s", tasks=TASKS[:1], agent=lambda trial: 1, prepare=prepare), progress=watch)
    assert (watch.totals[0].missing, watch.totals[0].pass_at_1) == (1, None)
    assert watch.totals[0].failures == {"environment_error": 1}


def test_a_progress_that_raises_is_let_go_and_the_run_goes_on(run_here: RunHere) -> None:
    class Broken(Watch):
        def finished(self, record: Any, totals: Totals) -> None:
            self.totals.append(totals)
            raise ZeroDivisionError("oops")

    watch = Broken()
    with pytest.warns(RuntimeWarning, match="progress is no longer shown: ZeroDivisionError: oops"):
        run = run_here(Suite("s", tasks=TASKS, agent=lambda trial: 1), progress=watch)
    assert len(watch.totals) == 1
    assert run.manifest.state == "finished"


def test_the_manifest_says_what_was_measured_how_and_where(run_here: RunHere) -> None:
    suite = Suite(
        "refunds",
        tasks=[
            Task("a", input=1, tags=("x",)),
            Task("b", input=1, family="f"),
            Task("c", input=2, split="tune"),
        ],
        agent=lambda trial: 1,
        graders=[exact(expect=1)],
        kind="regression",
        trials=3,
        gates=["pass@1 >= 0.5"],
        limits=Limits(seconds=9),
        sampled_from="tickets",
        owner="me",
        variance=["clock"],
        missing="fail",
        undecided="pass",
    )
    run = run_here(suite, seed=3, order="task")
    manifest = run.manifest
    assert (manifest.run_id, manifest.suite, manifest.passhat) == (run.run_id, "refunds", passhat.__version__)
    assert (manifest.kind, manifest.isolation, manifest.containment) == ("regression", "inline", "none")
    assert (manifest.trials, manifest.task_ids, manifest.seed, manifest.order) == (3, ("a", "b", "c"), 3, "task")
    assert manifest.duplicate_inputs == (("a", "b"),)
    assert (manifest.task_tags, manifest.task_families, manifest.task_splits) == (
        {"a": ("x",)},
        {"b": "f"},
        {"c": "tune"},
    )
    assert (manifest.missing_policy, manifest.undecided, manifest.gates) == ("fail", "pass", ("pass@1 >= 0.5",))
    assert (manifest.sampled_from, manifest.owner, manifest.variance) == ("tickets", "me", ("clock",))
    assert manifest.limits.seconds == 9
    assert list(manifest.graders) == ["exact"]
    assert str(manifest.source_file).endswith("test_run_records.py::refunds")
    assert any(name.endswith("test_run_records.py") for name in manifest.files)
    assert len(manifest.tasks_hash) == 64
    assert manifest.host
    assert manifest.python.startswith("3.")
    assert manifest.ended is not None
    assert manifest.ended >= manifest.started
    assert repr(run).startswith("Run(")


def test_git_state_is_the_commit_and_whether_the_tree_differs(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    assert project_of(tmp_path) == (tmp_path, None)
    git("init")
    assert project_of(tmp_path)[1] is None
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "m")
    state = project_of(tmp_path)[1]
    assert state is not None
    assert (len(state.commit), state.dirty) == (40, False)
    (tmp_path / "a").write_text("2")
    changed = project_of(tmp_path)[1]
    assert changed is not None
    assert changed.dirty
    (tmp_path / "a").write_text("1")
    (tmp_path / ".gitignore").write_text("ignored.py")
    for name in ("notes.txt", "ignored.py"):
        (tmp_path / name).write_text("no code of the project")
    assert project_of(tmp_path)[1] == state


def test_a_module_that_git_does_not_have_yet_is_changed_code(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    git("init")
    git("commit", "--allow-empty", "-m", "m")
    (tmp_path / "evals").mkdir()
    states = [project_of(tmp_path / "evals")[1]]
    for place in ("evals/eval_shop.py", "agent.py"):  # beside the suite, or anywhere else
        for text in ("1", "2"):
            (tmp_path / place).write_text(text)
            states.append(project_of(tmp_path / "evals")[1])
            assert states[-1] == project_of(tmp_path)[1]
    assert [state is not None and state.dirty for state in states] == [False, True, True, True, True]
    assert len({state.changes for state in states if state is not None}) == 5


@pytest.mark.parametrize(
    ("fails", "dirty"), [("status", None), ("ls-files", None), ("diff", True), ("status ls-files", None)]
)
def test_what_git_cannot_say_is_unknown_and_never_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str, dirty: bool | None
) -> None:
    real = shutil.which("git")
    repository, shadow = tmp_path / "project", tmp_path / "bin"
    for folder in (repository, shadow):
        folder.mkdir()
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    (repository / "a").write_text("1")
    for words in (["init"], ["add", "a"], ["commit", "-m", "m"]):
        subprocess.run(["git", "-C", str(repository), *identity, *words], check=True, capture_output=True)
    if dirty:
        (repository / "a").write_text("2")
    (shadow / "git").write_text(
        f'#!/bin/sh\nfor word; do case " {fails} " in *" $word "*) exit 128;; esac; done\nexec {real} "$@"\n'
    )
    (shadow / "git").chmod(0o700)
    monkeypatch.setenv("PATH", str(shadow), prepend=os.pathsep)
    state = project_of(repository)[1]
    assert state is not None
    assert (state.dirty, state.changes) == (dirty, "")
    assert state.name == state.commit + ("+" if dirty else "?")


def test_a_machine_without_git_has_no_git_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert project_of(tmp_path) == (tmp_path, None)


def test_what_the_wire_showed_is_collected_in_bounded_memory() -> None:
    def call(**fields: Any) -> Transcript:
        return Transcript.of(
            [ModelCall(0.0, 0.1, "chat", fields.pop("source", "live"), **fields), AgentEvent(0, "r", "n")]
        )

    assert Seen().source == "unseen"
    seen = Seen()
    seen.add(call(model_reported="m", fingerprint="f", settings={"temperature": 0, "stop": ["a"]}))
    first = seen.source
    for value in range(100):
        seen.add(call(model_reported="m", settings={"seed": value}))
    seen.add(call(source="replayed"))
    assert (first, seen.source) == ("live", "mixed")
    fields = seen.fields()
    assert fields["models_reported"] == {"m": 100, "m@f": 1}
    assert fields["sampling"]["temperature"] == [0]
    assert len(fields["sampling"]["seed"]) == 20


def test_a_gate_that_no_result_could_meet_is_refused_before_anything_runs(run_here: RunHere, tmp_path: Path) -> None:
    calls: list[str] = []
    suite = Suite("s", tasks=TASKS, agent=lambda trial: calls.append(trial.task_id), gates=["pass@1 >= 0.9"])
    with pytest.raises(RunError, match="even if all pass"):
        run_here(suite)
    with pytest.raises(RunError, match="even if all pass"):
        dry_run(suite, root=tmp_path)
    assert calls == []
    assert not (tmp_path / ".passhat").exists()


def test_a_gate_over_tasks_that_were_all_tuned_on_is_checked_for_all_of_them(run_here: RunHere) -> None:
    tuned = [Task(f"t{number}", input="", split="tune") for number in range(4)]
    gated = Suite("s", tasks=tuned, agent=lambda trial: 1, gates=["pass@1 >= 0.9"])
    with pytest.raises(RunError, match="even if all pass"):
        run_here(gated)


def simulated(**parts: Any) -> Suite:
    return Suite(
        "s", **{"tasks": TASKS, "agent": lambda trial: 1, "simulation": lambda request, rng: say("x"), **parts}
    )


def test_a_dry_run_knows_the_trials_and_says_what_it_cannot_know(tmp_path: Path) -> None:
    free = dry_run(simulated(), root=tmp_path, trials=5)
    assert (free.tasks, free.trials, free.source) == (4, 20, "simulated")
    assert (free.model_calls, free.tokens, free.seconds, free.based_on) == (None, None, None, None)
    assert (free.dollars, free.most_dollars, free.most_calls) == (0.0, 0.0, 1000)
    assert not list(tmp_path.iterdir())


def test_a_dry_run_of_a_real_model_is_bounded_by_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-test")

    def of(limits: Limits) -> Expected:
        return dry_run(simulated(model="openai/x", limits=limits), root=tmp_path)

    unknown = of(Limits(model_calls=None))
    assert (unknown.model, unknown.dollars, unknown.most_dollars, unknown.most_calls) == ("openai/x", None, None, None)
    assert of(Limits(dollars=0.5)).most_dollars == 2.0
    assert of(Limits(dollars=0.5, run_dollars=1.0)).most_dollars == 1.0


def test_a_dry_run_estimates_from_the_last_run_of_the_suite(run_here: RunHere, ask: Callable[..., str]) -> None:
    answer = reply("x", usage=Usage(1, 5, 0, 5, 0))
    suite = simulated(agent=lambda trial: ask(trial), simulation=lambda request, rng: answer)
    run = run_here(suite)
    root = run.path.parent.parent
    expected = dry_run(suite, root=root, trials=3)
    assert (expected.model_calls, expected.tokens, expected.based_on) == (12, 120, run.run_id)
    assert expected.seconds is not None
    other = dry_run(suite.replace(name="another"), root=root)
    assert other.based_on is None


def test_the_small_door_loads_nothing_heavy() -> None:
    code = (
        "import sys, passhat\n"
        "passhat.evaluate([{'id': 'a'}], lambda trial: 1, k=2, passes=lambda output, task: True)\n"
        "heavy = {'numpy', 'scipy', 'rich', 'httpx2', 'starlette', 'pydantic', 'uvicorn', 'yaml', 'passhat.gateway'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
