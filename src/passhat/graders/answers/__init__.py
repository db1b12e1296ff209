"""Checks of the answer: what the agent returned.

``expect`` is left out for the whole of ``task.expected``; else it is a key of it, a function of the task, or a value
(text as ``value("…")``, since bare text names a key).
"""

from passhat.graders.answers._code import code
from passhat.graders.answers._exact import exact
from passhat.graders.answers._items import items
from passhat.graders.answers._numeric import numeric
from passhat.graders.answers._schema import json_schema
from passhat.graders.answers._text import choice, contains, fuzzy, regex

__all__ = ["choice", "code", "contains", "exact", "fuzzy", "items", "json_schema", "numeric", "regex"]
