"""passhat gateway: a scripted or simulated model for agents in any language, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from passhat.facts import ModelCall
    from passhat.gateway import Gateway


@click.command("gateway")
@click.option(
    "--script",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML with replies, or with a simulation.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port (default: a free one).")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of a simulation and of faults (default: the file's).")
@click.option(
    "--fault", "faults", multiple=True, metavar="TEXT", help="A fault, as in 'rate_limit rate=0.2' (repeatable)."
)
@click.option("--quiet", "-q", is_flag=True, help="Don't list the calls.")
def command(script: Path, port: int, seed: int | None, faults: tuple[str, ...], quiet: bool) -> int:
    """Play a script to every client that asks, each API key a trial of its own, until Ctrl-C.

    Prints the variables that lead the usual clients here. Any key is taken: use one key a trial.
    """
    from passhat.scripting import serve_script

    said = Called(quiet=quiet)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with serve_script(script, port=port, seed=seed, faults=faults or None, sink=said) as gateway:
        _invite(gateway)
        stop.wait()
    click.echo(f"{said.calls} calls by {len(said.keys)} keys", err=True)
    return 0


class Called:
    """Counts the calls, and lists them on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self.calls = 0
        self.keys: set[str] = set()
        self._quiet = quiet
        self._lock = threading.Lock()

    def __call__(self, key: str, event: ModelCall) -> None:
        from passhat.reporting import clean

        with self._lock:
            self.calls += 1
            self.keys.add(key)
        if self._quiet:
            return
        answer = event.error or (event.reply.said if event.reply else "")
        wishes = [f"{wish.name}(…)" for wish in event.reply.tool_calls] if event.reply else []
        said = clean(" ".join([answer, *wishes]), 60)
        click.echo(f"{clean(key, 12)}  {event.wire}  {event.http_status}  {said}", err=True)


def _invite(gateway: Gateway) -> None:
    root = gateway.base_url
    click.echo(f"export OPENAI_BASE_URL={root}/v1 OPENAI_API_KEY=trial-1")
    click.echo(f"export ANTHROPIC_BASE_URL={root} ANTHROPIC_API_KEY=trial-1")
