"""Suites: tasks, an agent, an environment and graders, written in Python and found by path."""

from passhat.suite._checks import check_tasks, duplicate_inputs, make_task
from passhat.suite._discover import FoundSuite, discover, suite_in
from passhat.suite._errors import SuiteError, SuiteFileError, TasksFileError
from passhat.suite._files import load_tasks
from passhat.suite._gates import Gate
from passhat.suite._select import expression, select
from passhat.suite._service import Service
from passhat.suite._suite import Suite

__all__ = [
    "FoundSuite",
    "Gate",
    "Service",
    "Suite",
    "SuiteError",
    "SuiteFileError",
    "TasksFileError",
    "check_tasks",
    "discover",
    "duplicate_inputs",
    "expression",
    "load_tasks",
    "make_task",
    "select",
    "suite_in",
]
