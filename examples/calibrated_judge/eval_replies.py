"""A judge that reads replies to customers, held against people. Run it with: passhat run .

Nothing here needs a key. The agent's replies are made of a few phrases, and the judge is a simulation that errs on
purpose, so that there is something to calibrate. With a key: delete ``judge_simulation`` and add
``--judge-model openai/NAME``.
"""

import random
from collections.abc import Iterator

from passhat import Suite, Task, Trial
from passhat.graders import judge
from passhat.scripting import Reply, Request, structured

KIND = ("I'm sorry for the trouble, {who}.", "Thank you for waiting, {who}.", "I understand, {who}.")
CURT = ("Order {n} is late.", "Read the terms, {who}.", "That's how it is, {who}.")


def reply(trial: Trial) -> str:
    """Easy tasks mostly get a kind reply, hard ones seldom do."""
    rng = random.Random(trial.seed)
    kind = rng.random() < trial.data["kindness"]
    opening = rng.choice(KIND if kind else CURT).format(who="Ann", n=trial.data["order"])
    return f"{opening} Order {trial.data['order']} will be with you on Friday."


def lenient_judge(request: Request, rng: random.Random) -> Reply:
    """Passes nine in ten replies that people would pass, and three in ten that they would not."""
    shown = next(message.text for message in request.messages if message.role == "user")
    answer = shown.rpartition("BEGIN answer")[2].partition("\n")[2].partition("\n=====END")[0]
    kind = any(phrase.partition("{")[0] in answer for phrase in KIND)
    luck = random.Random(answer)  # the same of an answer whenever it is asked
    verdict = "pass" if luck.random() < (0.9 if kind else 0.3) else "fail"
    return structured({"evidence": [], "reason": "by its tone", "verdict": verdict})


def tasks() -> Iterator[Task]:
    """Thirty orders; people are harder to please about refunds."""
    for place in range(30):
        tag = "refund" if place % 3 == 0 else "delivery"
        kindness = (0.3 if tag == "refund" else 0.5) + 0.1 * (place % 5)
        data = {"order": 1000 + place, "kindness": kindness}
        yield Task(f"order-{place:02d}", input=f"Where is my order {1000 + place}?", data=data, tags=(tag,))


suite = Suite(
    "replies",
    tasks=list(tasks()),
    agent=reply,
    graders=[judge.rubric("kind", "The reply is kind, also where it has bad news.")],
    judge_simulation=lenient_judge,
    trials=5,
    seed=11,
)
