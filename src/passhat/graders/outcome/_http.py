"""The state of a service, asked over HTTP on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from passhat.facts import Grade, on_loopback
from passhat.graders._check import Check
from passhat.graders._compare import checked_tolerance, differences, few, short
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._names import GraderSetup
from passhat.graders.outcome._files import compare_json


class HttpState(Check):
    """See `http`."""

    def __init__(
        self, url: Any, expect: Any, status: int, part: str | None, subset: bool, tolerance: float, timeout: float
    ) -> None:
        if isinstance(url, str):
            _loopback(url)
        elif not callable(url):
            raise GraderSetup(f"outcome.http: the address must be text or a function of the trial, got {url!r}")
        self.url = url
        self.expect = checked(expect, "outcome.http")
        self.status = status
        self.part = part
        self.subset = subset
        self.tolerance = checked_tolerance(tolerance)
        self.timeout = timeout
        self.name = f"state at {url}" if isinstance(url, str) else "state over HTTP"

    def __call__(self, trial: Any) -> Grade:
        """Ask and compare."""
        import httpx2

        url = self.url if isinstance(self.url, str) else self.url(trial)
        _loopback(url)
        with httpx2.Client(timeout=self.timeout, trust_env=False, follow_redirects=False) as client:
            response = client.get(url)
        if response.status_code != self.status:
            answer = short(response.text)
            return Grade(
                False, f"{url}: status {response.status_code}, expected {self.status}: {answer}", evidence="state"
            )
        if self.expect is None:
            return Grade(True, evidence="state")
        expected = expected_of(self.expect, trial.task)
        if isinstance(expected, str) and "json" not in response.headers.get("content-type", ""):
            reason = few(differences(expected, response.text))
            return Grade(not reason, reason, evidence="state")
        try:
            found = json.loads(response.text)
        except ValueError as error:
            return Grade(False, f"{url}: the answer is no JSON: {error}", evidence="state")
        return compare_json(expected, found, self.part, self.subset, self.tolerance, url)


def http(
    url: str | Callable[[Any], str],
    expect: Any = WHOLE,
    *,
    status: int = 200,
    part: str | None = None,
    subset: bool = False,
    tolerance: float = 0.0,
    timeout: float = 5.0,
) -> HttpState:
    """A service on this machine answers a GET with what is expected: its state after the trial.

    ``url`` is an address on loopback, or a function of the finished trial that returns one
    (``lambda trial: f"{trial.environment.url}/orders/A1"``). JSON is compared as in `json_file`, other text as it is;
    ``expect=None`` looks at the status only. ``timeout`` is in seconds. A wrong status is a failure; a service that
    can't be reached is an error of the grader, since nothing tells whose fault it is.

    >>> from passhat.graders import outcome
    >>> paid = outcome.http(lambda trial: f"{trial.environment.url}/orders/A1", "paid", part="status")
    """
    return HttpState(url, expect, status, part, subset, tolerance, timeout)


def _loopback(url: str) -> None:
    parts = urlsplit(url if isinstance(url, str) else "")
    if parts.scheme not in ("http", "https") or not on_loopback(parts.hostname or ""):
        raise GraderSetup(f"outcome.http: {url!r} is no http address on this machine; grading uses no network")
