"""The server's life: starting, stopping, and what happens to requests meanwhile."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
import threading
import weakref
from typing import Any

import httpx2
import openai
import pytest

from passhat.facts import ModelCall
from passhat.gateway import Gateway, GatewayError, Script

ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}]}


def post(gateway: Gateway, key: str, **more: Any) -> httpx2.Response:
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.post(f"{gateway.base_url}/v1/chat/completions", json={**ASK, **more}, headers=headers, timeout=30)


def test_a_port_that_is_taken_is_named(gateway: Gateway) -> None:
    port = int(gateway.base_url.rsplit(":", 1)[1])
    with pytest.raises(GatewayError, match=f"can't listen on 127.0.0.1:{port}: .*; use another port, or 0"):
        Gateway(port=port).start()


def test_a_closed_gateway_can_be_opened_again() -> None:
    gateway = Gateway()
    for text in ("one", "two"):
        with gateway:
            session = gateway.open(Script([text]))
            assert post(gateway, session.key).json()["choices"][0]["message"]["content"] == text
    assert post(gateway, session.key).json()["error"]["message"].startswith("This key's trial is over")
    gateway.close()
    gateway.close()


def test_a_key_that_is_over_is_refused_by_the_name_of_its_trial_with_the_way_out(gateway: Gateway) -> None:
    told: list[str] = []
    gateway.late = told.append
    session = gateway.open(Script(["x"]), label="refunds#3")
    open_one = gateway.open(Script(["x"]))
    session.revoke()
    said = post(gateway, session.key).json()["error"]["message"]
    assert "It was that of 'refunds#3', and was kept by a client, a process, settings or a copy" in said
    assert "make them anew in each trial" in said
    post(gateway, open_one.key)
    post(gateway, "sk-passhat-trial-unknown")
    assert told == ["refunds#3"]
    keys = (session.key, open_one.key, gateway.process_key, "sk-mine", "sk-passhat-trial-of-another-gateway")
    assert [gateway.gave(key) for key in keys] == [True, True, True, False, False]


def test_closing_ends_requests_in_flight_at_once_and_without_noise(caplog: pytest.LogCaptureFixture) -> None:
    arrived, release = threading.Event(), threading.Event()

    def slow(request: object) -> str:
        arrived.set()
        release.wait(30)
        return "late"

    errors: list[str] = []
    gateway = Gateway().start()
    session = gateway.open(Script([slow]))

    def ask() -> None:
        try:
            post(gateway, session.key)
        except httpx2.HTTPError as error:
            errors.append(type(error).__name__)

    asking = threading.Thread(target=ask)
    asking.start()
    assert arrived.wait(10)
    with caplog.at_level(logging.WARNING):
        gateway.close()
        asking.join(10)
    release.set()
    assert errors in (["RemoteProtocolError"], ["ReadError"])
    assert caplog.records == []


def test_a_program_that_forgets_to_close_still_ends() -> None:
    code = (
        "from passhat.gateway import Gateway, Script\n"
        "import httpx2, time\n"
        "gateway = Gateway().start()\n"
        "session = gateway.open(Script([lambda request: time.sleep(600)]))\n"
        "url = gateway.base_url + '/v1/chat/completions'\n"
        "body = {'model': 'm', 'messages': [{'role': 'user', 'content': 'q'}]}\n"
        "try:\n"
        "    httpx2.post(url, json=body, headers={'x-api-key': session.key}, timeout=0.2)\n"
        "except httpx2.TimeoutException:\n"
        "    print('ended')\n"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr, run.returncode) == ("ended\n", "", 0)


def test_functions_that_raise_are_final_for_plain_and_async_clients_alike(gateway: Gateway) -> None:
    async def broken(request: object) -> str:
        raise LookupError("async trouble")

    def plain(request: object) -> str:
        raise LookupError("plain trouble")

    def awaits_nothing(request: object) -> Any:
        return broken(request)

    events: list[ModelCall] = []
    session = gateway.open(Script([broken, plain, lambda request: 3]), sink=events.append)
    client: Any = openai.OpenAI(
        api_key="-", base_url="http://double/v1", http_client=httpx2.Client(transport=session.transport())
    )
    with client:
        for problem in ("LookupError: async trouble", "LookupError: plain trouble", "a reply must be text"):
            with pytest.raises(openai.BadRequestError, match=problem):
                client.chat.completions.create(**ASK)
    assert [event.refused for event in events] == ["script"] * 3


def test_an_awaitable_from_a_plain_function_is_named(gateway: Gateway) -> None:
    class Later:
        def __await__(self) -> Any:
            yield

    session = gateway.open(Script([lambda request: Later()]))
    assert "declare it with async def" in post(gateway, session.key).json()["error"]["message"]


def test_structured_data_finds_the_tool_that_it_fits(gateway: Gateway) -> None:
    from passhat.scripting import structured

    def tool(name: str, *needed: str) -> dict[str, Any]:
        properties = {key: {"type": "string"} for key in needed}
        parameters = {"type": "object", "properties": properties, "required": list(needed)}
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    tools = [tool("city", "name"), tool("person", "name", "age"), tool("other")]

    def called(data: Any, choice: Any) -> Any:
        session = gateway.open(Script([structured(data)]))
        message = post(gateway, session.key, tools=tools, tool_choice=choice).json()["choices"][0]["message"]
        return message.get("tool_calls", [{}])[0].get("function", {}).get("name", message["content"])

    assert called({"name": "Oslo"}, "required") == "city"
    assert called({"name": "Ann", "age": "7"}, "required") == "person"
    assert called(["x"], "required") == "other"
    assert called({"name": "Oslo"}, {"type": "function", "function": {"name": "other"}}) == "other"
    assert called({"name": "Oslo"}, "auto") == '{"name":"Oslo"}'
    assert called({"name": "Oslo"}, "none") == '{"name":"Oslo"}'


LOGGERS_OF_A_USER = """
import gc
import json
import gc
import json
import logging
from passhat.gateway import Gateway, Script
import httpx2
seen = []
class Keeping(logging.Handler):
    def emit(self, record):
        seen.append((record.name, record.getMessage()))
logging.getLogger().addHandler(Keeping())
access = logging.getLogger("uvicorn.access")
access.addHandler(handler := Keeping())
for name in ("uvicorn.access", "uvicorn.error"):
    logging.getLogger(name).setLevel(logging.DEBUG)
with Gateway() as gateway:
    session = gateway.open(Script(["hi"]))
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    headers = {"authorization": f"Bearer {session.key}"}
    reply = httpx2.post(f"{gateway.base_url}/v1/chat/completions", json=body, headers=headers, timeout=30)
print(json.dumps([reply.status_code, access.propagate, access.handlers == [handler], seen]))
"""


def test_loggers_of_a_users_own_server_stay_as_they_are_and_hear_nothing_of_ours() -> None:
    """A logger that doesn't propagate also costs pytest two steps in each phase of each test."""
    command = [sys.executable, "-c", LOGGERS_OF_A_USER]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [200, True, True, []]


def test_nothing_stays_of_a_session_that_is_over(gateway: Gateway) -> None:
    def run() -> weakref.ref[Script]:
        script = Script(["hello"])
        session = gateway.open(script)
        assert post(gateway, session.key).status_code == 200
        assert script.requests[0].model == "m"
        session.revoke()
        return weakref.ref(script)

    over = run()
    gc.collect()
    assert over() is None
