"""Cassettes and faults from the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from passhat.gateway import Gateway, Simulate
from passhat.scripting import say

Call = Callable[..., CompletedProcess[str]]

RUN = ("run", "evals", "--isolation", "inline")  # who answers is the same in every isolation


def outcomes(here: Call) -> list[tuple[str, int, object]]:
    rows = json.loads(here("show", "last", "--json").stdout)
    return sorted((row["task"], row["trial"], row["output"]) for row in rows)


def test_what_a_provider_answered_is_recorded_once_and_replayed_without_it(
    passhat: Call, here: Call, folder: Path
) -> None:
    path = folder / "evals" / "eval_words.py"
    path.write_text(path.read_text().replace("simulation=policy, ", ""))
    with Gateway() as provider:
        upstream = provider.open(Simulate(lambda request, rng: say("yes" if rng.random() < 0.5 else "no")))
        host = {"OPENAI_BASE_URL": f"{provider.base_url}/v1", "OPENAI_API_KEY": upstream.key}
        done = passhat(*RUN, "-q", "--cassette", "tape.yaml", "--record", "missing", **host)
        assert done.returncode == 0, done.stderr
        recorded = outcomes(here)
        calls = upstream.calls
        assert calls == 12
        assert upstream.key not in (folder / "tape.yaml").read_text()
        done = passhat(*RUN, "--cassette", "tape.yaml", "-q", **host)
        assert done.returncode == 0, done.stderr
        assert upstream.calls == calls
    assert "Replay of words" in done.stdout
    assert outcomes(here) == recorded


def test_a_request_that_was_not_recorded_is_an_error_and_never_a_live_call(
    passhat: Call, here: Call, folder: Path
) -> None:
    (folder / "tape.yaml").write_text("passhat_cassette: 1\n")
    done = passhat(*RUN, "--cassette", "tape.yaml", "-q", "--task", "always", "--json")
    assert json.loads(done.stdout)["failures"] == {"agent_error": 4}
    shown = here("show", "last", "always", "0").stdout
    assert "cassette" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cassette", "nowhere.yaml"], "there is no such cassette"),
        (["--record", "all"], "needs a cassette"),
        (["--fault", "earthquake"], "earthquake"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_doubles_are_wrong_use(here: Call, arguments: list[str], words: str) -> None:
    done = here("run", "evals", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_faults_strike_and_the_manifest_says_so(passhat: Call) -> None:
    done = passhat(*RUN, "-q", "--task", "always", "--fault", "rate_limit", "--json", "--retries", "0")
    report = json.loads(done.stdout)
    assert report["failures"] == {"provider_error": 4}
    assert "injected fault: rate_limit" in report["run"]["variance"]
