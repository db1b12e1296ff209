"""From a run to what it says: rates, both intervals, findings, gate verdicts and the exit code, in one object.

Everything that shows a result (terminal, JSON, Markdown, HTML, JUnit, the page, pytest) renders this object and
computes nothing of its own.
"""

from passhat.summary._agreement import agreement, agreements, by_rater
from passhat.summary._arm_looks import ArmCounts, ArmLook, arm_look, held_out_tasks, units_of
from passhat.summary._changed import ChangedTask, name_changed
from passhat.summary._earlier_looks import EarlierLooks, KnownLooks, same_thing, served
from passhat.summary._exit_codes import ExitCode
from passhat.summary._gates import Feasibility, gate_feasibility
from passhat.summary._holding import holding, starts
from passhat.summary._judge_agreement import JudgeAgreement, judge_agreements
from passhat.summary._looks import level_at
from passhat.summary._measure import unit_keys
from passhat.summary._people import JudgedTrial, JudgedTrials, JudgeVersion, SetAside, judged_trials
from passhat.summary._published import with_published
from passhat.summary._reading import NOT_THE_AGENTS
from passhat.summary._report import (
    Finding,
    GateRow,
    GateVerdict,
    MissingPolicy,
    Rate,
    Report,
    Score,
    Severity,
    TrialCounts,
)
from passhat.summary._settling import can_settle, settle
from passhat.summary._summarize import flip_rate, summarize
from passhat.summary._tables import (
    Agreement,
    ErrorRow,
    Example,
    GraderRate,
    GroupRow,
    JudgeRow,
    Judging,
    RateWithout,
    Reading,
    TaskRow,
    TaskVerdict,
    UsageTotals,
)
from passhat.summary._title import is_rate_of_an_agent, quick_missing, quick_pass_at_1, title_of

__all__ = [
    "NOT_THE_AGENTS",
    "Agreement",
    "ArmCounts",
    "ArmLook",
    "ChangedTask",
    "EarlierLooks",
    "ErrorRow",
    "Example",
    "ExitCode",
    "Feasibility",
    "Finding",
    "GateRow",
    "GateVerdict",
    "GraderRate",
    "GroupRow",
    "JudgeAgreement",
    "JudgeRow",
    "JudgeVersion",
    "JudgedTrial",
    "JudgedTrials",
    "Judging",
    "KnownLooks",
    "MissingPolicy",
    "Rate",
    "RateWithout",
    "Reading",
    "Report",
    "Score",
    "SetAside",
    "Severity",
    "TaskRow",
    "TaskVerdict",
    "TrialCounts",
    "UsageTotals",
    "agreement",
    "agreements",
    "arm_look",
    "by_rater",
    "can_settle",
    "flip_rate",
    "gate_feasibility",
    "held_out_tasks",
    "holding",
    "is_rate_of_an_agent",
    "judge_agreements",
    "judged_trials",
    "level_at",
    "name_changed",
    "quick_missing",
    "quick_pass_at_1",
    "same_thing",
    "served",
    "settle",
    "starts",
    "summarize",
    "title_of",
    "unit_keys",
    "units_of",
    "with_published",
]
