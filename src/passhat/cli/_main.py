"""The group of commands, and what becomes of errors."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from passhat import __version__
from passhat.cli._exhausted import exhausted
from passhat.facts import PasshatError
from passhat.isolation._late import keeping_guards
from passhat.summary import ExitCode

_COMMANDS = {
    "audit": "Test the tests of a suite, before money is spent.",
    "calibrate": "Hold a judge against people, and correct its pass rate.",
    "compare": "Compare runs, arms or tables with a baseline: did it get better?",
    "gateway": "Play a scripted model to agents in any language.",
    "graduate": "Propose tasks that are proved for the regression suite.",
    "history": "Show a suite over time: rates by run, and what changed.",
    "init": "Write a small suite that runs, and a workflow for CI.",
    "plan": "Say how many tasks and trials a comparison needs, and what they cost.",
    "regrade": "Judge recorded trials again by changed graders.",
    "report": "Show what a run, or a table of outcomes, says.",
    "resume": "Go on with a run that was interrupted.",
    "review": "Read trials one by one and judge them, in the terminal.",
    "run": "Run suites: tasks x trials, graded and recorded.",
    "runs": "List the recorded runs.",
    "sample": "Draw trials for a review, and say who reads which.",
    "show": "Show a run's trials, or one trial's transcript.",
}


class Commands(click.Group):
    """Loads a command's module when it is called, so that the command line answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"passhat.cli._{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", prog_name="passhat")
def commands() -> None:
    """passhat tests AI agents: how often does it work, and how sure can we be?"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with one of `ExitCode`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with keeping_guards():
        code = _guarded(arguments)
    if any(thread.is_alive() and not thread.daemon for thread in threading.enumerate()[1:]):
        # a thread that an agent left behind would keep the process for as long as it likes
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _guarded(arguments: Sequence[str] | None) -> int:
    try:
        result = commands.main(args=arguments, prog_name="passhat", standalone_mode=False)
        return int(result or 0)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.WRONG_USE
    except PasshatError as error:
        click.echo(f"passhat: {error}", err=True)
        _tell_what_is_exhausted(error)
        return int(getattr(error, "command_exit", ExitCode.WRONG_USE))
    except (KeyboardInterrupt, click.Abort) as stop:
        _take_no_more_interrupts()
        click.echo(f"passhat: {_said_of_the_run(stop) or 'interrupted'}", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has left; keep the interpreter from complaining at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FINE
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO) and error.filename is None:
            click.echo(f"passhat: the output can't be written: {error.strerror}", err=True)
            return ExitCode.WRONG_USE
        if _tell_what_is_exhausted(error):
            return ExitCode.WRONG_USE
        traceback.print_exc()
        click.echo("passhat: this is a fault of passhat's own, not of your suite; please report it", err=True)
        return ExitCode.OUR_FAULT


def _take_no_more_interrupts() -> None:
    """On the way out after a Ctrl-C another one would put a signal in the place of the exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one of Python's own would be forgotten when the interpreter ends


def _said_of_the_run(error: BaseException) -> str:
    """What the interrupted run has said: click puts its own exception around Ctrl-C, and a second one may have come
    while the run was being put away."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, KeyboardInterrupt) and str(found):
            return str(found)
        found = found.__cause__ or found.__context__
    return ""


def _tell_what_is_exhausted(error: BaseException) -> bool:
    said = exhausted(error)
    if said is not None:
        click.echo(f"passhat: {said}", err=True)
    return said is not None
