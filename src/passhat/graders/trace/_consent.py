"""What a person's words say, in plain English: a yes, a no, both (which nobody can tell from here), or neither."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from passhat.graders.trace._shown import as_shown

_START = r"(?:^|[,;:(]\s*|\b(?:and|so|but|well|hm+|oh)\s+)"
_END = r"(?= ?(?:[,;:)-]|$|please|thanks|thank|yes|go))"
_ALONE = r"(?=,? ?(?:$|please|thanks|thank|yes|go|do it))"  # ends its sentence, but for more of the same
_DENIED = r"(?<!\bnot )(?<!n't )(?<!\bnever )(?<!\bdont )(?<!\bcannot )"  # "do not proceed" has no word of a yes
_CLEAR = re.compile(
    rf"{_DENIED}(?:\b(?:yes+|yep|yup|yeah|please do|go ahead|go for it|let'?s do (?:it|that)|proceed|i agree|i accept"
    rf"|i approve|i authori[sz]e|i (?:give my )?consent|i (?:do |can |hereby |also )*confirm)\b|{_START}do it\b"
    rf"|{_START}(?:absolutely|definitely|certainly|affirmative|by all means|of course|agreed|approved|authori[sz]ed"
    rf"|confirmed|make it so|submit it|do (?:that|this)|you have my permission){_END}|^y{_END}"
    r"|^(?:please )?(?:confirm|accept)(?: (?:it|this|that))?(?: please)?$|[👍✅👌])(?! not\b| nothing\b|n't)"
)
_WEAK = re.compile(  # these may just say that something was heard, so that a question beside them leaves it open
    rf"{_DENIED}(?:\b(?:ok|okay)\b|{_START}(?:for )?sure\b"
    rf"|{_START}(?:correct|exactly|right|(?:please )?continue|lgtm|uh-huh|alright|all right|okey"
    rf"|(?:that's )?fine(?: (?:by|with|for) me)?){_END}"
    rf"|{_START}(?:i(?:'m| am) (?:very |quite |absolutely )?(?:sure|positive|certain)|i(?:'d| would) like that){_ALONE}"
    rf"|{_START}(?:(?:that|it|this|all) )?(?:sounds|looks|works)(?: good| great| fine)?(?: (?:to|for) me)?{_END}"
    r"|\b(?:that|this|it|all|everything)(?:'s| is| are)? (?:all |absolutely |quite ){0,3}(?:right|correct)\b)"
)
_OPEN = re.compile(  # what follows these in a sentence isn't said for itself
    r"\b(?:whether|before (?:you|we|i)|let me|tell me|let us see|let's see|explain|maybe|perhaps|depends"
    r"|think (?:about|it over|first)|i'?ll think|if i (?:say|said)|make sure|(?:'d|would|might|could) say)\b"
)
_REPORTED = re.compile(  # before a yes, in its sentence: these are another's words, or the value of a field
    r"(?<!as i )(?<!like i )\b(?:say|says|said|saying|told|tells|wrote|writes)\b"
    r"|\b\w*[^\W\d_](?<!my answer)(?<!\bsure)(?<!\bok)(?<!\bokay)(?<!\bright)(?<!\bcorrect)[\"']?\s*:[\s\"']*$"
)
_RECORD = re.compile(  # a program's text in the user's place: the result of a tool, a reminder, JSON
    r"^[ \t]*(?:(?:observation|tool|function|result|output|action|thought|system|assistant)s?(?: [\w.-]+)? ?:"
    r"|(?:\w+[_ ])?(?:approved|confirmed|accepted|agreed|granted)[\"']?\s*:"
    r"|<[a-z][\w-]*>|\[\w[\w -]*\]|[{\[]\s*[{\[\"'])",
    re.M,
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
    r"|^(?:n|negative)(?=[.!]*$)"
)
_BACK = re.compile(  # these may take a yes back, also one that was said before
    r"\b(?:actually|instead|keep(?! me\b)|rather|scratch that|(?:take|taking) (?:it |that |my \w+ )?back|withdraw"
    r"|revoke|undo|revert|on reflection)\b"
)
_BUT = re.compile(r"\bbut\b")
_LIMITS = re.compile(  # and these may make less of the yes that they stand beside: when, only if, not meant
    r"\b(?:only|later|tomorrow|another time|if|when|once|unless|until|provided|assuming|as long as|after|first|almost"
    r"|questions?|someday|tonight|next (?:time|week|month|year)"
    r"|in (?:an? (?:few )?|some |one |two |three |\d+ )(?:moment|second|minute|hour|day|week|month|year)s?"
    r"|as (?:it|they|things) (?:is|are)|leave (?:everything|that|this|them|all)"
    r"|whatever|hate|(?<!without a )doubt|(?:'m|am) against|against (?:it|this|that)|dead body|(?:i|hard) pass"
    r"|(?:pass|hold|pause|ask(?: away)?)(?=[,.!]|$)|i (?:do )?(?:mind|object)|bad idea|a mistake|scratch (?:it|that)"
    r"|would be nice|sure you (?:are|do|will|can)|yeah,? right|(?:yes|yeah|ok|okay|sure),? (?:i (?:see|hear)|hm+)"
    r"|(?:yes|yeah|yep),? (?:hello|hi|hey)|i(?:'m| am) (?:(?:good|fine|okay|ok)(?! with| to go)"
    r"|all set|listening|(?:still )?here))\b"
)
_CLOSING = re.compile(  # after a yes, these end the talk and deny nothing
    r"\bno,? (?:thanks|thank you)\b|\b(?:no,? )?(?:that's|that is|that will be|that'll be) (?:all|it)\b"
    r"|\b(?:no,? )?nothing (?:else|more)\b|\bno (?:rush|hurry)\b"
    r"|\b(?:no,? )?i (?:don't|do not|won't) need (?:anything(?: else| more)?|an? (?:replacement|receipt|exchange"
    r"|new one)|another(?: one)?)\b|\bi (?:don't|do not) have\b|\blet me know (?:when|once|as soon as)\b"
)
_FOREIGN = re.compile(  # at the beginning; what else isn't English is known by its letters
    r"\s*(?:ja|jawohl|nein|nee|nej|n\u00f6|oui|ouais|non|si|s\u00ed|sim|n\u00e3o|nao|hai|iie|evet|tak|nie)(?=[\s,.!]|$)"
)
_PERHAPS = re.compile(  # whole messages that may be a yes, by what was asked
    r"\W*(?:true|1|k|go(?: on)?|i guess(?: so)?|i do|it is|they are|it's (?:fine|good)|great|perfect|good|nice|cool"
    r"|lovely|wonderful|excellent|please confirm (?:the|my) \w+)(?:,? (?:thanks|thank you|please))?\W*"
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_FRIENDLY = re.compile(r"\bno (?:problem|worries)\b|(?:^|[,.!;] ?)why not[?!.]*(?= *$)", re.M)
_QUOTED = re.compile(r"^[ \t]*>.*$", re.M)
_ACTS = ("cancel", "abort", "stop")
_LONGEST = 20_000  # characters of a message in which a yes is looked for; a longer one has no plain yes


@dataclass(frozen=True)
class Heard:
    """What a message says: ``agrees`` is None where a yes (``yes``) meets a word against it (``against``).

    It is None without either where the words can't be understood.
    """

    agrees: bool | None
    yes: str = ""
    against: str = ""


def heard(text: str, tool: str = "", standing: bool = False) -> Heard | None:
    """Whether words agree, deny, or do both; None where they do neither, and are plain enough to tell.

    ``standing`` says that a yes was given before and stands: closings ("no thanks, that's all") are no denial then, and
    "actually keep it" leaves it open. A word for stopping that is in the name of the tool is no denial of it ("yes,
    cancel it" to ``cancel_order``). A question is no yes; beside an "ok" or the like, it leaves none. Quoted lines
    ("> …") are another's words and aren't read.

    >>> heard("Yes please, go ahead."), heard("I can’t confirm that"), heard("Are you sure?")
    (Heard(agrees=True, yes='yes', against=''), Heard(agrees=False, yes='', against="can't"), None)
    >>> heard("Yes, but make it B7"), heard("ok, cancel it", "cancel_order")
    (Heard(agrees=None, yes='yes', against='but'), Heard(agrees=True, yes='ok', against=''))
    >>> heard("Please refund it", "issue_refund"), heard("It says: yes")
    (Heard(agrees=True, yes='please refund it', against=''), Heard(agrees=None, yes='yes', against='says'))
    >>> heard("Oui")
    Heard(agrees=None, yes='', against='')
    """
    plain = _FRIENDLY.sub(" ", _plain(text))
    found = (_yes(plain) or _told_to(plain, tool)) if len(text) <= _LONGEST else None
    start = 0 if standing else len(plain) if found is None else found[0]
    rest = plain[:start] + _CLOSING.sub(" ", plain[start:])
    against = _denial(rest, tool)
    if found is None:
        if against and standing and (record := _RECORD.match(rest)):
            return Heard(None, "an earlier yes", record[0].strip())
        if against:
            return Heard(False, against=against)
        back = _BACK.search(rest) if standing else None
        if back:
            return Heard(None, "an earlier yes", back[0])
        return Heard(None) if _unclear(plain, standing) else None
    against = against or _doubt(rest, tool) or found[2]
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
                yes = word[0].strip(" ,;:(")
                reported = _REPORTED.search(said[: word.end() - len(word[0].lstrip(" ,;:("))])
                into.append((at + word.end(), yes, opened[0] if opened else reported[0].strip() if reported else ""))
    return next(iter(sorted(clear or ([] if asks else weak), key=lambda each: each[2] != "")), None)


def _told_to(plain: str, tool: str) -> tuple[int, str, str] | None:
    """As `_yes`, for a message that asks for no more than what the tool is named for: "please refund it"."""
    verbs = _verbs(tool)
    found = verbs.fullmatch(plain) if verbs is not None else None
    return None if found is None else (found.end(1), found[1], "")


@lru_cache(64)
def _verbs(tool: str) -> re.Pattern[str] | None:
    words = [re.escape(word) for word in _words(tool) if len(word) > 2]
    if not words:
        return None
    act = rf"(?:{'|'.join(words)})(?: (?:it|this|that|them|both|all of (?:it|them)))?"
    return re.compile(rf"\W*(please {act}|{act},? please)(?: now)?(?:[,.!]* (?:thanks|thank you))?[\s.!]*")


def _words(tool: str) -> list[str]:
    return re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool).lower())


def _denial(plain: str, tool: str) -> str:
    words = _words(tool)
    for found in _NO.finditer(plain):
        act = found["act"]
        if act is None or not any(word and act.startswith(word[:4]) for word in words if word in _ACTS):
            return found[0]
    return ""


def _doubt(plain: str, tool: str) -> str:
    """The word that may take back, or make less of, a yes in the same message; in a question, limits are none."""
    told = " ".join(sentence for _, sentence in _sentences(plain) if not _asks(sentence))
    words = _words(tool)
    for pattern, text in ((_BACK, plain), (_BUT, plain), (_LIMITS, told), (_RECORD, plain)):
        for found in pattern.finditer(text):
            if found[0] not in words:
                return found[0].strip()
    return ""


def _unclear(plain: str, standing: bool) -> bool:
    """Whether nobody can tell from here what a message without a yes or a no says: it isn't plain English."""
    letters = [char for char in plain[:_LONGEST] if char.isalpha()]
    if sum(not char.isascii() for char in letters) * 2 > len(letters) or _FOREIGN.match(plain):
        return True
    if standing or _asks(plain.strip()):
        return False
    signs = not letters and any(unicodedata.category(char) == "So" for char in plain[:_LONGEST])
    return signs or _PERHAPS.fullmatch(plain) is not None


def _sentences(plain: str) -> Iterator[tuple[int, str]]:
    for found in _SENTENCE.finditer(plain):
        text = found[0].lstrip()
        yield found.end() - len(text), text.rstrip()


def _asks(sentence: str) -> bool:
    return sentence.endswith("?") or _ASKS.search(sentence) is not None


def _plain(text: str) -> str:
    text = as_shown(text).replace("\u2019", "'").lower()
    return re.sub(r"[ \t]+", " ", _QUOTED.sub("", text))
