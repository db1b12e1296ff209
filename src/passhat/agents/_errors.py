"""How an agent behind an adapter can fail.

PasshatError
├── AgentError             it ran and failed: the trial ends as *agent_error*
│   ├── CommandFailed      an exit code that was declared a failure, or no usable output
│   └── HttpFailed         an HTTP status of 300 or more, a broken answer, no answer
├── AgentUnavailable       it couldn't be started or reached: *environment_error*
├── SimulatorError         the simulated user broke its role: *simulator_error*
└── AdapterError           an adapter that was built wrongly                   (also ValueError)
"""

from __future__ import annotations

from passhat.facts import PasshatError


class AdapterError(PasshatError, ValueError):
    """An adapter that can't work as it was built; the message names the value and the way out."""


class AgentError(PasshatError):
    """The agent ran and failed."""


class CommandFailed(AgentError):
    """The agent's command failed. ``exit_code`` is negative for a signal."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class HttpFailed(AgentError):
    """The agent's HTTP answer is a failure. ``status`` is None when there was no answer."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status
