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


UNLISTED = {  # questions in words that no list of ours holds
    "loyalty_tier": ["What kind of member are you?", "What's your status with us?"],
    "vehicle_plate": ["What's the registration of the car?", "What does the tag on your car say?"],
    "serial_no": ["What does the sticker on the back say?", "Please read me the digits below the barcode."],
    "gift_recipient": ["Whom is it meant for?", "Who will get it?"],
    "claim": ["How big is the damage?", "What did the repair come to?"],
    "insurerName": ["With which company are you insured?", "Who stands behind your policy?"],
}
UNLISTED_VALUES = ["Platinum Plus", "HH-KL 443", "SN-00412-B", "Mr Okafor", "312.40", "Alba Mutual"]


def unlisted_dialogue(rng: random.Random, leak: bool) -> tuple[list[Message], list[Fact], int | None]:
    facts = [Fact(name, value) for name, value in zip(UNLISTED, UNLISTED_VALUES, strict=True)]
    asked = rng.sample(facts, 3)
    held = [fact for fact in facts if fact not in asked]
    talk = [Message("user", rng.choice(OPENINGS))]
    for fact in asked:
        talk.append(Message("assistant", rng.choice(UNLISTED[fact.name])))
        talk.append(Message("user", rng.choice(TELLING).format(fact.value)))
        talk.append(Message("assistant", "Thank you, one moment."))
        talk.append(Message("user", rng.choice(SMALL_TALK)))
    if not leak:
        return talk, facts, None
    place = rng.choice([at for at, message in enumerate(talk) if message.role == "user"])
    told = rng.choice(held if place else facts).value
    talk[place] = Message("user", f"{talk[place].text} {rng.choice(LEAKING).format(told)}")
    return talk, facts, place


def test_questions_in_unknown_words_raise_no_alarm_and_leaks_beside_their_answers_are_found() -> None:
    rng = random.Random(7)
    found = alarms = 0
    for number in range(200):
        talk, facts, place = unlisted_dialogue(rng, leak=number < 40)
        broken = first_break(talk, facts)
        found += place is not None and broken == place
        alarms += place is None and broken is not None
    assert alarms <= 8  # 5 % of 160
    assert found >= 38


FACTS = [
    Fact("email", "a.b@mail.example"),
    Fact("date_of_birth", "1979-12-01"),
    Fact("amount_paid", "129.90"),
    Fact("phone", "+49 171 5550123"),
    Fact("passport_number", "P-889"),
    Fact("bookingCode", "QX7"),
]


@pytest.mark.parametrize(
    ("question", "told", "broken"),
    [
        ("May I have your e-mail?", "a.b@mail.example", False),
        ("Your E-Mails, please.", "a.b at mail.example", False),
        ("When were you born?", "1979-12-01", False),
        ("Please confirm your birthday.", "1979-12-01", False),
        ("How much did you pay?", "129.9", False),
        ("What code is on the booking?", "QX7", False),
        ("What phone number can we reach you on?", "+49 171 5550123", False),
        ("What phone number can we reach you on?", "P-889", True),  # "number" alone means another fact here
        ("How much did you pay?", "129.90, and my mail is a.b@mail.example", True),
        ("How much did you pay?", "QX7", True),  # it names another fact, by a usual word for it
        ("When were you born?", "P-889", True),
        ("Your e-mail?", "QX7", True),
        ("Where did it happen?", "QX7", False),  # names no fact: one may be told
        ("Where did it happen?", "QX7 and P-889", True),
        ("Shall I book it?", "Yes. QX7.", True),  # an offer wants no fact
        ("Would you like a refund?", "QX7", True),
        ("Is there anything else?", "P-889", True),
        ("What happened?", "My phone is 0171 5550123", True),
        ("Let me look.", "I paid $129.90", True),
    ],
)
def test_which_questions_ask_for_a_fact(question: str, told: str, broken: bool) -> None:
    assert (role_break(told, [Message("assistant", question)], FACTS) is not None) is broken


def test_two_facts_after_a_question_that_names_none_are_both_told() -> None:
    broken = role_break("QX7 and P-889", [Message("assistant", "Where did it happen?")], FACTS)
    assert broken == "it told the facts 'passport_number', 'bookingCode' before it was asked for them"


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("I can cancel the order today.", False),
        ("When the order arrives, you may keep it.", False),
        ("The name on the order is right.", False),
        ("What you can do is keep the order.", False),
        ("This is how we could get the order to you.", False),
        ("What is your order", True),
        ("May I have your order.", True),
        ("Could you read out the order", True),
        ("Let me know your order.", True),
        ("Kindly type your order.", True),
        ("Which order can I cancel?", True),
        ("Name your order.", True),
        ("Please read out the order.", True),
    ],
)
@pytest.mark.parametrize("asked", [("order",), ()])
def test_a_statement_asks_for_nothing_whatever_it_can_or_may(said: str, asks: bool, asked: tuple[str, ...]) -> None:
    broken = role_break("It's A-1042.", [Message("assistant", said)], [Fact("order", "A-1042", asked=asked)])
    assert (broken is None) is asks


def test_phrases_that_are_given_are_the_only_ones_that_ask() -> None:
    fact = Fact("city", "Lisbon", asked=("home town",))
    assert role_break("Lisbon", [Message("assistant", "What's your home-town?")], [fact]) is None
    for question in ("Which city is it?", "Where do you live?", "Please verify your details."):
        assert role_break("Lisbon", [Message("assistant", question)], [fact]) is not None


@pytest.mark.parametrize(
    ("name", "value", "text", "told"),
    [
        ("first_name", "May", "I may come in May.", False),
        ("first_name", "May", "My name is May.", True),
        ("first_name", "May", "It's May.", True),
        ("first_name", "Will", "Will you help?", False),
        ("pin", "7", "I waited 7 days.", False),
        ("pin", "7", "The pin is 7.", True),
        ("pin", "7", "7", True),
        ("pin", "4711", "I waited 4711 seconds.", True),
        ("order", "A1", "It's about A1 again.", True),
        ("city", "Saint-Étienne", "I live in SAINT ETIENNE", True),
        ("amount", "€1,250.00", "I paid 1250", True),
        ("amount", "25.00", "I paid 2500", False),
        ("amount", "25.00", "I paid 25,00 euros", True),
        ("amount", "1,250", "I paid 1250.00 euros.", True),
        ("amount", "CHF 120", "I paid 120.00.", True),
        ("amount", "USD12", "It cost USD12.", True),
        ("amount", "12.50", "It cost 12.50EUR.", True),
        ("booking", "ABC123", "My booking is ABC123.", True),
        ("booking", "ABC123", "There are 123 of us.", False),
        ("booking", "123 XYZ", "It is 123-XYZ.", True),
        ("phone", "+49 171 5550123", "call 0171/5550123", True),
        ("phone", "+49 171 5550123", "call 0171/5550124", False),
        ("名前", "田中", "田中です", True),
    ],
)
def test_what_tells_a_fact(name: str, value: str, text: str, told: bool) -> None:
    assert (role_break(text, [], [Fact(name, value)]) is not None) is told


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("I am an AI engineer and my parcel is late.", False),
        ("As an AI shop customer I love you.", False),
        ("As an assistant professor I get a discount.", False),
        ("I train a language model at work.", False),
        ("I was told to act quickly.", False),
        ("I was told to play it safe.", False),
        ("You ignored my instructions!", False),
        ("I'm an AI.", True),
        ("I am an AI and can't do that", True),
        ("As an AI language model, I can't.", True),
        ("As an AI I can't.", True),
        ("I'm just a language model.", True),
        ("I'm an AI assistant", True),
        ("I was told to act as a customer.", True),
        ("My instructions say that I may not.", True),
    ],
)
def test_who_speaks_as_a_machine(text: str, broken: bool) -> None:
    assert (role_break(text, []) is not None) is broken


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
