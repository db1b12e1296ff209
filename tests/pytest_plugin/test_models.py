"""Who answers in a test: a live model by `--model`, processes of their own, transports, async tests, secrets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from passhat.facts import Limits, ModelCall, Status, Usage
from passhat.gateway import Gateway, Request, Script, Simulate
from passhat.records import RunReader, find_run
from passhat.scripting import fail, reply, say

ASK = """
from openai import OpenAI

def ask(text="hi", model="cheap"):
    with OpenAI(max_retries=0) as client:
        sent = [{"role": "user", "content": text}]
        return client.chat.completions.create(model=model, messages=sent).choices[0].message.content
"""


def last_run(pytester: pytest.Pytester) -> RunReader:
    return RunReader(find_run("last", pytester.path / ".passhat"))


class Provider:
    """A second gateway that plays the provider."""

    def __init__(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[ModelCall] = []
        self._gateway = gateway
        self._patch = monkeypatch

    def answers(self, mode: Any) -> None:
        session = self._gateway.open(mode, sink=self.calls.append, limits=Limits(model_calls=None), label="provider")
        self.key = session.key
        for name, value in session.access.environ().items():
            self._patch.setenv(name, value)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Gateway() as gateway:
        yield Provider(gateway, monkeypatch)


def parrot(request: Request, rng: object) -> object:
    used = Usage(model_calls=1, input_tokens=7, output_tokens=3)
    return reply(say(f"{request.model} says {request.messages[-1].text}"), usage=used, model="big-2026")


def test_a_live_model_is_reached_by_its_name_metered_and_never_with_its_key_in_the_record(
    pytester: pytest.Pytester, provider: Provider
) -> None:
    provider.answers(Simulate(parrot))
    pytester.makepyfile(
        agent=ASK,
        test_it=f"""
        import os
        import pytest
        from agent import ask

        @pytest.mark.trials(3)
        def test_it(trial):
            assert os.environ["OPENAI_API_KEY"] != {provider.key!r}
            assert ask({provider.key!r}) == "big says {provider.key}"
            assert trial.transcript.usage.tokens == 10
        """,
    )
    pytester.runpytest("-rs").assert_outcomes(skipped=1)
    assert provider.calls == []
    result = pytester.runpytest("--model", "openai/big")
    result.assert_outcomes(passed=1)
    assert [call.model for call in provider.calls] == ["big"] * 3
    run = last_run(pytester)
    assert run.manifest.model_source == "live"
    assert run.manifest.model_requested == "openai/big"
    record = next(iter(run.trials()))
    assert record.usage.tokens == 10
    assert record.model == "big-2026"
    transcript = run.transcript(record)
    assert transcript is not None
    assert transcript.model_calls[0].messages[0].text == "[redacted]"
    everything = b"".join(path.read_bytes() for path in (pytester.path / ".passhat").rglob("*") if path.is_file())
    assert provider.key.encode() not in everything


def test_what_the_agent_asks_for_is_passed_on_when_trials_are_asked_for(
    pytester: pytest.Pytester, provider: Provider
) -> None:
    provider.answers(Simulate(parrot))
    pytester.makepyfile(
        agent=ASK,
        test_it="""
        import pytest
        from agent import ask

        @pytest.mark.trials(3)
        def test_it(trial):
            assert ask() == "cheap says hi"
        """,
    )
    pytester.runpytest("--trials", "2").assert_outcomes(passed=1)
    assert [call.model for call in provider.calls] == ["cheap"] * 2


def test_a_provider_that_fails_and_a_limit_that_is_reached_are_told_from_a_wrong_agent(
    pytester: pytest.Pytester, provider: Provider
) -> None:
    provider.answers(Script([fail(503, "busy"), say("wrong"), fail(503, "busy"), *[say("no")] * 51]))
    pytester.makepyfile(
        agent=ASK,
        test_it="""
        import openai
        import pytest
        from agent import ask

        def number(request):
            return request.node.callspec.params["_passhat_trial"]

        @pytest.mark.trials(4)
        def test_it(trial, request):
            if number(request) == 3:
                with pytest.raises(openai.APIError):
                    ask()
                assert False, "gave up"
            for _ in range(60 if number(request) == 4 else 1):
                assert ask() != "wrong"
        """,
    )
    result = pytester.runpytest("--model", "openai/big")
    result.assert_outcomes(failed=1)
    statuses = [record.status for record in last_run(pytester).trials()]
    assert statuses == [Status.PROVIDER_ERROR, Status.COMPLETED, Status.COMPLETED, Status.LIMIT]
    assert not any(record.passed for record in last_run(pytester).trials())
    result.stdout.fnmatch_lines_random(["*1 x *503*busy*", "*1 x *limit of 50 model calls*"])


def test_a_model_that_cannot_be_reached_is_said_before_anything_runs(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):  # one on this machine needs no key
        monkeypatch.delenv(variable, raising=False)
    pytester.makepyfile("import pytest\n\n@pytest.mark.trials(3)\ndef test_it(trial):\n    pass\n")
    for name, message in (("big", "write PROVIDER/NAME"), ("openai/big", "openai needs a key")):
        result = pytester.runpytest("--model", name)
        assert result.ret == 4
        assert message in result.stdout.str() + result.stderr.str()


def test_async_tests_subprocesses_and_transports_reach_the_script(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        agent=ASK,
        test_it="""
        import subprocess
        import sys
        import httpx2
        import pytest
        from agent import ask
        from openai import AsyncOpenAI, OpenAI
        from passhat.scripting import say

        SENT = [{"role": "user", "content": "hi"}]

        @pytest.mark.asyncio
        async def test_async(faux):
            faux.script(say("hello"))
            async with AsyncOpenAI() as client:
                reply = await client.chat.completions.create(model="m", messages=SENT)
            assert reply.choices[0].message.content == "hello"
            assert faux.call_count == 1

        @pytest.mark.anyio
        @pytest.mark.trials(3, gate=None)
        async def test_async_trials(faux, anyio_backend_name):
            faux.script(say("hello"))
            async with AsyncOpenAI() as client:
                reply = await client.chat.completions.create(model="m", messages=SENT)
            assert reply.choices[0].message.content == "hello"

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.parametrize("inherited", [True, False])
        def test_subprocess(faux, inherited):
            faux.script(say("hello"))
            code = "from agent import ask; print(ask())"
            env = None if inherited else {**faux.env, "PYTHONPATH": "."}
            ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
            assert ran.stdout.strip() == "hello"
            assert faux.call_count == 1

        def test_transport(faux):
            faux.script(say("hello"))
            with OpenAI(api_key="-", http_client=httpx2.Client(transport=faux.transport())) as client:
                reply = client.chat.completions.create(model="m", messages=SENT)
            assert reply.choices[0].message.content == "hello"

        @pytest.mark.asyncio
        async def test_async_transport(faux):
            faux.script(say("hello"))
            http = httpx2.AsyncClient(transport=faux.async_transport())
            async with AsyncOpenAI(api_key="-", http_client=http) as client:
                reply = await client.chat.completions.create(model="m", messages=SENT)
            assert reply.choices[0].message.content == "hello"
        """,
    )
    pytester.runpytest().assert_outcomes(passed=6)


NODE = """
const url = `${process.env.OPENAI_BASE_URL}/chat/completions`;
const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] });
const reply = await fetch(url, { method: "POST", headers, body });
console.log((await reply.json()).choices[0].message.content);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_an_agent_in_another_language_reaches_the_script(pytester: pytest.Pytester) -> None:
    (pytester.path / "agent.mjs").write_text(NODE)
    pytester.makepyfile(
        """
        import subprocess
        import pytest
        from passhat.scripting import say

        def ask(env):
            ran = subprocess.run(["node", "agent.mjs"], env=env, capture_output=True, text=True, check=True)
            return ran.stdout.strip()

        @pytest.mark.parametrize("inherited", [True, False])
        def test_node(faux, inherited):
            faux.script(say("hello"))
            assert ask(None if inherited else faux.env) == "hello"
            assert faux.requests[0].messages[-1].text == "hi"

        @pytest.mark.trials(2, simulation=lambda request, rng: say("yes"))
        def test_trials(trial):
            assert ask(trial.env) == "yes"
            assert trial.transcript.usage.model_calls == 1
        """
    )
    pytester.runpytest().assert_outcomes(passed=3)


@pytest.mark.parametrize("mode", [["-n", "0"], ["-n", "2"]], ids=" ".join)
def test_clients_made_at_import_reach_the_running_test_in_every_worker(
    pytester: pytest.Pytester, mode: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-hosts-own")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    pytester.makeini("[pytest]\npasshat_env = true\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        early="from openai import OpenAI\nclient = OpenAI(max_retries=0)\n",
        test_early="""
        import openai
        import pytest
        from early import client
        from passhat.pytest_plugin._environment import host_environment
        from passhat.scripting import say

        def ask():
            sent = [{"role": "user", "content": "hi"}]
            return client.chat.completions.create(model="m", messages=sent).choices[0].message.content

        @pytest.mark.parametrize("word", ["one", "two", "three", "four"])
        def test_words(faux, word, request):
            faux.script(say(word))
            assert ask() == word
            assert faux.call_count == 1
            assert host_environment(request.config)["OPENAI_API_KEY"] == "sk-the-hosts-own"

        def test_outside():
            with pytest.raises(openai.APIStatusError):
                ask()
        """,
    )
    pytester.runpytest_subprocess(*mode).assert_outcomes(passed=5)


def test_a_transcript_that_is_shown_holds_no_key(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-very-secret-1")
    pytester.makepyfile(
        agent=ASK,
        test_it="""
        import os
        from agent import ask
        from passhat.scripting import say

        def test_it(faux):
            faux.script(say("ok"))
            assert ask("the key is " + os.environ["SHOP_API_KEY"]) == "no"
        """,
    )
    result = pytester.runpytest("--tb=line", "--show-capture=no")
    result.assert_outcomes(failed=1)
    result = pytester.runpytest()
    shown = result.stdout.str().partition("- transcript -")[2]
    assert "the key is [redacted]" in shown
    assert "sk-very-secret-1" not in shown


def test_a_long_transcript_is_shown_in_part(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        agent=ASK,
        test_it="""
        from agent import ask
        from passhat.scripting import say

        def test_it(faux):
            faux.script(*[say("x" * 5000)] * 40)
            for _ in range(40):
                ask("y" * 5000)
            assert False
        """,
    )
    shown = pytester.runpytest().stdout.str().partition("- transcript -")[2]
    assert "more characters" in shown
    assert len(shown) < 6000


def test_a_json_report_holds_the_trials(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        agent=ASK,
        test_it="""
        import pytest
        from agent import ask
        from passhat.scripting import say

        @pytest.mark.trials(3, simulation=lambda request, rng: say("yes"))
        def test_it(trial):
            assert ask() == "yes"
            trial.record("note", {"kept": True})
        """,
    )
    pytester.runpytest().assert_outcomes(passed=1)
    run = last_run(pytester)
    record = next(iter(run.trials()))
    transcript = run.transcript(record)
    assert transcript is not None
    assert "kept" in json.dumps([str(event) for event in transcript.events])
