"""What the process says to a shell or to continuous integration when it ends."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command. pytest keeps its own."""

    FINE = 0  # done, and nothing that was asked for failed
    GATE_NOT_MET = 1  # a gate is disproved, an audit found an error, a candidate is worse, a judge passed a control
    WRONG_USE = 2  # wrong arguments, or input that can't be read
    INCOMPLETE = 3  # trials are missing and could change the answer, or others wrote to the run's files
    UNDECIDED = 4  # trials neither prove nor disprove a gate and the policy fails that, or labels correct no rate
    OUR_FAULT = 70  # a fault of passhat itself
    INTERRUPTED = 130  # stopped by the user; `passhat resume` goes on from here
