"""The trial as user code sees it: recording, workspaces, cancelling, finished trials."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import AgentEvent, Task, ToolRun
from passhat.trial import (
    FinishedTrial,
    ModelAccess,
    Recorder,
    Trial,
    TrialCancelled,
    Workspace,
    WorkspaceError,
    copy_tree,
    recorder_here,
    tool,
)


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def live(recorder: Recorder, workspace: Workspace, **more: Any) -> Trial:
    return Trial(task_id="t", input="hello", recorder=recorder, workspace=workspace, **more)


def no_workspace() -> Workspace:
    return Workspace(lambda: pytest.fail("nothing asked for a workspace"))


def test_a_tool_run_keeps_arguments_result_and_time() -> None:
    clock = Clock()
    recorder = Recorder(clock)
    clock.time += 2
    with recorder.tool("pay", {"n": 1}, call_id="c1") as call:
        clock.time += 3
        assert call.result("ok") == "ok"
    assert recorder.transcript().events == (ToolRun(2.0, 3.0, "pay", {"n": 1}, "ok", call_id="c1"),)


def test_a_tool_that_raises_is_recorded_and_the_error_goes_on() -> None:
    recorder = Recorder()
    with pytest.raises(ValueError, match="too much"), recorder.tool("pay"):
        raise ValueError("too much")
    (run,) = recorder.transcript().events
    assert isinstance(run, ToolRun)
    assert run.error == "ValueError: too much"
    assert not run.blocked


def test_a_blocked_call_is_an_error_that_did_not_execute() -> None:
    recorder = Recorder()
    with recorder.tool("pay") as call:
        call.blocked("over the limit")
    (use,) = recorder.transcript().tool_calls
    assert (use.executed, use.error) == (False, True)


def test_values_that_are_not_json_never_break_the_tool() -> None:
    recorder = Recorder()
    with recorder.tool("pay", {"f": object()}) as call:
        call.result(b"bytes")
    (run,) = recorder.transcript().events
    assert isinstance(run, ToolRun)
    assert (run.arguments, run.result) == ("<dict>", "<bytes>")


def test_a_record_that_is_not_json_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"record\('x'\) is nan"):
        Recorder().record("x", float("nan"))


def test_what_happens_after_the_end_is_not_part_of_the_trial() -> None:
    recorder = Recorder()
    recorder.record("a")
    recorder.close()
    recorder.record("b")
    assert len(recorder.transcript().events) == 1


@tool
def add(a: int, b: int = 2) -> int:
    return a + b


@tool(name="multiply")
async def times(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a * b


def test_a_decorated_function_outside_a_trial_is_the_plain_function() -> None:
    assert add(1) == 3
    assert asyncio.run(times(2, 3)) == 6


def test_a_decorated_function_inside_a_trial_is_recorded_with_named_arguments() -> None:
    recorder = Recorder()
    token = recorder_here.set(recorder)
    try:
        add(1)
        asyncio.run(times(2, b=3))
    finally:
        recorder_here.reset(token)
    runs = [(e.name, e.arguments, e.result) for e in recorder.transcript().events if isinstance(e, ToolRun)]
    assert runs == [("add", {"a": 1}, 3), ("multiply", {"a": 2, "b": 3}, 6)]


def test_wrong_arguments_to_a_decorated_function_raise_what_the_function_raises() -> None:
    recorder = Recorder()
    token = recorder_here.set(recorder)
    try:
        with pytest.raises(TypeError, match="unexpected keyword"):
            add(1, c=3)  # type: ignore[call-arg]
    finally:
        recorder_here.reset(token)


def test_the_trial_says_how_long_it_has_and_when_it_is_over() -> None:
    clock = Clock()
    trial = live(Recorder(clock), no_workspace(), deadline=10.0)
    clock.time += 4
    assert trial.remaining() == 6
    clock.time += 40
    assert trial.remaining() == 0
    trial.check()
    trial.cancel()
    assert trial.cancelled
    with pytest.raises(TrialCancelled, match="task 't'"):
        trial.check()
    assert live(Recorder(), no_workspace()).remaining() is None


def test_the_agent_has_no_way_to_the_expected_answer() -> None:
    trial = live(Recorder(), no_workspace())
    assert not hasattr(trial, "expected")
    assert not hasattr(trial, "task")


def test_handoffs_approvals_and_guardrails_are_events_of_their_kind() -> None:
    recorder = Recorder()
    trial = live(recorder, no_workspace())
    trial.handoff("billing")
    trial.approval("refund", True)
    trial.guardrail("pii", False, "an email address")
    kinds = [(e.kind, e.name) for e in recorder.transcript().events if isinstance(e, AgentEvent)]
    assert kinds == [("handoff", "billing"), ("approval", "refund"), ("guardrail", "pii")]


def test_clients_are_led_to_the_gateway_by_arguments_or_variables() -> None:
    access = ModelAccess("http://127.0.0.1:1", "key")
    assert access.openai == {"base_url": "http://127.0.0.1:1/v1", "api_key": "key"}
    assert access.anthropic == {"base_url": "http://127.0.0.1:1", "api_key": "key"}
    assert access.environ()["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"


def test_a_trial_without_a_gateway_says_so() -> None:
    with pytest.raises(RuntimeError, match="without a gateway"):
        _ = live(Recorder(), no_workspace()).model


def test_a_workspace_is_made_once_and_only_when_asked_for(tmp_path: Path) -> None:
    made: list[Path] = []

    def make() -> Path:
        path = tmp_path / f"w{len(made)}"
        path.mkdir()
        made.append(path)
        return path

    workspace = Workspace(make)
    trial = live(Recorder(), workspace)
    assert workspace.made is None
    assert trial.workspace == trial.workspace == workspace.made
    assert len(made) == 1


def test_a_template_is_copied_without_history_and_caches(tmp_path: Path) -> None:
    template = tmp_path / "template"
    for name in ("a.txt", ".git/config", "pkg/__pycache__/x.pyc", "pkg/m.py"):
        (template / name).parent.mkdir(parents=True, exist_ok=True)
        (template / name).write_text(name)
    (template / "link").symlink_to("a.txt")
    target = tmp_path / "copy"
    copy_tree(template, target)
    found = sorted(str(p.relative_to(target)) for p in target.rglob("*") if not p.is_dir())
    assert found == ["a.txt", "link", "pkg/m.py"]
    assert (target / "link").read_text() == "a.txt"


def test_an_absolute_link_inside_the_template_points_into_the_copy(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    (template / "a.txt").write_text("old")
    (template / "link").symlink_to(template / "a.txt")
    copy_tree(template, tmp_path / "copy")
    (tmp_path / "copy" / "link").write_text("new")
    assert (template / "a.txt").read_text() == "old"


def test_a_template_link_that_leaves_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    (tmp_path / "template" / "out").symlink_to("/etc/passwd")
    with pytest.raises(WorkspaceError, match="outside"):
        copy_tree(tmp_path / "template", tmp_path / "copy")


def test_a_fifo_in_the_template_is_not_copied_and_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    os.mkfifo(tmp_path / "template" / "pipe")
    copy_tree(tmp_path / "template", tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="nowhere: not a directory"):
        copy_tree(tmp_path / "nowhere", tmp_path / "copy")


def test_a_finished_trial_opens_its_copy_and_environment_once(tmp_path: Path) -> None:
    opened: list[str] = []

    def workspace() -> Path:
        opened.append("workspace")
        return tmp_path

    def environment(trial: FinishedTrial) -> str:
        opened.append("environment")
        return str(trial.workspace)

    done = FinishedTrial(Task("t", expected=1), 1, workspace=workspace, environment=environment)
    assert opened == []
    assert done.environment == done.environment == str(tmp_path)
    assert opened == ["environment", "workspace"]


def test_a_finished_trial_without_state_says_what_is_missing() -> None:
    done = FinishedTrial(Task("t", input="q", data={"a": 1}, tags=("x",)))
    assert (done.task_id, done.input, done.data, done.tags) == ("t", "q", {"a": 1}, ("x",))
    for name in ("workspace", "environment", "diff"):
        with pytest.raises(LookupError, match="task 't', trial 0"):
            getattr(done, name)
