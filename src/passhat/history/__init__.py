"""A suite over time: rates by run, what changed, what is stale, and re-runs of one commit taken together."""

from passhat.history._errors import HistoryError
from passhat.history._history import STALE_DAYS, history
from passhat.history._result import Change, Changes, History, Point, Reruns

__all__ = ["STALE_DAYS", "Change", "Changes", "History", "HistoryError", "Point", "Reruns", "history"]
