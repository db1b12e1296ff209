"""Record through a gateway whose provider is a second, simulating gateway; replay without it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from passhat.facts import Limits, ModelCall
from passhat.gateway import (
    Cassette,
    CassetteError,
    Forward,
    Gateway,
    Record,
    Replay,
    Request,
    Script,
    Session,
    Simulate,
    Upstream,
)
from passhat.scripting import Reply, call, fail, reply, say, think

TOOLS: list[Any] = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
HTTP = httpx2.Client(verify=False)  # one for all: making one takes longer than a trial
SECRET = "sk-live-0123456789abcdef0123"


@pytest.fixture(scope="module")
def provider() -> Iterator[Gateway]:
    with Gateway() as gateway:
        yield gateway


def to(session: Session, wire: str = "chat") -> Forward:
    """A provider that is a session of another gateway."""
    if wire == "messages":
        return Forward(Upstream("anthropic", session.access.base_url, session.key, frozenset({"messages"})))
    return Forward(Upstream("openai", session.access.openai["base_url"], session.key, frozenset({"chat", "responses"})))


def policy(request: Request, rng: random.Random) -> Reply:
    if request.results:
        return reply(think("so"), say(f"done {rng.random():.6f} in {request.results[0].text}"))
    where = request.user.rsplit(" ", 1)[-1]
    return reply(say("Reading."), *(call("read", {"path": f"{where}/{name}", "n": rng.random()}) for name in "ab"))


def agent(session: Session, task: str, place: Path, stream: bool = True, prompt: str = "files of") -> str:
    """Two steps with parallel calls; the prompt and the tool's results hold the workspace's path."""
    client: Any = openai.OpenAI(**session.access.openai, max_retries=0, http_client=HTTP)
    conversation: list[Any] = [{"role": "user", "content": f"{prompt} {task} {place}"}]
    for _ in range(2):
        ask = {"model": "m", "messages": conversation, "tools": TOOLS}
        if stream:
            with client.chat.completions.stream(**ask) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**ask).choices[0].message
        conversation.append(message.model_dump(exclude_none=True))
        for wish in message.tool_calls or ():
            assert str(place) in wish.function.arguments
            conversation.append({"role": "tool", "tool_call_id": wish.id, "content": f"{place}/found"})
    return str(message.content)


def run(
    gateway: Gateway, mode: Callable[[str, int], Any], root: Path, tasks: int, trials: int
) -> dict[tuple[str, int], tuple[str, str]]:
    """All trials at once: each one's output and what its transcript says."""

    def trial(place: tuple[str, int]) -> tuple[tuple[str, int], tuple[str, str]]:
        task, number = place
        events: list[ModelCall] = []
        workspace = root / f"{task}-{number}"
        workspace.mkdir(parents=True)
        session = gateway.open(mode(task, number), sink=events.append, workspace=workspace, label=f"{task}/{number}")
        output = agent(session, task, workspace, stream=number % 2 == 0)
        session.revoke()
        return place, (output.replace(str(workspace), "<workspace>"), _plain(events, workspace))

    places = [(f"task-{task}", number) for task in range(tasks) for number in range(trials)]
    with ThreadPoolExecutor(8) as pool:
        return dict(pool.map(trial, places))


def _plain(events: list[ModelCall], workspace: Path) -> str:
    return str([(e.reply, e.stop_reason, e.usage.tokens) for e in events]).replace(str(workspace), "<workspace>")


@pytest.mark.parametrize("suffix", ["jsonl", "yaml"])
def test_fifty_recorded_trials_replay_the_same_without_a_provider(
    gateway: Gateway, provider: Gateway, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"cassette.{suffix}"
    asked: list[ModelCall] = []
    upstream = provider.open(Simulate(policy), sink=asked.append, seed=3, limits=Limits(model_calls=None))
    with Cassette(path) as cassette:
        recorded = run(
            gateway,
            lambda t, n: Record(cassette, to(upstream), task=t, trial=n),
            tmp_path / "first",
            tasks=10,
            trials=5,
        )
    assert len(asked) == 10 * 5 * 2
    again = Cassette(path)
    assert (len(again), again.trials("task-3")) == (100, 5)
    replayed = run(gateway, lambda t, n: Replay(again, task=t, trial=n), tmp_path / "second", 10, 5)
    assert replayed == recorded
    assert len(asked) == 100, "replay never asks a provider"
    assert len({output for output, _ in replayed.values()}) == 50, "trials are samples of their own"


def record_one(gateway: Gateway, provider: Gateway, tmp_path: Path) -> Path:
    path = tmp_path / "cassette.yaml"
    upstream = provider.open(Simulate(policy), seed=3)
    with Cassette(path) as cassette:
        session = gateway.open(Record(cassette, to(upstream), task="t"), workspace=tmp_path / "ws")
        agent(session, "orders", tmp_path / "ws")
    return path


def test_a_changed_prompt_is_an_error_that_shows_the_difference(
    gateway: Gateway, provider: Gateway, tmp_path: Path
) -> None:
    cassette = Cassette(record_one(gateway, provider, tmp_path))
    events: list[ModelCall] = []
    session = gateway.open(Replay(cassette, task="t"), workspace=tmp_path / "other", sink=events.append)
    with pytest.raises(openai.BadRequestError) as caught:
        agent(session, "orders", tmp_path / "other", prompt="all files of")
    assert '-   "content": "files of orders <workspace>"' in str(caught.value.body["message"])  # type: ignore[index]
    assert '+   "content": "all files of orders <workspace>"' in str(caught.value.body["message"])  # type: ignore[index]
    assert [event.refused for event in events] == ["cassette"]
    assert len(session.unused()) == 2


def test_more_trials_than_were_recorded_are_refused_with_their_number(
    gateway: Gateway, provider: Gateway, tmp_path: Path
) -> None:
    cassette = Cassette(record_one(gateway, provider, tmp_path))
    with pytest.raises(openai.BadRequestError, match="holds 1 trial of task 't' and this is trial 3"):
        agent(gateway.open(Replay(cassette, task="t", trial=2), workspace=tmp_path / "ws"), "orders", tmp_path / "ws")
    session = gateway.open(Replay(cassette, task="t"), workspace=tmp_path / "ws")
    agent(session, "orders", tmp_path / "ws")
    with pytest.raises(openai.BadRequestError, match=r"holds this request 1 times .* asked it 2 times"):
        agent(session, "orders", tmp_path / "ws")


@pytest.mark.parametrize(("when", "calls"), [("missing", 1), ("all", 3)])
def test_recording_asks_for_what_is_missing_or_for_all(
    gateway: Gateway, provider: Gateway, tmp_path: Path, when: Any, calls: int
) -> None:
    path = tmp_path / "c.jsonl"
    asked: list[ModelCall] = []
    upstream = provider.open(Script(lambda request: f"answer {len(asked)}"), sink=asked.append)

    def trial(mode: Any, *words: str) -> list[str]:
        session = gateway.open(mode)
        client: Any = openai.OpenAI(**session.access.openai)
        with client:
            answers = [
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": word}])
                for word in words
            ]
        session.revoke()
        return [answer.choices[0].message.content for answer in answers]

    first = trial(Record(Cassette(path), to(upstream)), "a", "a")
    assert first == ["answer 0", "answer 1"]
    asked.clear()
    second = trial(Record(Cassette(path), to(upstream), when=when), "a", "a", "b")
    assert len(asked) == calls
    assert second[:2] == (first if when == "missing" else ["answer 0", "answer 1"])
    assert trial(Record(Cassette(path), to(upstream), when="none"), "a", "a", "b") == second
    assert len(asked) == calls


def test_secrets_are_never_written(gateway: Gateway, provider: Gateway, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    keys: list[str] = []
    upstream = provider.open(Script([lambda request: f"your key is {keys[0]}, mine {SECRET}"]))
    keys.append(upstream.key)
    session = gateway.open(Record(Cassette(path), to(upstream)))
    client: Any = openai.OpenAI(**session.access.openai, default_headers={"x-other": SECRET})
    with client:
        client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": f"key {session.key} and {SECRET}"}], metadata={"k": SECRET}
        )
    session.revoke()
    text = path.read_text()
    assert "<key>" in text
    for secret in (SECRET, session.key, upstream.key):
        assert secret not in text


@pytest.mark.parametrize("stream", [False, True])
def test_responses_and_messages_are_recorded_too(
    gateway: Gateway, provider: Gateway, tmp_path: Path, stream: bool
) -> None:
    path = tmp_path / "c.yaml"
    answers: list[Any] = [reply(think("hm\nhm"), say("text " * 9), call("read", {"p": "x" * 40}))]

    def ask(session: Session, wire: str) -> Any:
        if wire == "responses":
            client: Any = openai.OpenAI(**session.access.openai)
            with client:
                if not stream:
                    return client.responses.create(model="m", input="q").to_dict()
                with client.responses.stream(model="m", input="q") as events:
                    return events.get_final_response().to_dict()
        other: Any = anthropic.Anthropic(**session.access.anthropic)
        ask: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
        with other:
            if not stream:
                return other.messages.create(**ask).to_dict()
            with other.messages.stream(**ask) as events:
                return events.get_final_message().to_dict()

    for wire in ("responses", "messages"):
        live = gateway.open(Record(Cassette(path), to(provider.open(Script(answers)), wire), task=wire))
        first = ask(live, wire)
        live.revoke()
        events: list[ModelCall] = []
        replay = gateway.open(Replay(Cassette(path), task=wire), sink=events.append)
        assert ask(replay, wire) == first
        assert events[0].reply is not None
        assert events[0].reply.thinking == "hm\nhm"
        assert (events[0].source, replay.source, replay.usage().dollars) == ("replayed", "replayed", 0.0)


def test_lasting_errors_are_recorded_and_passing_ones_are_not(
    gateway: Gateway, provider: Gateway, tmp_path: Path
) -> None:
    path = tmp_path / "c.jsonl"
    passing = [fail(429, retry_after=0.0), fail(503, retry=False), fail(401, "no such key"), fail(404, "no such model")]
    upstream = provider.open(Script([*passing, fail(422, "no such field")]))

    def ask(session: Session, word: str) -> str:
        client: Any = openai.OpenAI(**session.access.openai, max_retries=0)
        with client, pytest.raises(openai.APIStatusError) as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": word}])
        return str(caught.value)

    live = gateway.open(Record(Cassette(path), to(upstream)))
    errors = [ask(live, word) for word in ("a", "b", "c", "d", "e")]
    live.revoke()
    assert len(Cassette(path)) == 1
    assert ask(gateway.open(Replay(Cassette(path))), "e") == errors[4]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("c.jsonl", "", "is empty"),
        ("c.jsonl", "{}\n", "doesn't begin with passhat_cassette: 1"),
        ("c.jsonl", '{"passhat_cassette": 1}\n{"task": "t", "tri', "line 2: not JSON"),
        ("c.jsonl", '{"passhat_cassette": 1}\n{"task": "t"}\n', "line 2: .*missing required field"),
        ("c.yaml", "passhat_cassette: [", "not YAML"),
        ("c.yaml", "passhat_cassette: 1\nanswers: {}", "must be a list"),
        ("c.yaml", "passhat_cassette: 2\n", "another version"),
        ("c.txt", "x", "ends in .yaml or .jsonl"),
    ],
)
def test_a_corrupt_cassette_is_an_error_and_stays_as_it_is(tmp_path: Path, name: str, text: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(CassetteError, match=problem):
        Cassette(path)
    assert path.read_text() == text


def test_a_cassette_that_is_not_there_and_a_wrong_word_are_named(gateway: Gateway, tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=r"there is no cassette .* --record missing"):
        gateway.open(Replay(Cassette(tmp_path / "no.yaml")))
    with pytest.raises(CassetteError, match="use missing, all or none"):
        Record(Cassette(tmp_path / "no.yaml"), Forward(Upstream("openai", "http://x")), when="auto")  # type: ignore[arg-type]
    with pytest.raises(CassetteError, match="match_on"):
        Cassette(tmp_path / "no.yaml", match_on=("headers",))


def test_a_cassette_changed_by_someone_else_is_not_written_over(
    gateway: Gateway, provider: Gateway, tmp_path: Path
) -> None:
    path = record_one(gateway, provider, tmp_path)
    mine = Cassette(path)
    session = gateway.open(Record(mine, to(provider.open(Script(["x"]))), task="u"), workspace=tmp_path)
    client: Any = openai.OpenAI(**session.access.openai)
    with client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}])
    path.write_text(path.read_text() + "# edited\n")
    with pytest.raises(CassetteError, match=r"changed by someone else meanwhile; .*conflict\.yaml"):
        mine.save()
    assert len(Cassette(tmp_path / "cassette.conflict.yaml")) == 3


def test_match_on_and_replace_decide_what_counts(gateway: Gateway, provider: Gateway, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"

    def ask(session: Session, model: str, temperature: float, text: str) -> Any:
        client: Any = openai.OpenAI(**session.access.openai)
        with client:
            answer = client.chat.completions.create(
                model=model, temperature=temperature, messages=[{"role": "user", "content": text}]
            )
        return answer.choices[0].message.content

    options: dict[str, Any] = {"match_on": ("wire", "messages"), "replace": {r"\d{4}-\d\d-\d\d": "<date>"}}
    live = gateway.open(Record(Cassette(path, **options), to(provider.open(Script(["hi"])))))
    ask(live, "one", 0.5, "today is 2026-11-30")
    live.revoke()
    assert ask(gateway.open(Replay(Cassette(path, **options))), "two", 0.9, "today is 2027-01-01") == "hi"


def test_other_endpoints_are_recorded_too(gateway: Gateway, tmp_path: Path, socket_provider: Any) -> None:
    served = socket_provider
    vector = b'{"object":"list","model":"e","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"usage":{}}'
    served.plays(lambda connection: connection.json(vector))
    path = tmp_path / "c.yaml"

    def embed(session: Session) -> Any:
        client: Any = openai.OpenAI(**session.access.openai)
        with client:
            return client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding

    live = gateway.open(Record(Cassette(path), Forward(Upstream("openai", served.base_url, "k"))))
    assert embed(live) == [0.5]
    live.revoke()
    replay = gateway.open(Replay(Cassette(path)))
    assert embed(replay) == [0.5]
    with pytest.raises(openai.BadRequestError, match="asked it 2 times"):
        embed(replay)
    assert len(served.requests) == 1
