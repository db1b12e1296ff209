"""Texts that are made to be hard to read, in every check that reads one: time grows with their length.

No clock is looked at. A process reads them that may use so much of the processor for each, some hundred times what it
needs; whatever takes the square of their length needs more.
"""

import subprocess
import sys

import pytest

from passhat.graders import trace
from passhat.graders.trace import _order

PROLOGUE = r"""
import resource, time
from passhat.graders.trace import _consent, _errors
_consent._LONGEST = _errors._LONGEST = 10**9  # the bounds on what is read are beside the point here
BS = chr(92)  # a backslash
PIECES = ['"', "'", BS, BS + '"', BS + "'", '{"a' + BS + '"', "'a", "it" + BS + "'s ", "\n", "\v", ">\n", "y\n"]
PIECES += ["<error ", "_", "a", "0", "[", "{", "{{", "{{a", "}}a", "- ", " ", ", ", ". ", "error ", "error", "tool "]
WORDS = ["yes, ", "not ", "n't ", "do not ", "all ", "hm", "oh ", "it's all ", "that is all ", "says: "]
WORDS += ["if ", "are you ", "a: ", "a:", "abcdef01-", "why not ", "\u200b", "\u0301\u0327", " ", ", ", ". ", "a", "\n"]

def allow(piece):
    print(repr(piece), flush=True)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, resource.RLIM_INFINITY))
"""
RESULTS = """
for before in ("", "{'a': ", "error", '[{"type": "text", "text": "'):
    for piece in PIECES:
        allow((before, piece))
        _errors.reads_as_error(before + piece * (200_000 // len(piece)) + "x")
        _errors.reads_as_error(before + piece * (200_000 // len(piece)) + BS)
"""
HEARD = """
for piece in WORDS:
    allow(piece)
    _consent.heard(piece * (100_000 // len(piece)) + "x", "cancel_order")
    _consent.denies("yes " + piece * (100_000 // len(piece)) + "x", "cancel_order", True)
"""
TEXTS = """
from passhat.facts import Message, ModelCall, Transcript
from passhat.graders import trace
check = trace.text_never(trace.UUID, ignoring=trace.TEMPLATES)
for piece in PIECES + WORDS:
    allow(piece)
    reply = Message("assistant", piece * (300_000 // len(piece)))
    assert check(Transcript((ModelCall(1, 0, "chat", "scripted", reply=reply),))).passed
"""


FENCED = """
from passhat.graders.answers import _code, _schema
from passhat.graders.outcome import _rows
from passhat.graders import _compare
for piece in [*PIECES, *WORDS, "/* ", "''", BS + "x```", "```", "``` ", "```a ", "( "]:
    allow(piece)
    text = piece * (300_000 // len(piece))
    _code._FENCE.search("```" + chr(10) + text)
    _schema._FENCE.fullmatch("```" + chr(10) + text)
    _rows.tables_of("select " + text)
    _compare.look_alike(text + "x", "x" + text)
"""


def read_all(work: str, seconds: int = 6) -> None:
    code = PROLOGUE.replace("SECONDS", str(seconds)) + work
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode} at {done.stdout.splitlines()[-1:]}{done.stderr[-2000:]}"


def test_the_limit_stops_what_takes_the_square_of_the_length() -> None:
    with pytest.raises(AssertionError, match=r"^ended with -(9|24) at "):
        read_all("import re\nallow('a')\nre.sub('a*b', '', 'a' * 1_000_000)", seconds=1)


@pytest.mark.parametrize("work", [RESULTS, HEARD, TEXTS, FENCED], ids=["results", "words", "texts", "fenced"])
def test_a_text_is_read_in_time_that_grows_with_its_length(work: str) -> None:
    read_all(work)


def test_a_result_is_read_once_however_many_calls_come_after_it(monkeypatch: pytest.MonkeyPatch, talk: object) -> None:
    read: list[str] = []

    def counted(use: object) -> bool:
        read.append(str(use))
        return True

    monkeypatch.setattr(_order, "ended_in_error", counted)
    talk.offer("get", "refund")  # type: ignore[attr-defined]
    for name in ("get", "get", "get", *["refund"] * 5):
        talk.model("", name).results("Error: no")  # type: ignore[attr-defined]
    done = talk.model("done").trial()  # type: ignore[attr-defined]
    assert trace.before("get", "refund")(done).passed is False
    assert len(read) <= 6
