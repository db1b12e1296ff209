"""An agent behind HTTP: what it is sent, what its answers mean, whose server it is."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from passhat import Limits, Status, Task
from passhat.agents import AdapterError, AgentUnavailable, Http, HttpFailed
from passhat.agents._server import free_port
from passhat.facts import AgentEvent, Transcript, TrialRecord
from passhat.graders import exact
from passhat.scripting import say
from passhat.trial import ModelAccess

MakeBare = Callable[..., Any]
Only = Callable[..., tuple[TrialRecord, Transcript]]


class Remote:
    """A server that keeps what it was sent and answers as told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str], str]] = []
        self.answer: tuple[int, str, bytes] = (200, "application/json", b'{"reply": "a"}')
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        remote = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                remote.seen.append((f"{self.command} {self.path}", headers, body))
                remote.asked.set()
                remote.go_on.wait(30)
                status, kind, content = remote.answer
                try:
                    self.send_response(status)
                    self.send_header("content-type", kind)
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/ask?v=1"


@pytest.fixture
def remote() -> Iterator[Remote]:
    """A remote agent."""
    made = Remote()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.go_on.set()
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("input", "kind", "body"),
    [("hello", "text/plain; charset=utf-8", "hello"), ({"q": [1]}, "application/json", '{"q":[1]}')],
)
def test_the_input_is_posted_and_json_comes_back(
    bare: MakeBare, remote: Remote, input: Any, kind: str, body: str
) -> None:
    assert Http(remote.url)(bare(input).trial) == {"reply": "a"}
    ((line, headers, sent),) = remote.seen
    assert (line, headers["content-type"], sent) == ("POST /ask?v=1", kind, body)


def test_body_output_method_and_headers_can_be_chosen(bare: MakeBare, remote: Remote) -> None:
    agent = Http(
        remote.url,
        body=lambda trial: {"messages": [trial.input]},
        output=lambda answer: answer["reply"],
        headers={"x-team": "blue"},
    )
    assert agent(bare("hi").trial) == "a"
    assert json.loads(remote.seen[0][2]) == {"messages": ["hi"]}
    assert remote.seen[0][1]["x-team"] == "blue"
    assert Http(remote.url, method="get")(bare().trial) == {"reply": "a"}
    assert remote.seen[1][0].startswith("GET ")


def test_a_text_answer_is_text(bare: MakeBare, remote: Remote) -> None:
    remote.answer = (200, "text/plain", "grüß dich".encode())
    assert Http(remote.url)(bare().trial) == "grüß dich"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((500, "text/plain", b"it broke"), "answered with status 500: 'it broke'"),
        ((302, "text/plain", b""), "status 302"),
        ((200, "application/json", b"{"), "says it is JSON and isn't"),
    ],
)
def test_answers_that_are_failures(
    bare: MakeBare, remote: Remote, answer: tuple[int, str, bytes], message: str
) -> None:
    remote.answer = answer
    with pytest.raises(HttpFailed, match=message):
        Http(remote.url)(bare().trial)


def test_a_too_long_answer_is_a_failure(bare: MakeBare, remote: Remote) -> None:
    with pytest.raises(HttpFailed, match="more than 5 bytes"):
        Http(remote.url, most_bytes=5)(bare().trial)


def test_nobody_listening_is_not_the_agents_failure(bare: MakeBare) -> None:
    with free_port() as port, pytest.raises(AgentUnavailable, match="nobody answers at"):
        Http(f"http://127.0.0.1:{port}/")(bare().trial)


def test_a_remote_agent_that_is_not_told_the_key_is_unseen_and_the_transcript_says_so(
    bare: MakeBare, remote: Remote
) -> None:
    made = bare(model=ModelAccess("http://gateway", "sk-trial"))
    Http(remote.url)(made.trial)
    (event,) = made.transcript.events
    assert isinstance(event, AgentEvent)
    assert (event.kind, event.name) == ("unseen", "model calls")
    assert "doesn't carry the trial's key" in event.value
    assert "sk-trial" not in str(remote.seen)


def test_a_remote_agent_gets_the_trials_key_in_the_headers_that_it_asks_for(bare: MakeBare, remote: Remote) -> None:
    made = bare(model=ModelAccess("http://gateway", "sk-trial"))
    Http(remote.url, propagate={"authorization": "Bearer {key}", "x-model-url": "{base_url}/v1"})(made.trial)
    headers = remote.seen[0][1]
    assert (headers["authorization"], headers["x-model-url"]) == ("Bearer sk-trial", "http://gateway/v1")
    assert made.transcript.events == ()


def test_the_end_of_the_trial_ends_the_wait_for_a_remote_answer(bare: MakeBare, remote: Remote) -> None:
    remote.go_on.clear()
    trial = bare().trial
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            Http(remote.url)(trial)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert remote.asked.wait(20)
    trial.cancel()
    thread.join(20)
    assert [type(error).__name__ for error in ended] == ["TrialCancelled"]


SERVER = """
import json, os, sys, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

class Agent(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        question = self.rfile.read(int(self.headers["content-length"])).decode()
        body = {"model": "m", "messages": [{"role": "user", "content": question}]}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
            {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            text = json.load(answer)["choices"][0]["message"]["content"]
        open("said.txt", "w").write(text)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

assert os.environ["PORT"] == sys.argv[1]
HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


def test_a_server_of_each_trials_own_reaches_the_trials_model_and_is_graded(only_trial: Only) -> None:
    agent = Http("http://127.0.0.1:{port}/", server=[sys.executable, "-c", SERVER, "{port}"], ready="/health")
    record, transcript = only_trial(
        agent,
        Task("t", input="6 x 7", expected="42"),
        script=[say("42")],
        graders=[exact(), lambda trial: (trial.workspace / "said.txt").read_text() == "42"],
    )
    assert (record.status, record.passed, record.usage.model_calls) == (Status.COMPLETED, True, 1)
    assert transcript.model_calls[0].messages[0].text == "6 x 7"


def test_a_server_that_does_not_start_is_the_environments_error_with_its_last_words(bare: MakeBare) -> None:
    agent = Http("http://127.0.0.1:{port}/", server=["sh", "-c", "echo no config >&2; exit 1"])
    with pytest.raises(AgentUnavailable, match="ended before it answered; it printed 'no config'"):
        agent(bare().trial)
    silent = Http("http://127.0.0.1:{port}/", server=["sleep", "1000"], ready_seconds=0.01)
    with pytest.raises(AgentUnavailable, match=r"didn't answer within 0\.01 seconds"):
        silent(bare().trial)


def test_an_answer_of_somebody_elses_server_is_not_taken_for_the_agents(
    bare: MakeBare, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ready_when_ours_has_ended(ready: Any, trial: Any, process: Any, exited: threading.Event, *_: Any) -> None:
        assert exited.wait(20)

    monkeypatch.setattr("passhat.agents._server._unused", lambda: remote.server.server_port)
    monkeypatch.setattr("passhat.agents._server._wait_until", ready_when_ours_has_ended)
    agent = Http("http://127.0.0.1:{port}/", server=["sh", "-c", "echo port is taken; exit 1"])
    with pytest.raises(AgentUnavailable, match="had ended when the answer came, so somebody else may have answered"):
        agent(bare().trial)
    assert len(remote.seen) == 1


def test_no_two_trials_of_a_process_get_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = iter([5001, 5001, 5002, 5001])
    monkeypatch.setattr("passhat.agents._server._unused", lambda: next(offered))
    with free_port() as first, free_port() as second:
        assert (first, second) == (5001, 5002)
    with free_port() as third:
        assert third == 5001


def test_a_server_that_never_gets_ready_is_killed_at_the_deadline(only_trial: Only) -> None:
    agent = Http("http://127.0.0.1:{port}/", server=["sleep", "1000"])
    record, _ = only_trial(agent, limits=Limits(seconds=0.3), graders=[exact()])
    assert record.status is Status.TIMEOUT


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("localhost:8000", {}, "must be a URL such as"),
        ("http://user:pw@host/", {}, "would end up in reports"),
        ("http://127.0.0.1:{port}/", {}, "which isn't given"),
        ("http://127.0.0.1:80/", {"server": ["x"]}, "its port must be {port}"),
        ("http://host/", {"ready": "/health"}, "are for server"),
        ("http://host/", {"propagate": {"x-a": "fixed"}}, "holds neither"),
        ("http://host/", {"headers": {"a": 1}}, "write numbers as text"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_made(url: str, options: Any, message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        Http(url, **options)


@pytest.mark.parametrize("kind", ["text/plain", "text/html; charset=utf-8"])
def test_json_that_came_as_text_is_named_where_output_fails_on_it(bare: MakeBare, remote: Remote, kind: str) -> None:
    remote.answer = (200, kind, b'{"reply": "a"}')
    assert Http(remote.url)(bare().trial) == '{"reply": "a"}'
    with pytest.raises(HttpFailed, match="came as text, because its content type is") as caught:
        Http(remote.url, output=lambda body: body["reply"])(bare().trial)
    assert f"{kind!r}: have the server send application/json" in str(caught.value)
    assert Http(remote.url, output=lambda body: json.loads(body)["reply"])(bare().trial) == "a"


def test_what_output_raises_over_another_body_is_its_own_error(bare: MakeBare, remote: Remote) -> None:
    remote.answer = (200, "text/plain", b"sorry")
    with pytest.raises(TypeError):
        Http(remote.url, output=lambda body: body["reply"])(bare().trial)
    remote.answer = (200, "application/json", b'{"other": 1}')
    with pytest.raises(KeyError):
        Http(remote.url, output=lambda body: body["reply"])(bare().trial)
