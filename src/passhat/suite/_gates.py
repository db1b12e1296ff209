"""A gate as people write it, and as the numbers need it."""

from __future__ import annotations

import math
import re
from typing import Literal

import msgspec

from passhat.suite._errors import SuiteError, suggestion

Target = Literal["these tasks", "tasks like these"]
SHARES = ("pass@k", "pass^k", "score", "grader", "missing")
AMOUNTS = ("seconds", "dollars", "tokens", "model_calls")

_WHOLE = re.compile(
    r"""\s*(?P<rate>.+?)\s*(?P<op>>=|<=|≥|≤)\s*(?P<number>\S+?)
        (?:\s+of\s+(?P<of>these\s+tasks|tasks\s+like\s+these))?
        (?:\s+at\s+(?P<level>\S+))?\s*""",
    re.VERBOSE | re.DOTALL,
)
_PASS = re.compile(r"pass\s*(?P<sign>[@^])\s*(?P<k>\d+)")
_STAT = re.compile(r"(?P<stat>mean|p\s*(?P<percent>\d+))\s+(?P<rate>\S.*)")
_HOW = "write '<rate> >= <number>', for example 'pass@1 >= 0.6', 'pass^3 >= 50%' or 'p95 seconds <= 30'"


class Gate(msgspec.Struct, frozen=True):
    """A bar that a run must reach, or must stay under.

    ``rate`` is "pass@k" or "pass^k" (with ``k``), "score", "grader" (with the grader's ``name``), "missing", or an
    amount a trial: "seconds", "dollars", "tokens", "model_calls". Of an amount ``percent`` is the percentile that is
    meant ("p95 seconds"), None the mean. ``number`` is the bar: in 0..1 for shares, in the unit of its name for
    amounts. ``of`` is the population that is meant, ``level`` the one-sided level at which
    the bar must be proved. Reaching the bar is enough.

    >>> Gate.parse("pass^3 >= 50% of tasks like these at 0.9")
    Gate(rate='pass^k', op='>=', number=0.5, k=3, name=None, of='tasks like these', level=0.9, percent=None)
    >>> str(Gate.parse("grader:policy order>=.9"))
    'grader:policy order >= 0.9'
    >>> str(Gate.parse("p95 seconds<=30")), str(Gate.parse("mean dollars <= 0.05"))
    ('p95 seconds <= 30', 'dollars <= 0.05')
    """

    rate: str
    op: Literal[">=", "<="]
    number: float
    k: int | None = None
    name: str | None = None
    of: Target = "these tasks"
    level: float = 0.95
    percent: int | None = None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read ``<rate> <op> <number> [of these tasks | of tasks like these] [at <level>]``.

        ``number`` may be a percentage for shares. Raises `SuiteError` that names what can't be read.
        """
        if not isinstance(text, str):
            raise SuiteError(f"a gate is text, got {text!r}; {_HOW}")
        found = _WHOLE.fullmatch(text)
        if found is None:
            if re.search(r"[^<>]*[<>](?!=)", text):
                raise SuiteError(f"gate {text!r}: use >= or <=: reaching the bar is enough")
            raise SuiteError(f"gate {text!r} can't be read; {_HOW}")
        stat, percent = _percentile(found["rate"], text)
        rate, k, name = _rate(stat, text)
        number = _number(found["number"], text, share=rate in SHARES)
        of: Target = "tasks like these" if "like" in (found["of"] or "") else "these tasks"
        if rate in AMOUNTS and found["of"]:
            raise SuiteError(f"gate {text!r}: {rate} is an amount a trial; leave out 'of {found['of']}'")
        level = 0.95 if found["level"] is None else _number(found["level"], text, share=True)
        if not 0.5 < level < 1:
            raise SuiteError(f"gate {text!r}: the level must be above 0.5 and below 1, got {level:g}")
        op: Literal[">=", "<="] = ">=" if found["op"] in (">=", "≥") else "<="
        return cls(rate, op, number, k, name, of, level, percent)

    @property
    def label(self) -> str:
        """The rate as people write it: ``pass^3``, ``grader:refund``, ``seconds``."""
        if self.k is not None:
            return self.rate.replace("k", str(self.k))
        if self.percent is not None:
            return f"p{self.percent} {self.rate}"
        return f"grader:{self.name}" if self.rate == "grader" else self.rate

    def __str__(self) -> str:
        of = "" if self.of == "these tasks" else f" of {self.of}"
        at = "" if self.level == 0.95 else f" at {self.level:g}"
        return f"{self.label} {self.op} {self.number:.10g}{of}{at}"


def _percentile(text: str, gate: str) -> tuple[str, int | None]:
    """An amount and the percentile of it that is meant; None where it is the mean, or no amount."""
    found = _STAT.fullmatch(text)
    if found is None:
        return text, None
    if found["rate"] not in AMOUNTS:
        raise SuiteError(f"gate {gate!r}: {found['stat']} is for an amount a trial: {', '.join(AMOUNTS)}")
    if found["percent"] is None:
        return found["rate"], None
    percent = int(found["percent"])
    if not 1 <= percent <= 99:
        raise SuiteError(f"gate {gate!r}: a percentile lies in p1 to p99, got p{percent}")
    return found["rate"], percent


def _rate(text: str, gate: str) -> tuple[str, int | None, str | None]:
    found = _PASS.fullmatch(text)
    if found:
        k = int(found["k"])
        if k < 1:
            raise SuiteError(f"gate {gate!r}: k must be 1 or more, got {k}")
        return f"pass{found['sign']}k", k, None
    if text.startswith("grader:"):
        name = text.removeprefix("grader:").strip()
        if not name:
            raise SuiteError(f"gate {gate!r}: name the grader, as in 'grader:refund >= 0.9'")
        return "grader", None, name
    if text in ("score", "missing", *AMOUNTS):
        return text, None, None
    known = ("pass@1", "pass^1", "grader:NAME", "score", "missing", "p95 seconds", "mean dollars", *AMOUNTS)
    raise SuiteError(f"gate {gate!r}: unknown rate {text!r}{suggestion(text, known)}")


def _number(text: str, gate: str, *, share: bool) -> float:
    percent = text.endswith("%")
    try:
        value = float(text.removesuffix("%").replace("_", "x"))
    except ValueError:
        raise SuiteError(f"gate {gate!r}: {text!r} is no number") from None
    if not math.isfinite(value) or value < 0:
        raise SuiteError(f"gate {gate!r}: {text} must be a finite number, 0 or more")
    if not share:
        if percent:
            raise SuiteError(f"gate {gate!r}: an amount has no percent; give it in its own unit")
        return value
    value = value / 100 if percent else value
    if value > 1:
        hint = "" if percent else f"; for a percentage write {text}%"
        raise SuiteError(f"gate {gate!r}: a share lies in 0..1, got {text}{hint}")
    return value
