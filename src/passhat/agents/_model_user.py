"""A user that a model plays: another model than the agent's, with a key and a meter of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from passhat.agents._errors import AdapterError
from passhat.agents._exchange import Exchange, NoAnswer, NoConnection, checked_url
from passhat.agents._facts import Fact
from passhat.agents._outputs import excerpt
from passhat.agents._places import callable_or_none, checked_text, is_number
from passhat.agents._role import role_break, stopped_early
from passhat.agents._steps import End, Prompt, Step, reached
from passhat.facts import Message, SimulatorError, Usage
from passhat.trial import Trial

_ENDS = {"###SATISFIED###": "satisfied", "###GIVE UP###": "gave up"}
_MOST = 10_000_000  # bytes of an answer
_BEGIN = "(The conversation begins now: write your first message.)"

T = TypeVar("T")
Text = str | Callable[[Trial], str]
Known = Sequence[Fact] | Mapping[str, str | float]
Facts = Known | Callable[[Trial], Known]


class ModelUser:
    """A simulated user: a persona with a goal that it doesn't recite, and facts that it tells only when asked.

    ``base_url`` (with ``/v1``) and ``api_key`` are those of a chat completions endpoint, ``model`` the name there;
    they are the user's own, as are ``temperature`` and the meter: what it spends is in the transcript as an event
    "user_usage", never in the trial's usage. ``persona``, ``goal`` and ``facts`` may be functions of the trial.
    ``stop`` says in words when the user is satisfied; ``done(trial)`` looks whether what the task asks for is there.

    Whatever it says is checked: see `role_break` and `stopped_early`. A break, and a model that doesn't answer, raise
    `SimulatorError`: such a trial says nothing about the agent. So do functions of the trial that raise, or return no
    such thing. Raises `AdapterError` for arguments that make no sense.

    >>> from passhat.agents import Conversation
    >>> user = ModelUser(
    ...     base_url="http://127.0.0.1:8080/v1",
    ...     api_key="key",
    ...     model="small",
    ...     goal="Get the lamp of order A1 replaced.",
    ...     facts=[Fact("postcode", "1012 AB")],
    ... )
    >>> agent = Conversation(lambda trial, message: "Which postcode?", user=user, turns=6)
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        goal: Text,
        persona: Text = "A customer who writes short messages.",
        facts: Facts = (),
        stop: str = "your goal is reached, or you were told clearly that it can't be",
        done: Callable[[Trial], bool] | None = None,
        temperature: float = 0.0,
        seconds: float = 60.0,
    ) -> None:
        self.url = checked_url(base_url, "base_url").rstrip("/") + "/chat/completions"
        if not (is_number(temperature) and 0 <= temperature <= 2):
            raise AdapterError(f"temperature={temperature!r}: must be a number from 0 to 2")
        if not (is_number(seconds) and 0 < seconds < math.inf):
            raise AdapterError(f"seconds={seconds!r}: must be a number above 0")
        if not isinstance(api_key, str) or not api_key or not api_key.isascii() or not api_key.isprintable():
            kind = f"not {type(api_key).__name__}" if not isinstance(api_key, str) else "without line breaks"
            raise AdapterError(f"api_key: must be text, {kind}; an endpoint that wants none takes any, such as 'none'")
        for name, value in (("model", model), ("stop", stop)):
            checked_text(value, name)
        for name, told in (("persona", persona), ("goal", goal)):
            if not callable(told):
                checked_text(told, name)
        callable_or_none(done, "done")
        if not callable(facts):
            known(facts)
        self.model, self.temperature, self.seconds = model, temperature, seconds
        self.persona, self.goal, self.facts, self.stop, self.done = persona, goal, facts, stop, done
        self._key = api_key

    def __repr__(self) -> str:
        return f"ModelUser(model={self.model!r}, goal={self.goal!r})"

    def begin(self, trial: Trial) -> ModelSpeaker:
        """The user in a new conversation."""
        return ModelSpeaker(self, trial)

    def ask(self, trial: Trial, messages: list[dict[str, str]]) -> Mapping[str, Any]:
        """One answer of the model, as the provider gives it."""
        body = json.dumps({"model": self.model, "messages": messages, "temperature": self.temperature}).encode()
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        remaining = trial.remaining()
        exchange = Exchange(self.url, seconds=self.seconds if remaining is None else min(self.seconds, remaining + 1))
        try:
            with trial.at_cancel(exchange.stop):
                answer = exchange.send("POST", headers, body, _MOST)
        except (NoConnection, NoAnswer) as error:
            trial.check()
            raise SimulatorError(f"the model of the simulated user gave no answer: {error}") from None
        if answer.status != 200:
            raise SimulatorError(f"the model of the simulated user answered {answer.status}: {excerpt(answer.text)}")
        try:
            found = json.loads(answer.body)
            str(found["choices"][0]["message"]["content"] or "")
        except (ValueError, LookupError, TypeError):
            raise SimulatorError(f"the model of the simulated user answered with {excerpt(answer.text)}") from None
        return found  # type: ignore[no-any-return]


class ModelSpeaker:
    """One conversation of a `ModelUser`. ``usage`` is what it spent so far."""

    waits = True

    def __init__(self, user: ModelUser, trial: Trial) -> None:
        self._user = user
        self._trial = trial
        self._facts = _of(user.facts, "facts", trial, known)
        persona = _of(user.persona, "persona", trial, lambda text: checked_text(text, "persona"))
        goal = _of(user.goal, "goal", trial, lambda text: checked_text(text, "goal"))
        self._system = _instructions(persona, goal, self._facts, user.stop)
        self._spent: list[Usage] = []
        self._last = ""

    @property
    def usage(self) -> Usage:
        """Calls and tokens of this conversation's user."""
        return Usage.total(self._spent)

    def next(self, heard: tuple[Message, ...]) -> Step:
        """What the model says next."""
        said = self._said(heard)
        state = next((state for mark, state in _ENDS.items() if mark in said), None)
        self._last = said
        for mark in _ENDS:
            said = said.replace(mark, "")
        if said.strip() or state is None:
            self._hold(role_break(said, heard, self._facts))
        return Prompt(said.strip()) if state is None else End(state)

    def check(self, step: Step, heard: tuple[Message, ...]) -> None:
        """It may not end too early."""
        if isinstance(step, End):
            self._hold(stopped_early(step.state, heard, reached(self._user.done, self._trial)))

    def close(self) -> None:
        """Put what was spent into the transcript."""
        if self._spent:
            usage = self.usage
            tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            self._trial.event("user_usage", self._user.model, {"model_calls": usage.model_calls, **tokens})

    def _said(self, heard: tuple[Message, ...]) -> str:
        turns = [(message.role, message.text) for message in heard]
        if not turns or turns[0][0] == "user":
            turns.insert(0, ("assistant", _BEGIN))
        swapped = [{"role": "user" if role == "assistant" else "assistant", "content": text} for role, text in turns]
        answer = self._user.ask(self._trial, [{"role": "system", "content": self._system}, *swapped])
        self._spent.append(_usage(answer.get("usage")))
        return str(answer["choices"][0]["message"]["content"] or "")

    def _hold(self, problem: str | None) -> None:
        if problem is not None:
            self._trial.event("user", "broke its role", {"text": self._last, "problem": problem})
            raise SimulatorError(f"the simulated user broke its role: {problem}; it said {excerpt(self._last)}")


def _usage(value: Any) -> Usage:
    given = value if isinstance(value, Mapping) else {}
    counts = {name: given.get(name) for name in ("prompt_tokens", "completion_tokens")}
    known = {name: count if isinstance(count, int) else None for name, count in counts.items()}
    return Usage(1, known["prompt_tokens"], None, known["completion_tokens"])


def _of(value: Any, name: str, trial: Trial, check: Callable[[Any], T]) -> T:
    """What a value, or a function of the trial, comes to; whatever goes wrong in it isn't the agent's fault."""
    try:
        return check(value(trial) if callable(value) else value)
    except SimulatorError:
        raise
    except AdapterError as error:
        raise SimulatorError(f"{name}= of the simulated user: {error}") from None
    except Exception as error:
        raise SimulatorError(f"{name}= of the simulated user raised {type(error).__name__}: {error}") from error


def known(value: Any) -> tuple[Fact, ...]:
    """Checked facts."""
    if isinstance(value, Mapping):
        return tuple(Fact(name, told) for name, told in value.items())
    if not isinstance(value, list | tuple) or not all(isinstance(each, Fact) for each in value):
        raise AdapterError(
            f"facts={value!r:.100}: must be a list of Fact(name, value), or a mapping of names to values"
        )
    return tuple(value)


def _instructions(persona: str, goal: str, facts: Sequence[Fact], stop: str) -> str:
    known = "\n".join(f"- {fact.name.replace('_', ' ')}: {fact.value}" for fact in facts)
    secret = f"\nFacts that you tell only when you are asked for exactly that one:\n{known}\n" if facts else ""
    return (
        f"You play a user who talks to a support agent. Never leave this role.\n\nWho you are: {persona}\n"
        f"What you want, in your own words and step by step, never recited: {goal}\n{secret}\n"
        "Rules: write only the user's next message, one thing at a time. Never speak as the agent, never mention these "
        "instructions or that you are a model. Invent nothing: what isn't written here you don't know. Answer the "
        f"agent's questions before you end. When {stop}, and the agent waits for nothing, write ###SATISFIED###. "
        "When the agent can't get any further, write ###GIVE UP###. Either ends the conversation at once."
    )
