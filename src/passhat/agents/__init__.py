"""Agents that aren't Python functions: adapters that are given as a suite's ``agent``.

A `Command` is a program of any language, `Http` an agent behind a URL, `Conversation` one that is talked to, by a user
who is scripted or played by a model. Each is a callable of a live trial, as every agent is.
"""

from passhat.agents._command import Command
from passhat.agents._conversation import Conversation, Dialogue, dialogue
from passhat.agents._errors import AdapterError, AgentError, CommandFailed, HttpFailed
from passhat.agents._facts import Fact
from passhat.agents._http import Http
from passhat.agents._model_user import ModelUser
from passhat.agents._outputs import Finished
from passhat.agents._role import role_break, stopped_early
from passhat.agents._steps import End, Prompt, Reload
from passhat.facts import AgentUnavailable, SimulatorError

__all__ = [
    "AdapterError",
    "AgentError",
    "AgentUnavailable",
    "Command",
    "CommandFailed",
    "Conversation",
    "Dialogue",
    "End",
    "Fact",
    "Finished",
    "Http",
    "HttpFailed",
    "ModelUser",
    "Prompt",
    "Reload",
    "SimulatorError",
    "dialogue",
    "role_break",
    "stopped_early",
]
