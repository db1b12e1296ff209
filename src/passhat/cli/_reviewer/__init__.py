"""Reading trials one after another in a terminal, and judging them by key."""

from passhat.cli._reviewer._desk import Desk, Keyboard, Sitting
from passhat.cli._reviewer._keys import Keys, NoTerminal
from passhat.cli._reviewer._screen import Screen, Size
from passhat.cli._reviewer._sit import sit

__all__ = ["Desk", "Keyboard", "Keys", "NoTerminal", "Screen", "Sitting", "Size", "sit"]
