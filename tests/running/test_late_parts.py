"""What a client of models imports at its first call is loaded before trials are forked."""

import json
import subprocess
import sys
from pathlib import Path

SUITE = """
import openai
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
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
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

there = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none", "max_retries": 0}
messages = [{"role": "user", "content": "hello"}]
calls = {
    "chat": lambda: openai.OpenAI(**there).chat.completions.create(model="m", messages=messages),
    "responses": lambda: openai.OpenAI(**there).responses.create(model="m", input="hello"),
    "async": lambda: asyncio.run(openai.AsyncOpenAI(**there).chat.completions.create(model="m", messages=messages)),
    "agent": lambda: Agent(OpenAIChatModel("m")).run_sync("hello"),
}
late = {}
for name, call in calls.items():
    before = set(sys.modules)
    with contextlib.suppress(Exception):
        call()
    late[name] = sorted(set(sys.modules) - before)
print(json.dumps(late))
"""
PARTS = ("openai", "pydantic_ai", "genai_prices", "httpx", "httpcore", "httpcore2", "anyio", "truststore", "h11")


def test_a_first_call_imports_no_more_of_its_client(tmp_path: Path) -> None:
    suite = tmp_path / "eval_calls.py"
    suite.write_text(SUITE)
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none", "PATH": ""}
    told = subprocess.run(
        [sys.executable, "-c", CALLS, str(suite)], env=environ, capture_output=True, text=True, check=True, timeout=100
    )
    late = json.loads(told.stdout)
    assert list(late) == ["chat", "responses", "async", "agent"]
    for name, modules in late.items():
        assert [module for module in modules if module.partition(".")[0] in PARTS] == [], name
