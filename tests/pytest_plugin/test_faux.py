"""The fixtures `faux` and `trial`: a scripted model for an unmodified agent."""

import pytest

AGENT = """
from openai import OpenAI

def answer(question):
    with OpenAI(max_retries=0) as client:
        return talk(client, question)

def talk(client, question):
    sent = [{"role": "user", "content": question}]
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    while True:
        reply = client.chat.completions.create(model="m", messages=sent, tools=tools).choices[0].message
        if not reply.tool_calls:
            return reply.content
        sent.append(reply)
        for call in reply.tool_calls:
            sent.append({"role": "tool", "tool_call_id": call.id, "content": "refunded"})
"""


@pytest.fixture
def agent(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(little_agent=AGENT)
    return pytester


@pytest.mark.parametrize("asked", ["as an argument", "while it runs"])
def test_a_test_that_is_run_again_has_a_script_of_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:cov -p no:hypothesispytest -p no:xdist")
    text = """
        import os
        import pytest
        from openai import OpenAI
        from passhat.scripting import say

        TRIES = []

        @pytest.fixture(scope="module", autouse=True)
        def address():
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("OPENAI_API_KEY", "of the module")
                yield

        def test_it(faux):
            TRIES.append(1)
            faux.script(say(f"try {len(TRIES)}"))
            with OpenAI(max_retries=0) as client:
                sent = [{"role": "user", "content": "hi"}]
                reply = client.chat.completions.create(model="m", messages=sent)
            assert faux.call_count == 1
            assert reply.choices[0].message.content == "try 2"
        """
    if asked == "while it runs":
        text = text.replace("(faux):", "(request):\n            faux = request.getfixturevalue('faux')")
    pytester.makepyfile(
        text,
        test_plain="import os\n\ndef test_it():\n    assert os.environ.get('OPENAI_API_KEY') == 'of the host'\n",
    )
    monkeypatch.setenv("OPENAI_API_KEY", "of the host")
    assert pytester.runpytest("--reruns", "1").parseoutcomes() == {"passed": 2, "rerun": 1}


def test_an_unmodified_agent_is_answered_by_the_script(agent: pytest.Pytester) -> None:
    agent.makepyfile(
        """
        from little_agent import answer
        from passhat.graders import trace
        from passhat.scripting import call, say

        def test_it(faux):
            faux.script(call("refund", {"order": "A1"}), say("Done."))
            assert answer("refund A1") == "Done."
            assert faux.call_count == 2
            assert faux.pending == 0
            assert faux.requests[0].messages[-1].text == "refund A1"
            trace.called("refund").verify(faux)

        def test_each_test_has_its_own_script(faux):
            faux.script(say("Other."))
            assert answer("hello") == "Other."
            assert faux.call_count == 1
        """
    )
    agent.runpytest().assert_outcomes(passed=2)


def test_a_script_that_is_not_used_up_fails_the_test(agent: pytest.Pytester) -> None:
    agent.makepyfile(
        """
        from little_agent import answer
        from passhat.scripting import say

        def test_it(faux):
            faux.script(say("Done."), say("More."))
            answer("refund A1")
        """
    )
    result = agent.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the script was not used up; nothing asked for: say('More.')"])


def test_a_script_that_is_used_up_too_early_is_said(agent: pytest.Pytester) -> None:
    agent.makepyfile("from little_agent import answer\n\ndef test_it(faux):\n    answer('hello')\n")
    result = agent.runpytest()
    result.assert_outcomes(failed=1)
    assert "script" in result.stdout.str()


def test_a_failing_test_shows_the_transcript_with_the_request_as_sent(agent: pytest.Pytester) -> None:
    agent.makepyfile(
        """
        from little_agent import answer
        from passhat.scripting import call, say

        def test_it(faux):
            faux.script(call("refund", {"order": "A1"}), say("Done."), say("unused"))
            assert answer("refund A1") == "No."
        """
    )
    result = agent.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "faux = <faux: 2 requests, 1 reply left>",
            "*- transcript -*",
            "*user",
            "*refund A1",
            "*model, turn 1*scripted*",
            "*tools: refund",
            '*→ refund {"order": "A1"}',
            "*result of refund",
            "*refunded",
            "*model, turn 2*",
            "*Done.",
        ]
    )


def test_what_a_terminal_would_obey_is_shown_and_not_obeyed(agent: pytest.Pytester) -> None:
    agent.makepyfile(
        r"""
        from little_agent import answer
        from passhat.scripting import say

        def test_it(faux):
            faux.script(say("\x1b[2Jgone \u202e"))
            answer("well?")
            raise ValueError
        """
    )
    shown = agent.runpytest("--tb=no", "--show-capture=all").stdout.str()
    assert "\x1b[2J" not in shown
    shown = agent.runpytest("--tb=short").stdout.str().partition("- transcript -")[2]
    assert r"\x1b[2Jgone \u202e" in shown


def test_a_client_made_at_import_reaches_the_running_test_when_the_session_says_so(agent: pytest.Pytester) -> None:
    agent.makeini("[pytest]\npasshat_env = true\nasyncio_default_fixture_loop_scope = function")
    agent.makepyfile(
        early="from openai import OpenAI\nclient = OpenAI(max_retries=0)\n",
        test_early="""
        from early import client
        from passhat.scripting import say

        def ask():
            sent = [{"role": "user", "content": "hi"}]
            return client.chat.completions.create(model="m", messages=sent).choices[0].message.content

        def test_one(faux):
            faux.script(say("one"))
            assert ask() == "one"

        def test_two(faux):
            faux.script(say("two"))
            assert ask() == "two"
        """,
    )
    agent.runpytest_subprocess().assert_outcomes(passed=2)


def test_the_environment_is_put_back_after_the_test(agent: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-host's-own-key")
    agent.makepyfile(
        """
        import os

        def test_inside(faux):
            assert os.environ["OPENAI_API_KEY"] != "the-host's-own-key"
            assert "the-host's-own-key" not in str(faux.env)

        def test_after():
            assert os.environ["OPENAI_API_KEY"] == "the-host's-own-key"
        """
    )
    agent.runpytest().assert_outcomes(passed=2)


def test_trials_on_a_simulated_model_are_recorded_with_their_transcripts(agent: pytest.Pytester) -> None:
    agent.makepyfile(
        """
        import pytest
        from little_agent import answer
        from passhat.records import RunReader, find_run
        from passhat.scripting import say

        def policy(request, rng):
            return say("yes" if rng.random() < 0.7 else "no")

        @pytest.mark.trials(12, gate=None, simulation=policy)
        def test_it(trial):
            assert answer("well?") == "yes"
        """
    )
    result = agent.runpytest()
    result.assert_outcomes(passed=1)
    from passhat.records import RunReader, find_run

    reader = RunReader(find_run("last", agent.path / ".passhat"))
    assert reader.manifest.model_source == "simulated"
    records = list(reader.trials())
    assert {record.passed for record in records} == {True, False}
    transcript = reader.transcript(records[0])
    assert transcript is not None
    assert transcript.model_calls[0].messages[0].text == "well?"


def test_a_gate_on_a_script_must_say_that_it_is_meant(agent: pytest.Pytester) -> None:
    agent.makepyfile(
        """
        import pytest

        @pytest.mark.trials(20, gate="pass@1 >= 0.8")
        def test_it(faux):
            pass
        """
    )
    result = agent.runpytest()
    assert "simulated=True" in result.stdout.str() + result.stderr.str()
    assert result.ret != 0
