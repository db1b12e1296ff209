"""Limits that the gateway holds, graders that hang or die, and suites that no other process can find."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import passhat
from passhat import Limits, Suite, Task
from passhat.facts import Role, Status
from passhat.gateway import Gateway
from passhat.running import Entrance, Run, RunError, _process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

GRADERS = """
    import os, time
    from passhat import Suite, Task
    from passhat.graders import grader

    @grader(weight=3.0, role="advisory")
    def hangs(trial):
        time.sleep(1000)

    def dies(trial):
        os._exit(7)

    async def sees_it(trial):
        return (trial.workspace / "made.txt").read_text() == "by the agent"

    def spoils_its_copy(trial):
        (trial.workspace / "made.txt").write_text("by a grader")
        return True

    def leaves(trial):
        raise SystemExit(0)

    def agent(trial):
        (trial.workspace / "made.txt").write_text("by the agent")

    suite = Suite("graders", tasks=[Task("t")], agent=agent, graders=[spoils_its_copy, hangs, sees_it, dies, leaves])
"""


def test_a_grader_that_hangs_or_dies_costs_its_own_grade_only(run_file: Callable[..., Run]) -> None:
    (record,) = run_file(GRADERS, limits=Limits(grade_seconds=2)).trials()
    spoils, hangs, sees, dies, leaves = record.grades
    assert (spoils.passed, sees.passed) == (True, True)
    assert hangs.error == "TimeoutError: the grader timed out after 2.0 s"
    assert (hangs.role, hangs.weight) == (Role.ADVISORY, 3.0)
    assert "exit code 7" in (dies.error or "")
    assert (leaves.error or "").startswith("SystemExit: sys.exit(0) was called")
    assert record.status is Status.GRADER_ERROR


class _Upstream(BaseHTTPRequestHandler):
    """A provider that counts requests and never runs out."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append(body["messages"][-1]["content"])
        message = {"role": "assistant", "content": "more"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        data = json.dumps({**reply, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def upstream() -> Iterator[tuple[str, list[str]]]:
    _Upstream.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", _Upstream.seen
    server.shutdown()
    server.server_close()
    thread.join()


GREEDY = """
    import json, os, urllib.error, urllib.request
    from passhat import Suite, Task

    def agent(trial):
        while True:
            body = {"model": "m", "messages": [{"role": "user", "content": trial.task_id}]}
            request = urllib.request.Request(
                os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"})
            try:
                urllib.request.urlopen(request, timeout=30).close()
            except urllib.error.HTTPError as error:
                error.close()

    suite = Suite("greedy", tasks=[Task("a"), Task("b")], agent=agent)
"""


def test_an_agent_that_ignores_its_limit_of_calls_makes_no_more_of_them(
    run_file: Callable[..., Run], gateway: Gateway, upstream: tuple[str, list[str]]
) -> None:
    url, seen = upstream
    host = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-host-0123456789", "PATH": "/usr/bin:/bin"}
    run = run_file(GREEDY, concurrency=2, through=Entrance(gateway, host), limits=Limits(model_calls=3, seconds=2))
    ends = [(record.status, record.passed, record.error and record.error.kind) for record in run.trials()]
    assert ends == [(Status.LIMIT, False, "model_calls")] * 2
    assert sorted(seen) == ["a"] * 3 + ["b"] * 3


def test_no_request_reaches_the_provider_after_the_deadline(
    run_file: Callable[..., Run], gateway: Gateway, upstream: tuple[str, list[str]]
) -> None:
    url, seen = upstream
    host = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-host-0123456789", "PATH": "/usr/bin:/bin"}
    limits = Limits(model_calls=None, seconds=1)
    run = run_file(GREEDY, concurrency=2, through=Entrance(gateway, host), limits=limits)
    records = list(run.trials())
    assert [record.status for record in records] == [Status.TIMEOUT] * 2
    for record in records:
        transcript = run.transcript(record)
        assert transcript is not None
        assert len([call.at for call in transcript.model_calls if call.at > 1.0]) <= 1  # let in just before
    assert len(seen) <= sum(record.usage.model_calls for record in records) + 2  # the calls in flight


def test_a_suite_that_no_other_process_can_find_is_refused_with_the_way_out(tmp_path: Path) -> None:
    def agent(trial: Any) -> str:
        return "here"

    suite = Suite("closure", tasks=[Task("t")], agent=agent)
    with pytest.raises(RunError, match=r"'closure' can't be found by another process.*--isolation inline"):
        passhat.run(suite, isolation="process", root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interpreter_that_the_user_can_not_run_is_refused_with_the_way_out(
    run_file: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "python"
    closed.touch(mode=0o600)
    monkeypatch.setattr("sys.executable", str(closed))
    text = """
        from passhat import Suite, Task
        suite = Suite("any", tasks=[Task("t")], agent=lambda trial: None)
    """
    with pytest.raises(RunError, match=rf"can't run {re.escape(str(closed))}: Permission denied.*--isolation inline"):
        run_file(text)


def test_a_suite_that_needs_a_variable_of_the_host_says_how_to_let_it_in(
    run_file: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", "http://shop")
    text = """
        import os
        from passhat import Suite, Task
        SHOP = os.environ["SHOP_URL"]
        suite = Suite("shop", tasks=[Task("t")], agent=lambda trial: SHOP)
    """
    with pytest.raises(RunError, match=r"(?s)SHOP_URL.*pass_env.*--isolation inline"):
        run_file(text)
    (record,) = run_file(text.replace("agent=", 'pass_env=["SHOP_URL"], agent=')).trials()
    assert record.output == "http://shop"


def test_a_file_that_starts_a_run_at_its_top_is_refused_instead_of_starting_itself_for_ever(
    run_file: Callable[..., Run],
) -> None:
    text = """
        import os
        import passhat
        suite = passhat.Suite("again", tasks=[passhat.Task("t")], agent=lambda trial: 1)
        if "PASSHAT_RUN" in os.environ:
            passhat.run(suite, isolation="process")
    """
    with pytest.raises(RunError, match="__main__"):
        run_file(text)


def test_an_agent_given_by_name_is_found_and_no_grader_imports_it(run_file: Callable[..., Run]) -> None:
    text = """
        import sys
        from passhat import Suite, Task
        suite = Suite("named", tasks=[Task("t")], agent="helper:answer",
                      graders=[lambda trial: trial.output == 42 and "helper" not in sys.modules])
    """
    (record,) = run_file(text, beside={"helper.py": "def answer(trial):\n    return 42\n"}).trials()
    assert record.passed is True, record


def test_fresh_interpreters_give_the_same_and_are_named(run_file: Callable[..., Run]) -> None:
    text = """
        from passhat import Suite, Task
        suite = Suite("fresh", tasks=[Task("t", expected=4)], agent=lambda trial: 2 + 2,
                      graders=[lambda trial: trial.output == trial.task.expected])
    """
    run = run_file(text, isolation="spawn")
    assert [record.passed for record in run.trials()] == [True]
    assert (run.manifest.isolation, run.manifest.isolation_notes) == ("spawn", ())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every run starts fresh interpreters")
def test_a_package_that_can_not_be_forked_is_imported_anew_in_each_trial_and_the_manifest_says_why(
    run_file: Callable[..., Run],
) -> None:
    text = """
        import pathlib, sys
        sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))
        import threaded
        from passhat import Suite, Task
        suite = Suite("threaded", tasks=[Task("t")], agent=lambda trial: threaded.WORKER.is_alive(),
                      graders=[lambda trial: trial.output is True])
    """
    package = """
import threading
WORKER = threading.Thread(target=threading.Event().wait, name="pool", daemon=True)
WORKER.start()
"""
    run = run_file(text, beside={"site-packages/threaded.py": package})
    assert [record.passed for record in run.trials()] == [True]
    assert any("threaded" in note and "thread" in note for note in run.manifest.isolation_notes)


GOES_ON = """
    import json, signal, urllib.error, urllib.request
    from contextlib import contextmanager
    from threading import Event
    from passhat import Limits, Suite, Task
    from passhat.scripting import say

    @contextmanager
    def environment(trial):
        yield
        if trial.input == "closes":
            Event().wait(0.4)
            (trial.workspace / "closed").touch()

    def ask(trial):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
        key = {"authorization": f"Bearer {trial.model.api_key}", "content-type": "application/json"}
        url = trial.model.openai["base_url"] + "/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, body, key)).read()

    def agent(trial):
        (trial.workspace / "found").write_text("half")
        try:
            while True:
                ask(trial)
        except urllib.error.HTTPError as error:
            error.close()
            while trial.input == "goes on":
                signal.pause()
            return "what I have"

    def left(trial):
        return {"closes": 0.75, "goes on": 0.5}[trial.task.input] if (trial.workspace / "found").exists() else 0

    def closed(trial):
        return (trial.workspace / "closed").exists()

    suite = Suite("limit", tasks=[Task("a", input="goes on"), Task("b", input="closes")], agent=agent,
                  environment=environment, graders=[left, closed], limits=Limits(seconds=3000, model_calls=2),
                  simulation=lambda request, rng: say("hi"))
"""


@pytest.mark.parametrize("isolation", ["process", "spawn"])
def test_an_agent_that_goes_on_after_a_refused_call_is_ended_and_one_that_leaves_may_finish(
    run_file: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    monkeypatch.setattr(_process, "LIMIT_GRACE", 0.1)
    ends = {record.task: record for record in run_file(GOES_ON, isolation=isolation).trials()}
    for record in ends.values():
        assert (record.status, record.passed, record.usage.model_calls) == (Status.LIMIT, False, 2)
        assert record.error is not None
        assert record.error.message == "the limit of 2 model calls was reached"
        assert record.attempts == ()
    assert [(ends[task].grades[0].score, ends[task].grades[1].passed) for task in "ab"] == [(0.5, False), (0.75, True)]
    assert (ends["a"].output, ends["b"].output) == (None, "what I have")
    assert ends["a"].notes == ("the agent went on after its limit and was ended 2 s after it",)
    assert ends["b"].notes == ()
