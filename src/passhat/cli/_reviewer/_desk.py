"""One sitting: trial by trial, a verdict, whose fault it was, a note; each written down at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

import msgspec

from passhat.cli._reviewer._screen import Screen
from passhat.facts import Fault, Label, TrialKey, TrialRecord
from passhat.reporting import TrialPage, clean
from passhat.reviewing import ReadingItem, new_label

Verdict = Literal["pass", "fail", "unclear"]
_VERDICTS: dict[str, Verdict] = {"p": "pass", "f": "fail", "u": "unclear"}
_FAULTS: dict[str, Fault] = {fault[0]: fault for fault in get_args(Fault)}
_OTHERS = tuple(letter for letter, fault in _FAULTS.items() if fault != "agent")  # a pass is no fault of the agent's
_MOVES = {"j": 1, "down": 1, "enter": 1, "k": -1, "up": -1}
_PAGES = {" ": 1, "pagedown": 1, "right": 1, "b": -1, "pageup": -1, "left": -1}
_AWAY = ("ctrl-c", "ctrl-d", "eof", "stop")  # leave from anywhere; what wasn't confirmed isn't kept
_LEAVING = ("q", *_AWAY)
_MOST_OPEN = 8  # texts unfolded at once: with more, a page takes its time
_LONGEST_NOTE = 2_000
_HINTS = ("p pass", "f fail", "u unclear", "? keys", "q quit", "s skip", "z undo", "o unfold", "space next page")
_HELP = [
    "",
    "  p  pass      it did what was asked",
    "  f  fail      it didn't",
    "  u  unclear   it can't be told from this",
    "",
    "  s  skip this trial for now",
    "  z  undo: take the last verdict back",
    "  q  quit; the same command goes on here",
    "",
    "  space, b     a page on, a page back",
    "  j, k, arrows a line on, a line back",
    "  g, G         the top, the end",
    "  o            unfold or fold a long text",
    "",
    "  Any key goes back.",
]


class Keyboard(Protocol):
    """Where keys come from."""

    def read(self) -> str:
        """The next key."""
        ...

    def forget(self) -> None:
        """Drop what was typed ahead."""
        ...


class Render(Protocol):
    """Makes the page of a trial; ``blind`` hides what graders said."""

    def __call__(self, record: TrialRecord, *, columns: int, opened: Sequence[int], blind: bool) -> TrialPage: ...


@dataclass(frozen=True)
class Sitting:
    """What one person is to read now. ``done`` counts what they judged before, ``seen`` the trials whose grades they
    have seen already, so that a verdict on them is no blind one."""

    rater: str
    title: str
    left: Sequence[ReadingItem]
    done: int
    records: Mapping[TrialKey, TrialRecord]
    render: Render
    write: Callable[[Label], None]
    grader: str = ""
    blind: bool = False
    seen: set[TrialKey] = field(default_factory=set)


class Desk:
    """Shows the trials of a sitting and takes verdicts until all are judged or the reader leaves."""

    def __init__(self, sitting: Sitting, screen: Screen, keys: Keyboard) -> None:
        self._sitting = sitting
        self._screen = screen
        self._keys = keys
        self._place = 0
        self._given: list[tuple[int, Label]] = []
        self._said = ""
        self._leaving = ""
        self._show(0)

    def _show(self, place: int) -> None:
        """Turn to a trial, from its top."""
        self._place = place
        self._top = 0
        self._opened: list[int] = []
        self._page: TrialPage | None = None
        self._columns = 0

    # ---- what a reader does

    def run(self) -> tuple[int, str]:
        """The number of trials judged in this sitting that still stand, and the key with which the reader left."""
        while self._place < len(self._sitting.left) and not self._leaving:
            key = self._ask(self._said, *_HINTS)
            self._said = ""
            if key in _LEAVING:
                self._leaving = key
            elif key in _VERDICTS:
                self._judge(_VERDICTS[key])
            elif key == "s":
                self._turn(self._place + 1)
            elif key == "z":
                self._undo()
            elif key == "o":
                self._fold()
            elif key == "?":
                self._screen.draw(self._bar(), _HELP, "", "")
                self._keys.read()
            else:
                self._scroll(key)
        return len(self._given), self._leaving

    def _judge(self, verdict: Verdict) -> None:
        """Ask whose fault it was, where that is a question, and for a note; then write it down."""
        item, sitting = self._item, self._sitting
        blind = self._hidden
        sitting.seen.add(item.key)
        said = f"{verdict.upper()}: "
        if blind:  # grades are no secret any more
            self._page, self._top = None, 0
            said = f"{verdict.upper()} ({_graded(self._grade)}): "
        fault: Fault | None = None
        if self._needs_fault(verdict):
            asked = tuple(_FAULTS) if verdict == "fail" else _OTHERS
            key = self._choose(f"{said}whose fault?", asked)
            if key == "esc":
                self._said = "verdict not given"
                return
            fault = _FAULTS.get(key)
            said += f"{fault or 'no fault named'} · "
        note = self._line(f"{said}note: ")
        if note is None:
            self._said = "verdict not given"
            return
        label = new_label(
            item,
            verdict,
            sitting.rater,
            fault=fault,
            note=note,
            grader=sitting.grader,
            rubric=self._rubric,
            blind=blind,
        )
        sitting.write(label)
        self._given.append((self._place, label))
        where = f"{item.task} #{item.trial}"
        self._turn(self._place + 1)
        self._said = f"saved: {clean(where, 60)} {verdict}"

    def _undo(self) -> None:
        if not self._given:
            self._said = "nothing to undo in this sitting"
            return
        place, label = self._given.pop()
        self._sitting.write(msgspec.structs.replace(label, withdrawn=True))
        self._turn(place)
        self._said = "taken back: judge it again, or skip it"

    def _turn(self, place: int) -> None:
        self._keys.forget()
        self._show(place)

    @property
    def _item(self) -> ReadingItem:
        return self._sitting.left[self._place]

    @property
    def _hidden(self) -> bool:
        return self._sitting.blind and self._item.key not in self._sitting.seen

    def _needs_fault(self, verdict: Verdict) -> bool:
        """A failure is somebody's fault; so is a grade that says otherwise."""
        return verdict == "fail" or (verdict == "pass" and self._grade is False)

    @property
    def _grade(self) -> bool | None:
        """What graders say of what is judged here."""
        record, name = self._sitting.records[self._item.key], self._sitting.grader
        if not name:
            return record.passed
        grade = record.grade(name)
        return None if grade is None else grade.passed

    @property
    def _rubric(self) -> str:
        """What the judge was asked, as a hash, where one criterion is judged."""
        grade = self._sitting.records[self._item.key].grade(self._sitting.grader) if self._sitting.grader else None
        return "" if grade is None else grade.rubric

    # ---- asking

    def _ask(self, prompt: str, *hints: str) -> str:
        """Draw, and wait for a key; a new size of the screen draws again."""
        while True:
            self._draw(prompt, self._fitting(hints))
            key = self._keys.read()
            if key != "resize":
                return key

    def _choose(self, question: str, letters: tuple[str, ...]) -> str:
        """One of the letters, *enter* for none of them, or *esc*."""
        hints = (*(f"{letter} {_FAULTS[letter]}" for letter in letters), "enter none", "esc back")
        while True:
            key = self._ask(question, *hints)
            if key in (*letters, "enter"):
                return key
            if key in (*_AWAY, "esc", "backspace"):
                self._leaving = key if key in _AWAY else ""
                return "esc"
            self._scroll(key)

    def _line(self, prompt: str) -> str | None:
        """A line of text; None when the reader goes back."""
        text = ""
        while True:
            key = self._ask(self._tail(prompt, text), "enter saves", "esc back")
            if key == "enter":
                return text.strip()
            if key in (*_AWAY, "esc"):
                self._leaving = key if key in _AWAY else ""
                return None
            if key == "backspace":
                text = text[:-1]
            elif key == "ctrl-u":
                text = ""
            elif len(key) == 1 and len(text) < _LONGEST_NOTE and unicodedata.category(key)[0] != "C":
                text += key
            elif key in ("pageup", "pagedown", "up", "down"):
                self._scroll(key)

    def _tail(self, prompt: str, text: str) -> str:
        """The prompt, and the end of what was typed."""
        from rich.cells import cell_len

        text = clean(text)
        room = max(8, self._screen.size.columns - cell_len(prompt) - 1)
        while cell_len(text) > room:
            text = text[max(1, (cell_len(text) - room) // 2) :]
        return f"{prompt}{text}_"

    # ---- moving and drawing

    def _scroll(self, key: str) -> None:
        page, rows = self._trial(), self._screen.size.body
        last = max(0, len(page.lines) - rows)
        if key in _MOVES:
            self._top += _MOVES[key]
        elif key in _PAGES:
            self._top += _PAGES[key] * max(1, rows - 1)
        elif key in ("g", "home"):
            self._top = 0
        elif key in ("G", "end"):
            self._top = last
        self._top = min(max(0, self._top), last)

    def _fold(self) -> None:
        """Unfold or fold the first long text whose remark is on the screen."""
        page, rows = self._trial(), self._screen.size.body
        here = [fold for line, fold in page.folds if self._top <= line < self._top + rows]
        if not here:
            self._said = "no folded text on this screen"
            return
        fold = here[0]
        if fold.opened:
            self._opened.remove(fold.number)
        else:
            self._opened = [*self._opened, fold.number][-_MOST_OPEN:]
        self._page = None
        if fold.opened:
            line = next((line for line, each in self._trial().folds if each.number == fold.number), self._top)
            self._top = max(0, line - rows // 2)

    def _trial(self) -> TrialPage:
        """The page of this trial at this width."""
        columns = self._screen.size.columns
        if self._page is None or columns != self._columns:
            record = self._sitting.records[self._item.key]
            self._columns = columns
            self._page = self._sitting.render(record, columns=columns, opened=self._opened, blind=self._hidden)
        return self._page

    def _draw(self, prompt: str, hints: str) -> None:
        page, rows = self._trial(), self._screen.size.body
        self._top = min(self._top, max(0, len(page.lines) - rows))
        self._screen.draw(self._bar(), page.lines[self._top : self._top + rows], prompt, hints)

    def _bar(self) -> str:
        sitting = self._sitting
        page, rows = self._trial(), self._screen.size.body
        number = sitting.done + self._place + 1
        parts = [f"{number} of {sitting.done + len(sitting.left)}"]
        if len(page.lines) > rows:
            parts.append(f"{min(100, (self._top + rows) * 100 // len(page.lines))} %")
        if not self._hidden and self._item.why:
            parts.append(clean(self._item.why, 80))
        return " ".join([" · ".join([*parts, sitting.title]), ""])

    def _fitting(self, hints: Sequence[str]) -> str:
        """As many of the keys as fit, the important ones first."""
        columns, text = self._screen.size.columns, ""
        for hint in hints:
            longer = f"{text}  {hint}" if text else hint
            if len(longer) > columns:
                break
            text = longer
        return text


def _graded(passed: bool | None) -> str:
    return "no verdict of graders" if passed is None else f"graders: {'pass' if passed else 'fail'}"
