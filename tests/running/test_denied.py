"""A provider that lets the agent not in: the run stops before it spends more, and no trial fails for it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Status, Suite, Task, Trial
from passhat.facts import ErrorInfo, Limits
from passhat.gateway import Gateway, Request, Simulate
from passhat.running import Entrance, Run, resume
from passhat.scripting import fail, say
from passhat.summary import summarize

Ask = Callable[..., str]
WRONG_KEY = "Incorrect API key provided: sk-w*******key."
NO_MODEL = "The model `gpt-x` does not exist or you do not have access to it."


class Provider:
    """A provider that refuses some questions, and none once it is ``open``."""

    def __init__(self, gateway: Gateway) -> None:
        self.refusal: Any = fail(401, WRONG_KEY)
        self.refuses: Callable[[int], bool] = lambda asked: True
        self.open = False
        self.asked = 0
        session = gateway.open(Simulate(self._answer), limits=Limits(model_calls=None))
        self.host = {"OPENAI_BASE_URL": f"{gateway.base_url}/v1", "OPENAI_API_KEY": session.key}

    def _answer(self, request: Request, rng: Any) -> Any:
        self.asked += 1
        return self.refusal if not self.open and self.refuses(self.asked) else say("yes")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Gateway]:
    with Gateway() as gateway:
        yield gateway


@pytest.fixture
def provider(upstream: Gateway) -> Provider:
    return Provider(upstream)


@pytest.fixture
def tried(tmp_path: Path, gateway: Gateway, provider: Provider, ask: Ask) -> Callable[..., tuple[Suite, Run]]:
    """Ten trials of an agent that asks once, or of another one."""

    def tried(agent: Callable[[Trial], Any] = ask, **options: Any) -> tuple[Suite, Run]:
        parts: dict[str, Any] = {name: options.pop(name) for name in ("agents", "limits") if name in options}
        tasks = [Task(f"t{index}", expected="yes") for index in range(10)]
        if "agents" not in parts:
            parts["agent"] = agent
        suite = Suite("door", tasks=tasks, graders=[lambda trial: trial.output == "yes"], order="task", **parts)
        through = Entrance(gateway, provider.host)
        return suite, passhat.run(suite, root=tmp_path / "r", retry_wait=0, through=through, **options)

    return tried


def outcomes(run: Run) -> Counter[Status]:
    return Counter(record.status for record in run.trials())


@pytest.mark.parametrize(
    ("refusal", "paid", "said"),
    [
        (
            fail(401, WRONG_KEY),
            1,
            "openai refused the key of the agent's model (HTTP 401: Incorrect API key provided: sk-w*******key): "
            "set OPENAI_API_KEY, then passhat resume",
        ),
        (
            fail(403, "Country, region, or territory not supported"),
            3,
            "openai refused the key of the agent's model (HTTP 403: Country, region, or territory not supported): "
            "set OPENAI_API_KEY, then passhat resume",
        ),
        (
            fail(404, NO_MODEL, code="model_not_found"),
            1,
            "openai doesn't know the agent's model (HTTP 404: The model `gpt-x` does not exist or you do not have "
            "access to it): name one that it has",
        ),
        (
            fail(404, "Not Found"),
            3,
            "openai has nothing at the address that the agent asks (HTTP 404: Not Found): check the base URL",
        ),
    ],
)
def test_the_run_stops_and_says_why_and_no_trial_fails_for_it(
    tried: Callable[..., tuple[Suite, Run]],
    provider: Provider,
    gateway: Gateway,
    refusal: Any,
    paid: int,
    said: str,
) -> None:
    provider.refusal = refusal
    suite, run = tried()
    assert (provider.asked, outcomes(run)) == (paid, {Status.INTERRUPTED: paid})
    assert (run.manifest.state, run.manifest.stop_reason) == ("stopped", said)
    report = summarize(run.manifest, run.trials())
    assert (report.trials.counted, report.trials.missing, report.failures) == (0, 10, {})
    (finding,) = [found for found in report.findings if found.rule == "stopped"]
    assert (finding.severity, finding.message.endswith(said)) == ("error", True)
    provider.open = True
    done = resume(run.path, suite, through=Entrance(gateway, provider.host))
    assert (done.manifest.state, outcomes(done)) == ("finished", {Status.COMPLETED: 10})
    assert all(record.passed for record in done.trials())
    again = [record.attempts for record in done.trials() if record.attempts]
    assert [attempt[0].status for attempt in again] == [Status.INTERRUPTED] * paid


def test_an_agent_that_makes_an_answer_of_a_refusal_has_not_failed_either(
    tried: Callable[..., tuple[Suite, Run]], ask: Ask
) -> None:
    def agent(trial: Trial) -> str:
        with contextlib.suppress(OSError):
            return ask(trial)
        return "Sorry, something went wrong."

    _, run = tried(agent)
    (record,) = run.trials()
    assert (record.status, record.passed, record.output) == (Status.INTERRUPTED, None, None)
    assert record.error == ErrorInfo("provider", f"401: {WRONG_KEY}")
    assert run.manifest.state == "stopped"


def test_one_that_asks_until_its_limit_has_not_failed_either(tried: Callable[..., tuple[Suite, Run]], ask: Ask) -> None:
    def agent(trial: Trial) -> str:
        for _ in range(5):
            with contextlib.suppress(OSError):
                return ask(trial)
        raise OSError("gave up")

    _, run = tried(agent, limits=Limits(model_calls=3))
    assert outcomes(run) == {Status.INTERRUPTED: 1}


def test_a_key_that_is_withdrawn_half_way_stops_the_run_and_what_was_answered_counts(
    tried: Callable[..., tuple[Suite, Run]], provider: Provider
) -> None:
    provider.refuses = lambda asked: asked > 4
    _, run = tried()
    assert outcomes(run) == {Status.COMPLETED: 4, Status.INTERRUPTED: 1}
    assert summarize(run.manifest, run.trials()).trials.counted == 4


@pytest.mark.parametrize("refusal", [fail(403, "no"), fail(404, NO_MODEL, code="model_not_found")])
def test_once_a_model_has_answered_a_request_that_is_refused_is_the_agents_own(
    tried: Callable[..., tuple[Suite, Run]], provider: Provider, refusal: Any
) -> None:
    provider.refusal, provider.refuses = refusal, lambda asked: asked > 4
    _, run = tried()
    assert (run.manifest.state, outcomes(run)) == ("finished", {Status.COMPLETED: 4, Status.AGENT_ERROR: 6})


def test_on_resume_too(tried: Callable[..., tuple[Suite, Run]], provider: Provider, gateway: Gateway) -> None:
    provider.refuses = lambda asked: asked == 4
    suite, run = tried()
    assert outcomes(run) == {Status.COMPLETED: 3, Status.INTERRUPTED: 1}
    provider.refusal, provider.refuses = fail(403, "no"), lambda asked: True
    done = resume(run.path, suite, through=Entrance(gateway, provider.host))
    assert (done.manifest.state, outcomes(done)) == ("finished", {Status.COMPLETED: 3, Status.AGENT_ERROR: 7})


def test_a_model_that_the_run_chose_stops_it_also_after_an_answer(
    tried: Callable[..., tuple[Suite, Run]], provider: Provider
) -> None:
    provider.refusal, provider.refuses = fail(404, NO_MODEL, code="model_not_found"), lambda asked: asked > 4
    _, run = tried(model="openai/gpt-x")
    assert outcomes(run) == {Status.COMPLETED: 4, Status.INTERRUPTED: 1}


def test_each_arm_answers_for_itself(tried: Callable[..., tuple[Suite, Run]], provider: Provider, ask: Ask) -> None:
    provider.refusal, provider.refuses = fail(404, NO_MODEL, code="model_not_found"), lambda asked: asked == 2
    _, run = tried(agents={"now": ask, "then": ask})
    assert run.manifest.state == "stopped"
    first, second = run.trials()  # one of each arm, in an order that is drawn
    assert {first.arm, second.arm} == {"now", "then"}
    assert (first.status, second.status) == (Status.COMPLETED, Status.INTERRUPTED)


def test_an_agent_that_goes_to_another_model_is_judged(
    tried: Callable[..., tuple[Suite, Run]], provider: Provider, ask: Ask
) -> None:
    def agent(trial: Trial) -> str:
        with contextlib.suppress(OSError):
            ask(trial)
        return ask(trial)

    provider.refuses = lambda asked: asked % 2 == 1
    _, run = tried(agent)
    assert outcomes(run) == {Status.COMPLETED: 10}


@pytest.mark.parametrize("part", ["script", "simulation"])
def test_a_refusal_that_is_part_of_a_test_is_the_agents_to_bear(
    tmp_path: Path, gateway: Gateway, ask: Ask, part: str
) -> None:
    def refused(request: Request, rng: Any = None) -> Any:
        return fail(401, "no")

    answers: dict[str, Any] = {part: refused}
    suite = Suite("s", tasks=[Task("a"), Task("b")], agent=ask, **answers)
    run = passhat.run(suite, root=tmp_path, through=Entrance(gateway, {}))
    assert (run.manifest.state, outcomes(run)) == ("finished", {Status.AGENT_ERROR: 2})


SUITE = """
    import json, os, urllib.request
    from passhat import Suite, Task

    def agent(trial):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
        headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]

    suite = Suite("door", tasks=[Task("a"), Task("b"), Task("c")], agent=agent, order="task")
"""


def test_in_processes_too(run_file: Callable[..., Run], provider: Provider, gateway: Gateway) -> None:
    run = run_file(SUITE, through=Entrance(gateway, provider.host))
    assert [(record.task, record.status) for record in run.trials()] == [("a", Status.INTERRUPTED)]
    assert run.manifest.state == "stopped"


def test_in_front_of_a_cassette_too_and_nothing_of_it_is_recorded(
    tried: Callable[..., tuple[Suite, Run]], provider: Provider, gateway: Gateway, tmp_path: Path
) -> None:
    provider.refusal = fail(404, NO_MODEL, code="model_not_found")
    tape = tmp_path / "tape.yaml"
    suite, run = tried(cassette=tape, record="missing")
    assert outcomes(run) == {Status.INTERRUPTED: 1}
    provider.open = True
    done = resume(run.path, suite, through=Entrance(gateway, provider.host), cassette=tape, record="missing")
    assert outcomes(done) == {Status.COMPLETED: 10}
