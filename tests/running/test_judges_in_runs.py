"""Judges in a run: who is asked, by which key, what it spends, and what an outage of theirs leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.running.conftest import ask_model

import passhat
from passhat import Limits, Suite, Task
from passhat.facts import Grade, PasshatError, Status, TrialRecord, Usage
from passhat.gateway import Gateway, Request, Script
from passhat.graders import GraderSetup, judge
from passhat.running import Entrance, ResumeRefused, Run, RunError, dry_run, resume
from passhat.scripting import fail, structured
from passhat.summary import summarize

POLITE = judge.rubric("polite", "The answer is polite.")


def yes(request: Request, rng: Any) -> Any:
    return structured({"evidence": [], "reason": "fine", "verdict": "pass"})


def suite(*graders: Any, **more: Any) -> Suite:
    tasks = more.pop("tasks", [Task("t", input="Refund me.")])
    agent = more.pop("agent", lambda trial: "Sorry.")
    return Suite("s", tasks=tasks, agent=agent, graders=graders, **more)


def only(run: Run) -> TrialRecord:
    (record,) = run.trials()
    return record


# ---- who judges


@pytest.fixture
def provider() -> Iterator[Gateway]:
    """A gateway that stands for a provider."""
    with Gateway() as stands_for:
        yield stands_for


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without a judge."""
    monkeypatch.delenv("PASSHAT_JUDGE_MODEL", raising=False)


@pytest.mark.usefixtures("bare")
def test_a_judge_without_a_model_is_refused_before_anything_runs_with_every_way_out(
    run_here: Callable[..., Run], tmp_path: Path
) -> None:
    ran: list[int] = []
    with pytest.raises(RunError, match="'polite' is a judge, and no model is named to judge") as error:
        run_here(suite(POLITE, agent=lambda trial: ran.append(1)))
    for way in ("--judge-model", "judge_model=", "PASSHAT_JUDGE_MODEL", "model=", "judge_simulation="):
        assert way in str(error.value)
    assert ran == []
    assert not (tmp_path / ".passhat").exists()


@pytest.mark.usefixtures("bare")
def test_the_model_under_test_does_not_judge_itself_unless_that_is_said(
    run_here: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    for found in (suite(POLITE), suite(judge.rubric("p", "Polite.", model="openai/m"), judge_model="openai/other")):
        asked = {} if found.judge_model else {"judge_model": "openai/m"}
        with pytest.raises(RunError, match="would be openai/m, the model under test"):
            run_here(found, model="openai/m", **asked)
    for name in ("openai/gpt-5-2025-08-07", "openrouter/openai/GPT-5", "openai/gpt-5-latest"):
        with pytest.raises(RunError, match="would be openai/gpt-5, the model under test"):
            dry_run(suite(POLITE), model="openai/gpt-5", judge_model=name)
    other = dry_run(suite(POLITE), model="openai/gpt-5", judge_model="openai/gpt-5-mini-2025-08-07")
    assert other.judge_models == ("openai/gpt-5-mini-2025-08-07",)
    own = judge.rubric("p", "Polite.", same_model_ok=True)
    assert dry_run(suite(own), model="openai/m", judge_model="openai/m").judge_models == ("openai/m",)


def test_an_agent_that_chose_the_judge_as_its_model_is_not_judged_by_it(
    run_here: Callable[..., Run], provider: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = provider.open(Script(lambda request: "Sorry."))
    monkeypatch.setenv("OPENAI_BASE_URL", session.access.openai["base_url"])
    monkeypatch.setenv("OPENAI_API_KEY", session.key)
    record = only(run_here(suite(POLITE, agent=ask_model), judge_model="openai/m-1"))
    assert record.status is Status.GRADER_ERROR
    assert "the judge openai/m-1 is the model under test" in str(record.grades[0].error)
    assert record.judge_usage.model_calls == 0


@pytest.mark.usefixtures("bare")
def test_the_suite_stands_before_its_simulation_and_the_host_and_two_names_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")

    def judges(found: Suite, **asked: Any) -> tuple[str, ...]:
        return dry_run(found, **asked).judge_models

    simulated = suite(POLITE, judge_simulation=yes)
    assert judges(simulated) == ("openai/simulated-judge",)
    assert judges(simulated, judge_model="openai/asked") == ("openai/asked",)
    monkeypatch.setenv("PASSHAT_JUDGE_MODEL", "openai/host")
    assert judges(suite(POLITE)) == ("openai/host",)
    assert judges(simulated) == ("openai/simulated-judge",)
    assert judges(suite(POLITE, judge_model="openai/own")) == ("openai/own",)
    assert judges(suite(judge.rubric("p", "x", model="openai/panel"))) == ("openai/host", "openai/panel")
    with pytest.raises(RunError, match="judged by 'openai/own' and this run asks for 'openai/asked'"):
        judges(suite(POLITE, judge_model="openai/own"), judge_model="openai/asked")
    with pytest.raises(PasshatError, match="needs a key"):
        judges(suite(POLITE, judge_model="groq/x"))
    with pytest.raises(PasshatError, match="PROVIDER/NAME"):
        judges(suite(POLITE), judge_model="x")
    with pytest.raises(PasshatError, match="give one of them"):
        suite(POLITE, judge_model="openai/own", judge_simulation=yes)


def test_without_the_packages_a_run_says_what_to_install_before_it_begins(
    run_here: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    from passhat.graders.judge import _installed

    monkeypatch.setattr(_installed, "find_spec", lambda name: None)
    with pytest.raises(GraderSetup, match=r"pip install passhat\[judges\]"):
        run_here(suite(POLITE, judge_simulation=yes))


def test_evaluate_says_that_it_has_no_judge() -> None:
    with pytest.raises(ValueError, match="'polite' asks a model, and evaluate\\(\\) has none that judges"):
        passhat.evaluate([{"id": "t"}], lambda trial: "x", k=1, graders=[POLITE])


def test_a_grader_of_the_users_own_reaches_the_judge_by_the_finished_trial(run_here: Callable[..., Run]) -> None:
    def names(trial: Any) -> bool:
        return bool(trial.judge.name == "openai/simulated-judge" and trial.judge.access.api_key)

    assert only(run_here(suite(names, judge_simulation=yes))).passed is True
    assert only(run_here(suite(lambda trial: trial.judge is None))).passed is True


# ---- keys and meters


def test_the_agents_usage_and_transcript_hold_nothing_of_the_judge(
    run_here: Callable[..., Run], ask: Callable[..., str]
) -> None:
    grader = judge.rubric("polite", "The answer is polite.", samples=3)
    found = suite(grader, POLITE.as_("again"), agent=ask, simulation=lambda r, g: "Sorry.", judge_simulation=yes)
    run = run_here(found)
    record = only(run)
    assert (record.usage.model_calls, record.judge_usage.model_calls) == (1, 4)
    judged = [grade.judged.usage for grade in record.grades if grade.judged is not None]
    assert [usage.model_calls for usage in judged] == [3, 1]
    assert sum(usage.input_tokens or 0 for usage in judged) == record.judge_usage.input_tokens
    transcript = run.transcript(record)
    assert transcript is not None
    assert [call.model for call in transcript.model_calls] == ["m-1"]
    manifest = run.manifest
    assert manifest.judge_usage is not None
    assert manifest.judge_usage.model_calls == 4
    assert manifest.usage is not None
    assert manifest.usage.model_calls == 1
    assert (manifest.judge_models, manifest.judge_source) == (("openai/simulated-judge",), "simulated")


def test_the_judges_key_ends_with_the_grading(run_here: Callable[..., Run]) -> None:
    kept: list[Any] = []

    def keeps(trial: Any) -> bool:
        kept.append(trial.judge.access)
        return "pass" in call_with(trial.judge.access)

    assert only(run_here(suite(keeps, judge_simulation=lambda r, g: "pass"))).passed is True
    with pytest.raises(OSError, match="401"):
        call_with(kept[0])


def call_with(access: Any) -> str:
    class Holder:
        model = access

    return ask_model(Holder())  # type: ignore[arg-type]


def test_judges_have_limits_of_their_own_and_at_one_there_is_no_verdict(run_here: Callable[..., Run]) -> None:
    def never_in_form(request: Request, rng: Any) -> Any:
        return structured({"verdict": "PASS"})

    found = suite(POLITE, judge_simulation=never_in_form, limits=Limits(judge_calls=2, model_calls=1))
    record = only(run_here(found))
    assert record.status is Status.GRADER_ERROR
    assert "limit of 2 model calls is reached" in str(record.grades[0].error)
    assert record.judge_usage.model_calls == 2


@pytest.mark.parametrize(
    ("limits", "taped", "at_once"),
    [
        ({}, False, True),
        ({"judge_tokens": 100_000}, False, False),
        ({"judge_dollars": 1.0}, False, False),
        ({}, True, False),
    ],
)
def test_live_judges_are_asked_at_once_unless_the_cost_or_a_cassette_hangs_on_the_order(
    run_here: Callable[..., Run],
    provider: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    limits: dict[str, Any],
    taped: bool,
    at_once: bool,
) -> None:
    session = provider.open(Script(lambda request: yes(request, None)))
    monkeypatch.setenv("OPENAI_BASE_URL", session.access.openai["base_url"])
    monkeypatch.setenv("OPENAI_API_KEY", session.key)
    seen: list[bool] = []

    def own(trial: Any) -> bool:
        seen.append(trial.judge.at_once)
        return True

    found = suite(own, judge.rubric("polite", "Polite.", samples=3), limits=Limits(judge_calls=3, **limits))
    more = {"cassette": tmp_path / "tape.jsonl", "record": "missing"} if taped else {}
    record = only(run_here(found, judge_model="openai/gpt-5-mini", **more))
    assert seen == [at_once]
    judged = record.grades[1].judged
    assert judged is not None
    assert [sample.verdict for sample in judged.samples] == ["pass"] * 3
    assert (judged.usage.model_calls, record.judge_usage.model_calls) == (3, 3)


def test_a_limit_at_which_no_verdict_is_possible_is_refused_before_anything_runs(tmp_path: Path) -> None:
    graders = [judge.rubric("polite", "Polite.", samples=3), judge.pairwise("better", "Better.")]
    for limit, given in ((4, graders), (2, graders[:1])):
        found = suite(*given, judge_simulation=yes, limits=Limits(judge_calls=limit))
        with pytest.raises(RunError, match=rf"Limits\(judge_calls={limit}\): polite.* a verdict is out of reach"):
            dry_run(found, root=tmp_path)
    assert dry_run(suite(*graders, judge_simulation=yes, limits=Limits(judge_calls=5)), root=tmp_path).judge_calls == 5
    panel = judge.rubric("panel", "Polite.", samples=2, model=["openai/a", "openai/b"])
    found = suite(panel, judge_simulation=yes, limits=Limits(judge_calls=2))
    assert dry_run(found, root=tmp_path).judge_calls == 4  # two of each


def test_what_judges_spend_counts_for_the_limits_of_the_run(run_here: Callable[..., Run]) -> None:
    found = suite(POLITE, judge_simulation=yes, trials=20, limits=Limits(run_tokens=1500))
    manifest = run_here(found).manifest
    assert manifest.state == "stopped"
    assert "limit of 1500 tokens" in str(manifest.stop_reason)
    assert manifest.judge_usage is not None
    assert 1500 <= (manifest.judge_usage.tokens or 0) < 2500


def test_a_dry_run_counts_the_calls_of_judges(tmp_path: Path) -> None:
    found = suite(
        judge.rubric("p", "Polite.", samples=3), judge.pairwise("b", "Better."), judge_simulation=yes, trials=4
    )
    expected = dry_run(found, root=tmp_path)
    assert (expected.judge_models, expected.judge_calls) == (("openai/simulated-judge",), 4 * 5)
    assert (expected.judge_dollars, expected.most_judge_calls) == (0.0, 400)
    assert dry_run(suite(len), root=tmp_path).judge_calls is None


def test_a_runs_cassette_records_and_replays_its_judges_too(
    run_here: Callable[..., Run], provider: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = provider.open(Script(lambda request: yes(request, None)))
    monkeypatch.setenv("OPENAI_BASE_URL", session.access.openai["base_url"])
    monkeypatch.setenv("OPENAI_API_KEY", session.key)
    found = suite(judge.rubric("polite", "The answer is polite.", samples=2), trials=2, judge_model="openai/judge-1")
    tape = tmp_path / "tape.yaml"
    first = run_here(found, cassette=tape, record="missing")
    assert session.calls == 4
    monkeypatch.delenv("OPENAI_API_KEY")
    again = run_here(found, cassette=tape)
    assert session.calls == 4
    assert [record.passed for record in again.trials()] == [record.passed for record in first.trials()] == [True, True]
    assert (first.manifest.judge_source, again.manifest.judge_source) == ("live", "replayed")
    assert session.key not in tape.read_text()
    other = run_here(suite(POLITE, judge_model="openai/judge-1"), cassette=tape)
    assert only(other).passed is True  # the same request: the number of samples is not in it
    changed = suite(judge.rubric("polite", "The answer is very polite."), judge_model="openai/judge-1")
    assert only(run_here(changed, cassette=tape)).status is Status.GRADER_ERROR


def test_resume_refuses_another_judge(run_here: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    run = run_here(suite(POLITE, judge_simulation=yes))
    with pytest.raises(ResumeRefused, match=r"who judges was .*simulated-judge.* and is .*openai/other"):
        passhat.resume(run.path, suite(POLITE, judge_simulation=yes), judge_model="openai/other")


# ---- in processes of their own

FILE = """
    import os
    from passhat import Suite, Task
    from passhat.graders import judge
    from passhat.scripting import structured

    def agent(trial):
        return [trial.model.api_key, sorted(value for value in os.environ.values() if value.startswith("sk-"))]

    def yes(request, rng):
        return structured({"evidence": [], "reason": "fine", "verdict": "pass"})

    def told(trial):
        return trial.judge.access.api_key not in str(trial.output) and trial.judge.access.api_key.startswith("sk-")

    suite = Suite(
        "apart", tasks=[Task("t")], agent=agent, judge_simulation=yes, simulation=lambda request, rng: "x",
        graders=[told, judge.rubric("polite", "The answer is polite.", samples=2)],
    )
"""


def test_in_a_process_the_agent_never_has_the_judges_key_and_grades_are_equal_to_those_inline(
    run_file: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-host-0123456789")
    records = [only(run_file(FILE, isolation=isolation)) for isolation in ("process", "inline")]
    for record in records:
        assert record.passed is True, record.grades
        assert record.judge_usage.model_calls == 2
        assert "sk-host-0123456789" not in json.dumps(record.output)
    assert [told(grade) for grade in records[0].grades] == [told(grade) for grade in records[1].grades]


def told(grade: Grade) -> Any:
    """A grade without seconds and tokens: the agent's output holds its key, which is another each time."""
    judged = None if grade.judged is None else msgspec.structs.replace(grade.judged, usage=Usage())
    return (grade.name, grade.passed, grade.reason, grade.version, judged)


# ---- an outage of the judge


class Doorkeeper:
    """A judge's provider that refuses some of the first gradings, and lets all in once it is ``open``."""

    def __init__(self, status: int, refuses: Callable[[int], bool]) -> None:
        self.status, self.refuses, self.open = status, refuses, False
        self.asked = 0

    def __call__(self, request: Request, rng: Any) -> Any:
        self.asked += 1
        return fail(self.status, "no entry") if not self.open and self.refuses(self.asked) else yes(request, rng)


@pytest.mark.parametrize(("status", "paid"), [(401, 1), (403, 3)])
def test_a_judge_that_lets_nobody_in_stops_the_run_before_more_agents_are_paid(
    gateway: Gateway, tmp_path: Path, status: int, paid: int
) -> None:
    ran: Counter[str] = Counter()

    def agent(trial: Any) -> str:
        ran[trial.task_id] += 1
        return "Sorry."

    door = Doorkeeper(status, lambda asked: True)
    tasks = [Task(f"t{index}", input=index) for index in range(10)]
    found = suite(POLITE, tasks=tasks, agent=agent, judge_simulation=door)
    through = Entrance(gateway, dict(os.environ))
    run = passhat.run(found, root=tmp_path, through=through)
    assert sum(ran.values()) == paid
    assert [record.status for record in run.trials()] == [Status.GRADER_ERROR] * paid
    assert (run.manifest.state, run.manifest.stop_reason) == (
        "stopped",
        f"the judge's provider refused the key (HTTP {status}): set a key that may use this model, then passhat resume",
    )
    (said,) = [f.message for f in summarize(run.manifest, run.trials()).findings if f.rule == "stopped"]
    assert "can be resumed: the judge's provider refused the key" in said
    still = resume(run.path, found, through=through)
    assert (still.manifest.state, sum(ran.values())) == ("stopped", paid)
    door.open = True
    done = resume(run.path, found, through=through)
    assert (done.manifest.state, max(ran.values()), len(ran)) == ("finished", 1, 10)
    assert all(record.passed for record in done.trials())


def test_a_provider_that_refuses_the_text_of_some_trials_stops_nothing(gateway: Gateway, tmp_path: Path) -> None:
    door = Doorkeeper(403, lambda asked: asked in (2, 3, 5, 7, 8, 9))
    tasks = [Task(f"t{index}", input=index) for index in range(10)]
    found = suite(POLITE, tasks=tasks, judge_simulation=door)
    run = passhat.run(found, root=tmp_path, through=Entrance(gateway, dict(os.environ)))
    assert run.manifest.state == "finished"
    assert Counter(record.status for record in run.trials()) == {Status.GRADER_ERROR: 6, Status.COMPLETED: 4}


def test_a_grader_that_asks_another_judge_after_a_refusal_stops_nothing(gateway: Gateway, tmp_path: Path) -> None:
    def falls_back(trial: Any) -> bool:
        with contextlib.suppress(OSError):
            call_with(trial.judge.access)
        return True

    found = suite(falls_back, tasks=[Task("a"), Task("b")], judge_simulation=Doorkeeper(401, lambda asked: True))
    run = passhat.run(found, root=tmp_path, through=Entrance(gateway, dict(os.environ)))
    assert (run.manifest.state, [record.passed for record in run.trials()]) == ("finished", [True, True])


REFUSED = """
    from passhat import Suite, Task
    from passhat.graders import judge
    from passhat.scripting import fail

    suite = Suite("refused", tasks=[Task("a"), Task("b"), Task("c")], agent=lambda trial: "Sorry.", order="task",
                  graders=[judge.rubric("polite", "The answer is polite.")],
                  judge_simulation=lambda request, rng: fail(401, "no"))
"""


def test_in_processes_too(run_file: Callable[..., Run]) -> None:
    run = run_file(REFUSED)
    assert [record.task for record in run.trials()] == ["a"]
    assert run.manifest.state == "stopped"


class Outage:
    """A simulated judge that says pass or fail by the task, and is out of order from one call to another."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.lock = threading.Lock()
        self.trials: dict[str, int] = {}
        self.calls = 0

    def __call__(self, request: Request, rng: Any) -> Any:
        text = next(message.text for message in request.messages if message.role == "user")
        marker = next(line for line in text.splitlines() if line.startswith("trial "))
        with self.lock:
            self.calls += 1
            number = self.trials.setdefault(marker, len(self.trials))
        if self.first <= number < self.last:
            return fail(503, "judge out of order", retry_after=0.001)
        word = "fail" if int(marker.split()[1]) % 10 == 3 else "pass"
        return structured({"evidence": [], "reason": "so", "verdict": word})


@pytest.mark.parametrize("trials", [2, pytest.param(10, marks=pytest.mark.long)], ids=["60 trials", "300 trials"])
def test_a_judge_outage_in_the_middle_of_a_run_costs_no_known_failure_and_no_run_of_the_agent(
    gateway: Gateway, tmp_path: Path, trials: int
) -> None:
    planned, struck = 30 * trials, 6 * trials
    ran: Counter[tuple[str, int]] = Counter()

    def agent(trial: Any) -> str:
        ran[trial.task_id, trial.number] += 1
        return f"trial {int(trial.task_id[1:]) * trials + trial.number}"

    def even(trial: Any) -> bool:  # code: one trial of five fails for certain
        return int(trial.output.split()[1]) % 5 != 0

    outage = Outage(planned // 3, planned // 3 + struck)
    tasks = [Task(f"t{index}", input=index) for index in range(30)]
    found = Suite(
        "outage",
        tasks=tasks,
        agent=agent,
        graders=[even, judge.rubric("polite", "The answer is polite.")],
        judge_simulation=outage,
        trials=trials,
        order="task",
        seed=1,
    )
    through = Entrance(gateway, dict(os.environ))
    run = passhat.run(found, root=tmp_path, through=through, concurrency=4)
    records = list(run.trials())
    assert len(records) == planned
    assert sum(ran.values()) == planned
    assert max(ran.values()) == 1
    hit = [record for record in records if record.grades[1].error is not None]
    assert len(hit) == struck
    assert all("judge out of order" in str(record.grades[1].error) for record in hit)
    assert all(record.judge_usage.model_calls == 3 for record in hit)
    by_code = [record for record in hit if record.grades[0].passed is False]
    assert by_code
    assert all((record.passed, record.status) == (False, Status.COMPLETED) for record in by_code)
    missing = [record for record in hit if record.grades[0].passed]
    assert all((record.passed, record.status) == (None, Status.GRADER_ERROR) for record in missing)
    assert run.manifest.judge_usage is not None
    assert run.manifest.judge_usage.model_calls == outage.calls == planned + 2 * struck

    from passhat.summary import summarize

    report = summarize(run.manifest, list(run.trials()))
    assert (report.trials.counted, report.trials.missing) == (planned - len(missing), len(missing))
    (rate,) = [rate for rate in report.pass_at if rate.k == 1]
    assert rate.if_missing is not None
    truth = sum(record.passed is True for record in records)
    assert rate.if_missing == pytest.approx((truth / planned, (truth + len(missing)) / planned))
    assert f"{len(missing)} of {planned}" in str(report.findings) or str(len(missing)) in str(report.findings)

    outage.first = outage.last = 0  # the provider is back
    again = passhat.resume(run.path, found, through=through, concurrency=4)
    after = list(again.trials())
    assert sum(ran.values()) == planned
    assert len(after) == planned
    assert {(r.task, r.trial) for r in after} == {(r.task, r.trial) for r in records}
    assert not [record for record in after if record.status is Status.GRADER_ERROR]
    wrong = [number for number in range(planned) if number % 5 == 0 or number % 10 == 3]
    assert sum(record.passed is False for record in after) == len(wrong)
    assert sum(record.passed is True for record in after) == planned - len(wrong)
    assert summarize(again.manifest, after).trials.missing == 0
    assert again.manifest.judge_usage is not None
    assert again.manifest.judge_usage.model_calls == outage.calls == planned + 2 * struck + len(missing)
