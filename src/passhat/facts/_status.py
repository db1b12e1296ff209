"""What happened to a trial, and what that means for the numbers."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """How a trial ended. Each value answers three questions, in `RULES`: run again? graded? counted as what?"""

    COMPLETED = "completed"  # the agent returned
    AGENT_ERROR = "agent_error"  # it raised, or its exit code was declared a failure
    TIMEOUT = "timeout"  # its deadline passed
    LIMIT = "limit"  # calls, tokens, dollars, bytes, memory or processes ran out
    PROVIDER_ERROR = "provider_error"  # the last answer we saw was 429, 5xx or no answer, and the agent then failed
    ENVIRONMENT_ERROR = "environment_error"  # prepare, environment, a service, or tear-down failed
    SIMULATOR_ERROR = "simulator_error"  # the simulated user broke its role
    UNRESOLVED = "unresolved"  # a required grade is unknown: a judge's tie, or no evidence
    GRADER_ERROR = "grader_error"  # a required grader failed to give a grade
    INTERRUPTED = "interrupted"  # Ctrl-C, a lost worker, a limit of the run, a provider that refused its key or model
    NOT_STARTED = "not_started"  # planned, and no line in the record
    SKIPPED = "skipped"  # pytest skip
    NOT_NEEDED = "not_needed"  # the sequential plan had decided already

    @property
    def words(self) -> str:
        """The status as people read it, the same on every screen and page.

        >>> Status.AGENT_ERROR.words, Status.LIMIT.words
        ('agent error', 'limit reached')
        """
        return _WORDS.get(self, self.value.replace("_", " "))


_WORDS = {
    Status.LIMIT: "limit reached",
    Status.SIMULATOR_ERROR: "simulated user's error",
    Status.UNRESOLVED: "grade unknown",
}


class Grading(Enum):
    """Whether graders look at a trial that ended so."""

    YES = "yes"  # grades decide
    FOR_SCORE = "for score"  # graded for score and trace only: it stays a failure
    NO = "no"
    ALREADY = "already"  # this status comes from grading


class Counts(Enum):
    """What a trial that ended so is for every rate."""

    BY_GRADES = "by its grades"
    FAILURE = "failure"
    MISSING_UNLESS_FAILED = "missing unless a required grade is False"
    MISSING = "missing"
    NOT_PLANNED = "not planned"  # neither missing nor counted


class StatusRule(NamedTuple):
    """One row of the table: may the trial run again, is it graded, what does it count as."""

    again: str  # "no" | "bounded" | "grading only" | "on resume"
    grading: Grading
    counts: Counts


RULES: dict[Status, StatusRule] = {
    Status.COMPLETED: StatusRule("no", Grading.YES, Counts.BY_GRADES),
    Status.AGENT_ERROR: StatusRule("no", Grading.FOR_SCORE, Counts.FAILURE),
    Status.TIMEOUT: StatusRule("no", Grading.FOR_SCORE, Counts.FAILURE),
    Status.LIMIT: StatusRule("no", Grading.FOR_SCORE, Counts.FAILURE),
    Status.PROVIDER_ERROR: StatusRule("bounded", Grading.NO, Counts.FAILURE),
    Status.ENVIRONMENT_ERROR: StatusRule("bounded", Grading.NO, Counts.MISSING),
    Status.SIMULATOR_ERROR: StatusRule("bounded", Grading.NO, Counts.MISSING),
    Status.UNRESOLVED: StatusRule("grading only", Grading.ALREADY, Counts.MISSING_UNLESS_FAILED),
    Status.GRADER_ERROR: StatusRule("grading only", Grading.ALREADY, Counts.MISSING_UNLESS_FAILED),
    Status.INTERRUPTED: StatusRule("on resume", Grading.NO, Counts.MISSING),
    Status.NOT_STARTED: StatusRule("on resume", Grading.NO, Counts.MISSING),
    Status.SKIPPED: StatusRule("no", Grading.NO, Counts.NOT_PLANNED),
    Status.NOT_NEEDED: StatusRule("no", Grading.NO, Counts.NOT_PLANNED),
}
