"""A command as an agent: what it gets, what counts as its output, how it fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.agents import AdapterError, AgentUnavailable, Command, CommandFailed, Finished
from passhat.facts import AgentEvent, OutputText
from passhat.trial import TrialCancelled

MakeBare = Callable[..., Any]


def sh(script: str, **options: Any) -> Command:
    return Command(["sh", "-c", script], **options)


def test_it_gets_the_input_on_stdin_and_gives_its_stdout(bare: MakeBare) -> None:
    assert sh("tr a-z A-Z")(bare("two\nlines").trial) == "TWO\nLINES"


def test_an_input_that_is_not_text_comes_as_json(bare: MakeBare) -> None:
    assert sh("cat", output="json")(bare({"b": [1, None], "a": "é"}).trial) == {"a": "é", "b": [1, None]}


@pytest.mark.parametrize(
    ("stdin", "got"),
    [(None, ""), ("fixed", "fixed"), (lambda trial: [trial.task_id], '["t"]')],
)
def test_other_standard_inputs(bare: MakeBare, stdin: Any, got: str) -> None:
    assert sh("cat", stdin=stdin)(bare().trial) == got


def test_places_in_arguments_are_filled_once_and_other_braces_stay(bare: MakeBare, tmp_path: Path) -> None:
    command = Command(["printf", "%s|", "{here}", "{input}", "{workspace}", "{}", "{ other }"], stdin=None)
    got = command(bare("{here}").trial)
    assert got.split("|") == [str(Path(__file__).parent), "{here}", str(tmp_path / "workspace"), "{}", "{ other }", ""]


def test_here_can_be_given(bare: MakeBare, tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text("echo from $(pwd)")
    command = Command(["sh", "{here}/agent.sh"], here=tmp_path)
    assert command(bare().trial) == f"from {tmp_path / 'workspace'}"


def test_it_can_run_elsewhere(bare: MakeBare, tmp_path: Path) -> None:
    (tmp_path / "workspace" / "sub").mkdir(parents=True)
    assert sh("pwd", cwd="sub")(bare().trial) == str(tmp_path / "workspace" / "sub")
    assert sh("pwd", cwd="{here}", here=tmp_path)(bare().trial) == str(tmp_path)
    with pytest.raises(AdapterError, match="leads out"):
        sh("pwd", cwd="../..")(bare().trial)
    with pytest.raises(AgentUnavailable, match="nowhere is no directory"):
        sh("pwd", cwd="nowhere")(bare().trial)


def test_it_gets_the_trials_variables_and_none_of_the_hosts_secrets(
    bare: MakeBare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "host-secret")
    monkeypatch.setenv("MY_TOKEN", "host-token")
    monkeypatch.setenv("MY_FLAG", "on")
    trial = bare(env={"OPENAI_BASE_URL": "http://gateway/v1", "HOME": "/home/of/trial"}).trial
    got = sh("env", pass_env=["MY_FLAG"], env={"MODE": "test"})(trial)
    found = dict(line.split("=", 1) for line in got.splitlines())
    assert found["OPENAI_BASE_URL"] == "http://gateway/v1"
    assert (found["HOME"], found["MODE"], found["MY_FLAG"]) == ("/home/of/trial", "test", "on")
    assert found["PATH"]
    assert "host-secret" not in got
    assert "host-token" not in got


@pytest.mark.parametrize(
    ("script", "output", "expected"),
    [
        ("printf 'a\\nb\\n'", "text", "a\nb"),
        ("printf 'a\\n\\nb\\n'", "lines", ["a", "", "b"]),
        ("printf 'log\\n answer \\n\\n'", "last line", "answer"),
        ("printf '{\"a\": 1.5}'", "json", {"a": 1.5}),
        ("exit 7", "exit code", 7),
        ("echo report > out.txt; echo noise", "out.txt", "report\n"),
        ("echo '[1]' > out.json", "out.json", [1]),
        ("mkdir d; printf '1\\n\\n{}\\n' > d/out.jsonl", "d/out.jsonl", [1, {}]),
        ("echo plain > answer", Path("answer"), "plain\n"),
        ("echo a; echo b >&2; exit 0", lambda done: [done.exit_code, done.stdout, done.stderr], [0, "a\n", "b\n"]),
    ],
)
def test_where_the_output_comes_from(bare: MakeBare, script: str, output: Any, expected: Any) -> None:
    assert sh(script, output=output)(bare().trial) == expected


@pytest.mark.parametrize(
    ("script", "output", "message"),
    [
        ("echo oops; echo because >&2", "json", r"stdout isn't JSON .*: 'oops'; stderr ends with 'because'"),
        ("true", "json", "no output: stdout is empty, where JSON was expected"),
        ("echo", "last line", "it printed no line"),
        ("true", "out.txt", "it wrote no file 'out.txt'"),
        ("echo '{' > out.json", "out.json", "out.json isn't JSON"),
        ("ln -s /etc/passwd out.txt", "out.txt", "leads out of"),
        ("printf '\\377' > out.txt", "out.txt", "can't be read as text"),
    ],
)
def test_an_output_that_is_not_as_promised_is_a_failure_that_says_so(
    bare: MakeBare, script: str, output: str, message: str
) -> None:
    with pytest.raises(CommandFailed, match=message):
        sh(script, output=output)(bare().trial)


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        ("echo why >&2; exit 3", {}, "sh ended with exit code 3; stderr ends with 'why'"),
        ("echo out; exit 3", {"fail_on": [3]}, "exit code 3; stdout ends with 'out'"),
        ("exit 1", {}, "exit code 1 and printed nothing"),
        ("kill -9 $$", {"fail_on": []}, "ended by signal 9"),
        ("echo FATAL", {"fail_on": lambda done: "FATAL" in done.stdout}, "exit code 0; stdout ends with 'FATAL'"),
        ("kill -9 $$", {"output": "exit code"}, "signal 9"),
    ],
)
def test_declared_endings_are_failures(bare: MakeBare, script: str, options: Any, message: str) -> None:
    with pytest.raises(CommandFailed, match=message):
        sh(script, **options)(bare().trial)


def test_exit_codes_that_are_not_declared_are_fine(bare: MakeBare) -> None:
    assert sh("echo fine; exit 3", fail_on=[4])(bare().trial) == "fine"


def test_a_program_that_is_not_there_is_not_the_agents_failure(bare: MakeBare) -> None:
    with pytest.raises(AgentUnavailable, match=r"no such program \(PATH="):
        Command(["no-such-program-here"])(bare().trial)
    with pytest.raises(AgentUnavailable, match="can't start '/'"):
        Command(["/"])(bare().trial)


def test_both_streams_are_in_the_transcript_also_of_a_failure(bare: MakeBare) -> None:
    made = bare()
    with pytest.raises(CommandFailed):
        sh("echo out; echo err >&2; exit 1")(made.trial)
    texts = {event.stream: event.text for event in made.transcript.events if isinstance(event, OutputText)}
    assert texts == {"stdout": "out\n", "stderr": "err\n"}


def test_long_output_is_whole_for_the_agent_and_bounded_in_the_transcript(bare: MakeBare) -> None:
    made = bare()
    script = "import sys; sys.stdout.write('a' * 400_000 + 'é' * 300_000)"
    assert len(Command([sys.executable, "-c", script])(made.trial)) == 700_000
    events = [event for event in made.transcript.events if isinstance(event, OutputText)]
    assert "".join(event.text for event in events) == "a" * 50_000 + "é" * 50_000
    assert [event.truncated for event in events][-1] is True


def test_too_much_output_is_a_failure(bare: MakeBare) -> None:
    with pytest.raises(CommandFailed, match="printed more than 10 bytes"):
        sh("echo 0123456789", most_bytes=10)(bare().trial)


def test_a_large_input_that_nobody_reads_does_not_hold_the_trial(bare: MakeBare) -> None:
    assert sh("echo done")(bare("x" * 1_000_000).trial) == "done"


def test_files_are_collected_with_their_text(bare: MakeBare) -> None:
    made = bare()
    sh("mkdir d; printf hi > d/a.txt; printf '\\377' > b.bin; ln -s /etc/passwd c.txt", collect=["**/*.txt", "*.bin"])(
        made.trial
    )
    files = {event.name: event for event in made.transcript.events if isinstance(event, AgentEvent)}
    assert sorted(files) == ["b.bin", "d/a.txt"]
    assert files["d/a.txt"].author == "file"
    assert files["d/a.txt"].value["text"] == "hi"
    assert files["b.bin"].value["bytes"] == 1
    assert "text" not in files["b.bin"].value


def test_files_of_a_failed_command_are_collected_too(bare: MakeBare) -> None:
    made = bare()
    with pytest.raises(CommandFailed):
        sh("echo half > log.txt; exit 1", collect=["*.txt"])(made.trial)
    assert [event.name for event in made.transcript.events] == ["log.txt"]


def test_a_process_left_behind_ends_with_the_command(bare: MakeBare) -> None:
    assert sh("sleep 1000 & echo started")(bare().trial) == "started"


def test_a_cancelled_trial_starts_nothing(bare: MakeBare, tmp_path: Path) -> None:
    trial = bare().trial
    trial.cancel()
    with pytest.raises(TrialCancelled):
        sh("touch ran; sleep 1000")(trial)


def test_without_a_runner_the_deadline_itself_ends_it(bare: MakeBare) -> None:
    with pytest.raises(CommandFailed, match="deadline has passed"):
        sh("sleep 1000")(bare(deadline=0.01).trial)


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        ("ls -l", {}, "must be a list of arguments"),
        ([], {}, "the program first"),
        (["a"], {"output": "jsn"}, "did you mean 'json'"),
        (["a"], {"output": "stdout"}, "one of 'text', 'json'"),
        (["a"], {"fail_on": 1}, "must be a list of exit codes"),
        (["a"], {"fail_on": [-9]}, "from 0 to 255"),
        (["a"], {"env": {"A": 1}}, "write numbers as text"),
        (["a"], {"collect": "*.txt"}, r"write collect=\['\*.txt'\]"),
        (["a"], {"collect": ["../x"]}, "without '..'"),
        (["a"], {"pass_env": "HOME"}, "must be a list"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused_when_it_is_made(args: Any, options: Any, message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        Command(args, **options)


def test_an_input_that_no_command_line_can_carry_is_named_and_not_the_program(bare: MakeBare) -> None:
    with pytest.raises(AgentUnavailable, match="the input of task 't' holds a NUL character") as caught:
        Command(["echo", "{input}"])(bare("a\0b").trial)
    assert "stdin" in str(caught.value)
    assert Command(["tr", "\\000", "x"])(bare("a\0b").trial) == "axb"


def test_what_finished_can_be_looked_at(bare: MakeBare, tmp_path: Path) -> None:
    seen: list[Finished] = []
    sh("echo '{}'", output=lambda done: seen.append(done))(bare().trial)
    assert json.loads(seen[0].stdout) == {}
    assert seen[0].folder == tmp_path / "workspace"
