"""A failed verdict shows what the model was asked in its first failed trial, and the command that shows all of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from passhat.cli._show import command as show
from passhat.facts import PasshatError

TESTS = """
import pytest
from openai import OpenAI
from passhat.scripting import say

def ask(text, **more):
    sent = [{"role": "user", "content": text}]
    with OpenAI() as client:
        return client.chat.completions.create(model="m", messages=sent, **more).choices[0].message.content

@pytest.mark.trials(4, simulation=lambda request, rng: say("no"))
@pytest.mark.parametrize("word", ["x-y"])
def test_fails(trial, word):
    answer = ask(f"question {trial.number} \\x1b[31m" + "long " * 2000, temperature=0.25)
    assert trial.number in (0, 3) or answer == "yes"
"""

ARMS = """
import pytest

@pytest.mark.trials(2, simulated=True, arms="agent")
@pytest.mark.parametrize("size", ["small"])
@pytest.mark.parametrize("agent", ["old", "new-er"])
def test_adds(agent, size):
    assert agent == "old"
"""


def shown(command: str) -> str:
    """What a command line of the verdict prints."""
    result = CliRunner().invoke(show, shlex.split(command)[2:], catch_exceptions=False)
    return result.output


@pytest.mark.parametrize("options", [("-p", "no:xdist"), ("-n", "2")])
def test_the_transcript_of_the_first_failed_trial_and_the_command_for_all_of_it_are_shown(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest(*options)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    below = text.partition("- transcript of trial 2 -")[2].partition("\n----")[0]
    assert "question 1" in below and "parameters: temperature=0.25" in below  # noqa: PT018
    assert len(below) < 2_500
    assert "\x1b[31m" not in below
    assert text.count("- transcript of trial ") == 1
    (command,) = re.findall(r"^all of trial 2: (passhat show .*)$", text, re.MULTILINE)
    assert command.endswith("'test_it.py::test_fails[x-y-trial2of4]'")
    assert "question 1" in shown(command)
    assert "in the record" not in text
    result.stdout.fnmatch_lines(["--- trial 2: failed ---", "test_it.py:* is where the test begins"])


def test_the_command_finds_the_trial_of_an_arm(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=ARMS)
    result = pytester.runpytest("-p", "no:xdist")
    (command,) = re.findall(r"^all of trial 1: (passhat show .*)$", result.stdout.str(), re.MULTILINE)
    assert "new-er" in command
    assert "new-er" in shown(command)
    assert "transcript of trial" not in result.stdout.str()  # no model was used


def test_reports_own_name_of_a_trial_is_known_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    pytester.runpytest("-p", "no:xdist")
    assert "question 3" in shown("passhat show last 'test_it.py::test_fails[x-y]#3'")
    with pytest.raises(PasshatError, match=r"task 'test_it.py::test_fails\[x-y\]' has no trial 8"):
        shown("passhat show last 'test_it.py::test_fails[x-y-trial9of9]'")
    with pytest.raises(PasshatError, match="has no task"):
        shown("passhat show last 'test_it.py::test_other[trial1of2]'")


def test_a_verdict_whose_record_cannot_be_written_names_no_command(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    Path(".passhat").write_text("in the way", encoding="utf-8")
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*passhat show*")
    result.stdout.fnmatch_lines(["*- transcript of trial 2 -*", "*trials weren't recorded*"])
