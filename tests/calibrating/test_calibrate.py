"""A judge beside people: the table, one verdict a trial, the correction, and when it is refused."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from passhat.calibrating import Calibration, CalibrationError, Labelled, calibrate
from passhat.facts import Grade, Judged, JudgeSample, Label, Role, Status, TrialRecord
from passhat.reviewing import reading_list, sampling_plan
from passhat.stats import post_stratified, rogan_gladen
from passhat.summary import ExitCode

from .worlds import JUDGE, World, labelled, simulate

RATES = np.tile([0.2, 0.4, 0.6, 0.8, 1.0], 6)


def world(seed: int = 5, **errors: float) -> World:
    return simulate(np.random.default_rng(seed), RATES, 10, **errors)


def drawn(n: int = 60, seed: int = 6) -> list[int]:
    places: list[int] = np.random.default_rng(seed).choice(300, n, replace=False).tolist()
    return places


def rules(found: Calibration) -> set[str]:
    return {each.rule for each in found.findings}


def message(found: Calibration, rule: str) -> str:
    return next(each.message for each in found.findings if each.rule == rule)


def test_the_table_counts_labelled_trials_and_the_rate_is_post_stratified() -> None:
    made = world()
    places = drawn()
    found = calibrate(labelled(made, made.labels(places)), JUDGE)
    human, judge = made.human.flat[places], made.judge.flat[places]
    table = (
        (int((human & judge).sum()), int((human & ~judge).sum())),
        (int((~human & judge).sum()), int((~human & ~judge).sum())),
    )
    assert found.quality.table == table
    assert found.quality.sensitivity.estimate == table[0][0] / sum(table[0])
    assert found.quality.precision_fail.estimate == table[1][1] / (table[0][1] + table[1][1])
    expected = post_stratified(table, int(made.judge.sum()), 300)
    corrected = found.correction.corrected
    assert corrected is not None
    assert corrected.estimate == pytest.approx(expected.estimate)
    assert corrected.these_tasks == pytest.approx((expected.interval.low, expected.interval.high))
    assert corrected.tasks_like_these is not None
    assert corrected.tasks_like_these[0] < corrected.these_tasks[0]
    assert found.correction.people is not None
    assert found.correction.people.estimate == human.mean()
    assert found.exit_code is ExitCode.FINE
    assert found.correction.method == "post-stratified"


def test_the_report_says_why_the_rates_differ() -> None:
    made = world()
    found = calibrate(labelled(made, made.labels(drawn())), JUDGE)
    (_, missed), (slipped, tn) = found.quality.table
    why = found.correction.why
    assert f"passes {slipped / (slipped + tn) * 100:.0f} % ({slipped} of {slipped + tn}) of what people fail" in why
    assert f"({missed} of " in why
    assert "people's rate is lower" in why
    assert "takes each verdict as true" in why
    too_many, too_few = found.correction.passed_too_many, found.correction.failed_too_many
    corrected = found.correction.corrected
    assert too_many is not None
    assert too_few is not None
    assert corrected is not None
    assert found.correction.raw.estimate - corrected.estimate == pytest.approx((too_many - too_few) / 300)


def test_labels_of_another_suite_correct_by_rogan_and_gladen() -> None:
    made, other = world(), world(8)
    labels = other.labels(drawn())
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, labels, "other"))
    expected = rogan_gladen(found.quality.table, int(made.judge.sum()), 300)
    corrected = found.correction.corrected
    assert corrected is not None
    assert corrected.estimate == pytest.approx(expected.estimate)
    assert corrected.these_tasks[0] <= expected.interval.low + 1e-9
    assert corrected.these_tasks[1] >= expected.interval.high - 1e-9
    assert found.correction.method == "Rogan–Gladen"
    assert (found.run, found.labels_from) == ("run", "other")
    assert "On the labelled trials of other the judge passes" in found.correction.why
    assert "If it errs here as it does there" in found.correction.why


def test_a_judge_that_some_tasks_fool_is_less_sure_about_another_suite() -> None:
    made, other = world(), world(8)
    other.judge[:15] = ~other.human[:15] | (np.arange(10) < 8)[None, :]
    other.judge[15:] = other.human[15:]
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, other.labels(drawn()), "other"))
    item = rogan_gladen(found.quality.table, int(made.judge.sum()), 300).interval
    corrected = found.correction.corrected
    assert corrected is not None
    assert corrected.these_tasks[1] - corrected.these_tasks[0] > 1.1 * item.width


def _said(*verdicts: str, **fields: Any) -> list[Label]:
    """One trial, read by several."""
    told: dict[str, Any] = {"sample": "random", "blind": True, "grader": JUDGE} | fields
    return [Label("t0", 0, verdict, f"rater{i}", "", **told) for i, verdict in enumerate(verdicts)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "counted"),
    [
        (("pass",), (1, 0, 0)),
        (("pass", "pass", "fail"), (1, 0, 0)),
        (("pass", "pass", "unclear"), (1, 0, 0)),
        (("pass", "fail"), (0, 0, 1)),
        (("pass", "unclear"), (0, 0, 1)),
        (("pass", "fail", "unclear"), (0, 0, 1)),
        (("unclear",), (0, 1, 0)),
        (("unclear", "unclear", "fail"), (0, 1, 0)),
    ],
)
def test_raters_decide_by_majority_and_ties_and_unclear_ones_are_counted_apart(
    verdicts: tuple[str, ...], counted: tuple[int, int, int]
) -> None:
    counts = calibrate(labelled(world(), _said(*verdicts)), JUDGE).counts
    assert (counts.labelled, counts.unclear, counts.ties) == counted


def test_unclear_and_tied_trials_are_said() -> None:
    made = world()
    labels = [*made.labels(drawn()), *_said("pass", "fail", "unclear")]
    labels = [label for label in labels if (label.task, label.trial) != ("t0", 0) or label.rater != "ann"]
    text = message(calibrate(labelled(made, labels), JUDGE), "unclear")
    assert text.startswith("1 on which raters are divided of")


def test_agreement_of_people_among_themselves_is_beside_the_judges() -> None:
    made = world()
    labels = [*made.labels(drawn()), *made.labels(drawn()[:20], rater="ben")]
    [pair] = calibrate(labelled(made, labels), JUDGE).raters
    assert (pair.raters, pair.n, pair.agreed, pair.kappa) == (("ann", "ben"), 20, 20, 1.0)


def test_labels_on_attempts_that_were_run_again_count_for_nothing_and_for_nobodys_agreement() -> None:
    made = world()
    labels = [*made.labels(drawn(), at="2026-11-30T10:00:00Z")]
    labels += made.labels(drawn()[:20], rater="ben", at="2026-11-30T10:00:00Z")
    then, since = made.records(started="2026-11-30T09:00:00Z"), made.records(started="2026-11-30T11:00:00Z")
    assert len(calibrate(Labelled("run", then, labels), JUDGE).raters) == 1
    found = calibrate(Labelled("run", since, labels), JUDGE)
    assert (found.counts.labelled, found.raters) == (0, ())
    assert message(found, "set-aside").startswith("80 labels are set aside, older than their trials")


@pytest.mark.parametrize("probability", [-1.0, 0.0, 5.0, 1e-300, float("nan"), float("inf")])
def test_a_stored_label_whose_probability_is_none_is_named_and_not_used(probability: float) -> None:
    made = world()
    good = made.labels(drawn()[1:], sample="weighted", probability=0.2)
    bad = made.labels(drawn()[:1], sample="weighted", probability=probability)
    found = calibrate(labelled(made, [*good, *bad]), JUDGE)
    assert found.counts.labelled == 59
    assert f"{bad[0].task} #{bad[0].trial} by ann: {probability!r}" in message(found, "set-aside")
    without = calibrate(labelled(made, good), JUDGE)
    assert found.correction == without.correction
    assert "set-aside" not in rules(without)


def test_labels_of_trials_that_the_run_has_not_are_named() -> None:
    made = world()
    stray = msgspec.structs.replace(made.labels([0])[0], task="gone")
    found = calibrate(labelled(made, [*made.labels(drawn()), stray]), JUDGE)
    assert "1 label is set aside, as the run has no such trial (gone #0 by ann)" in message(found, "set-aside")


def test_a_label_of_the_whole_trial_counts_where_the_judge_alone_decides_it() -> None:
    made = world()
    whole = made.labels(drawn(), grader="")
    assert calibrate(labelled(made, whole), JUDGE).counts.labelled == 60
    more = [
        msgspec.structs.replace(record, grades=(*record.grades, Grade(True, name="refunds")))
        for record in made.records()
    ]
    found = calibrate(Labelled("run", more, whole), JUDGE)
    assert (found.counts.labelled, found.counts.other_labels) == (0, 60)
    assert "60 labels judge whole trials that other graders decide too" in message(found, "whole-trials")
    assert found.exit_code is ExitCode.INCOMPLETE
    aside = [
        msgspec.structs.replace(record, grades=(*record.grades, Grade(True, name="refunds", role=Role.ADVISORY)))
        for record in made.records()
    ]
    assert calibrate(Labelled("run", aside, whole), JUDGE).counts.labelled == 60


def test_picked_labels_alone_are_refused_with_the_way_out() -> None:
    made = world()
    failed = [place for place in range(300) if not made.judge.flat[place]][:50]
    found = calibrate(labelled(made, made.labels(failed, sample="failed")), JUDGE)
    assert found.correction.corrected is None
    assert found.correction.refused.startswith("all 50 labels are of trials that were picked")
    assert "passhat review run --grader tone --blind" in found.correction.way_out
    assert found.exit_code is ExitCode.UNDECIDED
    assert {"refused", "chosen"} <= rules(found)


def test_one_label_is_spoken_of_in_the_singular() -> None:
    made = world()
    failed = next(place for place in range(300) if not made.judge.flat[place])
    found = calibrate(labelled(made, made.labels([failed], sample="failed", blind=False)), JUDGE)
    assert message(found, "few-labels").startswith("1 label is few: ")
    assert message(found, "not-blind").startswith("1 of 1 labelled trial was read")
    assert message(found, "chosen").startswith("the labelled trial was chosen, not drawn")
    assert found.correction.refused.startswith("the only label is of a trial that was picked")


def test_picked_trials_speak_for_themselves_and_drawn_ones_for_the_rest() -> None:
    """Reading every failure beside a random sample doesn't bend the rate; taking all labels for random would."""
    biases, naive = [], []
    for seed in range(40):
        made = world(seed)
        failed = [place for place in range(300) if not made.judge.flat[place]]
        rest = np.random.default_rng(seed).choice([p for p in range(300) if p not in set(failed)], 40, replace=False)
        labels = [*made.labels(failed, sample="failed"), *made.labels(rest)]
        found = calibrate(labelled(made, labels), JUDGE)
        assert found.correction.corrected is not None
        biases.append(found.correction.corrected.estimate - made.rate)
        human = made.human.flat[[*failed, *rest]]
        naive.append(float(human.mean()) - made.rate)
        assert found.quality.weighted
    assert abs(np.mean(biases)) < 0.02
    assert np.mean(naive) < -0.15


def test_unequal_chances_are_weighed() -> None:
    """Half of the labels come from the 60 trials of the hardest tasks: each label says its chance."""
    errors, naive, held = [], [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        made = world(seed)
        hard = [place for place in range(300) if RATES[place // 10] == 0.2]
        easy = [place for place in range(300) if RATES[place // 10] != 0.2]
        labels = made.labels(rng.choice(hard, 30, replace=False), sample="weighted", probability=30 / 60)
        labels += made.labels(rng.choice(easy, 30, replace=False), sample="weighted", probability=30 / 240)
        found = calibrate(labelled(made, labels), JUDGE).correction.corrected
        assert found is not None
        errors.append(found.estimate - made.rate)
        naive.append(np.mean([label.verdict == "pass" for label in labels]) - made.rate)
        held += found.these_tasks[0] <= RATES.mean() <= found.these_tasks[1]
    assert abs(np.mean(errors)) < 0.02
    assert np.mean(naive) < -0.05
    assert held / 60 >= 0.93 - 3.1 * 0.033


def test_a_review_by_an_even_plan_gives_the_rate_of_the_run_back() -> None:
    """The plan takes as many failed trials as passed ones; its probabilities reach the estimate by the labels."""
    errors, naive = [], []
    for seed in range(40):
        made = world(seed)
        plan = sampling_plan(made.records(), "run", n=60, by=["verdict"], allocation="even", seed=seed)
        read = plan.for_reader("ann")
        places = [int(item.task[1:]) * 10 + item.trial for item in read]
        labels = [
            msgspec.structs.replace(label, sample=item.sample, probability=item.probability)
            for label, item in zip(made.labels(places), read, strict=True)
        ]
        found = calibrate(labelled(made, labels), JUDGE).correction.corrected
        assert found is not None
        errors.append(found.estimate - made.rate)
        naive.append(np.mean(made.human.flat[places]) - made.rate)
    assert abs(np.mean(errors)) < 0.02
    assert np.mean(naive) < -0.05


def test_of_several_samples_the_largest_speaks_for_the_rest() -> None:
    """Trials that passed as a whole were drawn apart, from a part of the run: they bend nothing."""
    errors = []
    for seed in range(40):
        made, rng = world(seed), np.random.default_rng(seed)
        whole = made.judge & (rng.random(made.judge.shape) < np.where(made.human, 1.0, 0.3))  # other graders fail some
        records = [
            msgspec.structs.replace(record, passed=bool(whole.flat[place]))
            for place, record in enumerate(made.records())
        ]
        passed = rng.choice([place for place in range(300) if whole.flat[place]], 50, replace=False)
        labels = made.labels(passed, probability=50 / int(whole.sum()))
        everywhere = made.labels(rng.choice(300, 80, replace=False), probability=80 / 300)
        found = calibrate(Labelled("run", records, [*labels, *everywhere]), JUDGE)
        assert found.correction.corrected is not None
        errors.append(found.correction.corrected.estimate - made.rate)
    assert abs(np.mean(errors)) < 0.02


def test_a_random_sample_that_is_none_is_found_out() -> None:
    made, other = world(), world(8)
    passed = [place for place in range(300) if other.judge.flat[place]][:60]
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, other.labels(passed), "other"))
    assert "the labels called random are none: the judge passed 60 of 60" in found.correction.refused


def test_random_labels_of_passed_trials_only_are_found_out() -> None:
    """Other graders fail half of what the judge passes, and no label called random is of those."""
    made = world()
    records = [
        msgspec.structs.replace(record, passed=bool(record.passed) and place % 2 == 0)
        for place, record in enumerate(made.records())
    ]
    passed = [place for place, record in enumerate(records) if record.passed][::2]
    failed = [place for place in range(300) if not made.judge.flat[place]][::4]
    found = calibrate(Labelled("run", records, made.labels([*passed, *failed])), JUDGE)
    assert found.correction.refused.startswith("the labels called random are none: of ")
    assert f"of the {len(passed)} labelled ones {len(passed)}" in found.correction.refused


@pytest.mark.parametrize("most", [41, 20], ids=["every failure", "half of them"])
@pytest.mark.parametrize("spread", [True, False], ids=["over all tasks", "in few tasks"])
def test_labels_whose_mix_of_the_judges_verdicts_no_draw_could_have_give_no_rate_at_all(
    most: int, spread: bool
) -> None:
    """The judge failed 41 of 150; of the labels called random two thirds are of those."""
    made = simulate(np.random.default_rng(5), RATES, 5)
    made.judge[:] = False
    made.judge.flat[np.random.default_rng(6).choice(150, 109, replace=False)] = True
    failed, passed = ([place for place in range(150) if made.judge.flat[place] == word] for word in (False, True))
    step = len(failed) // most if spread else 1
    read = [*failed[::step][:most], *(passed[:: 5 if spread else 1][: most // 2])]
    found = calibrate(labelled(made, made.labels(read)), JUDGE)
    assert found.correction.refused == (
        f"the labels called random are none: the judge passed {most // 2} of {most + most // 2} labelled trials, and "
        "109 of all 150"
    )
    assert (found.correction.people, found.correction.corrected) == (None, None)
    assert {part.corrected for part in calibrate(labelled(made, made.labels(read)), JUDGE, by=["task"]).parts} == {None}
    assert found.exit_code is ExitCode.UNDECIDED


def test_labels_that_are_all_of_passes_of_the_judge_are_refused_as_what_they_are() -> None:
    made = world()
    passed = [place for place in range(300) if made.judge.flat[place]][::4]
    found = calibrate(labelled(made, made.labels(passed)), JUDGE)
    assert found.correction.refused.startswith(f"the labels called random are none: the judge passed {len(passed)} of")
    assert found.correction.people is None


def test_a_verdict_of_the_judge_that_no_label_speaks_to_is_said_and_allowed_for() -> None:
    made = world()
    made.judge[:] = True
    made.judge[:3, :2] = False
    places = [place for place in drawn() if made.judge.flat[place]]
    found = calibrate(labelled(made, made.labels(places)), JUDGE)
    assert "people may pass all or none of 6 such trials" in message(found, "unseen-verdict")
    assert found.correction.corrected is not None


@pytest.mark.parametrize("whole", [False, True], ids=["spread over tasks", "whole tasks"])
def test_labels_that_chance_drew_are_hardly_ever_called_none(whole: bool) -> None:
    """Also where whole tasks were drawn, on each of which the judge nearly always says the same."""
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(20):
        made = simulate(rng, np.tile([0.02, 0.98, 0.98], 10), 10, specificity=0.95)
        tasks = rng.choice(30, 6, replace=False)
        places = [task * 10 + k for task in tasks for k in range(10)] if whole else rng.choice(300, 60, replace=False)
        said = calibrate(labelled(made, made.labels(places)), JUDGE, by=()).correction.refused
        refused += "called random" in said
    assert refused == 0


def test_labels_of_two_tasks_are_too_few_to_speak_of_the_others() -> None:
    made = world()
    found = calibrate(labelled(made, made.labels(range(20, 40))), JUDGE)
    assert found.correction.refused.startswith("2 tasks with labels say nothing about tasks like these")
    assert "passhat review run --grader tone --blind" in found.correction.way_out


def test_a_run_of_two_tasks_is_refused_as_such_however_many_tasks_have_labels_elsewhere() -> None:
    made, other = simulate(np.random.default_rng(2), [0.4, 0.6], 10), world(8)
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, other.labels(drawn()), "other")).correction
    assert found.refused.startswith("2 tasks that the judge judged say nothing about tasks like these")
    assert found.way_out.startswith("have people read trials of the run itself")
    assert "passhat review run --grader tone --blind" in found.way_out


def test_a_way_out_can_be_pasted_whatever_the_names() -> None:
    made = world()
    said = calibrate(labelled(made, [], "my RUN; NAME"), JUDGE).correction.way_out
    assert "passhat review 'my RUN; NAME' --grader tone --blind" in said


def test_a_share_that_no_such_judge_could_pass_is_refused() -> None:
    made = simulate(np.random.default_rng(1), np.zeros(30), 10, specificity=1.0)
    other = simulate(np.random.default_rng(2), np.full(30, 0.5), 10, sensitivity=0.95, specificity=0.6)
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, other.labels(range(0, 300, 3)), "other"))
    assert "would not do at any pass rate" in found.correction.refused
    assert "passhat review run --grader tone --blind" in found.correction.way_out  # more labels of the other don't help


def test_picked_labels_of_another_run_are_refused() -> None:
    made, other = world(), world(8)
    labels = [*other.labels(drawn()), *other.labels([0, 1, 2], sample="disputed", rater="ben")]
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, labels, "other"))
    assert "of trials that were picked: sensitivity and specificity have to come from" in found.correction.refused


def test_a_judge_that_may_be_a_coin_is_said_and_its_rate_corrected_by_labels_of_the_run() -> None:
    made = world(sensitivity=0.5, specificity=0.5)
    found = calibrate(labelled(made, made.labels(drawn())), JUDGE)
    assert "don't show that the judge is better than chance" in message(found, "no-better-than-chance")
    assert found.correction.people is not None
    corrected = found.correction.corrected
    assert corrected is not None
    assert corrected.these_tasks[0] < made.rate < corrected.these_tasks[1]
    assert found.exit_code is ExitCode.FINE
    assert "no-better-than-chance" not in rules(calibrate(labelled(world(), world().labels(drawn())), JUDGE))


def test_a_judge_that_may_be_a_coin_corrects_no_other_run() -> None:
    made, other = world(), world(8, sensitivity=0.5, specificity=0.5)
    found = calibrate(labelled(made, []), JUDGE, elsewhere=labelled(other, other.labels(drawn()), "other"))
    assert found.correction.refused.startswith("the labels don't show that the judge is better than chance")


def test_labels_of_passes_alone_say_nothing_of_the_judge_on_failures() -> None:
    made = simulate(np.random.default_rng(1), np.ones(30), 10)
    found = calibrate(labelled(made, made.labels(drawn())), JUDGE)
    assert message(found, "one-sided-labels").startswith("people pass all 60 labelled trials")
    assert found.correction.corrected is not None
    assert found.correction.corrected.these_tasks[1] > 0.99
    elsewhere = labelled(made, made.labels(drawn()), "other")
    refused = calibrate(labelled(world(), []), JUDGE, elsewhere=elsewhere).correction.refused
    assert refused.startswith("people pass all 60 labelled trials")


JUDGED = Judged(
    kind="rubric",
    over="answer",
    models=("p/a",),
    rubric="r1",
    prompt="p1",
    samples=(JudgeSample("pass", reported="a-1"),),
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rubric": "r2"}, "the rubric (r1 and r2)"),
        ({"prompt": "p2"}, "the prompt (p1 and p2)"),
        ({"models": ("p/b",)}, "the model asked (p/a and p/b)"),
        ({"samples": (JudgeSample("pass", reported="a-2"),)}, "the model that answered (a-1 and a-2)"),
        ({"temperature": 0.0}, "the temperature (not set and 0.0)"),
    ],
)
@pytest.mark.parametrize("within", [True, False], ids=["within the run", "between two runs"])
def test_a_changed_judge_is_refused_and_the_change_named(change: dict[str, Any], words: str, within: bool) -> None:
    made = world()
    changed = msgspec.structs.replace(JUDGED, **change)

    def judged_by(records: list[TrialRecord], *by: Judged) -> list[TrialRecord]:
        return [
            msgspec.structs.replace(
                record, grades=(msgspec.structs.replace(record.grades[0], judged=by[place % len(by)]),)
            )
            for place, record in enumerate(records)
        ]

    labels = made.labels(drawn())
    if within:
        found = calibrate(Labelled("run", judged_by(made.records(), JUDGED, changed), labels), JUDGE)
    else:
        other = Labelled("other", judged_by(made.records(), changed), labels)
        found = calibrate(Labelled("run", judged_by(made.records(), JUDGED), []), JUDGE, elsewhere=other)
    assert found.correction.corrected is None
    assert words in found.correction.refused
    assert "passhat regrade run" in found.correction.way_out
    beside = "passhat calibrate run --grader tone --labels other --grades ID"
    assert (beside in found.correction.way_out) is not within
    same = calibrate(Labelled("run", judged_by(made.records(), JUDGED), labels), JUDGE)
    assert same.correction.corrected is not None


def _judged_by(made: World, rubric: str) -> list[TrialRecord]:
    judged = msgspec.structs.replace(JUDGED, rubric=rubric)
    return [
        msgspec.structs.replace(record, grades=(msgspec.structs.replace(record.grades[0], judged=judged),))
        for record in made.records()
    ]


def test_labels_that_were_given_on_another_rubric_calibrate_no_judge_of_this_one() -> None:
    made = world()
    labels = made.labels(drawn(), rubric="r1")
    assert calibrate(Labelled("run", _judged_by(made, "r1"), labels), JUDGE).correction.corrected is not None
    found = calibrate(Labelled("run", _judged_by(made, "r2"), labels), JUDGE)
    assert found.correction.refused == (
        "the rubric changed: all 60 labels were given on another one than the one that judged"
    )
    assert "--grades ID" in found.correction.way_out
    assert (found.correction.corrected, found.correction.people) == (None, None)
    assert (found.counts.labelled, found.counts.other_rubric) == (0, 60)
    assert found.exit_code is ExitCode.UNDECIDED
    other = Labelled("other", _judged_by(made, "r2"), labels)
    found = calibrate(Labelled("run", _judged_by(made, "r2"), []), JUDGE, elsewhere=other)
    assert found.correction.refused.startswith("the rubric changed")


def test_some_labels_of_another_rubric_are_set_aside_and_named() -> None:
    made = world()
    places = drawn(80)
    labels = [*made.labels(places[:60], rubric="r2"), *made.labels(places[60:], rubric="r1")]
    found = calibrate(Labelled("run", _judged_by(made, "r2"), labels), JUDGE)
    assert found.counts.labelled == 60
    assert message(found, "set-aside").startswith(
        "20 labels are set aside, given on another rubric than the one that judged: have them read again by that one"
    )
    assert found.correction.corrected is not None


def test_labels_that_do_not_say_on_which_rubric_they_were_given_are_said_to() -> None:
    made = world()
    found = calibrate(Labelled("run", _judged_by(made, "r2"), made.labels(drawn())), JUDGE)
    assert found.correction.corrected is not None
    assert message(found, "rubric-unsaid").startswith("60 labels don't say on which rubric they were given")
    said = calibrate(Labelled("run", _judged_by(made, "r2"), made.labels(drawn(), rubric="r2")), JUDGE)
    whole = calibrate(Labelled("run", _judged_by(made, "r2"), made.labels(drawn(), grader="")), JUDGE)
    no_judge = calibrate(labelled(made, made.labels(drawn())), JUDGE)
    assert not {"rubric-unsaid"} & (rules(said) | rules(whole) | rules(no_judge))


def test_settings_that_only_the_version_tells_are_a_change_and_code_is_for_other_graders() -> None:
    made = world()

    def versions(*names: str, judged: Judged | None) -> Labelled:
        records = [
            msgspec.structs.replace(
                record, grades=(Grade(record.passed, name=JUDGE, version=names[place % len(names)], judged=judged),)
            )
            for place, record in enumerate(made.records())
        ]
        return Labelled("run", records, made.labels(drawn()))

    refused = calibrate(versions("v1", "v2", judged=JUDGED), JUDGE).correction.refused
    assert refused == "the judge changed within the run: its settings (samples, threshold or reference) (v1 and v2)"
    refused = calibrate(versions("v1", "v2", judged=None), JUDGE).correction.refused
    assert refused == "the judge changed within the run: the grader's code (v1 and v2)"
    assert calibrate(versions("v1", judged=None), JUDGE).correction.corrected is not None


def test_a_judge_that_was_not_asked_about_an_empty_answer_is_the_same_judge() -> None:
    made = world()
    unasked = Judged(kind="rubric", over="answer", models=(), rubric="r1", prompt="p1")
    records = [
        msgspec.structs.replace(
            record, grades=(msgspec.structs.replace(record.grades[0], judged=JUDGED if place % 9 else unasked),)
        )
        for place, record in enumerate(made.records())
    ]
    assert calibrate(Labelled("run", records, made.labels(drawn())), JUDGE).correction.corrected is not None


def test_a_failure_that_no_judge_was_asked_about_is_no_verdict_of_the_judge() -> None:
    """An answer that is empty, as that of an agent that raised, fails a rubric by rule."""
    made = world()
    unasked = Judged(kind="rubric", over="answer", models=(), rubric="r1", prompt="p1", verdict="fail")
    records = [
        record
        if place % 10
        else msgspec.structs.replace(record, passed=False, grades=(Grade(False, name=JUDGE, judged=unasked),))
        for place, record in enumerate(_judged_by(made, "r1"))
    ]
    found = calibrate(Labelled("run", records, made.labels(range(0, 300, 5))), JUDGE)
    assert (found.counts.judged, found.counts.labelled, found.counts.unasked) == (270, 30, 30)
    assert found.correction.judged == 270
    places = range(5, 300, 10)
    assert found.quality.labels == len(places)
    assert message(found, "unasked").startswith("30 trials with an empty answer failed by rule")
    drawn_from = {(item.task, item.trial) for item in reading_list(records, grader=JUDGE, drawn=300)}
    assert len(drawn_from) == 270


def test_a_judge_of_unequally_many_trials_a_task_is_said_to_count_trials() -> None:
    made = world()
    records = made.records()[:-4]
    found = calibrate(Labelled("run", records, made.labels([p for p in drawn() if p < 296])), JUDGE)
    assert "each task once in the report" in message(found, "unequal-trials")
    assert "unequal-trials" not in rules(calibrate(labelled(made, made.labels(drawn())), JUDGE))


def test_parts_show_where_the_judge_errs_and_are_never_only_pooled() -> None:
    rng = np.random.default_rng(2)
    made = simulate(rng, RATES, 10, specificity=0.95)
    made.judge[:10][~made.human[:10]] = True  # on ten tasks it passes everything that people fail
    records = [
        msgspec.structs.replace(record, tags=("refund",) if int(record.task[1:]) < 10 else ("other",))
        for record in made.records()
    ]
    found = calibrate(Labelled("run", records, made.labels(drawn(150))), JUDGE)
    refund = next(row for row in found.parts if row.name == "refund")
    other = next(row for row in found.parts if row.name == "other")
    assert refund.quality.specificity.estimate == 0
    assert other.quality.specificity.estimate is not None
    assert other.quality.specificity.estimate > 0.8
    assert other.corrected is not None
    assert message(found, "uneven").startswith("tag ")
    assert any("refund: the judge passes" in each.message for each in found.findings)


def test_few_labels_sight_of_the_verdict_and_few_tasks_are_warned_of() -> None:
    made = world()
    whole_tasks = [task * 10 + trial for task in (0, 1, 2, 3) for trial in range(10)]
    found = calibrate(labelled(made, made.labels(whole_tasks, blind=False)), JUDGE)
    assert {"few-labels", "not-blind", "concentrated"} <= rules(found)
    assert "keep to 4 tasks, where chance would have reached about 2" in message(found, "concentrated")
    corrected = found.correction.corrected
    assert corrected is not None
    assert corrected.these_tasks == corrected.tasks_like_these
    assert "jackknife over tasks" in corrected.method


def test_a_judge_that_always_passes_has_kappa_0_and_the_agreement_of_chance() -> None:
    made = World(np.array([[True, True, False, False]]), np.ones((1, 4), bool))
    found = calibrate(labelled(made, made.labels(range(4))), JUDGE)
    assert (found.quality.kappa, found.quality.agreement.estimate) == (0.0, 0.5)
    assert "the judge gave all labelled trials one verdict" in message(found, "kappa")
    alike = World(np.ones((1, 4), bool), np.ones((1, 4), bool))
    found = calibrate(labelled(alike, alike.labels(range(4))), JUDGE)
    assert found.quality.kappa is None
    assert "kappa is undefined" in message(found, "kappa")


def test_raw_agreement_is_warned_of_where_people_nearly_always_say_the_same() -> None:
    made = simulate(np.random.default_rng(1), np.full(30, 0.9), 10)
    found = calibrate(labelled(made, made.labels(drawn(200))), JUDGE)
    assert re.match(
        r"people pass \d\d % of the labelled trials: a judge that always says so", message(found, "lopsided")
    )
    assert "lopsided" not in rules(calibrate(labelled(world(), world().labels(drawn())), JUDGE))


def test_picked_by_hand_tasks_are_a_sample_of_nothing() -> None:
    made = world()
    found = calibrate(labelled(made, made.labels(drawn())), JUDGE, hand_picked=True).correction.corrected
    assert found is not None
    assert found.tasks_like_these is None


def test_the_number_of_labels_for_a_width_is_about_right() -> None:
    made = simulate(np.random.default_rng(3), np.tile(RATES, 10), 10)  # 3000 trials
    places = np.random.default_rng(4).choice(3000, 100, replace=False)
    first = calibrate(labelled(made, made.labels(places)), JUDGE)
    need = next(each for each in first.needed if each.width == 0.10)
    assert need.labels is not None
    more = np.random.default_rng(5).choice(3000, need.labels, replace=False)
    corrected = calibrate(labelled(made, made.labels(more)), JUDGE).correction.corrected
    assert corrected is not None
    assert corrected.these_tasks[1] - corrected.these_tasks[0] == pytest.approx(0.10, abs=0.02)


def test_no_width_takes_fewer_labels_than_there_are() -> None:
    """Labels of few tasks make a wide interval, of which the approximation knows nothing."""
    made = world()
    found = calibrate(labelled(made, made.labels(range(120))), JUDGE)
    assert found.correction.corrected is not None
    assert [each for each in found.needed if each.labels is not None and each.labels <= 120] == []


def test_trials_without_a_verdict_of_the_judge_are_told_apart() -> None:
    made = world()
    records = made.records()
    records[0] = msgspec.structs.replace(records[0], grades=(Grade(None, name=JUDGE),), passed=None)
    records[1] = msgspec.structs.replace(records[1], grades=(Grade(None, name=JUDGE, error="boom"),), passed=None)
    found = calibrate(Labelled("run", records, made.labels(drawn())), JUDGE)
    assert (found.counts.judged, found.counts.unknown, found.counts.errors) == (298, 1, 1)
    assert "could not tell in 1 trial and failed in 1" in message(found, "not-judged")


def test_a_grader_that_judged_nothing_is_named_with_those_that_did() -> None:
    made = world()
    with pytest.raises(CalibrationError, match="no grader 'tune' judged a trial of it; its graders are: 'tone'"):
        calibrate(labelled(made, []), "tune")
    record = TrialRecord("t", 0, Status.UNRESOLVED, None, grades=(Grade(None, name=JUDGE),))
    with pytest.raises(CalibrationError, match="passed or failed no trial"):
        calibrate(Labelled("run", [record], []), JUDGE)


def test_tuned_tasks_stand_apart() -> None:
    made = world()
    records = [
        msgspec.structs.replace(record, split="tune" if record.task in ("t0", "t1") else "holdout")
        for record in made.records()
    ]
    found = calibrate(Labelled("run", records, made.labels(drawn())), JUDGE)
    assert found.counts.judged == 280
    assert "20 trials of split tune stand apart" in message(found, "tuned")


def test_everything_read_needs_no_judge() -> None:
    made = world(sensitivity=0.5, specificity=0.5)
    found = calibrate(labelled(made, made.labels(range(300), sample="picked")), JUDGE).correction.corrected
    assert found is not None
    assert found.estimate == pytest.approx(made.rate)
