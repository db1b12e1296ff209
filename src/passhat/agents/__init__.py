"""Agents that aren't Python functions: adapters that are given as a suite's ``agent``.

A `Command` is a program of any language, `Http` an agent behind a URL. Each is a callable of a live trial, as every
agent is.
"""

from passhat.agents._command import Command
from passhat.agents._errors import AdapterError, AgentError, CommandFailed, HttpFailed
from passhat.agents._http import Http
from passhat.agents._outputs import Finished
from passhat.facts import AgentUnavailable, SimulatorError

__all__ = [
    "AdapterError",
    "AgentError",
    "AgentUnavailable",
    "Command",
    "CommandFailed",
    "Finished",
    "Http",
    "HttpFailed",
    "SimulatorError",
]
