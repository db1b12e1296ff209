"""`passhat gateway`: a scripted model for programs in any language."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

SCRIPT = """
replies:
  - say: first
  - say: second
"""


def ask(base: str, key: str) -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{base}/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            content: str = json.load(answer)["choices"][0]["message"]["content"]
            return content
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.code}"


def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    program: Any = [sys.executable, "-m", "passhat", "gateway", *arguments]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, line.split("OPENAI_BASE_URL=")[1].split()[0]


def test_each_key_has_the_whole_script_and_a_signal_ends_it(tmp_path: Path) -> None:
    script = tmp_path / "replies.yaml"
    script.write_text(SCRIPT)
    process, base = started("--script", str(script))
    try:
        assert [ask(base, "a"), ask(base, "b"), ask(base, "a"), ask(base, "a")] == ["first", "first", "second", "400"]
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "4 calls by 2 keys" in said


def test_a_fault_from_the_command_line_strikes(tmp_path: Path) -> None:
    script = tmp_path / "replies.yaml"
    script.write_text(SCRIPT)
    process, base = started("--script", str(script), "--fault", "rate_limit calls=1")
    try:
        assert [ask(base, "a"), ask(base, "a")] == ["429", "first"]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_script_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    script = tmp_path / "replies.yaml"
    script.write_text("replies: [{shout: hello}]")
    done = subprocess.run(
        [sys.executable, "-m", "passhat", "gateway", "--script", str(script)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "shout" in done.stderr
    assert "Traceback" not in done.stderr
