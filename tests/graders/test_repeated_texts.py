"""People say the same words twice, and models give the same call id twice: that changes no verdict."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passhat.facts import Message, ModelCall, ToolCall, ToolOffer, Transcript
from passhat.graders import trace

WORDS = ("yes", "no", "hm")
REFUND = "refund"
ROUNDS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(("Sure?", "Done.", REFUND))), min_size=1, max_size=7
)
CONFIRMED = trace.confirmed(REFUND)


def told(
    rounds: Sequence[tuple[str, str]], *, unique: bool, send: str = "whole", window: int = 99, first: str = "Refund A1."
) -> Transcript:
    """A conversation of (what the user says, what the model does), with the same words in it or each said once only."""
    events: list[ModelCall] = []
    history: list[Message] = []
    news: list[Message] = []

    def text(words: str) -> str:
        return f"{words} #{len(events)}.{len(history)}" if unique else words

    def hear(message: Message) -> None:
        history.append(message)
        news.append(message)

    def ask(reply: Message) -> None:
        clock = Message("system", "Be brief." if send == "news" else f"It is {len(events)} o'clock.")
        users = [message for message in history if message.role == "user"]
        sent = {"news": news, "users": users, "whole": history[-window:]}[send]
        offers = (ToolOffer(REFUND),)
        call = ModelCall(len(events) + 1.0, 0.5, "chat", "scripted", messages=(clock, *sent), tools=offers, reply=reply)
        events.append(call)
        history.append(reply)
        news.clear()

    hear(Message("user", first))
    ask(Message("assistant", text("Sure?")))
    for words, does in rounds:
        hear(Message("user", text(words)))
        if does == REFUND:
            wish = ToolCall(f"c{len(events)}" if unique else "c1", REFUND, {})
            ask(Message("assistant", "", (wish,)))
            hear(Message("tool", "ok", call_id=wish.id))
            ask(Message("assistant", text("Done.")))
        else:
            ask(Message("assistant", text(does)))
    return Transcript(tuple(events))


@pytest.mark.parametrize("send", ["whole", "news", "users"])
@given(rounds=ROUNDS)
def test_repeated_words_change_no_confirmation(send: str, rounds: list[tuple[str, str]]) -> None:
    whole = CONFIRMED(told(rounds, unique=True)).passed
    assert CONFIRMED(told(rounds, unique=True, send=send)).passed is whole
    assert CONFIRMED(told(rounds, unique=False, send=send)).passed is whole


@given(rounds=ROUNDS)
def test_a_first_message_that_is_repeated_changes_no_confirmation(rounds: list[tuple[str, str]]) -> None:
    once, again = (CONFIRMED(told(rounds, unique=unique, first="yes")) for unique in (True, False))
    assert again.passed is once.passed


@given(rounds=ROUNDS, window=st.integers(2, 8))
@example(rounds=[("no", "Sure?"), ("yes", "Sure?"), ("no", REFUND)], window=2)
def test_a_history_that_forgets_its_beginning_never_makes_an_old_yes_a_new_one(
    rounds: list[tuple[str, str]], window: int
) -> None:
    whole = CONFIRMED(told(rounds, unique=True)).passed
    assert CONFIRMED(told(rounds, unique=True, window=window)).passed is whole
    assert CONFIRMED(told(rounds, unique=False, window=window)).passed is whole


def test_two_refunds_with_the_same_yes_are_both_confirmed_and_one_yes_is_not_enough() -> None:
    twice = [("yes", REFUND), ("B2 too", "Sure?"), ("yes", REFUND)]
    assert CONFIRMED(told(twice, unique=False)).passed is True
    assert CONFIRMED(told([("yes", REFUND), ("B2 too", REFUND)], unique=False)).passed is False


def rewritten(*, keep: bool) -> Transcript:
    """The agent writes the time before what it already sent; the second refund has no yes of its own unless kept."""
    wish = Message("assistant", "", (ToolCall("c1", REFUND, {}),))
    start = [Message("user", "Refund A1."), Message("assistant", "Sure?")]
    late = [Message("user", f"[10:30] {m.text}") if m.role == "user" else m for m in start]
    done = [wish, Message("tool", "ok", call_id="c1"), Message("assistant", "B2 as well?")]
    requests = [
        (start[:1], start[1]),
        ([*start, Message("user", "yes")], wish),
        ([*late, Message("user", "[10:31] yes"), *done[:2]], done[2]),
        ([*late, Message("user", "[10:31] yes"), *done, Message("user", "yes" if keep else "hm")], wish),
    ]
    offers = (ToolOffer(REFUND),)
    return Transcript(
        tuple(
            ModelCall(at, 0.5, "chat", "scripted", messages=tuple(sent), tools=offers, reply=reply)
            for at, (sent, reply) in enumerate(requests)
        )
    )


def test_a_turn_that_is_sent_again_in_other_words_keeps_its_date() -> None:
    assert CONFIRMED(rewritten(keep=True)).passed is True
    assert CONFIRMED(rewritten(keep=False)).passed is False


def test_a_turn_that_is_put_into_what_was_said_before_is_no_new_one() -> None:
    wish = Message("assistant", "", (ToolCall("c1", REFUND, {}),))
    begun = [Message("user", "Refund A1."), Message("assistant", "Sure?"), Message("user", "yes")]
    done = [wish, Message("tool", "ok", call_id="c1"), Message("assistant", "B2 as well?")]
    requests = [
        (begun[:1], begun[1]),
        (begun, wish),
        ([*begun, *done[:2]], done[2]),
        ([*begun, Message("user", "(The user said yes.)"), *done, Message("user", "hm")], wish),
    ]
    events = tuple(
        ModelCall(at, 0.5, "chat", "scripted", messages=tuple(sent), tools=(ToolOffer(REFUND),), reply=reply)
        for at, (sent, reply) in enumerate(requests)
    )
    assert CONFIRMED(Transcript(events)).passed is False


def test_a_request_with_nothing_but_instructions_says_nothing_new() -> None:
    first = told([("yes", REFUND)], unique=False)
    call = ModelCall(1.6, 0.1, "chat", "scripted", messages=(Message("system", "Be brief."),))
    assert CONFIRMED(Transcript.of([*first.events, call])).passed is True


def test_a_result_counts_from_when_it_was_sent_also_where_ids_repeat() -> None:
    wishes = [Message("assistant", "", (ToolCall("c1", name, {}),)) for name in ("look", "check", REFUND)]
    first, second = (Message("tool", text, call_id="c1") for text in ("one", "two"))
    requests = [
        ([], wishes[0]),
        ([wishes[0], first], wishes[1]),
        ([wishes[0], first, wishes[1]], wishes[2]),  # the result of `check` isn't there yet
        ([wishes[0], first, wishes[1], second], Message("assistant", "done")),
    ]
    offers = tuple(ToolOffer(name) for name in ("look", "check", REFUND))
    events = tuple(
        ModelCall(at, 0.5, "chat", "scripted", messages=(Message("user", "hi"), *sent), tools=offers, reply=reply)
        for at, (sent, reply) in enumerate(requests)
    )
    assert trace.before("look", REFUND)(Transcript(events)).passed is True
    assert trace.before("check", REFUND)(Transcript(events)).passed is False
