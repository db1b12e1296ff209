"""What a sceptic tried: threads left behind, odd levels, missing keys, prints, unusual places, Ctrl-C."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import click
import pytest

from passhat.cli import _main
from passhat.running import Interrupted

Call = Callable[..., CompletedProcess[str]]

HEAD = "from passhat import Suite, Task, Limits\n"


def write(folder: Path, body: str) -> None:
    (folder / "evals" / "eval_words.py").write_text(HEAD + body)


@pytest.mark.parametrize("level", ["nan", "0.9999999999999999", "1", "0.2"])
def test_a_level_that_is_none_is_wrong_use_before_anything_runs(here: Call, folder: Path, level: str) -> None:
    done = here("run", "evals", "--level", level)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (folder / ".passhat").exists()


def test_a_gate_of_the_command_line_that_could_never_be_met_is_refused_too(here: Call, folder: Path) -> None:
    done = here("run", "evals", "--gate", "pass@1 >= 0.999")
    assert done.returncode == 2
    assert "can't be met" in done.stderr
    assert not (folder / ".passhat").exists()


def test_what_an_agent_prints_never_mixes_with_the_report(passhat: Call, folder: Path) -> None:
    write(
        folder,
        "print('at import')\n"
        "def agent(trial):\n    print('agent speaks')\n    return 1\n"
        "suite = Suite('s', tasks=[Task('a')], agent=agent, script=['x'], hand_picked=True)\n",
    )
    for isolation in ("inline", "process"):
        done = passhat("run", "evals", "--json", "-q", "--isolation", isolation)
        assert json.loads(done.stdout)["tasks"] == 1, done.stderr


def test_a_thread_that_an_agent_left_behind_does_not_keep_the_process(passhat: Call, folder: Path) -> None:
    write(
        folder,
        "import threading\n"
        "def agent(trial):\n    threading.Thread(target=threading.Event().wait).start()\n    return 1\n"
        "suite = Suite('s', tasks=[Task('a')], agent=agent, script=['x'], hand_picked=True)\n",
    )
    done = passhat("run", "evals", "-q", "--isolation", "inline")
    assert done.returncode == 0, done.stderr
    assert "passhat show" in done.stdout


def test_an_agent_without_a_provider_is_missing_and_no_failure(passhat: Call, folder: Path) -> None:
    path = folder / "evals" / "eval_words.py"
    path.write_text(path.read_text().replace("simulation=policy, ", ""))
    done = passhat("run", "evals", "-q", "--retries", "0", "--json", "--isolation", "inline")
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["missing"] == {"environment_error": 12}
    assert "needs a key" in report["errors"][0]["example"]["reason"]


def test_hints_name_runs_that_are_kept_elsewhere_by_their_path(passhat: Call, here: Call, folder: Path) -> None:
    done = passhat("run", "evals", "-q", "--root", "elsewhere", "--isolation", "inline")
    assert "passhat show elsewhere" in done.stdout.replace("\n      ", " ")
    assert here("show", next(str(p) for p in (folder / "elsewhere" / "runs").iterdir())).returncode == 0


def test_a_run_by_its_path_is_called_by_it_in_hints(passhat: Call, here: Call, folder: Path) -> None:
    passhat("run", "evals", "-q", "--root", "elsewhere", "--isolation", "inline")
    (path,) = (folder / "elsewhere" / "runs").iterdir()
    assert f"passhat show elsewhere/runs/{path.name}" in " ".join(here("report", str(path)).stdout.split())


def test_what_follows_an_agent_that_goes_elsewhere_is_written_where_it_was_asked_for(
    passhat: Call, folder: Path
) -> None:
    (folder / "other").mkdir()
    write(
        folder,
        "import os\n"
        f"def agent(trial):\n    os.chdir({str(folder / 'other')!r})\n    return 1\n"
        "first = Suite('first', tasks=[Task('a')], agent=agent, script=['x'], hand_picked=True)\n"
        "second = Suite('second', tasks=[Task('a')], agent=agent, script=['x'], hand_picked=True)\n",
    )
    done = passhat("run", "evals", "--isolation", "inline", "--junit", "out.xml")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("recorded in .passhat/runs/") == 2
    assert len(list((folder / ".passhat" / "runs").iterdir())) == 2
    assert (folder / "out.xml").exists()
    assert list((folder / "other").iterdir()) == []


@pytest.mark.parametrize(
    ("isolation", "root"), [("inline", ".passhat"), ("process", ".passhat"), ("process", "kept elsewhere")]
)
def test_ctrl_c_says_how_to_go_on_and_that_goes_on(folder: Path, isolation: str, root: str) -> None:
    write(
        folder,
        "import threading\nfrom pathlib import Path\nhere = Path(__file__).parent\n"
        "def agent(trial):\n"
        "    if trial.task_id == 'b' and not (here / 'again').exists():\n"
        "        (here / 'tell').write_text('waiting')\n"
        "        threading.Event().wait()\n"
        "    return 1\n"
        "suite = Suite('s', tasks=[Task('a'), Task('b'), Task('c')], agent=agent, script=['x'], hand_picked=True,\n"
        "              order='task')\n",
    )
    os.mkfifo(folder / "evals" / "tell")
    command = [sys.executable, "-m", "passhat", "run", "evals", "--isolation", isolation, "--root", root]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert (folder / "evals" / "tell").read_text() == "waiting"
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    (run,) = (folder / root / "runs").iterdir()
    name = run.name if root == ".passhat" else shlex.quote(str(run.relative_to(folder)))
    assert said.splitlines()[-1] == f"passhat: interrupted; continue with: passhat resume {name}"
    assert (process.returncode, out) == (130, "")
    manifest = json.loads((run / "run.json").read_text())
    assert (manifest["state"], manifest["stop_reason"]) == ("interrupted", "interrupted by the user")
    (folder / "evals" / "again").touch()
    told = said.splitlines()[-1].partition("continue with: ")[2]
    resume = f"{shlex.quote(sys.executable)} -m {told} --json -q"
    done = subprocess.run(resume, shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [(row["task"], row["n"]) for row in json.loads(done.stdout)["by_task"]] == [("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("stop", [Interrupted, KeyboardInterrupt])
def test_a_ctrl_c_on_the_way_out_of_an_interrupted_command_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stop: type[BaseException]
) -> None:
    def press(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def command(**_: Any) -> None:
        try:
            raise interrupted
        finally:
            if stop is KeyboardInterrupt:  # pressed while the run was being put away
                press()
                raise AssertionError("not reached")

    interrupted = Interrupted.__new__(Interrupted)
    KeyboardInterrupt.__init__(interrupted, "interrupted; continue with: passhat resume X")
    said = click.echo

    def slowly(*words: Any, **how: Any) -> None:
        press()
        said(*words, **how)

    monkeypatch.setattr(_main.commands, "main", command)
    monkeypatch.setattr(click, "echo", slowly)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as left:
            _main.main(["runs"])
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # what is Python's own is undone when it ends
    finally:
        signal.signal(signal.SIGINT, before)
    assert left.value.code == 130
    assert capsys.readouterr().err == "passhat: interrupted; continue with: passhat resume X\n"


def test_a_full_standard_output_is_no_fault_of_ours(passhat: Call, folder: Path) -> None:
    passhat("run", "evals", "-q", "--isolation", "inline")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "passhat", "report"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert "can't be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stream_that_cannot_show_a_character_gets_its_escape(passhat: Call) -> None:
    passhat("run", "evals", "-q", "--isolation", "inline")
    done = passhat("report", "--json", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
