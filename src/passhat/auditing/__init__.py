"""Tests of the tests, before money is spent: can each task be solved, and does what is wrong fail?

`audit` plays a suite's reference solutions, agents that solve nothing, and changed references, without a model.
`audit_leaks` runs the suite's own agent and looks for what one trial leaves to the next.
"""

from passhat.auditing._audit import Audit, Mutants, audit
from passhat.auditing._leak_checks import LeakCheck
from passhat.auditing._leaks import LeakAudit, audit_leaks
from passhat.auditing._mutation import Equivalent, GraderScore
from passhat.auditing._rules import RULES, AuditError, AuditFinding
from passhat.auditing.linting import RestatedScript, restated_scripts

__all__ = [
    "RULES",
    "Audit",
    "AuditError",
    "AuditFinding",
    "Equivalent",
    "GraderScore",
    "LeakAudit",
    "LeakCheck",
    "Mutants",
    "RestatedScript",
    "audit",
    "audit_leaks",
    "restated_scripts",
]
