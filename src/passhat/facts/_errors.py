"""The root of the errors that a user can mend.

PasshatError
├── TaskError, NotJSON                 a task or a value that can't be used    (also ValueError)
├── AgentUnavailable                   nothing to test: the agent isn't there  (environment_error)
├── SimulatorError                     the simulated user broke its role       (simulator_error)
├── NoTruthValue                       a check or grade used as True or False  (also TypeError)
├── passhat.suite.SuiteError           a suite, gate or selection              (also ValueError)
├── passhat.records.RecordError        a run directory or a table
└── …                                  each room has its own below this one
"""


class PasshatError(Exception):
    """Something a user can mend: the message names the value and the way out. The command line exits with 2."""


class AgentUnavailable(PasshatError):
    """The agent isn't there to be tested: no such program, nobody listens. The trial ends as *environment_error*.

    That is believed of an adapter of `passhat.agents`, where it can be seen from outside the trial. An agent that
    raises it by itself has failed, as with any other exception.
    """


class SimulatorError(PasshatError):
    """The simulated user broke its role, so the trial says nothing about the agent. It ends as *simulator_error*.

    That is believed of the user of a `passhat.agents.Conversation`, which sets ``of_a_user``, where the suite's agent
    is one (or says ``simulates_a_user``). An agent that raises it by itself has failed, as with any other exception.
    """

    of_a_user = False


class NoTruthValue(PasshatError, TypeError):
    """A check or a grade was used as if it were True or False. An unknown grade is neither."""
