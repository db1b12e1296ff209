"""What the plugin keeps on pytest's own objects."""

from __future__ import annotations

from typing import Any

import pytest

SESSION = pytest.StashKey[pytest.Session]()
TRIALS = pytest.StashKey[bool]()  # set once a test with trials was seen
REPORTER = pytest.StashKey[Any]()  # the object that decides, in the reporting process only
GATEWAY = pytest.StashKey[Any]()  # the session's gateway, once something needs it
HOST = pytest.StashKey[dict[str, str]]()  # the host's environment, before anything was set
ENVIRONMENT = pytest.StashKey[Any]()  # the variables that lead clients to the gateway

MARK = pytest.StashKey[Any]()  # on each item of a case: what its marker asks for
MARKS = pytest.StashKey[dict[int, Any]]()  # on the session: markers that were read, by identity
NUMBER = pytest.StashKey[int]()  # on a trial: its number, from 1
SEED = pytest.StashKey[int]()  # on a trial: its own seed
CASE = pytest.StashKey[str]()  # on a trial: the node id of its case
MEMBERS = pytest.StashKey[list[pytest.Item]]()  # on a verdict: its trials
ALONE = pytest.StashKey[bool]()  # on a trial that was asked for by its own name: an ordinary test
RUNNING = pytest.StashKey[bool]()  # on a trial: its body is running
SUBTEST = pytest.StashKey[str]()  # on a trial: the first subtest that failed
JUDGED = pytest.StashKey[Any]()  # on a trial: what its judges said
RECORD = pytest.StashKey[Any]()  # on a trial of a suite: its record, transcript and source
TASK = pytest.StashKey[str]()  # on an item of a case with arms: the task's id, which is the node id without the arm
ARM = pytest.StashKey[str]()  # on an item of a case with arms: its arm
SUITES = pytest.StashKey[dict[int, Any]]()  # the suites that run as tests
EVIDENCE = pytest.StashKey[Any]()  # on an item: the trial or faux object that its test used
FAILED = pytest.StashKey[bool]()  # on an item: its body has failed already
