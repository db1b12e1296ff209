"""What every judge is: a grader that asks a model, several times if it should, and makes one grade of the answers."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from passhat.facts import Grade, Judged, JudgeSample, ModelCall, Role
from passhat.graders._check import Check
from passhat.graders._names import GraderSetup, checked_name, checked_weight, role_of
from passhat.graders._version import source_version
from passhat.graders.judge._at_once import answers
from passhat.graders.judge._fence import Fenced, fenced
from passhat.graders.judge._installed import check_installed
from passhat.graders.judge._prompt import instructions
from passhat.graders.judge._render import LEGEND, rendered
from passhat.graders.judge._same_model import same_model
from passhat.graders.judge._settings import Settings
from passhat.graders.judge._texts import as_text, storable
from passhat.trial import FinishedTrial, JudgeModel, ModelAccess

if TYPE_CHECKING:
    from passhat.graders.judge._asking import Question

TRIES = 3


class JudgeError(Exception):
    """Why a judge could not be asked."""


class Judge(Check):
    """A model that grades. Made by `rubric`, `labels`, `score` and `pairwise`; ``as_`` gives a copy as of any check."""

    kind: Literal["rubric", "labels", "score", "pairwise"] = "rubric"
    words: tuple[str, ...] = ()

    def __init__(self, name: str, criterion: str, settings: Settings, role: Role | str, weight: float) -> None:
        self.name = checked_name(name)
        if not isinstance(criterion, str) or not criterion.strip():
            raise GraderSetup(f"judge {self.name!r}: criterion={criterion!r}: say in words what is judged")
        self.criterion = criterion.strip()
        self.settings = settings
        self.role = role_of(role)
        self.weight = checked_weight(weight)

    # ---- what it is

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it names itself, as PROVIDER/NAME; empty when the run's judge is asked."""
        return self.settings.models

    @property
    def same_model_ok(self) -> bool:
        """Whether it may be the model under test."""
        return self.settings.same_model_ok

    @property
    def calls(self) -> int:
        """Calls to a model that one trial takes when each answers at the first try."""
        return self.settings.samples * max(1, len(self.models))

    @property
    def rubric_hash(self) -> str:
        """A hash of what is judged: the criterion and the words that may answer it."""
        return _hash([self.kind, self.criterion, self.words, self._meaning()])

    @property
    def prompt_hash(self) -> str:
        """A hash of what the judge is told alike for every trial, apart from the criterion."""
        return _hash([self._instructions("", ""), self.settings.over, LEGEND, self.settings.longest])

    @property
    def version(self) -> str:
        """Changes with all that can change a grade: criterion, prompt, models named, samples, temperature, rule."""
        return self.version_with(self.models)

    def version_with(self, models: Sequence[str]) -> str:
        """The version when these models are asked."""
        settings = self.settings
        shown = None if settings.reference is None else source_version(settings.reference)
        rule = [settings.samples, settings.temperature, self.threshold, self._rule(), shown]
        return _hash([self.rubric_hash, self.prompt_hash, list(models), rule])

    def _meaning(self) -> Any:
        """What the words mean, where the criterion alone doesn't say it."""
        return None

    def _rule(self) -> Any:
        """What else decides a grade."""
        return None

    # ---- asking

    async def __call__(self, trial: FinishedTrial) -> Grade:  # type: ignore[override]  # awaited by run_grader
        """Ask for every sample, and grade."""
        early = self._without_asking(trial)
        if early is not None:
            return early
        blocks = self._blocks(trial)
        ways = self._ways(trial)
        check_installed(ways)
        from passhat.graders.judge._asking import NoVerdict

        at_once = trial.judge is not None and trial.judge.at_once
        samples: list[JudgeSample] = []
        notes: dict[str, None] = {}
        try:
            for name, access in ways.items():
                given, failure = await self._ask(name, access, blocks, notes, at_once=at_once)
                samples += given
                if failure is not None:
                    raise failure
        except NoVerdict as error:
            judged = self._judged(tuple(ways), samples, None, notes)
            return Grade(None, error=storable(str(error)), judged=judged, version=self.version_with(tuple(ways)))
        if not self.same_model_ok:
            _refuse_answered(samples, trial)
        verdict, grade = self._decide(tuple(samples), trial)
        judged = self._judged(tuple(ways), samples, verdict, notes)
        evidence = f"a judge's opinion of the {self.settings.over}"
        return msgspec.structs.replace(grade, judged=judged, evidence=evidence, version=self.version_with(tuple(ways)))

    async def _ask(
        self,
        name: str,
        access: ModelAccess,
        blocks: Mapping[str, str],
        notes: dict[str, None],
        *,
        at_once: bool,
    ) -> tuple[list[JudgeSample], BaseException | None]:
        """All samples of one model, each in a call of its own, up to the first that failed; and why it did."""
        from passhat.graders.judge._asking import client_of

        question = self._question(blocks, notes)
        async with client_of(name, access) as model:
            ask = functools.partial(self._sample, model, name, question)
            return await answers([ask] * self.settings.samples, at_once=at_once)

    async def _sample(self, model: Any, name: str, question: Question, order: str = "") -> JudgeSample:
        from passhat.graders.judge._asking import ask

        answer, reported, tries = await ask(model, question, temperature=self.settings.temperature, tries=TRIES)
        return JudgeSample(answer.verdict, answer.reason, answer.evidence, name, reported, order=order, tries=tries)

    def _question(self, blocks: Mapping[str, str], notes: dict[str, None]) -> Question:
        from passhat.graders.judge._asking import Question

        data = self._fenced(blocks)
        notes.update(dict.fromkeys(data.notes))
        return Question(self._instructions(self.criterion, data.token), data.text, self.words, data.shown)

    def _fenced(self, blocks: Mapping[str, str]) -> Fenced:
        return fenced(blocks, longest=self.settings.longest, salt=self.rubric_hash)

    def _instructions(self, criterion: str, token: str) -> str:
        return instructions(self.kind, criterion, self.words, self._meaning(), token, self.settings.over)

    def _ways(self, trial: FinishedTrial) -> dict[str, ModelAccess]:
        """How each model that is asked is reached."""
        judge = trial.judge
        if judge is None:
            raise JudgeError(
                f"no model judges here: {self.name!r} asks one in a run of a suite, with --judge-model PROVIDER/NAME "
                "or Suite(judge_model=…)"
            )
        names = self.models or (judge.name,)
        if not self.same_model_ok:
            _refuse_own(names, trial)
        return {name: _way(judge, name) for name in names}

    def _blocks(self, trial: FinishedTrial) -> dict[str, str]:
        """What the judge is shown, by name."""
        blocks = {"task": as_text(trial.input)} if trial.input is not None else {}
        if self.settings.reference is not None:
            blocks["reference"] = as_text(self.settings.reference(trial.task))
        if self.settings.over == "trace":
            if not trial.transcript.events:
                raise JudgeError("the trial has no transcript: nothing that happened was seen or told")
            blocks["trace"] = rendered(trial.transcript)
        blocks["answer"] = as_text(trial.output)
        return blocks

    # ---- deciding

    def _without_asking(self, trial: FinishedTrial) -> Grade | None:
        """The grade of a trial about which no judge is needed."""
        return None

    def _decide(self, samples: Sequence[JudgeSample], trial: FinishedTrial) -> tuple[str | None, Grade]:
        """The verdict of all samples together, None when there is none, and its grade."""
        raise NotImplementedError

    def _judged(
        self, models: tuple[str, ...], samples: Sequence[JudgeSample], verdict: str | None, notes: Mapping[str, None]
    ) -> Judged:
        return Judged(
            kind=self.kind,
            over=self.settings.over,
            models=models,
            rubric=self.rubric_hash,
            prompt=self.prompt_hash,
            temperature=self.settings.temperature,
            verdict=verdict,
            samples=tuple(samples),
            notes=tuple(notes),
        )


def _way(judge: JudgeModel, name: str) -> ModelAccess:
    access = judge.leads_to(name)
    if access is None:
        raise JudgeError(f"this run doesn't lead to {name}: only to {', '.join([judge.name, *judge.others])}")
    return access


def _refuse_own(names: Sequence[str], trial: FinishedTrial) -> None:
    """The agent chose its model itself, and it is the judge."""
    asked = {name for call in _live(trial) for name in (call.model, call.model_reported) if name}
    for name in names:
        if any(same_model(name, other) for other in asked):
            raise JudgeError(f"the judge {name} {_OWN}")


def _refuse_answered(samples: Sequence[JudgeSample], trial: FinishedTrial) -> None:
    """Two names for one model: what answered the judge is what answered the agent."""
    answered = {call.model_reported for call in _live(trial) if call.model_reported}
    for sample in samples:
        if sample.reported in answered:
            raise JudgeError(f"the judge {sample.model} answered as {sample.reported}, and {_OWN}")


def _live(trial: FinishedTrial) -> list[ModelCall]:
    return [call for call in trial.transcript.model_calls if call.source in ("live", "replayed")]


_OWN = (
    "is the model under test, which favours its own answers: name another with --judge-model, or say "
    "same_model_ok=True of the judge"
)


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
