"""Judges of a marker that ask a model: by --judge-model, with a key of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from passhat.gateway import Gateway, Script, Session
from passhat.records import RunReader, find_run
from passhat.scripting import structured

TESTS = """
import pytest
from passhat.graders import judge

polite = judge.rubric("polite", "The answer is polite.", samples=3)

@pytest.mark.trials(2, simulated=True, judges=[polite], threshold=0.5)
def test_answer(trial):
    trial.submit("No, sorry.", input="Refund me.")
"""


def verdict(request: Any) -> Any:
    assert "No, sorry." in request.messages[-1].text
    return structured({"evidence": ["sorry"], "reason": "it says sorry", "verdict": "pass"})


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A gateway that stands for the provider that the host names."""
    with Gateway() as gateway:
        session = gateway.open(Script(verdict), key="sk-judge-key-0123456789")
        monkeypatch.setenv("OPENAI_BASE_URL", session.access.openai["base_url"])
        monkeypatch.setenv("OPENAI_API_KEY", session.key)
        monkeypatch.delenv("PASSHAT_JUDGE_MODEL", raising=False)
        yield session


def test_a_judge_asks_the_model_that_the_command_line_names(pytester: pytest.Pytester, provider: Session) -> None:
    pytester.makepyfile(test_judged=TESTS)
    pytester.runpytest("-p", "no:xdist", "--judge-model", "openai/judge-1").assert_outcomes(passed=1)
    assert provider.calls == 6
    run = RunReader(find_run("last", pytester.path / ".passhat"))
    assert [record.judge_usage.model_calls for record in run.trials()] == [3, 3]
    grades = [record.grades[-1] for record in run.trials()]
    assert [grade.passed for grade in grades] == [True, True]
    assert [(g.judged and g.judged.usage.model_calls) for g in grades] == [3, 3]


@pytest.mark.parametrize("by", ["nobody", "a host that is asked to spend nothing"])
def test_a_judge_without_a_model_says_how_to_name_one(
    pytester: pytest.Pytester, provider: Session, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by != "nobody":
        monkeypatch.setenv("PASSHAT_JUDGE_MODEL", "openai/judge-1")
    pytester.makepyfile(test_judged=TESTS)
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'polite' is a judge, and no model is named to judge: give --judge-model*"])
    assert provider.calls == 0
