"""Whether a simulated user kept to its role. Plain rules over words: quick, the same every time, and wary of alarms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from passhat.facts import Message


@dataclass(frozen=True)
class Fact:
    """Something that the user tells only when asked for it.

    ``asked`` are words or phrases by which the agent asks for it; by default each word of the name that has more than
    two letters. A question for details, or to verify who the user is, asks for every fact.
    """

    name: str
    value: str
    asked: tuple[str, ...] = ()


_ANY_FACT = ("details", "information", "info", "verify", "identify", "identity")
_REQUESTS = {
    *("please", "provide", "need", "require", "tell", "give", "share", "confirm", "send", "enter", "state", "specify"),
    *("what", "which", "who", "when", "where", "how", "could", "can", "may", "must", "name"),
}
_MACHINE = re.compile(
    r"\bas an? (ai|artificial intelligence|language model|assistant)\b|\b(large )?language model\b"
    r"|\bi('m| am) (an? )?(ai|chatbot|virtual assistant|simulat\w*)\b|\bsimulated user\b|\bsystem prompt\b"
    r"|\bmy (hidden |secret )?(instructions|persona|role-?play)\b|\bi was (told|instructed) to (play|act|pretend)",
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
_SENTENCE = re.compile(r"[^.?!\n]+[.?!\n]*")
_WORD = re.compile(r"[^\W_]+")
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
    if replies and len(text.strip()) >= _ECHO and _words(text) == _words(replies[-1]):
        return "it repeated the agent's message"
    told = {fact.name for message in heard if message.role == "user" for fact in facts if _tells(message.text, fact)}
    for fact in facts:
        if fact.name not in told and _tells(text, fact) and not any(_asks(reply, fact) for reply in replies):
            return f"it told the fact {fact.name!r} before it was asked for it"
    return None


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
    last = _sentences(replies[-1])
    before = {tuple(_words(each)) for reply in replies[:-1] for each in _sentences(reply)}
    new = [each for each in last if state == "satisfied" or tuple(_words(each)) not in before]
    asks = [each for each in new if _waits(each, is_last=each is last[-1]) and not _quotes(each, heard)]
    if asks:
        return f"it ended while the agent waited for an answer: {asks[-1]!r:.100}"
    if done is False and new and new[-1] is last[-1]:
        promises = _PROMISE.search(last[-1]) and not _NOT_A_QUESTION.search(last[-1])
        return f"it ended while the agent was about to act: {last[-1]!r:.100}" if promises else None
    return None


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.findall(text) if _WORD.search(part)]


def _waits(sentence: str, *, is_last: bool) -> bool:
    """Whether a sentence of the agent wants an answer; a question in mid-speech only when it is put to the user."""
    if _NOT_A_QUESTION.search(sentence):
        return False
    if "?" in sentence and (is_last or _TO_THE_USER.search(sentence)):
        return True
    return _REQUEST.search(sentence) is not None


def _quotes(sentence: str, heard: Sequence[Message]) -> bool:
    """Whether a sentence of the agent only says again what the user asked."""
    words = _words(sentence)
    asked = (each for message in heard if message.role == "user" for each in _sentences(message.text) if "?" in each)
    return any(words[-len(each) :] == each for each in map(_words, asked))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _tells(text: str, fact: Fact) -> bool:
    """Whether a run of whole words, joined, is the value: ``41 11`` tells ``41-11``, ``far east`` doesn't ``area``."""
    wanted = "".join(_words(fact.value))
    words = _words(text)
    for first in range(len(words)):
        joined = ""
        for word in words[first:]:
            joined += word
            if joined == wanted:
                return bool(wanted)
            if not wanted.startswith(joined):
                break
    return False


def _asks(reply: str, fact: Fact) -> bool:
    by_name = [word for word in _words(fact.name.replace("_", " ")) if len(word) > 2] or [fact.name]
    phrases = [_words(phrase) for phrase in (*(fact.asked or by_name), *_ANY_FACT)]
    for sentence in _SENTENCE.findall(reply):
        words = [word.removesuffix("s") for word in _words(sentence)]
        if "?" not in sentence and not _REQUESTS & set(_words(sentence)):
            continue
        for phrase in phrases:
            stems = [word.removesuffix("s") for word in phrase]
            if any(words[at : at + len(stems)] == stems for at in range(len(words) - len(stems) + 1)):
                return True
    return False
