"""Whether the agent asks for a fact: which one it means, or that it wants something in words that name none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from passhat.agents._facts import Fact
from passhat.agents._phrases import UNSPACED, has, mentions, sentences, words, words_of_name

_ANY_FACT = ("details", "information", "info", "verify", "identify", "identity")
_GENERIC = "code date id name no nr number ref reference value user customer client".split()  # noqa: SIM905
_REQUESTS = frozenset(
    ("please", "provide", "need", "require", "tell", "give", "share", "confirm", "send", "enter", "state", "specify")
)
_ASKS = re.compile(  # by the order of words, without a question mark
    r"^\W*name\b|^\W*(what|who|when|where|how)(['’]s| is| are| was| were| do| did)\b"
    r"|\b(may|can|could) (i|we) (have|get|see)\b|\b(can|could|will|would) you\b|\blet (me|us) know\b|\bkindly\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\b(please|kindly)( \w+)? (confirm|enter|give|name|provide|read|say|send|share|specify|state|tell|type|write)\b"
    r"|\b(need|require|want|send|give|tell|read|name)( me| us)? (your|the|who|what|which|when|where|how)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\b(shall|should) (i|we)\b"
    r"|\b(may|can|could) (i|we) (go|proceed|start|do|help|assist|cancel|refund|book|continue)\b"
    r"|\b(would|do|did) you (also |still )?(want|like|prefer|mind|agree|need|understand)\b"
    r"|\bis (that|this|it) (ok|okay|all)\b"
    r"|\bwhat('s| is| was| seems? to be)? (happened|going on|wrong|the (problem|matter|issue|trouble|reason))\b"
    r"|\b(what|how) (can|may|could) (i|we) (do|help|assist)\b|\bhow are you\b|\b(any|some)thing else\b|\bwhy\b",
    re.IGNORECASE,
)


def asked_by(reply: str, facts: Iterable[Fact]) -> set[str]:
    """The names of the facts that the agent asks for."""
    facts = list(facts)
    return {name for each in sentences(reply) if _requests(each) for name in _meant(each, facts)}


def asks_vaguely(reply: str, facts: Iterable[Fact]) -> bool:
    """Whether the agent wants something of the user, in words that name none of the facts; an offer wants a yes."""
    facts = list(facts)
    return any(
        ("?" in unicodedata.normalize("NFKC", each) or _WANTS.search(each))
        and not _OFFERS.search(each)
        and not _meant(each, facts)
        for each in sentences(reply)
    )


def _requests(sentence: str) -> bool:
    plain = unicodedata.normalize("NFKC", sentence)
    return "?" in plain or not _REQUESTS.isdisjoint(words(plain)) or bool(_ASKS.search(plain) or UNSPACED.search(plain))


def _meant(sentence: str, facts: Sequence[Fact]) -> set[str]:
    """The facts that a question is about: those that a word of their own stands for, else those that share a word."""
    found = words(sentence)
    anything = any(has(found, phrase) for phrase in _ANY_FACT)
    own, shared = set(), set()
    for fact in facts:
        if fact.asked:
            own |= {fact.name} if any(has(found, phrase) for phrase in fact.asked) else set()
            continue
        if anything:
            own.add(fact.name)
            continue
        named = words_of_name(fact.name)
        particular = [word for word in named if word not in _GENERIC] or named
        if mentions(found, particular):
            own.add(fact.name)
        elif mentions(found, named):
            shared.add(fact.name)
    return own or shared
