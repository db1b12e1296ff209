"""Messages cut from a byte stream, and streams kept in bounded memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.facts import ErrorInfo
from passhat.isolation import Ended
from passhat.isolation._frames import BadFrame, Framing, Kind, TooBig
from passhat.isolation._streams import Kept

KINDS = st.sampled_from([Kind.EVENT, Kind.RESULT, Kind.JOB])


@given(st.lists(st.tuples(KINDS, st.binary(max_size=300))), st.integers(1, 64), st.sampled_from([b"", b"8 bytes!"]))
def test_messages_come_out_as_they_went_in_however_they_were_cut(
    messages: list[tuple[Kind, bytes]], step: int, token: bytes
) -> None:
    data = b"".join(Framing(token).pack(kind, body) for kind, body in messages)
    reader = Framing(token)
    found: list[tuple[Kind, bytes]] = []
    for start in range(0, len(data), step):
        found.extend(reader.feed(data[start : start + step]))
    assert found == messages
    assert reader.pending == 0


def test_bytes_without_the_token_and_unknown_kinds_are_bad() -> None:
    with pytest.raises(BadFrame):
        list(Framing(b"8 bytes!").feed(Framing(b"8 bytes?").pack(Kind.RESULT, b"forged")))
    with pytest.raises(BadFrame):
        list(Framing().feed(b"\xee\x00\x00\x00\x00"))


def test_a_message_that_is_too_big_is_refused_before_it_is_read() -> None:
    head = Framing().pack(Kind.RESULT, b"x" * 2000)[:5]
    with pytest.raises(TooBig, match="2000 bytes"):
        list(Framing().feed(head, largest=1999))


@given(st.lists(st.binary(max_size=50), max_size=40), st.integers(2, 200))
def test_both_ends_of_a_stream_are_kept(pieces: list[bytes], capacity: int) -> None:
    kept = Kept(capacity)
    for piece in pieces:
        kept.add(piece)
    whole = b"".join(pieces)
    text = kept.text()
    if len(whole) <= capacity:
        assert text == whole.decode("utf-8", "replace")
    else:
        head, gap, tail = text.partition(f"\n… {len(whole) - capacity:,} bytes left out …\n")
        assert gap
        assert head == whole[: capacity - capacity // 2].decode("utf-8", "replace")
        assert tail == whole[len(whole) - capacity // 2 :].decode("utf-8", "replace")


def test_the_reason_of_an_end_names_its_kind_once() -> None:
    assert Ended(kind="lost", error=ErrorInfo("lost", "the supervisor ended")).reason == "lost: the supervisor ended"
    assert Ended(kind="raised", error=ErrorInfo("raised", "no", "ValueError")).reason == "raised: ValueError: no"
