"""Which transcripts people should read, what they have read, and how far they agree.

Computes only: the terminal in which people read is `passhat review`.
"""

from passhat.reviewing._agreement import Difference, RaterPair, TagAgreement, rater_agreement
from passhat.reviewing._disputes import disputes
from passhat.reviewing._errors import ReviewError
from passhat.reviewing._labels import new_label, now_utc, rubrics_of
from passhat.reviewing._list import DEFAULT_PASSED, DEFAULT_RANDOM, KINDS, Kind, ReadingItem, reading_list
from passhat.reviewing._plan import Allocation, PlanItem, ReadingPlan, read_plan, sampling_plan, write_plan
from passhat.reviewing._progress import Progress, progress_of

__all__ = [
    "DEFAULT_PASSED",
    "DEFAULT_RANDOM",
    "KINDS",
    "Allocation",
    "Difference",
    "Kind",
    "PlanItem",
    "Progress",
    "RaterPair",
    "ReadingItem",
    "ReadingPlan",
    "ReviewError",
    "TagAgreement",
    "disputes",
    "new_label",
    "now_utc",
    "progress_of",
    "rater_agreement",
    "read_plan",
    "reading_list",
    "rubrics_of",
    "sampling_plan",
    "write_plan",
]
