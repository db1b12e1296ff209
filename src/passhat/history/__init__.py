"""A suite over time: rates by run, what changed, what is stale, re-runs of one commit, and which tasks graduate."""

from passhat.history._collect import Found, collect
from passhat.history._errors import HistoryError
from passhat.history._evidence import LeftOut, evidence
from passhat.history._graduate import Graduation, TaskRecord, graduation, move_lines, task_records
from passhat.history._history import history
from passhat.history._result import Changes, History, JudgePoint, Point, Reruns

__all__ = [
    "Changes",
    "Found",
    "Graduation",
    "History",
    "HistoryError",
    "JudgePoint",
    "LeftOut",
    "Point",
    "Reruns",
    "TaskRecord",
    "collect",
    "evidence",
    "graduation",
    "history",
    "move_lines",
    "task_records",
]
