"""An agent that opens all connections it can is one trial's affair; trials see the limit on files that the user has."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what process isolation promises, on Linux")

SUITE = """
    import resource, socket, time, urllib.parse
    from passhat import Suite, Task
    from passhat.scripting import say
    from openai import OpenAI

    def agent(trial):
        if trial.task_id == "flood":
            place = urllib.parse.urlparse(trial.model.openai["base_url"])
            held = []
            try:
                while True:
                    held.append(socket.create_connection((place.hostname, place.port), timeout=2))
            except OSError:
                time.sleep(0.5)
            return f"flooded {len(held)}"
        if trial.task_id == "limit":
            return str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        time.sleep(0.2)
        asked = [{"role": "user", "content": "q"}]
        reply = OpenAI(**trial.model.openai).chat.completions.create(model="m", messages=asked)
        return reply.choices[0].message.content

    tasks = [Task("flood"), Task("limit"), *(Task(f"t{number}") for number in range(6))]
    suite = Suite("flood", tasks=tasks, agent=agent, graders=[lambda trial: True],
                  simulation=lambda request, seed: say("fine"))
"""


def test_a_flood_of_connections_is_its_own_trials(tmp_path: Path) -> None:
    soft, hard = 300, 2000
    (tmp_path / "eval_flood.py").write_text(textwrap.dedent(SUITE))
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}));"
        "from passhat.cli import main; main()"
    )
    run = [sys.executable, "-c", code, "run", ".", "--concurrency", "2"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (lines,) = tmp_path.glob(".passhat/runs/*/trials.jsonl")
    records: list[dict[str, Any]] = [json.loads(line) for line in lines.read_text().splitlines()]
    outputs = {record["task"]: record["output"] for record in records}
    assert int(outputs.pop("flood").removeprefix("flooded ")) > soft - 50
    assert outputs.pop("limit") == str(soft)
    assert outputs == {f"t{number}": "fine" for number in range(6)}
