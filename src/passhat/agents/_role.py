"""Whether a simulated user kept to its role. Plain rules over words: quick, the same every time, and wary of alarms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from passhat.agents._asking import asked_by, asks_vaguely
from passhat.agents._facts import Fact, tells
from passhat.agents._phrases import sentences, words
from passhat.facts import Message

_NO_TRADE = (
    r"(?=\s*(?:[^\w\s]|$)|\s+(?:and|or|so|here|not|i|that|who|which|made|trained|built|developed|created|designed"
    r"|playing|simulating|pretending|without|by|from|(?:language )?model|assistant|agent|chatbot|bot|system)\b)"
)
_MACHINE = re.compile(
    rf"\bas an? (ai|artificial intelligence|(large )?language model|(ai |virtual )?assistant|chatbot){_NO_TRADE}"
    rf"|\bi(['’]m| am) (just |only )?(an? )?(ai|artificial intelligence|(large )?language model|chatbot){_NO_TRADE}"
    rf"|\bi(['’]m| am) (just |only )?an? (virtual|ai) assistant{_NO_TRADE}"
    r"|\bi(['’]m| am) (only |just )?(simulat(ed|ing)|a simulat(ed|ion|or))\b|\bsimulated user\b|\bmy system prompt\b"
    r"|\bmy (hidden |secret )?(persona|role-?play)\b|\bmy (hidden|secret) instructions\b"
    r"|\bmy instructions (say|are|tell|were|don['’]t|do not)\b|\b(by|to|in) my instructions\b"
    r"|\bi was (told|instructed) to (play|act as|act like|pretend to be|pretend that)\b(?! (it|safe|along))",
    re.IGNORECASE,
)
_SERVING = re.compile(
    r"\bhow (can|may) i (help|assist) you\b|\bis there anything else i can (help|assist|do)\b"
    r"|\bthank you for (contacting|reaching out to) (us|our|support)\b",
    re.IGNORECASE,
)
_NOT_A_QUESTION = re.compile(
    r"\b(anything|something) else\b|\b(other|more|further|any) questions\b|\bhelp (you )?(further|more)\b",
    re.IGNORECASE,
)
_TO_THE_USER = re.compile(
    r"\b(shall|should|may|can|could|must) (i|we)\b|\b(do|would|will|can|could|are|have|did) you\b|\byour\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\bplease (confirm|reply|answer|respond|provide|specify|state|choose|verify|enter)\b"
    r"|\b(tell|give) me your\b|\bplease (tell|give) me\b"
    r"|\blet me know (which|what|(if|whether) (i|we|you want me|you'd like me|you would like me))\b"
    r"|\b(reply|answer|respond|type|say|write)( with)? [\"'*]?(yes|no|confirm|ok)\b"
    r"|\bwait(ing)? for your\b|\b(i|we)('ll| will)?( still)? (need|require) your\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"\b(i'll|i will|i'm going to|i am going to|let me|one moment|please wait|hold on|give me a (moment|second))\b",
    re.IGNORECASE,
)
_ECHO = 40  # characters: shorter sentences may be repeated by chance


def role_break(text: str, heard: Sequence[Message], facts: Iterable[Fact] = ()) -> str | None:
    """Why what the user said breaks its role, None when it doesn't.

    ``heard`` is what was said before. Breaks are: saying nothing, speaking as a machine or as the one who serves,
    repeating the agent's last message, and telling a fact that nobody asked for.

    >>> role_break("My code is 77-13-99.", [], [Fact("code", "771399")])
    "it told the fact 'code' before it was asked for it"
    """
    if not text.strip():
        return "it said nothing"
    if found := _MACHINE.search(text):
        return f"it spoke as a machine: {found.group()!r}"
    if found := _SERVING.search(text):
        return f"it spoke as the agent: {found.group()!r}"
    replies = [message.text for message in heard if message.role == "assistant"]
    if replies and len(text.strip()) >= _ECHO and words(text) == words(replies[-1]):
        return "it repeated the agent's message"
    return _leak(text, heard, replies, tuple(facts))


def _leak(text: str, heard: Sequence[Message], replies: Sequence[str], facts: Sequence[Fact]) -> str | None:
    """What was told unasked. After a question that names no fact, one may be told: which one it meant isn't known."""
    known = {fact.name for message in heard if message.role == "user" for fact in facts if tells(message.text, fact)}
    new = [fact for fact in facts if fact.name not in known and tells(text, fact)]
    if not new:
        return None
    asked = {name for reply in replies for name in asked_by(reply, facts)}
    leaked = [fact for fact in new if fact.name not in asked]
    open_ = [fact for fact in leaked if not fact.asked]
    if len(open_) == 1 and replies and asks_vaguely(replies[-1], facts):
        leaked.remove(open_[0])
    if not leaked:
        return None
    if len(leaked) == 1:
        return f"it told the fact {leaked[0].name!r} before it was asked for it"
    return f"it told the facts {', '.join(repr(fact.name) for fact in leaked)} before it was asked for them"


def stopped_early(state: str, heard: Sequence[Message], done: bool | None) -> str | None:
    """Why the user's stop came too early to say anything about the agent, None when it didn't.

    ``done`` says whether the state that the task asks for is reached, None when unknown. A user that ends, satisfied or
    not, while the agent waits for its answer, or (where ``done`` is False) is still about to act, stopped early; once
    the state is reached no stop is early. Not early are: believing a false "done"; giving up on an agent whose last
    reply asks for nothing, or asks again what was answered. Those failures are the agent's.

    >>> broken = Message("user", "My lamp broke.")
    >>> stopped_early("gave up", [broken, Message("assistant", "Shall I start the return?")], None)
    "it ended while the agent waited for an answer: 'Shall I start the return?'"
    >>> stopped_early("gave up", [broken, Message("assistant", "I can't help.")], None) is None
    True
    """
    replies = [message.text for message in heard if message.role == "assistant"]
    if not replies:
        return "it ended before the agent said anything"
    if done:
        return None
    last = sentences(replies[-1])
    before = {tuple(words(each)) for reply in replies[:-1] for each in sentences(reply)}
    new = [each for each in last if state == "satisfied" or tuple(words(each)) not in before]
    asks = [each for each in new if _waits(each, is_last=each is last[-1]) and not _quotes(each, heard)]
    if asks:
        return f"it ended while the agent waited for an answer: {asks[-1]!r:.100}"
    if done is False and new and new[-1] is last[-1]:
        promises = _PROMISE.search(last[-1]) and not _NOT_A_QUESTION.search(last[-1])
        return f"it ended while the agent was about to act: {last[-1]!r:.100}" if promises else None
    return None


def _waits(sentence: str, *, is_last: bool) -> bool:
    """Whether a sentence of the agent wants an answer; a question in mid-speech only when it is put to the user."""
    if _NOT_A_QUESTION.search(sentence):
        return False
    if "?" in sentence and (is_last or _TO_THE_USER.search(sentence)):
        return True
    return _REQUEST.search(sentence) is not None


def _quotes(sentence: str, heard: Sequence[Message]) -> bool:
    """Whether a sentence of the agent only says again what the user asked."""
    told = words(sentence)
    asked = (each for message in heard if message.role == "user" for each in sentences(message.text) if "?" in each)
    return any(told[-len(each) :] == each for each in map(words, asked))
