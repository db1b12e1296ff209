"""What an agent is given: one attempt at one task, from a clean start."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from passhat.facts import AgentEvent, Author, OutputText, as_json
from passhat.trial._recorder import Recorder, ToolInProgress
from passhat.trial._services import ServiceAddress
from passhat.trial._workspace import Workspace


class TrialCancelled(Exception):
    """Raised by ``trial.check()`` when the trial's deadline has passed or the run is stopping."""


class ModelAccess(msgspec.Struct, frozen=True):
    """How to reach the model of this trial. The key is the trial's own and ends with it.

    ``base_url`` is the gateway's root, without ``/v1``. ``openai`` and ``anthropic`` are keyword arguments for those
    clients: ``OpenAI(**trial.model.openai)``. ``name`` is the model that was asked for, None when the agent chooses.
    """

    base_url: str
    api_key: str
    name: str | None = None

    @property
    def openai(self) -> dict[str, Any]:
        """Keyword arguments for ``openai.OpenAI`` and ``openai.AsyncOpenAI``."""
        return {"base_url": f"{self.base_url}/v1", "api_key": self.api_key}

    @property
    def anthropic(self) -> dict[str, Any]:
        """Keyword arguments for ``anthropic.Anthropic`` and ``anthropic.AsyncAnthropic``."""
        return {"base_url": self.base_url, "api_key": self.api_key}

    def environ(self) -> dict[str, str]:
        """Environment variables that lead the usual clients here; see `CLEARED` for those to remove."""
        return {
            "OPENAI_BASE_URL": f"{self.base_url}/v1",
            "OPENAI_API_BASE": f"{self.base_url}/v1",
            "OPENAI_API_KEY": self.api_key,
            "ANTHROPIC_BASE_URL": self.base_url,
            "ANTHROPIC_API_URL": self.base_url,
            "ANTHROPIC_API_BASE": self.base_url,
            "ANTHROPIC_API_KEY": self.api_key,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
        }


CLEARED = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CUSTOM_HEADERS",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "OPENAI_WEBSOCKET_BASE_URL",
)


class Trial:
    """One attempt at one task. It holds what an agent may see and nothing else: no expected answer is on it.

    ``number`` counts from 0 within the task. ``seed`` depends on (run seed, task id, number) only. ``env`` are the
    variables for a subprocess, ``services`` the suite's services by name. ``remaining()`` is in seconds, None without a
    deadline.
    """

    def __init__(
        self,
        *,
        task_id: str,
        input: Any,
        data: Mapping[str, Any] | None = None,
        tags: tuple[str, ...] = (),
        number: int = 0,
        seed: int = 0,
        arm: str = "",
        recorder: Recorder,
        workspace: Workspace,
        model: ModelAccess | None = None,
        env: Mapping[str, str] | None = None,
        deadline: float | None = None,
        services: Iterable[ServiceAddress] = (),
    ) -> None:
        self.task_id = task_id
        self.input = input
        self.data: dict[str, Any] = dict(data or {})
        self.tags = tags
        self.number = number
        self.seed = seed
        self.arm = arm
        self.environment: Any = None
        self.services = {service.name: service for service in services}
        self.env: dict[str, str] = dict(env or {})
        self._recorder = recorder
        self._workspace = workspace
        self._model = model
        self._deadline = deadline
        self._cancelled = threading.Event()
        self._ending = threading.Lock()
        self._at_end: dict[object, Callable[[], None]] = {}

    @property
    def workspace(self) -> Path:
        """The trial's own directory, made on the first look."""
        return self._workspace.path

    @property
    def model(self) -> ModelAccess:
        """How to reach the model; RuntimeError where the run has no gateway."""
        if self._model is None:
            raise RuntimeError("this trial has no model: it runs without a gateway")
        return self._model

    @property
    def cancelled(self) -> bool:
        """True once the deadline has passed or the run is stopping: return soon."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Tell the agent to stop: what `at_cancel` holds is called first, in this thread."""
        with self._ending:
            self._cancelled.set()
            waiting = list(self._at_end.values())
            self._at_end.clear()
        for stop in waiting:
            with contextlib.suppress(Exception):  # one that can't stop must not keep the others running
                stop()

    @contextlib.contextmanager
    def at_cancel(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have ``stop()`` called if the trial is cancelled inside the block; raises `TrialCancelled` if it was before.

        ``stop`` is called once, from another thread, before anything that the trial left is looked at: it ends what
        Python can't interrupt (a subprocess, a socket that is waited for), and must be quick.
        """
        ticket = object()
        with self._ending:
            self.check()
            self._at_end[ticket] = stop
        try:
            yield
        finally:
            with self._ending:
                self._at_end.pop(ticket, None)

    def check(self) -> None:
        """Raise `TrialCancelled` when the trial is over; cheap enough for the agent's loop."""
        if self.cancelled:
            raise TrialCancelled(f"trial {self.number} of task {self.task_id!r} is over")

    def remaining(self) -> float | None:
        """Seconds until the deadline, 0 when it has passed, None when there is none."""
        return None if self._deadline is None else max(0.0, self._deadline - self._recorder.now())

    def record(self, name: str, value: Any = None) -> None:
        """Put a named JSON value into the transcript, as the agent's own word."""
        self._recorder.record(name, value)

    def printed(self, stream: Literal["stdout", "stderr"], text: str, *, truncated: bool = False) -> None:
        """Put what the agent's process printed into the transcript."""
        self._recorder.add(OutputText(self._recorder.now(), stream, text, truncated))

    def event(self, kind: str, name: str, value: Any = None, *, author: Author = "told") -> None:
        """For adapters of agents: put an event of any kind into the transcript, with the author who vouches for it."""
        self._recorder.add(AgentEvent(self._recorder.now(), kind, name, as_json(value, name=name), author))

    def tool(self, name: str, arguments: Any = None, *, call_id: str | None = None) -> ToolInProgress:
        """Record that a tool runs: ``with trial.tool("refund", args) as call: call.result(refund(**args))``."""
        return self._recorder.tool(name, arguments, call_id=call_id)

    def handoff(self, to: str, value: Any = None) -> None:
        """Record that the conversation was handed to another agent or to a person."""
        self._recorder.record(to, value, kind="handoff")

    def approval(self, name: str, granted: bool) -> None:
        """Record that someone was asked to approve something, and the answer."""
        self._recorder.record(name, bool(granted), kind="approval")

    def guardrail(self, name: str, passed: bool, reason: str = "") -> None:
        """Record what a guardrail decided."""
        self._recorder.record(name, {"passed": bool(passed), "reason": reason}, kind="guardrail")
