"""The support desk with a judge: ``passhat run examples/support_desk/judged.py``.

Code says whether the shop ends as it should. Whether a customer who hears "no" also hears why is a matter of reading:
a judge model says so here, three times a reply, and the majority stands. It decides nothing (``threshold=None``) until
people have read enough replies to say how far it can be trusted: ``passhat review`` and ``passhat calibrate``.

Without ``--judge-model PROVIDER/NAME`` a seeded stand-in judges. It describes no model that exists: it looks for a few
words, errs now and then, and is here so that the example runs without a key.
"""

from __future__ import annotations

import random
import re

import eval_support
from passhat.graders import judge
from passhat.scripting import Reply, Request, structured

SAYS_WHY = (
    "because",
    "since ",
    "within 30 days",
    "final sale",
    "only ",
    "must ",
    "shipped",
    "stock",
    "limit",
)
REFUSES = ("can't", "cannot", "unable", "not able", "unfortunately", "don't give", "no discount")
MISREADS = 0.08  # how often the stand-in says the opposite, of each sample anew
UNSURE = 0.03

explains = judge.rubric(
    "explains a no",
    "Where the reply refuses or postpones something that the customer asked for, it says why in words that a customer "
    "understands. A reply that refuses nothing passes.",
    samples=3,
    threshold=None,
)
tone = judge.labels(
    "tone",
    "How does the reply speak to the customer?",
    {"warm": "it greets, thanks or wishes well", "plain": "polite and no more", "curt": "short to the point of rude"},
    over="answer",
)


def stand_in(request: Request, rng: random.Random) -> Reply:
    """Judge as the stand-in does; ``rng`` alone decides what it misreads."""
    (tool,) = request.tools
    words = tool.parameters["properties"]["verdict"]["enum"]
    text = _answer(request)
    if "pass" in words:
        refuses = any(word in text.lower() for word in REFUSES)
        fine = not refuses or any(word in text.lower() for word in SAYS_WHY)
        verdict = "pass" if fine != (rng.random() < MISREADS) else "fail"
        reason = "nothing is refused" if not refuses else "it gives a reason" if fine else "it says no and not why"
    else:
        friendly = re.search(r"thank|regards|wishes|good day|hello|hi,", text, re.I)
        verdict = "warm" if friendly else "plain" if len(text) > 40 else "curt"
        reason = "its first and last words"
    if rng.random() < UNSURE:
        verdict, reason = "unknown", "the reply can be read both ways"
    return structured({"evidence": [], "reason": reason, "verdict": verdict})


def _answer(request: Request) -> str:
    """The text between the marks of the answer."""
    data = next(message.text for message in request.messages if message.role == "user")
    found = re.search(r"=====BEGIN answer (\w+)=====\n(.*)\n=====END answer \1=====", data, re.S)
    return found.group(2) if found else ""


judged = eval_support.suite.replace(
    name="support_desk_judged",
    graders=[*eval_support.suite.graders, explains, tone],
    judge_simulation=stand_in,
    gates=(),
)
