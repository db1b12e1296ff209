"""Whether a simulated user kept to its role: planted leaks are found, honest users raise no alarm."""

from __future__ import annotations

import random

import pytest

from passhat.agents import Fact, role_break, stopped_early
from passhat.facts import Message

VALUES = {
    "order_number": ["A-1042", "77120394", "B 33 19"],
    "email": ["ana.b@example.org", "joe@mail.example"],
    "postal_code": ["10115", "SW1A 2AA"],
    "card_ending": ["4242", "9911"],
    "date_of_birth": ["1984-03-09", "7 May 1991"],
}
ASKING = {
    "order_number": ["Which order is it?", "Please give me your order number.", "What's the number of the order?"],
    "email": ["Could you tell me your email?", "I need the email on the account."],
    "postal_code": ["What is your postal code?", "Please confirm the postal code."],
    "card_ending": ["What are the last digits of the card?", "Which card did you use?"],
    "date_of_birth": ["Please tell me your date of birth.", "To verify you I need some details."],
}
OPENINGS = ["Hi, my parcel arrived broken.", "Hello, I'd like to return something.", "I need help with a delivery."]
TELLING = ["It's {}.", "Sure: {}", "{}", "That would be {}, I think."]
LEAKING = ["By the way, mine is {}.", "Hi! It's about {}.", "Just so you know, {}!"]
SMALL_TALK = [
    "Thanks for looking into it.",
    "Okay, I'll wait.",
    "I bought it on Monday for 25 dollars.",
    "Please hurry.",
]


def planted_dialogue(rng: random.Random, leak: bool) -> tuple[list[Message], list[Fact], int | None]:
    """A dialogue, the facts of its user, and the position of the message that leaks one."""
    facts = [Fact(name, rng.choice(values)) for name, values in VALUES.items()]
    asked = rng.sample(facts, 3)
    held = [fact for fact in facts if fact not in asked]
    talk = [Message("user", rng.choice(OPENINGS))]
    for fact in asked:
        talk.append(Message("assistant", rng.choice(ASKING[fact.name])))
        talk.append(Message("user", rng.choice(TELLING).format(fact.value)))
        talk.append(Message("assistant", "Thank you, one moment."))
        talk.append(Message("user", rng.choice(SMALL_TALK)))
    if not leak:
        return talk, facts, None
    places = [at for at, message in enumerate(talk) if message.role == "user"]
    for_everything = [at for at, message in enumerate(talk) if "details" in message.text]
    place = rng.choice([at for at in places if not for_everything or at < for_everything[0]])
    leaked = rng.choice(held if place else facts)  # at the beginning nothing was asked for
    written = rng.choice([leaked.value, leaked.value.upper(), leaked.value.replace("-", " ")])
    talk[place] = Message("user", f"{talk[place].text} {rng.choice(LEAKING).format(written)}")
    return talk, facts, place


def first_break(talk: list[Message], facts: list[Fact]) -> int | None:
    """The position of the first message that breaks the role."""
    users = (at for at, message in enumerate(talk) if message.role == "user")
    return next((at for at in users if role_break(talk[at].text, talk[:at], facts)), None)


def test_planted_leaks_are_found_without_a_false_alarm() -> None:
    rng = random.Random(6)
    found = alarms = 0
    for number in range(200):
        talk, facts, place = planted_dialogue(rng, leak=number < 40)
        broken = first_break(talk, facts)
        found += place is not None and broken == place
        alarms += place is None and broken is not None
    assert alarms == 0
    assert found >= 38


@pytest.mark.parametrize(
    ("text", "heard", "broken"),
    [
        ("The far east of the area", "", False),
        ("It is in the area 51.", "", True),
        ("My code is AREA-51", "What is your code?", False),
        ("My code is AREA-51", "Your code isn't needed.", True),
        ("My code is AREA-51", "Please verify who you are.", False),
        ("My code is AREA-51", "Do you know your codes?", False),
        ("I am an airline pilot.", "", False),
        ("I'm an AI model.", "", True),
        ("How can I help you?", "", True),
        ("How can I get help?", "", False),
    ],
)
def test_single_messages(text: str, heard: str, broken: bool) -> None:
    before = [Message("assistant", heard)] if heard else []
    assert (role_break(text, before, [Fact("code", "area 51")]) is not None) is broken


def test_a_fact_can_name_the_words_that_ask_for_it() -> None:
    before = [Message("assistant", "Which flight are you on?")]
    assert role_break("It's AB12", before, [Fact("booking", "AB12", asked=("flight",))]) is None
    assert role_break("It's AB12", before, [Fact("booking", "AB12", asked=("booking code",))]) is not None


def test_what_was_told_once_may_be_said_again() -> None:
    told = [Message("user", "My order is A1."), Message("assistant", "Hm.")]
    assert role_break("A1, as I said.", told, [Fact("order", "A1")]) is None


def test_the_agents_own_words_come_back_only_from_a_user_that_lost_its_role() -> None:
    words = "Your refund of 20 dollars for order A1 was issued today."
    assert role_break(words.upper(), [Message("assistant", words)]) == "it repeated the agent's message"
    assert role_break("Yes.", [Message("assistant", "Yes.")]) is None


@pytest.mark.parametrize(
    ("state", "reply", "done", "early"),
    [
        ("satisfied", "Shall I go on?", None, True),
        ("satisfied", "Shall I go on?", True, False),
        ("satisfied", "Done! Is there anything else?", False, False),
        ("satisfied", "Let me look that up.", False, True),
        ("satisfied", "Let me look that up.", None, False),
        ("satisfied", "All done. Let me know if you need something else.", False, False),
        ("gave up", "Shall I go on?", False, True),
        ("gave up", "Shall I go on?", None, True),
        ("gave up", "Shall I go on?", True, False),
        ("gave up", "I'll start it now.", False, True),
        ("gave up", "I can't help with that.", False, False),
        ("gave up", "Sorry, no. Is there anything else I can do?", False, False),
        ("gave up", None, False, True),
        ("script over", "Shall I start the return?", None, True),
        ("script over", "Shall I start the return? It takes three days.", None, True),
        ("script over", "Please confirm that I may start the return.", None, True),
        ("script over", "To go on, reply with YES.", None, True),
        ("script over", "I still need your order number.", None, True),
        ("script over", "Let me know if you'd like me to start the return.", None, True),
        ("script over", "Let me know if you need help.", None, False),
        ("script over", "Please send the lamp back with the label.", None, False),
        ("script over", "Why did it break? The glass was thin.", None, False),
        ("script over", "Your return is started.", False, False),
        ("user ended", "Shall I start the return?", None, True),
        ("user ended", "Your return is started.", None, False),
    ],
)
def test_when_a_stop_is_too_early(state: str, reply: str | None, done: bool | None, early: bool) -> None:
    heard = [Message("user", "Hi")] + ([] if reply is None else [Message("assistant", reply)])
    assert (stopped_early(state, heard, done) is not None) is early


def test_asking_again_what_was_answered_is_the_agents_failure_and_no_early_stop() -> None:
    again = [
        Message("user", "It broke."),
        Message("assistant", "What is your order number?"),
        Message("user", "A1."),
        Message("assistant", "Sorry. What is your order number?"),
    ]
    assert stopped_early("gave up", again, False) is None
    assert stopped_early("script over", again, None) is None
    assert stopped_early("satisfied", again, False) is not None
    assert stopped_early("gave up", [*again[:3], Message("assistant", "Shall I start it?")], False) is not None


def test_a_question_that_the_agent_only_repeats_waits_for_nothing() -> None:
    talk = [Message("user", "What is two plus two?"), Message("assistant", "You said: what is two plus two?")]
    assert stopped_early("script over", talk, None) is None
