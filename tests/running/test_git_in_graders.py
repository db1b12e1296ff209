"""A grader that calls git in what an agent left doesn't start the agent's programs by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from passhat.isolation import hookless_git
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

SUITE = """
    import os, subprocess
    from passhat import Suite, Task

    def agent(trial):
        def git(*words):
            subprocess.run(["git", *words], cwd=trial.workspace, check=True, capture_output=True)
        git("init")
        (trial.workspace / "f").write_text("1")
        git("add", "f")
        program = trial.workspace / ".git" / "hooks" / "post-index-change"
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\\n: > ran\\n")
        program.chmod(0o700)
        git("config", "core.fsmonitor", str(".git/hooks/post-index-change"))
        git("config", "protocol.ext.allow", "always")
        os.utime(trial.workspace / "f", ns=(1, 1))

    def grader(trial):
        for words in (["status"], ["ls-remote", "ext::sh -c :%20>%20ran"]):
            subprocess.run(["git", *words], cwd=trial.workspace, capture_output=True)
        mine = subprocess.run(["git", "config", "a.b"], cwd=trial.workspace, capture_output=True, text=True).stdout
        return not (trial.workspace / "ran").exists() and mine.strip() == {mine!r}

    suite = Suite("git", tasks=[Task("a")], agent=agent, graders=[grader], pass_env=["GIT_CONFIG_*"])
"""


@pytest.mark.parametrize("mine", ["", "c"], ids=["no settings", "the user's own settings too"])
def test_git_in_a_grader_runs_nothing_of_the_agent_s(
    run_file: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, mine: str
) -> None:
    if mine:
        for name, value in (("COUNT", "1"), ("KEY_0", "a.b"), ("VALUE_0", mine)):
            monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    run = run_file(SUITE.format(mine=mine), isolation="process")
    assert [record.passed for record in run.reader.trials()] == [True]


@pytest.mark.parametrize("count", ["x", "-1", "99999999", "²"])
def test_a_count_that_git_would_refuse_stays_no_reason_to_go_unguarded(count: str) -> None:
    environ = hookless_git({"GIT_CONFIG_COUNT": count, "PATH": "/usr/bin:/bin"})
    done = subprocess.run(["git", "config", "core.hooksPath"], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == "/dev/null\n"
