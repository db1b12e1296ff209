"""The command line: what each command prints, where, and the code it ends with."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Call = Callable[..., CompletedProcess[str]]


def report_of(done: CompletedProcess[str]) -> dict[str, object]:
    report: dict[str, object] = json.loads(done.stdout)
    return report


CLIENT = """from openai import OpenAI

client = OpenAI()


def agent(trial):
    sent = [{"role": "user", "content": trial.input}]
    return client.chat.completions.create(model="m", messages=sent).choices[0].message.content


"""


def test_a_run_is_reported_on_standard_output_and_its_progress_on_standard_error(
    passhat: Call, here: Call, folder: Path
) -> None:
    path = folder / "evals" / "eval_words.py"
    before, _, rest = path.read_text().partition("def agent")
    path.write_text(before + CLIENT + rest[rest.index("def policy") :])  # an agent as users write it
    done = passhat("run", "evals", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert "Simulation of words" in done.stdout
    assert "12/12 trials" in done.stderr
    assert "recorded in .passhat/runs/" in done.stderr
    assert "passhat show" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    (run,) = (folder / ".passhat" / "runs").iterdir()
    assert run.name in done.stdout
    listed = here("runs")
    assert run.name in listed.stdout
    shown = here("show", "last", "never", "0")
    assert "said no" in shown.stdout
    assert here("show", "last").stdout.count("never") >= 4
    rows = json.loads(here("show", "last", "never", "0", "--json").stdout)
    assert rows[0]["transcript"]["events"][0]["reply"]["text"] == "no"


def test_the_same_seed_gives_the_same_numbers_at_any_concurrency(here: Call) -> None:
    reports = [
        report_of(here("run", "evals", "--seed", "3", "--json", "-q", "--concurrency", str(workers)))
        for workers in (1, 4)
    ]
    rows = [[(row["task"], row["n"], row["c"]) for row in report["by_task"]] for report in reports]  # type: ignore[attr-defined]
    assert rows[0] == rows[1]
    assert [row[1] for row in rows[0]] == [4, 4, 4]


def test_a_gate_decides_the_exit_code(here: Call) -> None:
    done = here("run", "evals", "--isolation", "inline", "--task", "always", "--trials", "20", "-q", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    met = here("report", "last", "--gate", "pass@1 >= 0.8")
    assert met.returncode == 0
    not_met = here("report", "last", "--gate", "pass@1 <= 0.5")
    assert not_met.returncode == 1
    assert "not met" in not_met.stdout
    assert here("report", "last", "--gate", "pass@1 >= 0.99").returncode == 0
    undecided = here("report", "last", "--gate", "pass@1 >= 0.99", "--undecided", "fail")
    assert undecided.returncode == 4


def test_a_dry_run_says_what_it_would_take_and_runs_nothing(here: Call, folder: Path) -> None:
    done = here("run", "evals", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "12 trials of 3 tasks" in done.stdout
    assert not (folder / ".passhat").exists()
    assert json.loads(here("run", "evals", "--dry-run", "--json").stdout)["words"]["trials"] == 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nowhere"], "there is no such file or directory"),
        (["run", "evals::other"], "other"),
        (["run", "evals", "--task", "oftn"], "often"),
        (["run", "evals", "--tag", "hard"], "hard"),
        (["run", "evals", "--trials", "0"], "--trials"),
        (["run", "evals", "--model", "gpt"], "names no provider"),
        (["report", "nothing"], "no run answers to"),
        (["report"], "there is no run yet"),
        (["report", "missing.csv"], "missing.csv"),
        (["show", "last"], "there is no run yet"),
        (["resume"], "there is no run yet"),
        (["frobnicate"], "frobnicate"),
        (["report", "last", "--level", "2"], "--level"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use_ends_with_2_and_names_the_value(here: Call, arguments: list[str], words: str) -> None:
    done = here(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_suite_that_cannot_be_loaded_is_named_with_its_line(here: Call, folder: Path) -> None:
    (folder / "evals" / "eval_broken.py").write_text("import passhat\n\npasshat.Suite('x', tasks=[], agnt=1)\n")
    done = here("run", "evals/eval_broken.py")
    assert done.returncode == 2
    assert "eval_broken.py:3" in done.stderr


def test_a_gate_that_could_never_be_met_is_refused_before_anything_runs(here: Call, folder: Path) -> None:
    path = folder / "evals" / "eval_words.py"
    path.write_text(path.read_text().replace("trials=4", "trials=4, gates=['pass@1 >= 0.95']"))
    done = here("run", "evals")
    assert done.returncode == 2
    assert "can't be met" in done.stderr
    assert not (folder / ".passhat").exists()


def test_a_table_of_outcomes_gets_the_same_report(here: Call, folder: Path) -> None:
    (folder / "outcomes.csv").write_text(
        "task,trial,reward\n" + "".join(f"t{t},{i},{t % 2}\n" for t in range(6) for i in range(5))
    )
    done = here("report", "outcomes.csv", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tasks"] == 6
    assert report["pass_hat"][0]["estimate"] == 0.5
    assert report["pass_at"][4]["these_tasks"][0] < 0.5 < report["pass_at"][4]["these_tasks"][1]


def test_a_table_with_a_bad_value_names_file_and_line(here: Call, folder: Path) -> None:
    (folder / "outcomes.csv").write_text("task,trial,reward\na,0,1\na,1,maybe\n")
    done = here("report", "outcomes.csv")
    assert done.returncode == 2
    assert "outcomes.csv:3" in done.stderr
    assert "maybe" in done.stderr


def test_markdown_html_and_junit_are_written_where_asked(here: Call, folder: Path) -> None:
    done = here(
        "run", "evals", "-q", "--seed", "1", "--markdown", "--html", "out/report.html", "--junit", "out/report.xml"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("#")
    page = (folder / "out" / "report.html").read_text()
    assert "<html" in page
    run = next((folder / ".passhat" / "runs").iterdir()).name
    assert f"run <code>{run}</code>" in page
    assert f"run `{run}`" in done.stdout
    assert "<testsuite" in (folder / "out" / "report.xml").read_text()
    assert here("report", "--html", "/proc/nowhere/x.html").returncode == 2


def test_an_interrupted_run_is_resumed_and_no_finished_trial_runs_again(
    passhat: Call, here: Call, folder: Path
) -> None:
    path = folder / "evals" / "eval_words.py"
    stop = "if (trial.task_id, trial.number) == ('never', 1) and not os.path.exists('go'): os.kill(os.getpid(), 9)"
    path.write_text("import os\n" + path.read_text().replace("    sent = {", f"    {stop}\n    sent = {{"))
    assert passhat("run", "evals", "--seed", "3", "-q", "--isolation", "inline").returncode == -9
    before = json.loads(here("show", "last", "--json").stdout)
    assert "interrupted" in here("runs").stdout
    (folder / "go").touch()
    done = passhat("resume", "--json", "-q")
    assert done.returncode == 0, done.stderr
    after = json.loads(here("show", "last", "--json").stdout)
    assert after[: len(before)] == before
    assert sorted((row["task"], row["trial"]) for row in after) == sorted(
        (task, trial) for task in ("always", "often", "never") for trial in range(4)
    )


def test_limits_of_the_run_are_given_on_the_command_line_and_raised_to_resume(
    passhat: Call, here: Call, folder: Path
) -> None:
    for option in ("--run-dollars", "--run-seconds", "--run-tokens"):
        for value in ("0", "-1", "nan"):
            assert here("run", "evals", option, value).returncode == 2
    path = folder / "evals" / "eval_words.py"
    path.write_text("import time\n" + path.read_text().replace("    sent = {", "    time.sleep(0.1)\n    sent = {"))
    assert passhat("run", "evals", "--seed", "3", "-q", "--run-seconds", "0.5", "--concurrency", "1").returncode == 3
    (listed,) = json.loads(here("runs", "--json").stdout)
    assert (listed["manifest"]["state"], listed["manifest"]["limits"]["run_seconds"]) == ("stopped", 0.5)
    done = passhat("resume", "last", "-q", "--json", "--run-seconds", "600")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    assert (run["state"], run["limits"]["run_seconds"]) == ("finished", 600)


def test_help_lists_the_commands_and_loads_nothing_heavy(passhat: Call) -> None:
    done = passhat("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    for word in ("run", "resume", "report", "show", "runs"):
        assert f"  {word}" in done.stdout
    for heavy in ("numpy", "scipy", "rich", "httpx2", "starlette", "pydantic"):
        assert f" {heavy}\n" not in done.stderr
