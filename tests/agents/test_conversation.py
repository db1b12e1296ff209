"""Conversations: who speaks when, how they end, and whose fault it is when they go wrong."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat import FinishedTrial, Status, Task, Trial
from passhat.agents import (
    AdapterError,
    AgentError,
    Conversation,
    Dialogue,
    End,
    Fact,
    ModelUser,
    Prompt,
    Reload,
    SimulatorError,
    dialogue,
)
from passhat.facts import AgentEvent, Message, Transcript, TrialRecord
from passhat.gateway import Gateway, Request, Script
from passhat.graders import exact
from passhat.scripting import fail, say

MakeBare = Callable[..., Any]
Only = Callable[..., tuple[TrialRecord, Transcript]]


def echo(trial: Trial, message: str) -> str:
    return f"you said {message}"


class Counting:
    """An agent that remembers how often it was talked to."""

    made = 0

    def __init__(self, trial: Trial) -> None:
        type(self).made += 1
        self.count = 0

    def reply(self, message: str) -> str:
        self.count += 1
        return f"{message} {self.count}"


def said(dialogue: Dialogue) -> list[str]:
    return [message.text for message in dialogue.messages] + [dialogue.end]


def test_a_scripted_user_and_an_agent_take_turns(bare: MakeBare) -> None:
    made = bare()
    assert Conversation(echo, user=["a", "b"], output=said)(made.trial) == [
        "a", "you said a", "b", "you said b", "script over",
    ]  # fmt: skip
    assert [(message.role, message.text) for message in dialogue(made.transcript)] == [
        ("user", "a"), ("assistant", "you said a"), ("user", "b"), ("assistant", "you said b"),
    ]  # fmt: skip


def test_the_output_is_the_last_reply(bare: MakeBare) -> None:
    assert Conversation(echo, user=["a", "b"])(bare().trial) == "you said b"


def test_an_agent_object_keeps_its_state_and_a_reload_makes_a_new_one(bare: MakeBare) -> None:
    Counting.made = 0
    agent = Conversation(lambda trial: Counting(trial), user=["a", "b", Reload(), "c"], output=said)
    assert agent(bare().trial) == ["a", "a 1", "b", "b 2", "c", "c 1", "script over"]
    assert Counting.made == 2
    assert agent(bare().trial)[1] == "a 1"


def test_an_agent_that_can_reload_itself_does(bare: MakeBare) -> None:
    class Reloads(Counting):
        def reload(self) -> None:
            self.count = 100

    agent = Conversation(lambda trial: Reloads(trial), user=["a", Reload(), "b"])
    assert agent(bare().trial) == "b 101"


def test_an_object_that_is_a_context_manager_is_closed_also_after_an_error(bare: MakeBare) -> None:
    closed: list[str] = []

    class Session:
        def __enter__(self) -> Session:
            return self

        def __exit__(self, *_: object) -> None:
            closed.append("closed")

        def reply(self, message: str) -> str:
            raise ValueError(message)

    with pytest.raises(ValueError, match="boom"):
        Conversation(lambda trial: Session(), user=["boom"])(bare().trial)
    assert closed == ["closed"]


def test_without_a_user_the_input_holds_the_steps(bare: MakeBare) -> None:
    steps = ["a", {"kind": "reload"}, {"kind": "prompt", "text": "b"}]
    assert Conversation(lambda trial: Counting(trial))(bare(steps).trial) == "b 1"
    assert Conversation(echo)(bare("hello").trial) == "you said hello"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "must include at least one prompt step"),
        ([{"kind": "reload"}], "must include at least one prompt step"),
        ([" "], "must be a text that isn't blank"),
        ([{"kind": "prompt"}], r"input of task 't'\[0\]"),
        (7, "a prompt or a list"),
    ],
)
def test_an_input_without_usable_steps_is_not_the_agents_failure(bare: MakeBare, steps: Any, message: str) -> None:
    with pytest.raises(SimulatorError, match=message):
        Conversation(echo)(bare(steps).trial)


def test_the_agent_sees_neither_the_input_nor_what_is_hidden(bare: MakeBare) -> None:
    seen: list[Any] = []

    def agent(trial: Trial, message: str) -> str:
        seen.append((trial.input, trial.data))
        trial.record("noted", message)
        return "ok"

    made = bare("secret goal", data={"user": {"goal": "x"}, "shop": "A"})
    Conversation(agent, user=["hi"])(made.trial)
    assert seen == [(None, {"shop": "A"})]
    assert made.trial.data["user"] == {"goal": "x"}
    assert "noted" in [event.name for event in made.transcript.events]


def test_a_user_can_be_a_function_of_what_was_said(bare: MakeBare) -> None:
    def user(trial: Trial, heard: tuple[Message, ...]) -> str | None:
        return None if len(heard) >= 4 else f"{trial.task_id}{len(heard)}"

    assert Conversation(echo, user=user, output=said)(bare().trial) == [
        "t0", "you said t0", "t2", "you said t2", "user ended",
    ]  # fmt: skip


@pytest.mark.parametrize("returned", ["", 7, ["x"]])
def test_a_user_function_that_returns_nonsense_is_a_simulator_error(bare: MakeBare, returned: Any) -> None:
    with pytest.raises(SimulatorError, match="must be text, a step, or None"):
        Conversation(echo, user=lambda trial, heard: returned)(bare().trial)


def test_a_user_function_that_raises_is_a_simulator_error(bare: MakeBare) -> None:
    def user(trial: Trial, heard: tuple[Message, ...]) -> str:
        raise KeyError("x")

    with pytest.raises(SimulatorError, match="the user user raised KeyError"):
        Conversation(echo, user=user)(bare().trial)


def test_other_ends_of_a_conversation(bare: MakeBare) -> None:
    def end_of(agent: Any, **options: Any) -> Any:
        options.setdefault("user", lambda trial, heard: "again")
        return Conversation(agent, output=lambda talk: talk.end, **options)(bare().trial)

    assert end_of(echo, turns=3) == "turns"
    assert end_of(lambda trial, message: None) == "agent ended"
    assert end_of(echo, stop=lambda trial, reply: reply.endswith("again")) == "stopped"
    assert end_of(echo, user=lambda trial, heard: End("gave up") if heard else Prompt("a")) == "gave up"


def test_a_reply_that_is_no_text_is_the_agents_error(bare: MakeBare) -> None:
    with pytest.raises(AgentError, match="a reply is text"):
        Conversation(lambda trial, message: 7, user=["a"])(bare().trial)
    with pytest.raises(AgentError, match=r"has no \.reply"):
        Conversation(lambda trial: object(), user=["a"])(bare().trial)


@pytest.mark.asyncio
async def test_an_async_agent_is_awaited(bare: MakeBare) -> None:
    async def agent(trial: Trial, message: str) -> str:
        await asyncio.sleep(0)
        return message.upper()

    class Session:
        async def reply(self, message: str) -> str:
            return message * 2

    assert await Conversation(agent, user=["a"])(bare().trial) == "A"
    assert await Conversation(lambda trial: Session(), user=["a"])(bare().trial) == "aa"


def test_an_async_agent_runs_in_a_run(only_trial: Only) -> None:
    async def agent(trial: Trial, message: str) -> str:
        return message.upper()

    record, transcript = only_trial(
        Conversation(agent, user=["a", "b"]), Task("t", input="", expected="B"), graders=[exact()]
    )
    assert record.passed is True
    assert len(dialogue(transcript)) == 4


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        (lambda: None, {}, "must be agent"),
        (echo, {"user": []}, "at least one prompt"),
        (echo, {"user": ["a", Reload()]}, "can't be reloaded"),
        (echo, {"turns": 0}, "at least 1"),
    ],
)
def test_a_conversation_that_makes_no_sense_is_refused_when_it_is_made(agent: Any, options: Any, message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        Conversation(agent, **options)


class Player:
    """Makes users whose model is scripted by a session of its own."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.requests: list[Request] = []

    def user(self, *replies: Any, **options: Any) -> ModelUser:
        queue = list(replies)

        def answer(request: Request) -> Any:
            self.requests.append(request)
            return queue.pop(0)

        access = self._gateway.open(Script(answer)).access
        options.setdefault("goal", "get order A1 refunded")
        return ModelUser(**access.openai, model="user-model", **options)


@pytest.fixture
def player(gateway: Gateway) -> Player:
    """A model that plays users."""
    return Player(gateway)


def test_a_user_played_by_a_model_has_a_persona_a_goal_and_a_meter_of_its_own(only_trial: Only, player: Player) -> None:
    user = player.user(
        say("Hi, my parcel is broken."), say("It is A1."), say("###SATISFIED###"),
        persona=lambda trial: trial.data["user"]["persona"], facts={"order_number": "A1"}, temperature=0.5,
    )  # fmt: skip
    replies = iter(["Which order is it?", "I have refunded it. Is there anything else I can help with?"])
    agent = Conversation(lambda trial, message: next(replies), user=user, output=said)
    task = Task("t", input="", data={"user": {"persona": "A hurried man."}})
    record, transcript = only_trial(agent, task)
    assert record.status is Status.COMPLETED
    assert record.output[-1] == "satisfied"
    assert record.usage.model_calls == 0
    (spent,) = [e for e in transcript.events if isinstance(e, AgentEvent) and e.kind == "user_usage"]
    assert spent.value["model_calls"] == 3
    assert spent.value["output_tokens"] > 0
    first, second = player.requests[:2]
    assert "A hurried man." in first.messages[0].text
    assert "get order A1 refunded" in first.messages[0].text
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[-1].text == "Which order is it?"
    assert first.settings["temperature"] == 0.5


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("My order is A1.", "told the fact 'order_number' before"),
        ("As an AI, I have no parcel.", "spoke as a machine"),
        ("Hello! How can I help you today?", "spoke as the agent"),
        ("###SATISFIED###", "ended before the agent said anything"),
        (" ", "said nothing"),
    ],
)
def test_a_user_that_breaks_its_role_is_a_simulator_error(
    only_trial: Only, player: Player, reply: str, message: str
) -> None:
    user = player.user(say(reply), facts=[Fact("order_number", "A1")])
    record, transcript = only_trial(Conversation(echo, user=user), graders=[exact()])
    assert (record.status, record.passed) == (Status.SIMULATOR_ERROR, None)
    assert record.error is not None
    assert message in record.error.message
    assert [e.name for e in transcript.events if isinstance(e, AgentEvent) and e.kind == "user"] == ["broke its role"]


def test_a_model_that_fails_is_the_simulators_error_and_its_key_stays_out(only_trial: Only, player: Player) -> None:
    user = player.user(fail(503, "down"))
    record, _ = only_trial(Conversation(echo, user=user))
    assert record.status is Status.SIMULATOR_ERROR
    assert record.error is not None
    assert "answered 503" in record.error.message
    assert "sk-" not in repr(user) + json.dumps(record.error.message)


def refund_shop(path: Path) -> sqlite3.Connection:
    shop = sqlite3.connect(path)
    shop.execute("create table if not exists refunds (id text)")
    return shop


def refunded(trial: Trial | FinishedTrial) -> bool:
    return bool(trial.environment.execute("select count(*) from refunds").fetchone()[0])


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("last_words", "writes", "status"),
    [
        ("Shall I refund it?", False, Status.SIMULATOR_ERROR),  # it stopped before the write
        ("I'll refund it now.", False, Status.SIMULATOR_ERROR),
        ("I have refunded it. Anything else I can do?", False, Status.COMPLETED),  # the agent lied: its own failure
        ("I have refunded it.", True, Status.COMPLETED),
    ],
)
def test_a_user_that_stops_before_the_write_is_told_from_an_agent_that_does_not_write(
    only_trial: Only, player: Player, last_words: str, writes: bool, status: Status, asynchronous: bool
) -> None:
    def agent(trial: Trial, message: str) -> str:
        if writes:
            with trial.environment:
                trial.environment.execute("insert into refunds values ('A1')")
        return last_words

    async def async_agent(trial: Trial, message: str) -> str:
        return agent(trial, message)

    user = player.user(say("Refund my order."), say("Thanks! ###SATISFIED###"), done=refunded)
    record, _ = only_trial(
        Conversation(async_agent if asynchronous else agent, user=user),
        prepare=lambda trial: refund_shop(trial.workspace / "shop.db").close(),
        environment=lambda trial: refund_shop(trial.workspace / "shop.db"),
        graders=[refunded],
    )
    passed = None if status is Status.SIMULATOR_ERROR else writes
    assert (record.status, record.passed) == (status, passed)


def desk(trial: Trial, message: str) -> str:
    """Starts a return, but only after a yes."""
    if "yes" not in message:
        return "Shall I start the return?"
    (trial.workspace / "returned").write_text("A1")
    return "Your return is started. Would you like a receipt?"


def returned(trial: Any) -> bool:
    return bool((trial.workspace / "returned").exists())


def hangs_up(trial: Trial, heard: tuple[Message, ...]) -> str | None:
    return None if heard else "My lamp broke."


@pytest.mark.parametrize(
    ("user", "end"),
    [(["My lamp broke."], "script over"), (hangs_up, "user ended"), (None, "script over")],
)
def test_a_user_in_advance_that_ends_while_the_agent_asks_is_a_simulator_error(
    only_trial: Only, user: Any, end: str
) -> None:
    record, transcript = only_trial(
        Conversation(desk, user=user), Task("t", input="My lamp broke."), graders=[returned]
    )
    assert (record.status, record.passed) == (Status.SIMULATOR_ERROR, None)
    assert record.error is not None
    assert f"the user stopped too early ({end}): it ended while the agent waited" in record.error.message
    assert "done= or stop=" in record.error.message
    assert [e.name for e in transcript.events if isinstance(e, AgentEvent) and e.kind == "user"] == ["stopped early"]


def test_a_model_that_gives_up_while_the_agent_asks_is_a_simulator_error(only_trial: Only, player: Player) -> None:
    user = player.user(say("My lamp broke."), say("###GIVE UP###"), done=returned)
    record, _ = only_trial(Conversation(desk, user=user), graders=[returned])
    assert (record.status, record.passed) == (Status.SIMULATOR_ERROR, None)


def test_a_model_that_gives_up_on_an_agent_that_does_not_help_says_that_it_failed(
    only_trial: Only, player: Player
) -> None:
    user = player.user(say("My lamp broke."), say("###GIVE UP###"), done=returned)
    record, _ = only_trial(Conversation(lambda trial, message: "I can't help."), graders=[returned])
    assert (record.status, record.passed) == (Status.COMPLETED, False)
    record, _ = only_trial(Conversation(lambda trial, message: "I can't help.", user=user), graders=[returned])
    assert (record.status, record.passed) == (Status.COMPLETED, False)


def test_done_and_stop_say_that_a_conversation_may_end_at_a_question(only_trial: Only) -> None:
    record, _ = only_trial(Conversation(desk, user=["Broken.", "yes"]), graders=[returned])
    assert record.status is Status.SIMULATOR_ERROR  # nobody said that the receipt doesn't matter
    record, _ = only_trial(Conversation(desk, user=["Broken.", "yes"], done=returned), graders=[returned])
    assert (record.status, record.passed) == (Status.COMPLETED, True)
    asks = Conversation(desk, user=["Broken."], stop=lambda trial, reply: reply.endswith("?"))
    record, _ = only_trial(asks, graders=[lambda trial: not returned(trial)])
    assert (record.status, record.passed) == (Status.COMPLETED, True)


def test_a_done_that_raises_is_not_the_agents_error(only_trial: Only, player: Player) -> None:
    record, _ = only_trial(Conversation(desk, user=["Broken."], done=lambda trial: bool(1 / 0)), graders=[returned])
    assert record.status is Status.SIMULATOR_ERROR
    assert record.error is not None
    assert "done= of the user raised ZeroDivisionError" in record.error.message
    with pytest.raises(AdapterError, match="give done= to it"):
        Conversation(desk, user=player.user(), done=returned)
