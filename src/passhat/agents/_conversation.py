"""A trial that is a conversation between an agent and a user."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from passhat.agents._errors import AdapterError, AgentError
from passhat.agents._places import callable_or_none, several
from passhat.agents._steps import (
    Computed,
    Done,
    End,
    Prompt,
    Reload,
    SimulatedUser,
    Speaker,
    Step,
    Written,
    steps_of,
)
from passhat.facts import AgentEvent, Message, SimulatorError, Transcript
from passhat.trial import Trial

User = SimulatedUser | Sequence[str | Prompt | Reload] | Callable[[Trial, tuple[Message, ...]], Any] | None


@dataclass(frozen=True)
class Dialogue:
    """What was said, in order (roles "user" and "assistant"), and how it ended.

    ``end`` is "script over", "user ended", "satisfied", "gave up", "agent ended", "stopped" (the stop rule) or "turns".
    """

    messages: tuple[Message, ...]
    end: str

    @property
    def last_reply(self) -> str | None:
        """The agent's last words."""
        return next((message.text for message in reversed(self.messages) if message.role == "assistant"), None)


class Conversation:
    """An agent that is talked to: ``agent(trial, message) -> reply``, or a factory ``agent(trial)`` of an object with
    ``.reply(message)``. The function, or ``.reply``, may be async; an agent that returns None ends the conversation.
    The environment is opened on the event loop for an async function, on the trial's thread otherwise.

    ``user`` is a list of messages (text, `Prompt`, `Reload`), a function ``user(trial, heard)`` that returns text or
    None, or a `ModelUser`; without one the task's input holds the prompt, or the list of prompt and reload steps.
    A reload calls the object's ``.reload()`` if it has one, else the factory again. The agent's trial has neither the
    input nor what ``hidden`` names in its data: it hears what is said, and no more. It shares the trial otherwise.

    The conversation ends when the user ends it, when ``stop(trial, reply)`` is true, or after ``turns`` messages of
    the user. The output is the agent's last reply, or ``output(dialogue)``; everything said is in the transcript, see
    `dialogue`. A user that breaks its role, or ends while the agent waits for its answer (see `stopped_early`), raises
    `SimulatorError`: the trial is then a *simulator_error*, which runs again. That is believed where this object is the
    suite's agent; a function of yours that calls one says so by an attribute, ``agent.simulates_a_user = True``, or has
    failed like with any other exception. ``done(trial)`` says whether what the task asks for is
    there, so that the user may end; a `ModelUser` has its own.

    >>> from passhat import evaluate
    >>> agent = Conversation(lambda trial, message: message.upper(), user=["hello", "bye"])
    >>> evaluate([{"id": "t", "input": "", "expected": "BYE"}], agent, k=1).pass_at_1
    1.0
    """

    simulates_a_user = True  # for a runner: this agent's trials have a user that may be at fault

    def __new__(cls, agent: Callable[..., Any], *args: Any, **options: Any) -> Conversation:
        """One whose call is async for an async agent: a runner then opens its environment on the agent's loop."""
        return super().__new__(_AsyncConversation if _is_async(agent) else cls)

    def __init__(
        self,
        agent: Callable[..., Any],
        user: User = None,
        *,
        turns: int = 30,
        stop: Callable[[Trial, str], bool] | None = None,
        done: Done = None,
        output: Callable[[Dialogue], Any] | None = None,
        hidden: Sequence[str] = ("user",),
    ) -> None:
        self.__name__ = getattr(agent, "__name__", type(agent).__name__)
        self._agent = agent
        self._talks = _takes(agent, 2)
        if not self._talks and (not _takes(agent, 1) or inspect.iscoroutinefunction(agent)):
            raise AdapterError(f"agent {self.__name__}: must be agent(trial, message), or a plain factory agent(trial)")
        self._user = steps_of(user, "user") if isinstance(user, str | list | tuple) else user
        if self._user is not None and not isinstance(self._user, tuple) and not _may_talk(self._user):
            raise AdapterError(f"user={user!r:.100}: must be messages, a function user(trial, heard), or a ModelUser")
        if isinstance(self._user, tuple):
            self._refuse_reloads(self._user, "user")
        if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1:
            raise AdapterError(f"turns={turns!r}: must be a whole number, at least 1")
        for name, function in (("stop", stop), ("done", done), ("output", output)):
            callable_or_none(function, name)
        if done is not None and hasattr(self._user, "begin"):
            raise AdapterError("done: this user takes part by a role of its own; give done= to it")
        self._done = done
        self._turns, self._stop, self._output = turns, stop, output
        self.hidden = frozenset(several(hidden, "hidden"))

    def __call__(self, trial: Trial) -> Any:
        """Have the conversation; an awaitable when the agent is async."""
        return self._begin(trial)

    def _begin(self, trial: Trial) -> Any:
        with _of_the_user():
            speaker = self._speaker(trial)
        party = _Party(self._agent, self._talks, self._inner(trial))
        play = self._play(trial, party, speaker)
        return _drive_async(play) if party.asynchronous else _drive(play)

    def _speaker(self, trial: Trial) -> Speaker:
        user = self._user
        if user is None:
            where = f"input of task {trial.task_id!r}"
            try:
                steps = steps_of(trial.input, where)
                self._refuse_reloads(steps, where)
            except AdapterError as error:
                raise SimulatorError(str(error)) from None
            return Written(steps, trial, self._done)
        if isinstance(user, tuple):
            return Written(cast(tuple[Prompt | Reload, ...], user), trial, self._done)
        begin = getattr(user, "begin", None)
        if begin is not None:
            return cast(Speaker, begin(trial))
        return Computed(cast(Callable[..., Any], user), trial, self._done)

    def _refuse_reloads(self, steps: Sequence[Any], where: str) -> None:
        if self._talks and any(isinstance(step, Reload) for step in steps):
            raise AdapterError(f"{where}: agent {self.__name__} can't be reloaded; give a factory agent(trial)")

    def _inner(self, trial: Trial) -> Trial:
        inner = copy.copy(trial)
        inner.input = None
        inner.data = {name: value for name, value in trial.data.items() if name not in self.hidden}
        return inner

    def _play(self, trial: Trial, party: _Party, speaker: Speaker) -> _Play:
        heard: list[Message] = []
        try:
            end = yield from self._talk(trial, party, speaker, heard)
            trial.event("conversation", "end", {"state": end, "messages": len(heard)})
        finally:
            party.close()
            speaker.close()
        talk = Dialogue(tuple(heard), end)
        return talk.last_reply if self._output is None else self._output(talk)

    def _talk(self, trial: Trial, party: _Party, speaker: Speaker, heard: list[Message]) -> _Play:
        for _ in range(self._turns):
            step: Step = yield from _next(speaker, heard)
            while isinstance(step, Reload):
                trial.event("conversation", "reload")
                yield _Work(party.reload)
                step = yield from _next(speaker, heard)
            if isinstance(step, End):
                return step.state
            trial.check()
            _say(trial, heard, "user", step.text)
            with _of_the_agent(self.__name__):
                reply = yield _Work(lambda text=step.text: party.reply(text))  # type: ignore[misc]
            if reply is None:
                return "agent ended"
            if not isinstance(reply, str):
                raise AgentError(f"agent {self.__name__} replied with {reply!r:.100}: a reply is text, or None to end")
            _say(trial, heard, "assistant", reply)
            if self._stops(trial, reply):
                return "stopped"
        return "turns"

    def _stops(self, trial: Trial, reply: str) -> bool:
        """Whether the stop rule ends it; what goes wrong in the rule isn't the agent's fault."""
        try:
            return self._stop is not None and bool(self._stop(trial, reply))
        except SimulatorError:
            raise
        except Exception as error:
            raise SimulatorError(f"stop= of the conversation raised {type(error).__name__}: {error}") from error


class _AsyncConversation(Conversation):
    """A conversation with an agent that is an async function."""

    async def __call__(self, trial: Trial) -> Any:
        return await self._begin(trial)


@dataclass(frozen=True)
class _Work:
    """Something to call next; ``waits`` when it may wait for a model, and must not hold up an event loop."""

    call: Callable[[], Any]
    waits: bool = False


_Play = Generator[_Work, Any, Any]


def _next(speaker: Speaker, heard: list[Message]) -> _Play:
    with _of_the_user():
        step = yield _Work(lambda: speaker.next(tuple(heard)), speaker.waits)
        speaker.check(step, tuple(heard))
    return step


@contextlib.contextmanager
def _of_the_user() -> Iterator[None]:
    """What the simulated user raises is known by its mark."""
    try:
        yield
    except SimulatorError as error:
        error.of_a_user = True
        raise


@contextlib.contextmanager
def _of_the_agent(name: str) -> Iterator[None]:
    """The agent can't speak for the user."""
    try:
        yield
    except SimulatorError as error:
        raise AgentError(f"agent {name} raised {type(error).__name__}: {error}") from error


def _drive(play: _Play) -> Any:
    """Play with plain calls."""
    with contextlib.closing(play):
        value: Any = None
        while True:
            try:
                work = play.send(value)
            except StopIteration as over:
                return over.value
            try:
                value = work.call()
                if inspect.iscoroutine(value):
                    value.close()
                    raise AgentError("the agent replied with a coroutine: declare its reply with async def")
            except BaseException as error:
                play.throw(error)


async def _drive_async(play: _Play) -> Any:
    """Play on an event loop; the user, who may wait for a model, on a thread beside it."""
    with contextlib.closing(play):
        value: Any = None
        while True:
            try:
                work = play.send(value)
            except StopIteration as over:
                return over.value
            try:
                value = await asyncio.to_thread(work.call) if work.waits else work.call()
                if inspect.isawaitable(value):
                    value = await value
            except BaseException as error:
                play.throw(error)


class _Party:
    """The agent in one conversation."""

    def __init__(self, agent: Callable[..., Any], talks: bool, trial: Trial) -> None:
        self._agent, self._talks, self._trial = agent, talks, trial
        self._name = getattr(agent, "__name__", type(agent).__name__)
        self._held = contextlib.ExitStack()
        self._object: Any = None
        if not talks:
            self._object = self._make()
        speaks: Any = agent if talks else self._object.reply
        self.asynchronous = _is_async(speaks)

    def reply(self, text: str) -> Any:
        """What the agent replies, or an awaitable of it."""
        return self._agent(self._trial, text) if self._talks else self._object.reply(text)

    def reload(self) -> Any:
        """Load the agent anew."""
        if self._talks:
            with _of_the_user():
                raise SimulatorError("a reload step is for an agent that is made by a factory agent(trial)")
        with _of_the_agent(self._name):
            return self._reloaded()

    def _reloaded(self) -> Any:
        reload = getattr(self._object, "reload", None)
        if reload is not None:
            return reload()
        self.close()
        self._object = self._make()
        return None

    def close(self) -> None:
        """End the object, if it is a context manager."""
        self._held.close()

    def _make(self) -> Any:
        with _of_the_agent(self._name):
            made = self._agent(self._trial)
        if hasattr(type(made), "__enter__"):
            made = self._held.enter_context(made)
        if not callable(getattr(made, "reply", None)):
            self.close()
            raise AgentError(f"the agent's factory made a {type(made).__name__}, which has no .reply(message)")
        return made


def _say(trial: Trial, heard: list[Message], role: str, text: str) -> None:
    heard.append(Message(role, text))
    trial.event("conversation", role, text)


def dialogue(told: Any) -> tuple[Message, ...]:
    """What was said in a conversation, from a finished trial or its transcript: roles "user" and "assistant".

    >>> from passhat import evaluate
    >>> last = lambda trial: dialogue(trial)[-1].text == "BYE"
    >>> agent = Conversation(lambda trial, message: message.upper(), user=["hello", "bye"])
    >>> evaluate([{"id": "t", "input": ""}], agent, k=1, graders=[last]).pass_at_1
    1.0
    """
    transcript: Transcript = told if isinstance(told, Transcript) else told.transcript
    return tuple(
        Message(event.name, event.value)
        for event in transcript.events
        if isinstance(event, AgentEvent) and event.kind == "conversation" and event.name in ("user", "assistant")
    )


def _may_talk(user: Any) -> bool:
    """Whether it can be a user: something that begins conversations, or a function of a trial and what was heard."""
    return callable(getattr(user, "begin", None)) or _takes(user, 2)


def _is_async(function: Any) -> bool:
    """Whether a call gives a coroutine; also for an object whose ``__call__`` does."""
    called = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _takes(function: Callable[..., Any], count: int) -> bool:
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin that doesn't tell its signature
        return count == 1
    return True
