"""What a user does next in a conversation, and users that are written in advance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from passhat.agents._errors import AdapterError
from passhat.agents._places import checked_text
from passhat.agents._role import stopped_early
from passhat.facts import Message, SimulatorError
from passhat.trial import Trial


@dataclass(frozen=True)
class Prompt:
    """The user says something. Raises `AdapterError` for what isn't text, or is blank.

    >>> Prompt("I want my money back.").text
    'I want my money back.'
    """

    text: str

    def __post_init__(self) -> None:
        checked_text(self.text, "Prompt(text)")


@dataclass(frozen=True)
class Reload:
    """The agent is loaded anew, as after a restart; the conversation goes on.

    >>> user = [Prompt("Remember: my order is A1."), Reload(), Prompt("Which order is mine?")]
    """


@dataclass(frozen=True)
class End:
    """The user ends the conversation, and how: "satisfied", "gave up", "script over", "user ended".

    Raises `AdapterError` for what isn't text, or is blank.

    >>> End("satisfied").state
    'satisfied'
    """

    state: str

    def __post_init__(self) -> None:
        checked_text(self.state, "End(state)")


Step = Prompt | Reload | End


class Speaker(Protocol):
    """A user in one conversation. ``waits`` says that `next` may wait long, and looks at nothing of the trial's."""

    waits: bool

    def next(self, heard: tuple[Message, ...]) -> Step:
        """What the user does after what was said so far (roles "user" and "assistant")."""

    def check(self, step: Step, heard: tuple[Message, ...]) -> None:
        """Raise `SimulatorError` when that step breaks its role; called where the agent runs."""

    def close(self) -> None:
        """The conversation is over."""


class SimulatedUser(Protocol):
    """A user that can take part in any number of conversations."""

    def begin(self, trial: Trial) -> Speaker:
        """The user in a new conversation."""


Done = Callable[[Trial], bool] | None


def reached(done: Done, trial: Trial) -> bool | None:
    """Whether the state that the task asks for is reached, None without ``done``; its errors aren't the agent's."""
    if done is None:
        return None
    try:
        return bool(done(trial))
    except SimulatorError:
        raise
    except Exception as error:
        raise SimulatorError(f"done= of the user raised {type(error).__name__}: {error}") from error


def hold_to_the_end(step: Step, heard: tuple[Message, ...], done: Done, trial: Trial, way: str) -> None:
    """Raise `SimulatorError` for a user without a role that ends while the agent waits; ``way`` is the way out."""
    if isinstance(step, End) and (problem := stopped_early(step.state, heard, reached(done, trial))):
        trial.event("user", "stopped early", {"state": step.state, "problem": problem})
        raise SimulatorError(f"the user stopped too early ({step.state}): {problem}; {way}")


class Written:
    """A user whose steps are written in advance."""

    waits = False

    def __init__(self, steps: Iterable[Prompt | Reload], trial: Trial, done: Done = None) -> None:
        self._steps = iter(tuple(steps))
        self._trial, self._done = trial, done

    def next(self, heard: tuple[Message, ...]) -> Step:
        """The next step, whatever was said."""
        return next(self._steps, End("script over"))

    def check(self, step: Step, heard: tuple[Message, ...]) -> None:
        """It may not be over while the agent waits for an answer."""
        way = "write the answer into the script, or say by done= or stop= when the conversation may end"
        hold_to_the_end(step, heard, self._done, self._trial, way)

    def close(self) -> None:
        """Nothing is open."""


class Computed:
    """A user that is a function ``user(trial, heard)`` which returns text, a step, or None to end."""

    waits = False

    def __init__(self, function: Callable[[Trial, tuple[Message, ...]], Any], trial: Trial, done: Done = None) -> None:
        self._function = function
        self._trial, self._done = trial, done

    def next(self, heard: tuple[Message, ...]) -> Step:
        """What the function returns; whatever goes wrong in it isn't the agent's fault."""
        name = getattr(self._function, "__name__", type(self._function).__name__)
        try:
            said = self._function(self._trial, heard)
        except SimulatorError:
            raise
        except Exception as error:
            raise SimulatorError(f"the user {name} raised {type(error).__name__}: {error}") from error
        if said is None:
            return End("user ended")
        if isinstance(said, Prompt | Reload | End):
            return said
        if isinstance(said, str) and said.strip():
            return Prompt(said)
        raise SimulatorError(f"the user {name} returned {said!r:.100}: must be text, a step, or None to end")

    def check(self, step: Step, heard: tuple[Message, ...]) -> None:
        """It may not end while the agent waits for an answer."""
        way = "have it answer, or say by done= or stop= when the conversation may end"
        hold_to_the_end(step, heard, self._done, self._trial, way)

    def close(self) -> None:
        """Nothing is open."""


def steps_of(value: Any, where: str) -> tuple[Prompt | Reload, ...]:
    """Steps written as text, as a list of texts and steps, or as data: ``{"kind": "prompt", "text": …}``.

    >>> steps_of(["hello", {"kind": "reload"}], "input")
    (Prompt(text='hello'), Reload())
    """
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise AdapterError(f"{where}={value!r:.100}: must be a prompt or a list of prompt and reload steps")
    steps = tuple(_step(item, f"{where}[{number}]") for number, item in enumerate(items))
    if not any(isinstance(step, Prompt) for step in steps):
        raise AdapterError(f"{where}={value!r:.100}: must include at least one prompt step")
    return steps


def _step(item: Any, where: str) -> Prompt | Reload:
    if isinstance(item, Prompt | Reload):
        return item
    if isinstance(item, Mapping):
        if item.get("kind") == "reload" and len(item) == 1:
            return Reload()
        if item.get("kind") == "prompt" and set(item) == {"kind", "text"}:
            item = item["text"]
    if isinstance(item, str) and item.strip():
        return Prompt(item)
    ways = '{"kind": "prompt", "text": "…"} or {"kind": "reload"}'
    raise AdapterError(f"{where}={item!r:.100}: must be a text that isn't blank, {ways}")
