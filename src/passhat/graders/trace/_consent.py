"""What a person's words say, in plain English: a yes, a no, both (which nobody can tell from here), or neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_START = r"(?:^|[,;:(]\s*|\b(?:and|so|but|well|hm+|oh)\s+)"
_END = r"(?= ?(?:[,;:)-]|$|please|thanks|thank|yes|go))"
_DENIED = r"(?<!\bnot )(?<!n't )(?<!\bnever )(?<!\bdont )(?<!\bcannot )"  # "do not proceed" has no word of a yes
_CLEAR = re.compile(
    rf"{_DENIED}(?:\b(?:yes|yep|yup|yeah|please do|go ahead|go for it|let'?s do (?:it|that)|proceed|i agree|i accept"
    rf"|i approve|i (?:do |can |hereby |also )*confirm)\b|{_START}do it\b"
    rf"|{_START}(?:absolutely|definitely|of course|agreed|approved|confirmed){_END}|^y{_END}"
    r"|^(?:please )?(?:confirm|accept)(?: (?:it|this|that))?(?: please)?$|👍)(?! not\b| nothing\b|n't)"
)
_WEAK = re.compile(  # these may just say that something was heard, so that a question beside them leaves it open
    rf"{_DENIED}(?:\b(?:ok|okay)\b|{_START}(?:for )?sure\b|{_START}(?:correct|exactly|right){_END}"
    rf"|{_START}(?:(?:that|it|this|all) )?(?:sounds|looks|works)(?: good| great| fine)?(?: (?:to|for) me)?{_END}"
    r"|\b(?:that|this|it|all|everything)(?:'s| is| are)? (?:all |absolutely |quite )*(?:right|correct)\b)"
)
_OPEN = re.compile(  # what follows these in a sentence isn't said for itself
    r"\b(?:whether|before (?:you|we|i)|let me|tell me|let us see|let's see|explain|maybe|perhaps|depends"
    r"|think (?:about|it over|first)|i'?ll think|if i (?:say|said)|make sure|(?:'d|would|might|could) say)\b"
)
_ASKS = re.compile(
    rf"{_START}(?:(?:are|is|am|was|were|will|would|can|could|should|shall|may|does|did|has)"
    r" (?:you|i|we|they|it|this|that|there|he|she|the|my|your)|(?:do|have) (?:you|i|we|they)"
    r"|(?:what|why|how|when|where|who)(?:'s| is| are| was| do| does| did| would| will| can| could| should| happens| if"
    r"| about| much| many| long| come))\b"
)
_NO = re.compile(
    r"\b(?:no(?!\.? ?\d)|nope|nah|not|cannot|never|nothing|none|neither|nor|nobody|refuse|refused|decline|declined"
    r"|reject|rejected|deny|denied|disagree|wrong|incorrect|forget|wait|hold on|hold off|hold it|hang on"
    r"|leave it|scrap it|drop it|skip it|changed my mind|second thoughts?"
    r"|(?P<act>cancel|cancell?ed|cancell?ing|abort|aborted|stop|stopped)|\w+n't|dont|cant|wont)\b"
)
_BACK = re.compile(  # these may take a yes back, also one that was said before
    r"\b(?:actually|instead|keep(?! me\b)|rather|scratch that|(?:take|taking) (?:it |that |my \w+ )?back|withdraw"
    r"|revoke|on reflection)\b"
)
_BUT = re.compile(r"\bbut\b")
_LIMITS = re.compile(  # and these may make less of the yes that they stand beside
    r"\b(?:only|later|tomorrow|another time|if|when|once|unless|until|provided|assuming|as long as|after|first|almost"
    r"|questions?)\b"
)
_CLOSING = re.compile(  # after a yes, these end the talk and deny nothing
    r"\bno,? (?:thanks|thank you)\b|\b(?:no,? )?(?:that's|that is|that will be|that'll be) (?:all|it)\b"
    r"|\b(?:no,? )?nothing (?:else|more)\b|\bno (?:rush|hurry)\b"
    r"|\b(?:no,? )?i (?:don't|do not|won't) need (?:anything(?: else| more)?|an? (?:replacement|receipt|exchange"
    r"|new one)|another(?: one)?)\b|\bi (?:don't|do not) have\b|\blet me know (?:when|once|as soon as)\b"
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_FRIENDLY = re.compile(r"\bno (?:problem|worries)\b")
_QUOTED = re.compile(r"^[ \t]*>.*$", re.M)
_ACTS = ("cancel", "abort", "stop")
_LONGEST = 20_000  # characters of a message in which a yes is looked for; a longer one has no plain yes


@dataclass(frozen=True)
class Heard:
    """What a message says: ``agrees`` is None where a yes (``yes``) meets a word against it (``against``)."""

    agrees: bool | None
    yes: str = ""
    against: str = ""


def heard(text: str, tool: str = "", standing: bool = False) -> Heard | None:
    """Whether words agree, deny, or do both; None where they do neither.

    ``standing`` says that a yes was given before and stands: closings ("no thanks, that's all") are no denial then, and
    "actually keep it" leaves it open. A word for stopping that is in the name of the tool is no denial of it ("yes,
    cancel it" to ``cancel_order``). A question is no yes; beside an "ok" or the like, it leaves none. Quoted lines
    ("> …") are another's words and aren't read.

    >>> heard("Yes please, go ahead."), heard("I can’t confirm that"), heard("Are you sure?")
    (Heard(agrees=True, yes='yes', against=''), Heard(agrees=False, yes='', against="can't"), None)
    >>> heard("Yes, but make it B7"), heard("ok, cancel it", "cancel_order")
    (Heard(agrees=None, yes='yes', against='but'), Heard(agrees=True, yes='ok', against=''))
    """
    plain = _FRIENDLY.sub(" ", _plain(text))
    found = _yes(plain) if len(text) <= _LONGEST else None
    start = 0 if standing else len(plain) if found is None else found[0]
    rest = plain[:start] + _CLOSING.sub(" ", plain[start:])
    against = _denial(rest, tool)
    if found is None:
        if against:
            return Heard(False, against=against)
        back = _BACK.search(rest) if standing else None
        return Heard(None, "an earlier yes", back[0]) if back else None
    against = against or _doubt(rest) or found[2]
    return Heard(None if against else True, found[1], against)


def denies(text: str, tool: str = "", standing: bool = False) -> bool:
    """Whether a word of the text denies, for who decides by other means what agrees.

    >>> denies("Cancel it please"), denies("Cancel it please", "cancel_order"), denies("No thanks", standing=True)
    (True, False, False)
    """
    plain = _FRIENDLY.sub(" ", _plain(text))
    return _denial(_CLOSING.sub(" ", plain) if standing else plain, tool) != ""


def _yes(plain: str) -> tuple[int, str, str] | None:
    """Where the first word of a yes ends, that word, and the one in its sentence after which nothing is meant so."""
    asks = False
    clear: list[tuple[int, str, str]] = []
    weak: list[tuple[int, str, str]] = []
    for at, sentence in _sentences(plain):
        if _asks(sentence):
            asks = True
            continue
        opened = _OPEN.search(_CLOSING.sub(lambda closing: "_" * len(closing[0]), sentence))
        said = sentence[: opened.start()] if opened else sentence.rstrip(".! ")
        for pattern, into in ((_CLEAR, clear), (_WEAK, weak)):
            if (word := pattern.search(said)) is not None:
                into.append((at + word.end(), word[0].strip(" ,;:("), opened[0] if opened else ""))
    return next(iter(sorted(clear or ([] if asks else weak), key=lambda each: each[2] != "")), None)


def _denial(plain: str, tool: str) -> str:
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool).lower())
    for found in _NO.finditer(plain):
        act = found["act"]
        if act is None or not any(word and act.startswith(word[:4]) for word in words if word in _ACTS):
            return found[0]
    return ""


def _doubt(plain: str) -> str:
    """The word that may take back, or make less of, a yes in the same message; in a question, limits are none."""
    told = " ".join(sentence for _, sentence in _sentences(plain) if not _asks(sentence))
    found = _BACK.search(plain) or _BUT.search(plain) or _LIMITS.search(told)
    return found[0] if found else ""


def _sentences(plain: str) -> Iterator[tuple[int, str]]:
    for found in _SENTENCE.finditer(plain):
        text = found[0].lstrip()
        yield found.end() - len(text), text.rstrip()


def _asks(sentence: str) -> bool:
    return sentence.endswith("?") or _ASKS.search(sentence) is not None


def _plain(text: str) -> str:
    text = text.replace("\u2019", "'").replace("\u00a0", " ").replace("\uff1f", "?").lower()
    return re.sub(r"[ \t]+", " ", _QUOTED.sub("", text))
