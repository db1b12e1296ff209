"""What a reader has to know before using the numbers, in sentences.

One function a rule, grouped by what the rules are about.
"""

from __future__ import annotations

from passhat.summary._findings import (
    _claims,
    _graders,
    _isolation,
    _judges,
    _metrics,
    _missing,
    _provenance,
    _reading,
    _regraded,
    _tampering,
    _tasks,
)
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding

__all__ = ["Evidence", "find_all"]

_RULES = (
    *_tampering.RULES,
    *_tasks.RULES,
    *_missing.RULES,
    *_graders.RULES,
    *_judges.RULES,
    *_metrics.RULES,
    *_provenance.RULES,
    *_isolation.RULES,
    *_regraded.RULES,
    *_claims.RULES,
    *_reading.RULES,
)
_ORDER = {"error": 0, "warning": 1, "note": 2}
_RANK = {"no-failure-read": 0, "judge-uncalibrated": 0, "order": 2, "conservative-interval": 2}  # the rest: 1


def find_all(evidence: Evidence) -> tuple[Finding, ...]:
    """All findings, errors first; then what a reader is to do before what there is to know, intervals last."""
    found = [finding for rule in _RULES for finding in rule(evidence)]
    return tuple(sorted(found, key=lambda each: (_ORDER[each.severity], _RANK.get(each.rule, 1))))
