"""Model graders: a judge model's closed verdict on a criterion that code can't check.

Code comes first: a number, an id, a row or a tool call is checked by `outcome`, `answers` and `trace`, which are never
wrong in the same way twice. A judge is for what is left: tone, an explanation, whether a policy was kept in words. Its
numbers are a model's opinion until they are calibrated against people.

Judges ask the run's judging model (``Suite(judge_model=…)``, ``--judge-model``, ``PASSHAT_JUDGE_MODEL``, or
``Suite(judge_simulation=…)`` without any), or the ``model=`` of their own. They need ``pip install passhat[judges]``.
"""

from passhat.graders.judge._judge import Judge
from passhat.graders.judge._labels import labels
from passhat.graders.judge._pairwise import pairwise
from passhat.graders.judge._rubric import rubric
from passhat.graders.judge._score import score

# For the other rooms of this house, not for its users:
from passhat.graders.judge._installed import check_installed as check_installed  # isort: skip
from passhat.graders.judge._installed import load as load  # isort: skip
from passhat.graders.judge._installed import modules_for as modules_for  # isort: skip
from passhat.graders.judge._rehearsal import rehearse as rehearse  # isort: skip
from passhat.graders.judge._found import judges_in as judges_in  # isort: skip
from passhat.graders.judge._same_model import same_model as same_model  # isort: skip

__all__ = ["Judge", "labels", "pairwise", "rubric", "score"]
