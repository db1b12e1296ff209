"""What a check of a transcript may rest on, and what nothing tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from passhat.facts import Grade, ToolRun, ToolUse, Transcript, plural
from passhat.graders._check import Check
from passhat.graders._compare import same, short
from passhat.graders._names import GraderSetup
from passhat.graders.trace._lookalikes import as_meant, lookalikes

Evidence = Literal["requested", "returned", "executed"]
AUTHORS = {"requested": "seen", "returned": "told", "executed": "told"}


class TraceCheck(Check):
    """A check of what happened. It needs only something that has ``.transcript``.

    ``evidence`` is what it looks at: *requested* (the model asked for it; we saw that, and it can't be forged),
    *returned* (the agent sent a result back to the model: its own word) or *executed* (the agent recorded that the
    tool's body ran: its own word, known only where ``trial.tool`` or ``@passhat.tool`` is used).

    >>> from passhat.graders import trace
    >>> trace.called("issue_refund", evidence="executed").evidence
    'executed'
    """

    evidence: str = "requested"
    unseen_ok: bool = False

    def __call__(self, trial: Any) -> Grade:
        """The grade of whatever has a transcript."""
        transcript: Transcript = trial.transcript
        grade = self._judge(transcript, trial)
        if grade.passed is None:
            return grade
        strange = lookalikes(transcript, self._names(transcript, trial))
        other = self._judge(as_meant(transcript, strange), trial) if strange else grade
        return grade if other.passed is grade.passed else self._open(transcript, strange, other)

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        """Names of the tools that the check is about."""
        return ()

    def _open(self, transcript: Transcript, strange: Mapping[str, str], other: Grade) -> Grade:
        """The grade where it depends on what the agent made of names that no request offered."""
        uses = [use for use in transcript.tool_calls if use.name in strange and use.requested is not None]
        names = ", ".join(f"{name!r} for {meant!r}" for name, meant in strange.items())
        then = {True: "it would pass", False: "it would fail", None: "it would be unknown"}[other.passed]
        why = f": {other.error or other.reason}" if not other.passed else ""
        return self.unknown(
            f"no request offered what the model asked for in {several(uses)}; nothing tells whether the agent takes "
            f"{names}, with which {then}{why}"
        )

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        raise NotImplementedError

    @property
    def _label(self) -> str:
        author = AUTHORS.get(self.evidence)
        return f"{self.evidence} ({author})" if author else self.evidence

    def passed(self, transcript: Transcript, *, absence: bool = False, remark: str = "") -> Grade:
        """A pass; one that rests on the absence of something is unknown in a cut transcript."""
        if absence and transcript.truncated:
            return self.unknown(f"the transcript is cut ({transcript.truncated}): what is missing may have happened")
        return Grade(True, remark, evidence=self._label)

    def failed(self, reason: str, *, score: float | None = None) -> Grade:
        """A failure with its reason."""
        return Grade(False, reason, score=score, evidence=self._label)

    def unknown(self, reason: str) -> Grade:
        """Nothing tells."""
        return Grade(None, reason, evidence=self._label)

    def unseen(self, transcript: Transcript) -> Grade | None:
        """The grade when nothing was seen at all, else None.

        An agent that does nothing and an agent whose model calls don't pass us look the same.
        """
        if transcript.model_calls or self.unseen_ok:
            return None
        if self.evidence == "executed" and any(isinstance(event, ToolRun) for event in transcript.events):
            return None
        runs = sum(isinstance(event, ToolRun) for event in transcript.events)
        hint = f"; the agent recorded {runs} tool runs: see evidence='executed'" if runs else ""
        return self.unknown(f"no model call was seen{hint}")


def checked_evidence(evidence: Any, allowed: Sequence[str] = get_args(Evidence)) -> Any:
    """One of the words."""
    if evidence not in allowed:
        raise GraderSetup(f"evidence={evidence!r}: must be one of {', '.join(allowed)}")
    return evidence


def checked_names(names: Sequence[Any], where: str) -> tuple[str, ...]:
    """Names of tools, at least one."""
    if not names:
        raise GraderSetup(f"{where} needs the name of a tool")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise GraderSetup(f"{where}: a tool's name is text, got {name!r}")
    return tuple(names)


def holds(use: ToolUse, evidence: str, recorded: bool = False) -> bool | None:
    """Whether a call has this evidence; None when nothing tells.

    ``recorded`` says that the agent records every run of its tools: no record then means no run.
    """
    if evidence == "requested":
        return use.requested is not None
    if evidence == "returned":
        return use.returned is not None
    if use.executed is None and recorded:
        return False
    return use.executed


def told(use: ToolUse) -> str:
    """The call as a person would name it: ``turn 3: issue_refund(order='A1', amount=20)``, and what ran if another."""
    where = f"turn {use.turn + 1}" if use.requested is not None else "run without a request"
    ran = "" if use.run is None or _alike(use.arguments, use.run.arguments) else f", ran as {_run_text(use.run)}"
    return f"{where}: {call_text(use.name, use.arguments)}{ran}"


def _run_text(run: ToolRun) -> str:
    return call_text(run.name, run.arguments)


def _alike(asked: Any, ran: Any) -> bool:
    return ran is None or same(asked, ran)


def call_text(name: str, arguments: Any) -> str:
    """``name(key=value, …)`` in bounded length."""
    if isinstance(arguments, dict):
        inside = ", ".join(f"{key}={short(item, 60)}" for key, item in list(arguments.items())[:12])
        inside += ", …" if len(arguments) > 12 else ""
    else:
        inside = "" if arguments is None else short(arguments, 120)
    return f"{name}({inside})" if len(inside) <= 240 else f"{name}({inside[:239]}…)"


def several(uses: Sequence[ToolUse], limit: int = 5) -> str:
    """The calls, one after the other, and how many more there are."""
    shown = "; ".join(told(use) for use in uses[:limit])
    return shown if len(uses) <= limit else f"{shown}; … and {len(uses) - limit} more"


def unoffered(transcript: Transcript, names: Sequence[str]) -> list[str]:
    """Names that no request offered and no call used."""
    known = transcript.offered | {use.name for use in transcript.tool_calls}
    return [name for name in names if name not in known]


def misspelt(transcript: Transcript, names: Sequence[str], label: str) -> Grade | None:
    """The error of a check that fails where it names a tool that doesn't exist: its opposite must not pass.

    None where all are known, and where no request tells: without any offer, or in a reference, which has no model.
    """
    told = any(call.tools for call in transcript.model_calls if call.source != "reference")
    missing = unoffered(transcript, names) if told else []
    return unknown_tools(transcript, missing, label) if missing else None


def unknown_tools(transcript: Transcript, names: Sequence[str], label: str) -> Grade:
    """The error of a check whose answer only says that it names a tool that doesn't exist."""
    offered = ", ".join(sorted(transcript.offered)) or "no tools at all"
    error = (
        f"{plural(len(names), 'unknown tool', 'unknown tools')} {', '.join(map(repr, names))}: no request offered it "
        f"(offered: {offered}); correct the name, or say unoffered_ok=True"
    )
    return Grade(None, error=error, evidence=label)
