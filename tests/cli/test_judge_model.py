"""A judge on the command line: named by an option, out of order, and asked again by resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from passhat.gateway import Gateway, Script, Session
from passhat.scripting import fail, structured

SUITE = """
from pathlib import Path
from passhat import Suite, Task
from passhat.graders import judge

def agent(trial):
    with (Path(__file__).parent / "ran.txt").open("a") as file:
        file.write(f"{trial.task_id}#{trial.number}\\n")
    return "Sorry, no."

suite = Suite(
    "kind", tasks=[Task("a"), Task("b")], agent=agent, trials=2,
    graders=[lambda trial: trial.number == 0, judge.rubric("polite", "The answer is polite.")],
)
"""
Call = Callable[..., CompletedProcess[str]]


INLINE = ("evals/eval_kind.py", "--isolation", "inline")


class Judge:
    """A provider of a judge that can be out of order."""

    def __init__(self, gateway: Gateway) -> None:
        self.broken = True
        self.session: Session = gateway.open(Script(self.answer), key="sk-judge-key-0123456789")

    def answer(self, request: Any) -> Any:
        if self.broken:
            return fail(503, "out of order", retry_after=0.001)
        return structured({"evidence": ["Sorry"], "reason": "it is sorry", "verdict": "pass"})

    @property
    def host(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": self.session.access.openai["base_url"], "OPENAI_API_KEY": self.session.key}


@pytest.fixture
def provider() -> Iterator[Judge]:
    with Gateway() as gateway:
        yield Judge(gateway)


def test_a_judge_is_named_and_what_its_outage_left_open_is_judged_by_resume(
    folder: Path, passhat: Call, here: Call, provider: Judge
) -> None:
    (folder / "evals" / "eval_kind.py").write_text(SUITE)
    refused = here("run", *INLINE)
    assert refused.returncode == 2
    assert "'polite' is a judge, and no model is named to judge: give --judge-model" in refused.stderr
    assert not (folder / "evals" / "ran.txt").exists()

    ran = passhat("run", *INLINE, "--judge-model", "openai/judge-1", "--json", **provider.host)
    assert ran.returncode == 3, ran.stderr
    report = json.loads(ran.stdout)
    assert report["trials"] == {"planned": 4, "counted": 2, "missing": 2, "policy": "bound"}
    assert report["judging"]["models"] == ["openai/judge-1"]
    assert report["judging"]["judges"][0]["errors"] == 4
    assert len((folder / "evals" / "ran.txt").read_text().split()) == 4

    provider.broken = False
    resumed = here("resume", "last", "--json", **provider.host)
    report = json.loads(resumed.stdout)
    assert (report["trials"]["counted"], report["pass_at"][0]["estimate"]) == (4, 0.5), resumed.stderr
    assert report["judging"]["judges"][0]["verdicts"] == {"pass": 2}
    assert len((folder / "evals" / "ran.txt").read_text().split()) == 4
    kept = [path for path in folder.rglob("*") if path.is_file() and provider.session.key.encode() in path.read_bytes()]
    assert kept == []
