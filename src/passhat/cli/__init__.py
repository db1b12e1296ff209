"""The command line: one small file a command, loaded when it is called."""

from passhat.cli._main import main

__all__ = ["main"]
