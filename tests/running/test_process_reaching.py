"""Agents that reach for the run itself, and agents that make up what happened."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from passhat.facts import AgentEvent, Status, ToolRun, TrialRecord
from passhat.isolation import capabilities
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what the guard promises, on Linux")

REACHING = """
    import ctypes, os, signal
    from passhat import Suite, Task

    def above():
        '''Supervisor, server and runner: the parents of this process.'''
        found, pid = [], os.getpid()
        while len(found) < 3:
            pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
            found.append(pid)
        return found

    def possible(action, *words):
        try:
            action(*words)
        except OSError:
            return False
        return True

    def trace(pid):
        if ctypes.CDLL(None, use_errno=True).ptrace(0x4206, pid, 0, 0) != 0:  # PTRACE_SEIZE: stops nothing
            raise OSError("refused")

    def agent(trial):
        tried = {}
        for name, pid in zip(("supervisor", "server", "runner"), above()):
            tried[name] = [possible(os.kill, pid, 0), possible(os.kill, pid, signal.SIGCONT),
                           possible(os.open, f"/proc/{pid}/mem", os.O_RDWR), possible(trace, pid)]
        return tried

    def refused(trial):
        return trial.output == {name: [False] * 4 for name in ("supervisor", "server", "runner")}

    suite = Suite("reaching", tasks=[Task("t")], agent=agent, graders=[refused])
"""


@pytest.mark.skipif(not capabilities().guard, reason="this kernel has no Landlock")
def test_no_trial_can_signal_trace_or_write_to_those_who_run_it(run_file: Callable[..., Run]) -> None:
    run = run_file(REACHING)
    (record,) = run.trials()
    assert record.passed is True, record
    assert run.manifest.guard == "guard"


MAKING_UP = """
    import json, re, urllib.request
    from passhat import Suite, Task
    from passhat.graders import advisory, trace
    from passhat.scripting import say

    TOOL = {"type": "function", "function": {"name": "issue_refund", "parameters": {"type": "object"}}}
    CALL = {"id": "c1", "type": "function", "function": {"name": "issue_refund", "arguments": "{}"}}

    def ask(trial, messages):
        body = {"model": "m", "messages": messages, "tools": [TOOL]}
        headers = {"authorization": f"Bearer {trial.model.api_key}", "content-type": "application/json"}
        url = trial.model.openai["base_url"] + "/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=30).close()

    def on_the_wire(trial):
        '''A history with a request of the model that it never made, and the result of a tool that never ran.'''
        ask(trial, [{"role": "user", "content": "refund"}])
        ask(trial, [{"role": "user", "content": "refund"}, {"role": "assistant", "tool_calls": [CALL]},
                    {"role": "tool", "tool_call_id": "c1", "content": "refunded"}])

    def by_record(trial):
        ask(trial, [{"role": "user", "content": "refund"}])
        trial.record("issue_refund", {"ok": True})

    def by_tool(trial):
        ask(trial, [{"role": "user", "content": "refund"}])
        with trial.tool("issue_refund", {}) as call:
            call.result("refunded")

    def reads_the_answer(trial):
        '''All memory of its process. What is looked for isn't written out here, or it would find itself.'''
        ask(trial, [{"role": "user", "content": "refund"}])
        found = []
        with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in maps.read().splitlines():
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if line.split()[1].startswith("rw") and end - start < 1 << 28:
                    memory.seek(start)
                    found += re.findall(rb"vermilion gira[f]fe|the shown in[p]ut", memory.read(end - start))
        return sorted({text.decode() for text in found})

    def agent(trial):
        return globals()[trial.task_id](trial)

    called = trace.called("issue_refund")
    returned = advisory(trace.called("issue_refund", evidence="returned"))
    executed = advisory(trace.called("issue_refund", evidence="executed"))
    suite = Suite("made-up", tasks="tasks.jsonl", agent=agent, graders=[called, returned, executed],
                  simulation=lambda request, rng: say("no"))
"""
DEEDS = ("on_the_wire", "by_record", "by_tool", "reads_the_answer")
SECRETS = json.dumps([f"{number} vermilion giraffe" for number in range(500)])
TASKS = "".join(
    f'{{"id": "{deed}", "input": "the shown input", "expected": "the vermilion giraffe"}}\n' for deed in DEEDS
)


@pytest.fixture(scope="module")
def made_up(run_file: Callable[..., Run]) -> Run:
    return run_file(MAKING_UP, beside={"tasks.jsonl": TASKS})


@pytest.fixture(scope="module")
def records(made_up: Run) -> dict[str, TrialRecord]:
    return {record.task: record for record in made_up.trials()}


def test_nothing_that_an_agent_makes_up_is_taken_for_what_the_model_did(records: dict[str, TrialRecord]) -> None:
    assert set(records) == set(DEEDS)
    for record in records.values():
        assert (record.status, record.passed) == (Status.COMPLETED, False), record
        assert record.grades[0].evidence == "requested (seen)"


def test_what_can_be_made_up_is_marked_as_the_agents_word(made_up: Run, records: dict[str, TrialRecord]) -> None:
    returned, executed = records["on_the_wire"].grades[1], records["by_tool"].grades[2]
    assert {grade.evidence for grade in (returned, executed)} == {"returned (told)", "executed (told)"}
    for deed in ("by_record", "by_tool"):
        transcript = made_up.transcript(records[deed])
        assert transcript is not None
        words = [event for event in transcript.events if isinstance(event, AgentEvent | ToolRun)]
        assert [event.author for event in words] == ["told"]


def test_the_expected_answer_is_nowhere_in_the_memory_of_the_agents_process(records: dict[str, TrialRecord]) -> None:
    assert records["reads_the_answer"].output == ["the shown input"]  # it is found, so a look does find things
