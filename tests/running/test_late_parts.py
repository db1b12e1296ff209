"""What a client of models imports at its first call is loaded before trials are forked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import {module}
from passhat import Suite, Task

def agent(trial):
    return 1

suite = Suite("calls", tasks=[Task("one")], agent=agent, graders=[lambda trial: True])
"""
CALLS = """
import asyncio, contextlib, json, sys
from passhat.running._process_child import load

load({"file": sys.argv[1], "name": "calls"}, None)
import openai

pydantic_ai = sys.modules.get("pydantic_ai")
there = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none", "max_retries": 0}
messages = [{"role": "user", "content": "hello"}]
calls = {
    "chat": lambda: openai.OpenAI(**there).chat.completions.create(model="m", messages=messages),
    "responses": lambda: openai.OpenAI(**there).responses.create(model="m", input="hello"),
    "async": lambda: asyncio.run(openai.AsyncOpenAI(**there).chat.completions.create(model="m", messages=messages)),
    "agent": lambda: pydantic_ai.Agent(pydantic_ai.models.openai.OpenAIChatModel("m")).run_sync("hello"),
}
late = {}
for name in sys.argv[2:]:
    before = set(sys.modules)
    with contextlib.suppress(Exception):
        calls[name]()
    late[name] = sorted(set(sys.modules) - before)
print(json.dumps(late))
"""
PARTS = ("openai", "pydantic_ai", "genai_prices", "httpx", "httpcore", "httpcore2", "anyio", "truststore", "h11")


@pytest.mark.parametrize(
    ("module", "calls"), [("openai", ["chat", "responses", "async"]), ("pydantic_ai.models.openai", ["agent"])]
)
def test_a_first_call_imports_no_more_of_its_client(module: str, calls: list[str], tmp_path: Path) -> None:
    suite = tmp_path / "eval_calls.py"
    suite.write_text(SUITE.format(module=module))
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none", "PATH": ""}
    command = [sys.executable, "-c", CALLS, str(suite), *calls]
    told = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=100)
    late = json.loads(told.stdout)
    assert list(late) == calls
    for name, modules in late.items():
        assert [each for each in modules if each.partition(".")[0] in PARTS] == [], name
