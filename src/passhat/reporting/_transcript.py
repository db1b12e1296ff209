"""A transcript alone, for the output of a failing test: plain, and no longer than a screen or two."""

from __future__ import annotations

from passhat.facts import Transcript, count
from passhat.reporting._blocks import Page
from passhat.reporting._console import Look
from passhat.reporting._events import EVENTS, Events
from passhat.reporting._folding import Cuts


def render_transcript(transcript: Transcript, *, width: int = 80, unicode: bool = True, longest: int = 4000) -> str:
    """What happened, event by event, at most about ``longest`` characters: its beginning and, mostly, its end."""
    page = Page(Look(width, color=False, unicode=unicode))
    events = transcript.events[-EVENTS:]
    Events(page, Cuts(), offers=True).show(Transcript(events, transcript.truncated))
    text = page.text().rstrip("\n")
    if len(events) < len(transcript.events):
        text = f"… {count(len(transcript.events) - len(events), 'earlier event')}\n{text}"
    return text if len(text) <= longest else _middle_cut(text, longest)


def _middle_cut(text: str, longest: int) -> str:
    """The first quarter and the last three, in whole lines."""
    head = text[: longest // 4].rpartition("\n")[0]
    tail = text[-(longest - longest // 4) :].partition("\n")[2]
    return f"{head}\n… {len(text) - len(head) - len(tail):,} more characters …\n{tail}"
