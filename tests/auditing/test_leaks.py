"""What one trial leaves to the next is found from outside: by order, planted words, changed files, git histories."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from passhat.auditing import AuditError, LeakAudit, LeakCheck, audit_leaks
from passhat.auditing._leak_traces import repositories
from passhat.auditing._markers import marked
from passhat.facts import Task
from passhat.reporting import render_leaks
from passhat.suite import discover

HEAD = """
import json, os, urllib.error, urllib.request
from pathlib import Path
from passhat import Suite, Task

def ask(trial):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": trial.input}]}).encode()
    request = urllib.request.Request(
        trial.env["OPENAI_BASE_URL"] + "/chat/completions", body,
        {"Authorization": "Bearer " + trial.env["OPENAI_API_KEY"], "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        error.close()
        return "refused"

seen = []
tasks = [Task(f"t{i}", input=f"question {i}") for i in range(3)]
"""
Audit = Callable[..., LeakAudit]


@pytest.fixture
def leaks(tmp_path: Path) -> Audit:
    """Write a suite with this body and look for its leaks."""

    def check(body: str, isolation: Literal["inline", "process"] = "inline", **options: Any) -> LeakAudit:
        file = tmp_path / "eval_leaky.py"
        file.write_text(HEAD + body)
        (found,) = discover(file)
        return audit_leaks(found.suite, isolation=isolation, **options)

    return check


def verdict(audit: LeakAudit, name: str) -> str:
    """What one check said."""
    return check_of(audit, name).verdict


def check_of(audit: LeakAudit, name: str) -> LeakCheck:
    """One check."""
    return next(each for each in audit.checks if each.name == name)


MEMORY = """
def agent(trial):
    seen.append(trial.input)
    return list(seen)

suite = Suite("memory", tasks=tasks, agent=agent, script=[], graders=[lambda trial: True])
"""


def test_a_word_of_one_task_in_another_tasks_output_is_a_leak(leaks: Audit) -> None:
    """Inline, a list at the top of the module outlives the trial."""
    found = leaks(MEMORY)
    assert verdict(found, "marker") == "found"
    assert "a word planted in task 't0' turned up in the output, in trial 0 of task 't1'" in (
        check_of(found, "marker").message
    )
    assert ("t1", 0) in check_of(found, "marker").trials
    assert ("t0", 0) not in check_of(found, "marker").trials
    assert found.exit_code == 1


def test_processes_of_their_own_keep_the_same_agent_from_leaking(leaks: Audit) -> None:
    """And nothing else is found there either."""
    found = leaks(MEMORY, "process")
    verdicts = {each.name: each.verdict for each in found.checks}
    assert verdicts == {
        "order": "not found",
        "marker": "not found",
        "files": "not found",
        "transcripts": "not testable",
        "git": "not found",
    }
    assert (found.exit_code, found.plays, found.isolation) == (0, 4 * 3 * 2, "process")


def test_a_file_beside_the_suite_is_seen_and_so_is_what_it_does_to_the_next_trial(leaks: Audit) -> None:
    """Process isolation doesn't stop an agent from writing where its user may."""
    found = leaks(
        """
def agent(trial):
    note = Path(__file__).with_name("note.txt")
    before = note.read_text() if note.exists() else "t2"
    note.write_text(trial.task_id)
    return before

suite = Suite("files", tasks=tasks, agent=agent, script=[], graders=[lambda trial: trial.output == "t0"])
""",
        "process",
    )
    assert verdict(found, "files") == "found"
    assert [Path(path).name for path in check_of(found, "files").paths] == ["note.txt"]
    assert verdict(found, "order") == "found"
    assert ("t1", 1) in check_of(found, "order").trials


def test_an_agent_that_differs_by_itself_is_not_accused(leaks: Audit) -> None:
    """Chance in the agent says nothing about order."""
    found = leaks(
        """
def agent(trial):
    return os.urandom(8).hex()

suite = Suite("chance", tasks=tasks, agent=agent, script=[], graders=[lambda trial: trial.output < "8"])
""",
        trials=6,
    )
    assert verdict(found, "order") == "not testable"
    assert "by chance, by a clock" in check_of(found, "order").message


MODEL = """
from passhat.scripting import say

def agent(trial):
    return ask(trial)

suite = Suite("asks", tasks=tasks, agent=agent, simulation=lambda request, rng: say(SAY), graders=[lambda trial: True])
"""


@pytest.mark.parametrize(("say", "expected"), [("str(rng.random())", "not found"), ("'always this'", "not testable")])
def test_trials_that_are_all_alike_are_told_apart_from_those_that_vary(leaks: Audit, say: str, expected: str) -> None:
    """A cache and a model without chance look the same, so neither is claimed."""
    found = leaks(MODEL.replace("SAY", say))
    assert verdict(found, "transcripts") == expected
    assert verdict(found, "order") == "not found"
    assert verdict(found, "marker") == "not found"


def test_what_the_agent_tells_its_model_of_other_tasks_is_a_leak(leaks: Audit) -> None:
    """The transcript is looked through, too."""
    found = leaks(
        MODEL.replace("SAY", "'well'").replace(
            "return ask(trial)",
            "return tell(trial)",
        )
        + """
class Told:
    def __init__(self, trial):
        seen.append(trial.input)
        self.input, self.env = " ".join(seen), trial.env

def tell(trial):
    return ask(Told(trial))
"""
    )
    assert "in what the agent asked its model" in check_of(found, "marker").message


def git(folder: Path, *arguments: str) -> None:
    """Call git as somebody."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *who, "-C", str(folder), *arguments), check=True, capture_output=True)


def branch(folder: Path) -> None:
    """A commit that isn't checked out."""
    git(folder, "checkout", "-qb", "fix")
    git(folder, "commit", "-q", "--allow-empty", "-m", "the answer")
    git(folder, "checkout", "-q", "-")


def borrow(folder: Path) -> None:
    """Objects from elsewhere."""
    (folder / ".git/objects/info/alternates").write_text("/elsewhere")


def worktree(folder: Path) -> None:
    """A .git file inside."""
    (folder / "sub").mkdir()
    (folder / "sub/.git").write_text("gitdir: /elsewhere")


@pytest.mark.parametrize(
    ("more", "trouble"),
    [
        (lambda folder: None, ""),
        (branch, "1 commit beside the one that is checked out"),
        (borrow, "takes objects from one outside"),
        (lambda folder: git(folder, "remote", "add", "origin", "/srv/shared.git"), "a remote on this machine"),
        (lambda folder: git(folder, "remote", "add", "origin", "https://example.org/x.git"), ""),
        (worktree, "leads to a repository outside"),
    ],
)
def test_a_git_history_that_trials_share_or_that_holds_the_answer_is_trouble(
    tmp_path: Path, more: Callable[[Path], None], trouble: str
) -> None:
    """A repository of its own is fine."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "start")
    more(tmp_path)
    found = [each for each in repositories(tmp_path) if each]
    assert len(found) == bool(trouble)
    assert trouble in "".join(found)


def test_a_history_in_a_workspace_is_found(leaks: Audit) -> None:
    """The workspace is looked at as the trial left it."""
    found = leaks(
        """
def prepare(trial):
    (trial.workspace / "work").mkdir()
    (trial.workspace / "work/.git").write_text("gitdir: /elsewhere")

suite = Suite("git", tasks=tasks, agent=lambda trial: 1, prepare=prepare, script=[], graders=[lambda trial: True])
""",
        trials=1,
    )
    assert check_of(found, "git").trials == (("t0", 0), ("t1", 0), ("t2", 0))


def test_what_cannot_be_tested_is_said(leaks: Audit) -> None:
    """One task has no other order, and a number takes no word."""
    found = leaks(
        'suite = Suite("one", tasks=[Task("t", input=5)], agent=lambda trial: 1, script=[], graders=[lambda t: True])'
    )
    assert verdict(found, "order") == verdict(found, "marker") == "not testable"


def test_a_live_model_is_asked_only_when_it_is_named(leaks: Audit) -> None:
    """An agent that asks one is refused before anything reaches a provider."""
    with pytest.raises(AuditError, match="--model PROVIDER/NAME"):
        leaks('suite = Suite("live", tasks=tasks, agent=ask, graders=[lambda trial: True])', trials=1)


def test_an_agent_that_asks_no_model_needs_none(leaks: Audit) -> None:
    """Nobody answers, and nobody is asked."""
    found = leaks('suite = Suite("plain", tasks=tasks, agent=lambda trial: 1, graders=[lambda trial: True])', trials=1)
    assert verdict(found, "order") == "not found"
    assert "compared: verdict and output and transcript" in check_of(found, "order").message


def test_the_command_prints_each_check_and_leaves_with_1_for_a_leak(tmp_path: Path) -> None:
    """The same verdicts as JSON."""
    file = tmp_path / "eval_memory.py"
    file.write_text(HEAD + MEMORY)
    command = ["passhat", "audit", "--leaks", "--isolation", "inline", str(file)]
    run = [sys.executable, "-m", *command]
    shown = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert shown.returncode == 1, shown.stderr
    assert "marker found: a word planted in task 't0'" in " ".join(shown.stdout.split())
    told = json.loads(
        subprocess.run([*run, "--json"], capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    )
    assert {each["name"]: each["verdict"] for each in told["checks"]}["marker"] == "found"
    assert told["exit_code"] == 1
    without = subprocess.run([*run[:4], "--model", "openai/x", str(file)], capture_output=True, text=True, check=False)
    assert without.returncode == 2
    assert "--model goes with --leaks" in without.stderr


@pytest.mark.parametrize("width", [40, 100])
def test_hostile_names_stay_on_the_page(width: int) -> None:
    """Names of tasks and files are the suite's."""
    check = LeakCheck(
        "files", "found", "a\x1b[2Jb \u202e" + "long" * 200, paths=tuple(f"/p/\x1b{i}" for i in range(20))
    )
    page = render_leaks(LeakAudit("s\x1b", 1, 1, 4, "inline", "scripted", (check,)), width=width)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "12 more" in page


def test_a_task_without_text_keeps_its_input() -> None:
    """Nothing is made up where there is nothing to plant in."""
    task = Task("t", input={"n": [1, 2, {"deep": "x"}]})
    assert marked([task])[0].input["n"][2]["deep"].startswith("x (ref ")
    assert marked([Task("u", input={"n": 1})])[0].input == {"n": 1}
