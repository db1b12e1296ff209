"""Scripts and simulations in YAML, for agents in other languages and for people who don't write Python."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from passhat.facts import Usage
from passhat.gateway import Faults, Reply, Request, Script, ScriptError, Simulate
from passhat.isolation import read_named, text_of
from passhat.scripting._builders import call, fail, refuse, reply, say, structured, think

_DETAILS = ("stop", "model", "fingerprint", "first_token", "tokens_per_second")
_WORDS = ("say", "call", "calls", "think", "refuse", "structured", "fail", "usage", *_DETAILS)
_TOP = ("replies", "simulation", "faults", "seed")
_CONDITIONS = ("turn", "user", "system", "after", "result")
Policy = Callable[[Request, random.Random], Reply]


class Play(msgspec.Struct, frozen=True):
    """What a file says: replies in order or a simulation, the faults over them, and the seed."""

    replies: tuple[Reply, ...] | None
    policy: Policy | None
    faults: Faults
    seed: int = 0

    def mode(self) -> Script | Simulate:
        """A fresh mode for one session."""
        return Script(self.replies or ()) if self.policy is None else Simulate(self.policy)


def load(path: str | Path) -> Play:
    """Read a script or simulation; raises `ScriptError` that names the file and the place.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "replies.yaml")
    >>> _ = path.write_text("replies:\\n- say: hello\\n")
    >>> [each.text for each in load(path).replies]
    ['hello']
    >>> folder.cleanup()
    """
    path = Path(path)
    try:
        data = yaml.safe_load(text_of(read_named(path)))
    except (OSError, UnicodeError, yaml.YAMLError, RecursionError) as error:
        raise ScriptError(f"{path} can't be read: {error}") from error
    try:
        return parse(data)
    except ScriptError:
        raise
    except (TypeError, ValueError) as error:
        raise ScriptError(f"{path}: {error}") from error


def parse(data: Any) -> Play:
    """The same from data that was read already; raises ValueError or TypeError.

    >>> play = parse({"replies": [{"say": "Looking.", "call": {"look": {"q": 1}}}, {"fail": 429}]})
    >>> [reply.why_stopped for reply in play.replies]
    ['tool_calls', 'stop']
    """
    if not isinstance(data, Mapping) or len({"replies", "simulation"} & set(data)) != 1:
        raise ValueError("needs either replies: (a list) or simulation: (a list of states)")
    _known(data, _TOP, "the file")
    seed = data.get("seed", 0)
    if not isinstance(seed, int):
        raise ValueError(f"seed: {seed!r} must be a whole number")
    faults = Faults.of(data.get("faults"))
    if "replies" in data:
        rows = _list(data["replies"], "replies")
        return Play(tuple(parse_reply(row, f"reply {n}") for n, row in enumerate(rows, 1)), None, faults, seed)
    return Play(None, parse_simulation(data["simulation"]), faults, seed)


def parse_reply(row: Any, where: str) -> Reply:
    """One reply: text, or a mapping of the builders' names."""
    if isinstance(row, str):
        return say(row)
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}: {row!r:.80} must be text or a mapping with some of {', '.join(_WORDS)}")
    _known(row, _WORDS, where)
    try:
        return _built(row, where)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        text = str(error)
        raise ValueError(text if text.startswith(where) else f"{where}: {text}") from error


def _built(row: Mapping[str, Any], where: str) -> Reply:
    if "fail" in row:
        if len(row) > 1:
            raise ValueError(f"{where}: fail stands alone")
        value = row["fail"]
        return fail(**value) if isinstance(value, Mapping) else fail(value)
    parts: list[Reply] = []
    for word, build in (("think", think), ("say", say), ("refuse", refuse)):
        if word in row:
            parts.append(build(row[word]))
    if "structured" in row:
        parts.append(structured(row["structured"]))
    for wish in [row["call"]] if "call" in row else []:
        parts.append(_call(wish, where))
    parts.extend(_call(wish, where) for wish in _list(row.get("calls", []), f"{where}, calls"))
    details = {name: row[name] for name in _DETAILS if name in row}
    if "usage" in row:
        details["usage"] = msgspec.convert(row["usage"], Usage)
    return reply(*parts, **details)


def _call(wish: Any, where: str) -> Reply:
    """``refund``, or ``{refund: {order: A1}}``; arguments given as text go out as they are."""
    if isinstance(wish, str):
        return call(wish)
    if not isinstance(wish, Mapping) or len(wish) != 1:
        raise ValueError(f"{where}: a call is written {{tool: {{argument: value}}}}, not {wish!r:.80}")
    ((name, arguments),) = wish.items()
    return call(name, arguments)


def parse_simulation(states: Any) -> Policy:
    """A policy from states: the first whose ``when`` fits the request gives one of its weighted replies.

    ``when`` may ask for the ``turn`` (answers so far), a regular expression in the newest ``user`` message or in the
    ``system`` prompt, the tool ``after`` whose result is newest, or a regular expression in that ``result``.

    >>> policy = parse_simulation([{"when": {"after": "look"}, "replies": ["found"]}, {"replies": [{"call": "look"}]}])
    """
    rows = _list(states, "simulation")
    parsed = [_state(row, f"state {number}") for number, row in enumerate(rows, 1)]
    if not parsed:
        raise ValueError("simulation: has no states")

    def policy(request: Request, rng: random.Random) -> Reply:
        for fits, replies, weights in parsed:
            if fits(request):
                return rng.choices(replies, weights)[0]
        raise ScriptError("no state of the simulation fits this request; end it with a state without when:")

    return policy


def _state(row: Any, where: str) -> tuple[Callable[[Request], bool], list[Reply], list[float]]:
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}: {row!r:.80} must be a mapping with replies: and, if wanted, when:")
    _known(row, ("when", "replies"), where)
    replies: list[Reply] = []
    weights: list[float] = []
    for number, item in enumerate(_list(row.get("replies"), f"{where}, replies"), 1):
        weight = item.get("weight", 1) if isinstance(item, Mapping) else 1
        if not isinstance(weight, int | float) or not weight > 0:
            raise ValueError(f"{where}, reply {number}: weight {weight!r} must be a number above 0")
        rest = {k: v for k, v in item.items() if k != "weight"} if isinstance(item, Mapping) else item
        replies.append(parse_reply(rest, f"{where}, reply {number}"))
        weights.append(float(weight))
    if not replies:
        raise ValueError(f"{where}: has no replies")
    return _condition(row.get("when") or {}, where), replies, weights


def _condition(when: Any, where: str) -> Callable[[Request], bool]:
    if not isinstance(when, Mapping):
        raise ValueError(f"{where}, when: {when!r:.80} must be a mapping with some of {', '.join(_CONDITIONS)}")
    _known(when, _CONDITIONS, f"{where}, when")
    patterns: dict[str, re.Pattern[str]] = {}
    for name in ("user", "system", "result"):
        if name in when:
            try:
                patterns[name] = re.compile(str(when[name]))
            except re.error as error:
                raise ValueError(f"{where}, when, {name}: {when[name]!r} is no regular expression: {error}") from error
    turn, after = when.get("turn"), when.get("after")

    def fits(request: Request) -> bool:
        results = request.results
        texts = {"user": request.user, "system": request.system, "result": results[-1].text if results else None}
        for name, pattern in patterns.items():
            text = texts[name]
            if text is None or not pattern.search(text):
                return False
        if turn is not None and turn != sum(message.role == "assistant" for message in request.messages):
            return False
        return after is None or after in _tools_answered(request)

    return fits


def _tools_answered(request: Request) -> set[str]:
    """Names of the tools whose results are newest."""
    names = {wish.id: wish.name for message in request.messages for wish in message.tool_calls}
    return {names[m.call_id] for m in request.results if m.call_id in names}


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: must be a list, not {value!r:.80}")
    return value


def _known(row: Mapping[Any, Any], names: tuple[str, ...], where: str) -> None:
    unknown = [key for key in row if key not in names]
    if unknown:
        raise ValueError(f"{where}: unknown {unknown[0]!r}; use some of {', '.join(names)}")
