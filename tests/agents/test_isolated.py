"""Adapters in trials that have a process of their own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import passhat
from passhat import Status
from passhat.agents import dialogue
from passhat.facts import AgentEvent, OutputText
from passhat.gateway import Gateway
from passhat.running import Entrance
from passhat.suite import discover

SUITES = """
import os

from passhat import Limits, Suite, Task
from passhat.agents import Command, Conversation, End
from passhat.graders import exact
from passhat.scripting import say

ASK = '''
import json, os, sys, urllib.request
body = {{"model": "m", "messages": [{{"role": "user", "content": sys.stdin.read()}}]}}
headers = {{"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"])
'''

asks = Suite(
    "asks", tasks=[Task("t", input="6 x 7", expected="42")], agent=Command([{python!r}, "-c", ASK]),
    script=[say("42")], graders=[exact()],
)
stuck = Suite(
    "stuck", tasks=[Task("t", input="")], limits=Limits(seconds=2), graders=[exact()],
    agent=Command(["sh", "-c", "echo begun; sleep 1000"]),
)
talks = Suite(
    "talks", tasks=[Task("t", input=["a", {{"kind": "reload"}}, "b"], expected="B")], graders=[exact()],
    agent=Conversation(lambda trial: type("Agent", (), {{"reply": lambda self, text: text.upper()}})()),
)
breaks = Suite(
    "breaks", tasks=[Task("t", input="")], agent=Conversation(lambda trial, text: "hi", user=lambda trial, heard: 7),
)
"""


def test_commands_and_conversations_work_in_a_process_of_their_own(tmp_path: Path, gateway: Gateway) -> None:
    (tmp_path / "eval_all.py").write_text(SUITES.format(python=sys.executable))
    through = Entrance(gateway, dict(os.environ))
    found = {}
    for each in discover(tmp_path):
        run = passhat.run(each.suite, root=tmp_path / ".passhat", isolation="process", through=through, retries=0)
        (record,) = run.trials()
        found[each.suite.name] = (record, run.transcript(record))

    record, transcript = found["asks"]
    assert (record.status, record.passed, record.usage.model_calls) == (Status.COMPLETED, True, 1)
    record, transcript = found["stuck"]
    assert record.status is Status.TIMEOUT
    assert transcript is not None
    assert [event.text for event in transcript.events if isinstance(event, OutputText)] == ["begun\n"]
    record, transcript = found["talks"]
    assert record.passed is True
    assert transcript is not None
    assert [message.text for message in dialogue(transcript)] == ["a", "A", "b", "B"]
    assert "reload" in [event.name for event in transcript.events if isinstance(event, AgentEvent)]
    record, _ = found["breaks"]
    assert (record.status, record.passed) == (Status.SIMULATOR_ERROR, None)


NODE = """
import os
from pathlib import Path

from passhat import Limits, Suite, Task
from passhat.agents import Command
from passhat.graders import exact, trace
from passhat.scripting import call, reply, say

Path(__file__).with_name("agent.mjs").write_text('''
import { readFileSync } from 'node:fs';
const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
const messages = [{ role: 'user', content: readFileSync(0, 'utf8') }];
for (;;) {
  const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm-1', messages, tools }),
  });
  const message = (await answer.json()).choices[0].message;
  messages.push(message);
  if (!message.tool_calls) { console.log(message.content); break; }
  for (const wish of message.tool_calls) {
    const { a, b } = JSON.parse(wish.function.arguments);
    messages.push({ role: 'tool', tool_call_id: wish.id, content: String(a + b) });
  }
}
''')
adds = Suite(
    "adds", tasks=[Task("t", input="2 + 3", expected="5")], agent=Command(["node", "{here}/agent.mjs"]),
    script=[reply(call("add", {"a": 2, "b": 3})), say("5")], graders=[exact(), trace.called("add")],
)
waits = Suite(
    "waits", tasks=[Task("t", input="")], limits=Limits(seconds=6), graders=[exact()],
    agent=Command(["node", "-e",
        "console.log(process.pid); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]),
)
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node isn't installed")
def test_a_node_agent_is_scripted_graded_and_killed_in_a_process_of_its_own(tmp_path: Path, gateway: Gateway) -> None:
    (tmp_path / "eval_node.py").write_text(NODE)
    through = Entrance(gateway, dict(os.environ))
    adds, waits = (found.suite for found in discover(tmp_path))
    run = passhat.run(adds, root=tmp_path / ".passhat", isolation="process", through=through)
    (record,) = run.trials()
    assert (record.status, record.passed, record.usage.model_calls) == (Status.COMPLETED, True, 2)
    assert {grade.name: grade.passed for grade in record.grades} == {"exact": True, "called add": True}

    run = passhat.run(waits, root=tmp_path / ".passhat", isolation="process", through=through)
    (record,) = run.trials()
    assert (record.status, record.passed) == (Status.TIMEOUT, False)
    transcript = run.transcript(record)
    assert transcript is not None
    (text,) = [event.text for event in transcript.events if isinstance(event, OutputText)]
    with pytest.raises(ProcessLookupError):
        os.kill(int(text), 0)
