"""The keys that a run was started with don't stand in /proc for its trials to read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel shows each process's first environment")

KEY = "sk-real-0123456789"


def run(code: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environ, capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode()


def test_secrets_are_blanked_in_the_block_and_stay_for_this_process_and_its_children() -> None:
    seen = json.loads(
        run(
            """
            import json, os, subprocess, ctypes
            from passhat.running._own_block import hide_in_own_block
            os.environ["CHANGED_KEY"] = "now"
            del os.environ["GONE_KEY"]
            count = hide_in_own_block(lambda name: name.endswith("_KEY"))
            again = hide_in_own_block(lambda name: name.endswith("_KEY"))
            getenv = ctypes.CDLL(None).getenv
            getenv.restype = ctypes.c_char_p
            child = subprocess.run(["env"], capture_output=True, text=True).stdout.splitlines()
            print(json.dumps({
                "count": count, "again": again, "block": open("/proc/self/environ").read().split("\\0"),
                "own": [os.environ.get(name) for name in ("A_KEY", "CHANGED_KEY", "GONE_KEY", "PLAIN")],
                "libc": [str(getenv(name)) for name in (b"A_KEY", b"CHANGED_KEY", b"GONE_KEY", b"PLAIN")],
                "child": sorted(child),
            }))
            """,
            A_KEY=KEY,
            CHANGED_KEY="before",
            GONE_KEY="gone",
            EMPTY_KEY="",
            PLAIN="é",
        )
    )
    assert (seen["count"], seen["again"]) == (3, 0)
    block = [entry for entry in seen["block"] if entry]
    assert sorted(block) == ["A_KEY=", "CHANGED_KEY=", "EMPTY_KEY=", "GONE_KEY=", "PLAIN=é"]
    assert seen["own"] == [KEY, "now", None, "é"]
    assert seen["libc"][:3] == [f"b'{KEY}'", "b'now'", "None"]
    assert [entry for entry in seen["child"] if "KEY" in entry] == [f"A_KEY={KEY}", "CHANGED_KEY=now", "EMPTY_KEY="]


SUITE = """
    import glob
    from passhat import Suite, Task

    def agent(trial):
        found = []
        for file in glob.glob("/proc/[0-9]*/environ"):
            try:
                content = open(file, "rb").read()
            except OSError:
                continue
            if b"passhat-test-marker" in content:
                found.append(content.count(b"sk-real-"))
        return found

    suite = Suite("keys", tasks=[Task("one")], agent=agent, graders=[lambda trial: True])
"""


def test_a_trial_finds_no_key_in_the_environment_of_any_process_of_its_run(tmp_path: Path) -> None:
    (tmp_path / "eval_keys.py").write_text(textwrap.dedent(SUITE))
    environ = {**os.environ, "OPENAI_API_KEY": KEY, "MY_TOKEN": KEY, "MARK": "passhat-test-marker"}
    command = [sys.executable, "-m", "passhat", "run", "."]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    (lines,) = tmp_path.glob(".passhat/runs/*/trials.jsonl")
    assert set(json.loads(lines.read_text())["output"]) <= {0}
