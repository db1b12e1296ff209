"""The conversation before an answer of the model, each turn dated by its place in it: people say "yes" twice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

from passhat.facts import Message, ModelCall, Transcript

Dated = tuple[float, Message]


def spoken(transcript: Transcript, turn: int | None, until: float) -> list[Dated]:
    """What was said before an answer of the model, oldest first, each turn with when it was first sent, in seconds.

    Instructions to the model (``system``) are left out. A request that tells the conversation again adds only what is
    new in it, wherever the same words stood before; one that sends its news only adds all of it.
    """
    talk: list[Dated] = []
    last = None if turn is None else transcript.replies[turn]
    for call in transcript.model_calls:
        if call.at > until or (last is not None and call.at > last.at):
            break
        talk = _heard(talk, call)
        if call.reply is not None and call is not last:
            talk.append((call.at + call.seconds, call.reply))
    return talk


def _heard(talk: list[Dated], call: ModelCall) -> list[Dated]:
    sent = [message for message in call.messages if message.role != "system"]
    known, now = [_key(message) for _, message in talk], [_key(message) for message in sent]
    if now == known[: len(now)]:  # asked once more
        return talk
    if known == now[: len(known)]:
        return talk + [(call.at, message) for message in sent[len(known) :]]
    retold = now[0] == known[0] or any(message.role == "assistant" for message in sent)
    return _aligned(talk, known, sent, now, call.at) if retold else talk + [(call.at, message) for message in sent]


def _aligned(
    talk: list[Dated], known: list[Hashable], sent: Sequence[Message], now: list[Hashable], at: float
) -> list[Dated]:
    """The talk and what a request adds to it that left out or changed some of what was said.

    A turn in other words is a turn more, no later than the known one that it stands before.
    """
    for start in range(1, len(known)):  # the oldest turns were left out, and what follows the latest ones is new
        if known[start:] == now[: len(known) - start]:
            return talk + [(at, message) for message in sent[len(known) - start :]]
    heard: list[Dated] = []
    for kind, first, end, new_first, new_end in SequenceMatcher(None, known, now, autojunk=False).get_opcodes():
        heard += talk[first:end]
        if kind != "equal":
            by_then = talk[end][0] if end < len(talk) else at
            heard += [(by_then, message) for message in sent[new_first:new_end]]
    return heard


def _key(message: Message) -> Hashable:
    return message.role, message.said.strip(), message.call_id, tuple(wish.id for wish in message.tool_calls)
