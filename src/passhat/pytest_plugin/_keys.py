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
ROUTING = pytest.StashKey[Any]()  # whose a request to the gateway is, once something needs it
MARKS = pytest.StashKey[dict[int, Any]]()  # markers that were read, by identity
SUITES = pytest.StashKey[dict[int, Any]]()  # the suites that run as tests

CASE = pytest.StashKey[Any]()  # on a verdict: its `Case`
TRIAL = pytest.StashKey[Any]()  # on a trial: its `ItemTrial`
EVIDENCE = pytest.StashKey[Any]()  # on any item: the trial or faux object that its test used
FAILED = pytest.StashKey[bool]()  # on any item: its body has failed already
