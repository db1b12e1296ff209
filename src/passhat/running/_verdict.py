"""What a trial's status and grades make of it: the status table of `passhat.facts`, applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from passhat.facts import RULES, Counts, ErrorInfo, Grade, Grading, Status, decide
from passhat.facts._grades import Verdict

_NOT_THE_AGENT = {
    "simulator": Status.SIMULATOR_ERROR,
    "environment": Status.ENVIRONMENT_ERROR,
    "template": Status.ENVIRONMENT_ERROR,  # that others changed, as the runner knows by itself
}


def believed(
    error: ErrorInfo | None, agent: object, task_input: Any, variables: Callable[[], Mapping[str, str]]
) -> ErrorInfo | None:
    """What the agent's process says went wrong, with blame of others only where the suite gives reason to believe it.

    A failed trial must not be missing because its agent says so. That a simulated user broke its role is believed of an
    agent that is made to have one (``simulates_a_user``, as `passhat.agents.Conversation`); that the agent isn't there,
    of one that can't be reached or started as seen from here, outside its process (``absent``, as of the adapters).

    >>> believed(ErrorInfo("simulator", "it says"), print, None, dict)
    ErrorInfo(kind='raised', message='it says', type='', traceback='')
    """
    if error is None or error.kind not in ("simulator", "environment"):
        return error
    if error.kind == "simulator":
        true = getattr(agent, "simulates_a_user", False) is True
    else:
        absent = getattr(agent, "absent", None)
        try:
            true = callable(absent) and absent(task_input, variables()) is True
        except Exception:  # an agent of the user's with an attribute of that name
            true = False
    return error if true else msgspec.structs.replace(error, kind="raised")


def is_graded(status: Status) -> bool:
    """Whether graders look at a trial that ended so."""
    return RULES[status].grading in (Grading.YES, Grading.FOR_SCORE)


def runs_again(status: Status) -> bool:
    """Whether a trial that ended so may be run again, a bounded number of times."""
    return RULES[status].again == "bounded"


def may_run_again(status: Status, agent: object, *, begun: bool) -> bool:
    """Whether a trial of this agent may be run again as far as its status goes; ``begun``: code of it may have run.

    Once the agent has begun, it could bring about an environment error itself, and say that it was the simulated user:
    that is tried again only where the agent is made to have one (`passhat.agents.Conversation`). A failure must not
    become another try.
    """
    if not begun:
        return True
    if status is Status.SIMULATOR_ERROR:
        return getattr(agent, "simulates_a_user", False) is True
    return status is not Status.ENVIRONMENT_ERROR


def judge(status: Status, grades: Sequence[Grade], *, graded: bool, torn: bool = False) -> Verdict:
    """Passed, score and final status of a trial. ``graded``: the suite has graders.

    ``torn``: closing the environment failed. That is said by the agent's process, or done to it there: it makes a trial
    missing that would have passed, as what was to be judged may not have been written; it excuses none that failed.

    >>> judge(Status.TIMEOUT, [Grade(True)], graded=True)
    Verdict(passed=False, score=1.0, status=<Status.TIMEOUT: 'timeout'>)
    """
    rule = RULES[status]
    if rule.grading is Grading.YES:
        verdict = decide(grades)
        return Verdict(None, None, Status.ENVIRONMENT_ERROR) if torn and verdict.passed is not False else verdict
    if rule.grading is Grading.FOR_SCORE:
        return Verdict(False, decide(grades).score, status)
    if rule.counts is Counts.FAILURE:
        return Verdict(False, 0.0 if graded else None, status)
    return Verdict(None, None, status)


def status_of(
    *,
    limit: ErrorInfo | None,
    provider: ErrorInfo | None,
    late: ErrorInfo | None,
    raised: ErrorInfo | None,
    unreachable: str | None = None,
) -> tuple[Status, ErrorInfo | None]:
    """How the agent's part ended, by the strength of the evidence.

    A limit that the gateway or we saw reached beats everything, and the simulated user's or the environment's fault
    whatever the agent's provider did. That no provider was set up (``unreachable``) is the host's fault. A provider
    that failed in its last answer beats what the agent then did, if the agent failed. A deadline beats what the
    agent said.

    >>> status_of(limit=None, provider=ErrorInfo("provider", "503"), late=None, raised=None)[0]
    <Status.COMPLETED: 'completed'>
    """
    if limit is not None:
        return Status.LIMIT, limit
    if late is None and raised is not None and raised.kind in _NOT_THE_AGENT:
        return _NOT_THE_AGENT[raised.kind], raised
    failed = late or raised
    if unreachable is not None and failed is not None:
        return Status.ENVIRONMENT_ERROR, ErrorInfo("provider", unreachable)
    if provider is not None and failed is not None:
        return Status.PROVIDER_ERROR, provider
    if late is not None:
        return Status.TIMEOUT, late
    return (Status.COMPLETED, None) if raised is None else (Status.AGENT_ERROR, raised)
