"""Agents in other languages: scripted on the wire, graded, and killed at the deadline as a Python agent is."""

from __future__ import annotations

import os
import select
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passhat import FinishedTrial, Limits, Status, Suite, Task
from passhat.agents import Command
from passhat.facts import OutputText, Transcript, TrialRecord
from passhat.graders import exact, trace
from passhat.scripting import call, fail, reply, say

Only = Callable[..., tuple[TrialRecord, Transcript]]

SHELL_AGENT = """
question=$(cat)
answer=$(curl -s -f "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" \\
  -H "content-type: application/json" \\
  -d "{\\"model\\": \\"m-1\\", \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": \\"$question\\"}]}") || exit 5
echo "asked once" >&2
echo "$answer" | sed 's/.*"content": *"\\([^"]*\\)".*/\\1/' | tee answer.txt
"""

NODE_AGENT = """
import { readFileSync, writeFileSync } from 'node:fs';

const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
const messages = [{ role: 'user', content: readFileSync(0, 'utf8') }];
for (;;) {
  const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm-1', messages, tools }),
  });
  if (!answer.ok) throw new Error(`the model answered ${answer.status}`);
  const message = (await answer.json()).choices[0].message;
  messages.push(message);
  if (!message.tool_calls) {
    writeFileSync('answer.txt', message.content);
    console.log(message.content);
    break;
  }
  for (const wish of message.tool_calls) {
    const { a, b } = JSON.parse(wish.function.arguments);
    messages.push({ role: 'tool', tool_call_id: wish.id, content: String(a + b) });
  }
}
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node isn't installed")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl isn't installed")


def wrote_its_answer(trial: FinishedTrial) -> bool:
    return bool((trial.workspace / "answer.txt").read_text().strip() == trial.task.expected)


@pytest.fixture
def shell_agent(tmp_path: Path) -> Command:
    (tmp_path / "agent.sh").write_text(SHELL_AGENT)
    return Command(["sh", "{here}/agent.sh"], here=tmp_path, fail_on=[5])


@pytest.fixture
def node_agent(tmp_path: Path) -> Command:
    (tmp_path / "agent.mjs").write_text(NODE_AGENT)
    return Command(["node", "{here}/agent.mjs"], here=tmp_path)


@needs_curl
def test_a_shell_agent_is_scripted_and_graded(only_trial: Only, shell_agent: Command) -> None:
    task = Task("t", input="six times seven?", expected="42")
    record, transcript = only_trial(shell_agent, task, script=[say("42")], graders=[exact(), wrote_its_answer])
    assert (record.status, record.passed, record.output) == (Status.COMPLETED, True, "42")
    assert transcript.model_calls[0].messages[0].text == "six times seven?"
    assert [event.stream for event in transcript.events if isinstance(event, OutputText)] != []


@needs_curl
def test_a_declared_exit_code_is_the_agents_error_unless_the_provider_failed(
    only_trial: Only, shell_agent: Command
) -> None:
    record, _ = only_trial(shell_agent, script=[])
    assert (record.status, record.passed) == (Status.AGENT_ERROR, False)
    assert record.error is not None
    assert (record.error.type, "exit code 5" in record.error.message) == ("CommandFailed", True)
    record, _ = only_trial(shell_agent, script=[fail(503)])
    assert record.status is Status.PROVIDER_ERROR


@needs_node
def test_a_node_agent_uses_its_tools_and_is_graded_by_what_it_did(only_trial: Only, node_agent: Command) -> None:
    record, transcript = only_trial(
        node_agent,
        Task("t", input="add", expected="5"),
        script=[reply(call("add", {"a": 2, "b": 3})), say("5")],
        graders=[exact(), wrote_its_answer, trace.called("add")],
    )
    assert (record.status, record.passed, record.usage.model_calls) == (Status.COMPLETED, True, 2)
    assert transcript.model_calls[1].messages[-1].text == "5"


@needs_node
def test_a_node_agent_that_throws_failed(only_trial: Only, node_agent: Command) -> None:
    record, transcript = only_trial(node_agent, script=[])
    assert record.status is Status.AGENT_ERROR
    assert "the model answered" in "".join(e.text for e in transcript.events if isinstance(e, OutputText))


def test_a_program_that_is_not_there_is_the_environments_error(only_trial: Only) -> None:
    record, _ = only_trial(Command(["no-such-program-here"]), graders=[exact()])
    assert (record.status, record.passed) == (Status.ENVIRONMENT_ERROR, None)


@pytest.fixture
def lifeline(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], bytes]]]:
    """A pipe that processes hold open, and a way to wait until none does: it gives what they wrote."""
    path = tmp_path / "lifeline"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def until_closed() -> bytes:
        written = b""
        while True:
            ready, _, _ = select.select([reader], [], [], 20)
            assert ready, "a process still holds the pipe"
            data = os.read(reader, 1000)
            if not data:
                return written
            written += data

    yield path, until_closed
    os.close(reader)


FOREVER = {
    "shell, with a child that ignores signals": [
        "sh", "-c", "exec 3>\"$LIFELINE\"; (trap '' TERM INT HUP; sleep 1000) & echo begun >&3; echo begun; wait",
    ],
    "node": [
        "node", "-e",
        "require('fs').writeSync(require('fs').openSync(process.env.LIFELINE, 'w'), 'begun\\n');"
        "console.log('begun'); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FOREVER)
def test_it_is_killed_at_the_deadline(only_trial: Only, lifeline: tuple[Path, Callable[[], bytes]], name: str) -> None:
    args = FOREVER[name]
    if shutil.which(args[0]) is None:
        pytest.skip(f"{args[0]} isn't installed")
    path, until_closed = lifeline
    agent = Command(args, env={"LIFELINE": str(path)})
    record, transcript = only_trial(agent, limits=Limits(seconds=3 if name == "node" else 1), graders=[exact()])
    assert (record.status, record.passed) == (Status.TIMEOUT, False)
    assert until_closed() == b"begun\n"
    assert [e.text for e in transcript.events if isinstance(e, OutputText)] == ["begun\n"]


def test_cancelling_a_trial_without_a_deadline_kills_the_group_and_keeps_what_it_printed(
    bare: Callable[..., Any], lifeline: tuple[Path, Callable[[], bytes]]
) -> None:
    path, until_closed = lifeline
    made = bare()
    agent = Command(FOREVER["shell, with a child that ignores signals"], env={"LIFELINE": str(path)})
    ended: list[str] = []

    def act() -> None:
        try:
            agent(made.trial)
        except BaseException as error:
            ended.append(type(error).__name__)

    thread = threading.Thread(target=act)
    thread.start()
    with open(path, "rb", buffering=0) as begun:  # waits until the agent opens its end
        assert begun.read(6) == b"begun\n"
        made.trial.cancel()
        thread.join(20)
    assert ended == ["TrialCancelled"]
    assert until_closed() == b""


def test_a_suite_takes_a_command_as_it_takes_a_function() -> None:
    agent = Command(["true"])
    assert Suite("s", tasks=[Task("t", input=1)], agent=agent).arms() == {"": agent}
