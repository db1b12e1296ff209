"""The root of the errors that a user can mend.

PasshatError
├── TaskError, NotJSON                 a task or a value that can't be used    (also ValueError)
├── passhat.suite.SuiteError           a suite, gate or selection              (also ValueError)
├── passhat.records.RecordError        a run directory or a table
└── …                                  each room has its own below this one
"""


class PasshatError(Exception):
    """Something a user can mend: the message names the value and the way out. The command line exits with 2."""
