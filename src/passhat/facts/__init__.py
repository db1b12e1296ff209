"""The shapes that are stored or travel between processes, frozen and free of behaviour that needs anything else.

Everything here is plain data: a runner in one process, a grader in another and a person next week read the
same records. Nothing in this package starts a process, opens a socket or knows a file format.
"""

from passhat.facts._currencies import CURRENCY_CODES, CURRENCY_SIGNS
from passhat.facts._durations import duration
from passhat.facts._errors import AgentUnavailable, NoTruthValue, PasshatError, SimulatorError
from passhat.facts._events import (
    AgentEvent,
    Author,
    Event,
    Message,
    ModelCall,
    OutputText,
    ToolCall,
    ToolOffer,
    ToolRun,
)
from passhat.facts._exceptions import message_of, traceback_of
from passhat.facts._file_names import name_in_text
from passhat.facts._grades import (
    CHANGED_SINCE,
    GONE_SINCE,
    Grade,
    Role,
    Verdict,
    decide,
    gone_files,
    refused_files,
)
from passhat.facts._groups import grouped, interleaved
from passhat.facts._hosts import on_loopback
from passhat.facts._json import NotJSON, as_json, canonical_json, digest
from passhat.facts._judged import Judged, JudgeSample
from passhat.facts._labels import (
    LONGEST_RATER,
    Fault,
    Label,
    answers_rubric,
    can_be_a_rater,
    can_be_drawn_with,
    contradicts_itself,
    is_about,
    standing,
)
from passhat.facts._limits import RUN_LIMITS, Limits
from passhat.facts._manifest import (
    EVERY_TRIAL,
    FELL_BACK,
    NO_MODEL,
    ONLY_RECORDED,
    SCHEMA,
    Damage,
    GitState,
    Manifest,
    ModelSource,
    TaskCount,
    TaskGate,
)
from passhat.facts._metric_values import MetricValue
from passhat.facts._seeds import derive_seed
from passhat.facts._status import RULES, Counts, Grading, Status, StatusRule
from passhat.facts._tasks import Task, TaskError
from passhat.facts._transcript import ToolUse, Transcript, Turn
from passhat.facts._trials import Attempt, ErrorInfo, TrialKey, TrialRecord
from passhat.facts._usage import Usage
from passhat.facts._wording import count, hidden, moment, named, plural, shortened

__all__ = [
    "CHANGED_SINCE",
    "CURRENCY_CODES",
    "CURRENCY_SIGNS",
    "EVERY_TRIAL",
    "FELL_BACK",
    "GONE_SINCE",
    "LONGEST_RATER",
    "NO_MODEL",
    "ONLY_RECORDED",
    "RULES",
    "RUN_LIMITS",
    "SCHEMA",
    "AgentEvent",
    "AgentUnavailable",
    "Attempt",
    "Author",
    "Counts",
    "Damage",
    "ErrorInfo",
    "Event",
    "Fault",
    "GitState",
    "Grade",
    "Grading",
    "JudgeSample",
    "Judged",
    "Label",
    "Limits",
    "Manifest",
    "Message",
    "MetricValue",
    "ModelCall",
    "ModelSource",
    "NoTruthValue",
    "NotJSON",
    "OutputText",
    "PasshatError",
    "Role",
    "SimulatorError",
    "Status",
    "StatusRule",
    "Task",
    "TaskCount",
    "TaskError",
    "TaskGate",
    "ToolCall",
    "ToolOffer",
    "ToolRun",
    "ToolUse",
    "Transcript",
    "TrialKey",
    "TrialRecord",
    "Turn",
    "Usage",
    "Verdict",
    "answers_rubric",
    "as_json",
    "can_be_a_rater",
    "can_be_drawn_with",
    "canonical_json",
    "contradicts_itself",
    "count",
    "decide",
    "derive_seed",
    "digest",
    "duration",
    "gone_files",
    "grouped",
    "hidden",
    "interleaved",
    "is_about",
    "message_of",
    "moment",
    "name_in_text",
    "named",
    "on_loopback",
    "plural",
    "refused_files",
    "shortened",
    "standing",
    "traceback_of",
]
