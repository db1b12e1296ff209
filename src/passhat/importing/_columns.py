"""Which column of a table says what, by the names that are common in this field."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from passhat.importing._errors import TableError

# What it means -> its names, the most telling first. Case, spaces and dashes don't matter.
NAMES: dict[str, tuple[str, ...]] = {
    "task": ("task", "task_id", "id", "question_id", "problem_id", "instance_id", "question", "problem", "item"),
    "trial": ("trial", "trial_id", "attempt", "epoch", "repetition", "repeat", "sample_index"),
    "verdict": ("passed", "success", "correct", "resolved", "reward", "score"),
    "score": ("score", "reward"),
    "model": ("model", "model_name"),
    "arm": ("arm", "variant", "agent"),
    "seconds": ("seconds", "duration", "duration_seconds", "latency"),
    "tokens": ("tokens", "total_tokens"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "model_calls": ("model_calls", "calls"),
    "dollars": ("dollars", "cost", "cost_usd", "total_cost", "usd"),
    "tags": ("tags", "tag", "category"),
    "family": ("family",),
}


def verdict_columns(columns: Iterable[str]) -> list[str]:
    """All columns that say how a trial ended, the most telling first."""
    named = {column.strip().lower().replace(" ", "_").replace("-", "_"): column for column in columns}
    return [named[name] for name in NAMES["verdict"] if name in named]


def find_columns(path: Path, columns: Iterable[str]) -> dict[str, str]:
    """Meaning -> the column that has it. Raises `TableError` when nothing names the task or the verdict."""
    named: dict[str, str] = {}
    for column in columns:
        named.setdefault(column.strip().lower().replace(" ", "_").replace("-", "_"), column)
    found = {meaning: named[name] for meaning, names in NAMES.items() for name in reversed(names) if name in named}
    for meaning in ("task", "verdict"):
        if meaning not in found:
            wanted, there = ", ".join(NAMES[meaning]), ", ".join(map(repr, columns)) or "none"
            raise TableError(path, f"no column names the {meaning}: one of {wanted} is needed; there are {there}")
    return found
