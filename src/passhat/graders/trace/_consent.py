"""Whether a person's words agree or deny, in plain English: where that isn't plain, they don't agree."""

from __future__ import annotations

import re

_START = r"(?:^|[,;:(]\s*|\b(?:and|so|but|well|hm+|oh)\s+)"
_CLEAR = re.compile(
    r"\b(?:yes|yep|yup|yeah|please do|go ahead|proceed|agreed|i agree|confirmed|i (?:do |can |hereby |also )*confirm)\b"
    rf"|{_START}do it\b|^(?:please )?confirm(?: (?:it|this|that))?(?: please)?$"
)
_WEAK = re.compile(  # these may just say that something was heard, so that a question beside them leaves it open
    rf"\b(?:ok|okay)\b|{_START}(?:for )?sure\b|{_START}correct(?= ?(?:[,;:]|$|please|thanks|go))"
    r"|\b(?:that|this|it|all|everything)(?:'s| is| are)? (?:all |absolutely |quite )*(?:right|correct)\b"
)
_OPEN = re.compile(  # the words of a yes in a sentence that isn't one
    r"\b(?:whether|unless|until|before (?:you|we|i)|let me|tell me|let us|let's see|explain|maybe|perhaps|depends"
    r"|think (?:about|it over|first)|i'?ll think|if (?:i|that|this|it)(?:'s| is| say| said)?|make sure)\b"
)
_ASKS = re.compile(
    rf"{_START}(?:(?:are|is|am|was|were|will|would|can|could|should|shall|may|does|did|has)"
    r" (?:you|i|we|they|it|this|that|there|he|she|the|my|your)|(?:do|have) (?:you|i|we|they)"
    r"|(?:what|why|how|when|where|who)(?:'s| is| are| was| do| does| did| would| will| can| could| should| happens| if"
    r"| about| much| many| long| come))\b"
)
_NO = re.compile(
    r"\b(?:no(?!\.? ?\d)|nope|nah|not|cannot|never|nothing|none|neither|nor|nobody|refuse|refused|decline|declined"
    r"|reject|rejected|deny|denied|disagree|wrong|incorrect|forget|wait|hold on|hold off"
    r"|leave it|scrap it|drop it|skip it|changed my mind|second thoughts?"
    r"|(?P<act>cancel|cancell?ed|cancell?ing|abort|aborted|stop|stopped)|\w+n't|dont|cant|wont)\b"
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_FRIENDLY = re.compile(r"\bno (?:problem|worries)\b")
_ACTS = ("cancel", "abort", "stop")
_LONGEST = 20_000  # characters of a message that are read; a longer one isn't a plain yes


def agrees(text: str, tool: str = "") -> bool:
    """Whether the words are a plain yes: some sentence says so, and nothing denies.

    A question is no yes; beside an "ok" or the like, it leaves open whether there is one.

    >>> agrees("Yes please, go ahead."), agrees("Are you sure?"), agrees("ok, cancel the refund")
    (True, False, False)
    """
    if len(text) > _LONGEST or denies(text, tool):
        return False
    sentences = [found[0].strip() for found in _SENTENCE.finditer(_plain(text))]
    said = [each.rstrip(".! ") for each in sentences if not _asks(each) and not _OPEN.search(each)]
    if any(_CLEAR.search(each) for each in said):
        return True
    return any(_WEAK.search(each) for each in said) and not any(map(_asks, sentences))


def denies(text: str, tool: str = "") -> bool:
    """Whether the words say no, stop or cancel, be it in a question.

    A word for stopping that is in the name of the tool is no denial of it ("yes, cancel it" to ``cancel_order``).

    >>> denies("Cancel it please"), denies("Cancel it please", "cancel_order"), denies("I can’t confirm that")
    (True, False, True)
    """
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool).lower())
    for found in _NO.finditer(_FRIENDLY.sub(" ", _plain(text))):
        act = found["act"]
        if act is None or not any(word and act.startswith(word[:4]) for word in words if word in _ACTS):
            return True
    return False


def _asks(sentence: str) -> bool:
    return sentence.endswith("?") or _ASKS.search(sentence) is not None


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text.replace("\u2019", "'").replace("\u00a0", " ").replace("\uff1f", "?").lower())
