"""A trial as user code sees it: live for the agent, finished for the graders.

The stored record of a trial is `passhat.facts.TrialRecord`; the classes here are what an agent and a grader get.
"""

from passhat.trial._current import recorder_here, tool
from passhat.trial._environment import open_environment
from passhat.trial._finished import FinishedTrial
from passhat.trial._judge import JudgeModel
from passhat.trial._led import client_variables, led_to, put_variable
from passhat.trial._live import CLEARED, ModelAccess, Trial, TrialCancelled
from passhat.trial._recorder import Recorder, ToolInProgress
from passhat.trial._services import ServiceAddress, service_variables
from passhat.trial._workspace import Workspace, WorkspaceError, copy_tree

__all__ = [
    "CLEARED",
    "FinishedTrial",
    "JudgeModel",
    "ModelAccess",
    "Recorder",
    "ServiceAddress",
    "ToolInProgress",
    "Trial",
    "TrialCancelled",
    "Workspace",
    "WorkspaceError",
    "client_variables",
    "copy_tree",
    "led_to",
    "open_environment",
    "put_variable",
    "recorder_here",
    "service_variables",
    "tool",
]
