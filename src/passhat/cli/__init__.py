"""The command line: one small file a command, loaded when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with one of `passhat.summary.ExitCode`."""
    try:
        from passhat.cli._main import main as begin
    except KeyboardInterrupt:  # Ctrl-C while it is being loaded: nothing has begun
        sys.stderr.write("\npasshat: interrupted\n")
        sys.exit(130)
    begin(arguments)
