"""Who answers for the model, and what the run says of it."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

import passhat
from passhat import Status, Suite, Task, Trial
from passhat.facts import TrialRecord, Usage
from passhat.gateway import Gateway, Script, UpstreamError
from passhat.running import Run, entrance
from passhat.running._models import choose_model, secrets_of
from passhat.scripting import reply, say
from passhat.trial import ModelAccess, led_to

RunHere = Callable[..., Run]
Only = Callable[..., TrialRecord]
Ask = Callable[..., str]
KEYED = {"OPENAI_API_KEY": "sk-host", "ANTHROPIC_API_KEY": "sk-host"}


def suite_of(agent: Callable[[Trial], Any] = lambda trial: 1, **parts: Any) -> Suite:
    return Suite("s", **{"tasks": [Task("t"), Task("u")], "agent": agent, **parts})


def test_a_script_is_played_anew_in_each_trial(run_here: RunHere, ask: Ask) -> None:
    def agent(trial: Trial) -> list[str]:
        return [ask(trial), ask(trial)]

    run = run_here(suite_of(agent, script=[say("one"), say("two")], trials=2), concurrency=4)
    assert [record.output for record in run.trials()] == [["one", "two"]] * 4
    assert (run.manifest.model_source, run.manifest.asked) == ("scripted", "scripted")


def test_the_key_of_a_trial_ends_with_it(run_here: RunHere, ask: Ask) -> None:
    trials: list[Trial] = []

    def agent(trial: Trial) -> str:
        for earlier in trials:
            with pytest.raises(OSError, match=r"401.*trial is over"):
                ask(earlier)
        trials.append(trial)
        return ask(trial)

    run = run_here(suite_of(agent, script=lambda request: say("x")))
    assert [record.output for record in run.trials()] == ["x", "x"]


def test_scripted_replies_that_nothing_asked_for_are_noted(only_trial: Only) -> None:
    record = only_trial(lambda trial: 1, script=[say("one")])
    assert record.notes == ("1 scripted replies were not asked for: say('one')",)


def test_a_script_that_is_used_up_is_an_error_of_the_agent_that_asks_on(only_trial: Only, ask: Ask) -> None:
    record = only_trial(lambda trial: ask(trial) + ask(trial), script=[say("one")])
    assert record.status is Status.AGENT_ERROR
    assert record.error is not None
    assert "No more scripted replies" in record.error.message


def test_calls_tokens_and_the_reported_model_are_recorded(run_here: RunHere, ask: Ask) -> None:
    answer = reply("x", usage=Usage(1, 90, 0, 10, 0, 0.5), model="m-1-2026", fingerprint="fp_1")
    run = run_here(suite_of(lambda trial: ask(trial, temperature=0.5), simulation=lambda request, rng: answer))
    records = list(run.trials())
    assert [record.usage.tokens for record in records] == [100, 100]
    assert {record.model for record in records} == {"m-1-2026"}
    manifest = run.manifest
    assert (manifest.model_source, manifest.asked) == ("simulated", "evaluation")
    assert manifest.models_reported == {"m-1-2026@fp_1": 2}
    assert manifest.sampling == {"temperature": [0.5]}
    assert manifest.usage is not None
    assert (manifest.usage.model_calls, manifest.usage.tokens, manifest.usage.dollars) == (2, 200, 1.0)


def test_an_agent_whose_calls_did_not_pass_us_is_unseen(run_here: RunHere) -> None:
    run = run_here(suite_of(simulation=lambda request, rng: say("x")))
    assert run.manifest.model_source == "unseen"


def test_a_named_model_answers_from_the_provider_that_the_host_names(
    run_here: RunHere, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Gateway() as provider:
        session = provider.open(Script(lambda request: say(f"I am {request.model}")))
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.base_url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", session.key)
        simulated = suite_of(ask, simulation=lambda request, rng: say("not me"))
        named = run_here(simulated, model="openai/gpt-x")
        monkeypatch.setenv("PASSHAT_MODEL", "openai/gpt-y")
        by_host = run_here(suite_of(ask))
        monkeypatch.delenv("PASSHAT_MODEL")
        as_asked = run_here(suite_of(ask))
        keys = session.key
    assert [record.output for record in named.trials()] == ["I am gpt-x"] * 2
    assert (named.manifest.model_source, named.manifest.model_requested) == ("live", "openai/gpt-x")
    assert [record.output for record in by_host.trials()] == ["I am gpt-y"] * 2
    assert [record.output for record in as_asked.trials()] == ["I am m-1"] * 2
    assert as_asked.manifest.model_requested is None
    assert not any(keys.encode() in file.read_bytes() for file in named.path.rglob("*") if file.is_file())


def test_the_order_in_which_a_model_is_chosen() -> None:
    simulation: dict[str, Any] = {"simulation": lambda request, rng: say("x")}
    host = {**KEYED, "PASSHAT_MODEL": "openai/host"}
    assert choose_model(suite_of(model="openai/own", **simulation), None, host).requested == "openai/own"
    assert choose_model(suite_of(**simulation), "openai/asked", host).requested == "openai/asked"
    assert choose_model(suite_of(**simulation), None, host).source == "simulated"
    assert choose_model(suite_of(), None, host).requested == "openai/host"
    assert choose_model(suite_of(), None, KEYED).requested is None
    assert choose_model(suite_of(model="openai/a"), "openai/a", KEYED).name == "a"
    assert choose_model(suite_of(model="openai/own"), "openai/asked", host).requested == "openai/own"
    with pytest.raises(UpstreamError, match="needs a key"):
        choose_model(suite_of(), "anthropic/x", {})


def test_a_client_that_reads_the_environment_reaches_the_one_trial_that_runs(run_here: RunHere) -> None:
    def agent(trial: Trial) -> bytes:
        url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
        return _post(url, key)

    run = run_here(suite_of(lambda trial: agent(trial).decode(), script=lambda request: say("x")))
    assert [record.usage.model_calls for record in run.trials()] == [1, 1]
    assert all(record.status is Status.COMPLETED for record in run.trials())


def test_at_higher_concurrency_the_environments_key_is_refused_with_the_way_out(run_here: RunHere) -> None:
    import threading

    together = threading.Barrier(2, timeout=20)

    def agent(trial: Trial) -> str:
        together.wait()
        try:
            return _post(os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]).decode()
        finally:
            together.wait()

    run = run_here(suite_of(agent, script=lambda request: say("x")), concurrency=2)
    for record in run.trials():
        assert record.error is not None
        assert "trial.model.openai" in record.error.message


def test_the_environment_is_put_back_after_a_run(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    before = dict(os.environ)
    run_here(suite_of(simulation=lambda request, rng: say("x")))
    assert dict(os.environ) == before
    with led_to(ModelAccess("http://127.0.0.1:1", "k")):
        assert (os.environ["ANTHROPIC_API_KEY"], os.environ.get("OPENAI_ORG_ID")) == ("k", None)
    assert dict(os.environ) == before


def test_keys_of_the_host_are_known_as_secrets() -> None:
    host = {
        "OPENAI_API_KEY": "sk-12345678",
        "MY_TOKEN": "t" * 10,
        "DB_PASSWORD": "p" * 10,
        "SHORT_KEY": "k",
        "HOME": "/r",
    }
    assert set(secrets_of(host)) == {"sk-12345678", "t" * 10, "p" * 10}


def test_a_named_agent_is_imported_led_to_the_gateway(
    run_here: RunHere, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent_by_name.py").write_text(
        "import os\nURL = os.environ['OPENAI_BASE_URL']\n\n\ndef agent(trial):\n    return URL\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    run = run_here(Suite("s", tasks=[Task("t")], agent="agent_by_name:agent"))
    (record,) = run.trials()
    assert record.output.startswith("http://127.0.0.1:")


def test_one_entrance_serves_the_import_of_a_suite_and_its_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-mine")
    with entrance() as here:
        url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
        suite = suite_of(lambda trial: _post(url, key).decode(), script=lambda request: say("x"))
        run = passhat.run(suite, root=tmp_path, through=here)
        assert os.environ["OPENAI_API_KEY"] == key == here.access.api_key
    assert os.environ["OPENAI_API_KEY"] == here.host["OPENAI_API_KEY"] == "sk-mine-mine"
    assert [record.usage.model_calls for record in run.trials()] == [1, 1]


def _post(url: str, key: str) -> bytes:
    request = urllib.request.Request(
        f"{url}/chat/completions",
        b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}',
        {"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        with error:
            raise OSError(error.read().decode()) from None
