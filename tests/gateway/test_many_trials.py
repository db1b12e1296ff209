"""Many trials at once never see each other's replies."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import httpx2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passhat.facts import ModelCall
from passhat.gateway import Gateway, Script

PATHS = ("chat/completions", "responses", "messages")


def question(path: str, text: str, stream: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "m", "stream": stream}
    if path == "responses":
        return {**body, "input": text}
    return {**body, "max_tokens": 9, "messages": [{"role": "user", "content": text}]}


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), trials=st.just(100), replies=st.integers(1, 4))
def test_a_hundred_trials_interleaved_at_random_see_their_own_replies_in_order(
    gateway: Gateway, seed: int, trials: int, replies: int
) -> None:
    rng = random.Random(seed)
    events: list[list[ModelCall]] = [[] for _ in range(trials)]

    def script(trial: int) -> Script:
        def told(number: int) -> Any:
            text = f"<trial {trial} reply {number}>"

            async def later(request: Any) -> str:
                await asyncio.sleep(0)
                return text

            return rng.choice([text, lambda request: text, later])

        return Script([told(number) for number in range(replies)])

    sessions = [gateway.open(script(trial), sink=events[trial].append, label=str(trial)) for trial in range(trials)]

    async def agent(client: httpx2.AsyncClient, trial: int) -> None:
        session = sessions[trial]
        for number in range(replies):
            path, stream = rng.choice(PATHS), rng.random() < 0.5
            for _ in range(rng.randint(0, 3)):
                await asyncio.sleep(0)
            header = rng.choice(["x-api-key", "authorization"])
            headers = {header: session.key if header == "x-api-key" else f"Bearer {session.key}"}
            body = question(path, f"trial {trial}", stream)
            answer = await client.post(f"{gateway.base_url}/v1/{path}", json=body, headers=headers)
            assert answer.status_code == 200
            assert answer.text.count("<trial ") >= 1 or stream
            assert [event.reply.text for event in events[trial] if event.reply][-1] == f"<trial {trial} reply {number}>"

    async def everyone() -> None:
        limits = httpx2.Limits(max_connections=100)
        async with httpx2.AsyncClient(limits=limits, timeout=30) as client:
            order = list(range(trials))
            rng.shuffle(order)
            await asyncio.gather(*(agent(client, trial) for trial in order))

    asyncio.run(everyone())
    for trial, seen in enumerate(events):
        assert [event.messages[0].text for event in seen] == [f"trial {trial}"] * replies
        assert sessions[trial].unused() == ()
        sessions[trial].revoke()


def test_a_slow_function_delays_no_other_trial(gateway: Gateway) -> None:
    order: list[str] = []

    async def scenario() -> None:
        waiting, go = asyncio.Event(), asyncio.Event()
        here = asyncio.get_running_loop()

        def slow(request: Any) -> str:
            here.call_soon_threadsafe(waiting.set)
            asyncio.run_coroutine_threadsafe(go.wait(), here).result(10)
            return "slow"

        one, two = gateway.open(Script([slow])), gateway.open(Script(["quick"]))
        async with httpx2.AsyncClient(timeout=30) as client:

            async def ask(session: Any) -> None:
                answer = await client.post(
                    f"{gateway.base_url}/v1/chat/completions",
                    json=question("chat", "q", False),
                    headers={"authorization": f"Bearer {session.key}"},
                )
                order.append(answer.json()["choices"][0]["message"]["content"])

            first = asyncio.create_task(ask(one))
            await waiting.wait()
            await ask(two)
            go.set()
            await first

    asyncio.run(scenario())
    assert order == ["quick", "slow"]
