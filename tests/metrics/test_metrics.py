import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import passhat.metrics
from passhat import metrics
from passhat.facts import Message, ModelCall, Status, Task, ToolCall, ToolOffer, ToolRun, Transcript
from passhat.metrics import MetricValue
from passhat.trial import FinishedTrial


def trials_of(rows: list[tuple[str, Any, list[Any]]], **more: Any) -> list[FinishedTrial]:
    """Finished trials from (task id, expected, outputs) rows."""
    return [
        FinishedTrial(Task(task, expected=expected, **more), output)
        for task, expected, outputs in rows
        for output in outputs
    ]


ROWS = [
    ("a", ["d1", "d2"], [["d1", "x", "d2"], ["x", "y", "z"]]),
    ("b", {"d3": 2, "d4": 1, "d5": 0}, [["d4", "d3"], ["d3", "d4"]]),
]


def test_figures_of_ranked_ids_are_means_over_tasks_of_means_over_trials() -> None:
    trials = trials_of(ROWS)
    assert metrics.recall_at(1)(trials).value == pytest.approx((0.5 / 2 + 0.5) / 2)
    assert metrics.recall_at(3)(trials).value == pytest.approx((1 / 2 + 1) / 2)
    assert metrics.precision_at(2)(trials).value == pytest.approx((0.5 / 2 + 1) / 2)
    assert metrics.mrr()(trials).value == pytest.approx((1 / 2 + 1) / 2)
    assert metrics.mrr(1)(trials).value == pytest.approx((1 / 2 + 1) / 2)
    swapped = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert metrics.ndcg_at(2)(trials).parts == ()
    first = 1 / (1 + 1 / math.log2(3))
    assert metrics.ndcg_at(2)(trials).value == pytest.approx((first / 2 + (swapped + 1) / 2) / 2)
    assert [m(trials).name for m in (metrics.recall_at(3), metrics.mrr(), metrics.mrr(5), metrics.ndcg_at(2))] == [
        "recall@3",
        "MRR",
        "MRR@5",
        "nDCG@2",
    ]


def test_what_an_agent_returned_may_hold_the_list_in_a_part() -> None:
    trials = trials_of([("a", {"relevant": ["d1"]}, [{"ids": ["d1"]}, {"no": 1}, None, {"ids": "d1"}, {"ids": [[1]]}])])
    value = metrics.recall_at(1, "relevant", retrieved="ids")(trials)
    assert value.value == pytest.approx(0.2)
    assert value.details == {"unusable_outputs": 4}
    assert metrics.recall_at(1, ["d1"], retrieved=lambda output: output["ids"])(trials).value == pytest.approx(0.2)


def test_a_task_to_which_nothing_is_relevant_is_left_out_and_said() -> None:
    rows: list[tuple[str, Any, list[Any]]] = [("a", [], [["x"]]), ("b", ["x"], [["x"]]), ("c", {"x": 0}, [["x"]])]
    for metric in (metrics.recall_at(1), metrics.precision_at(1), metrics.mrr(), metrics.ndcg_at(1)):
        value = metric(trials_of(rows))
        assert (value.value, value.tasks, value.missing) == (1.0, 1, 2)
    nothing = metrics.mrr()(trials_of(rows[:1]))
    assert (nothing.value, nothing.these_tasks, nothing.note) == (None, None, "nothing is known of it")


def test_a_failed_trial_counts_0_a_missing_one_is_left_out_and_a_skipped_one_was_never_there() -> None:
    task = Task("a", expected=["d1"])
    statuses = [Status.COMPLETED, Status.TIMEOUT, Status.ENVIRONMENT_ERROR, Status.SKIPPED, Status.UNRESOLVED]
    trials = [FinishedTrial(task, ["d1"], status=status) for status in statuses]
    value = metrics.recall_at(1)(trials)
    assert value.value == pytest.approx(2 / 3)
    assert (value.trials, value.missing) == (3, 1)


@pytest.mark.parametrize("expected", ["d1", 3, None, [["d1"]], {"d1": "high"}, {"d1": True}])
def test_relevant_ids_that_are_none_are_refused(expected: Any) -> None:
    with pytest.raises((ValueError, LookupError), match="task 'a'"):
        metrics.recall_at(1)(trials_of([("a", expected, [["d1"]])]))


@pytest.mark.parametrize("k", [0, True, 1.5, "3"])
def test_a_cutoff_is_a_whole_number(k: Any) -> None:
    for make in (metrics.recall_at, metrics.precision_at, metrics.mrr, metrics.ndcg_at):
        with pytest.raises(ValueError, match="must be a whole number, 1 or more"):
            make(k)
    for level in (0.5, 1, True, "95%"):
        with pytest.raises(ValueError, match="level="):
            metrics.mrr(level=level)  # type: ignore[arg-type]


def test_repeats_in_a_list_win_nothing() -> None:
    assert metrics.recall(["a", "a", "b"], ["a", "b"], 2) == 0.5
    assert metrics.precision(["a", "a"], ["a"], 2) == 0.5
    assert metrics.ndcg(["a", "a"], {"a": 1, "b": 1}, 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert metrics.reciprocal_rank(["x", "a", "a"], ["a"]) == 0.5
    assert metrics.reciprocal_rank(["x", "y"], ["a"]) == 0.0
    assert metrics.reciprocal_rank(["x", "a"], ["a"], 1) == 0.0


IDS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


@settings(deadline=None)
@given(IDS, IDS, st.integers(1, 9))
def test_ranked_figures_agree_with_slow_plain_definitions(ids: list[str], relevant: list[str], k: int) -> None:
    if not relevant:
        assert (
            metrics.recall(ids, relevant, k)
            is metrics.ndcg(ids, relevant, k)
            is metrics.reciprocal_rank(ids, [])
            is None
        )
        return
    top = ids[:k]
    found = len(set(top) & set(relevant))
    assert metrics.recall(ids, relevant, k) == pytest.approx(found / len(relevant))
    assert metrics.precision(ids, relevant, k) == pytest.approx(found / k)
    places = [ids.index(item) + 1 for item in relevant if item in ids]
    assert metrics.reciprocal_rank(ids, relevant) == pytest.approx(1 / min(places) if places else 0)
    gained = sum(1 / math.log2(place + 1) for place in places if place <= k)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))
    assert metrics.ndcg(ids, relevant, k) == pytest.approx(gained / best)


def test_figures_equal_scikit_learns_on_random_data() -> None:
    from sklearn.metrics import (  # type: ignore[import-untyped]
        accuracy_score,
        confusion_matrix,
        f1_score,
        ndcg_score,
        precision_recall_fscore_support,
    )

    rng = random.Random(7)
    for _ in range(20):
        pairs = [(rng.choice("abc"), rng.choice("abcd")) for _ in range(60)]
        labels = ["a", "b", "c", "d"]
        value = metrics.classification(labels)(trials_of([(f"t{i}", a, [b]) for i, (a, b) in enumerate(pairs)]))
        truth, guess = [a for a, _ in pairs], [b for _, b in pairs]
        assert value.value == pytest.approx(accuracy_score(truth, guess))
        matrix = confusion_matrix(truth, guess, labels=labels).tolist()
        assert [[value.details["confusion"].get(a, {}).get(b, 0) for b in labels] for a in labels] == matrix
        each = precision_recall_fscore_support(truth, guess, labels=labels, zero_division=0)
        for index, label in enumerate(labels):
            for name, column in (("precision", 0), ("recall", 1), ("F1", 2)):
                part = value.part(f"{name} of {label}").value
                assert (part or 0) == pytest.approx(each[column][index])
        assert value.details["macro_f1"] == pytest.approx(f1_score(truth, guess, labels=labels, average="macro"))
        gains = {f"d{i}": rng.randint(0, 3) for i in range(8)} | {"d9": 1}
        order = rng.sample(sorted(gains), 9)
        scores = [len(order) - place for place in range(len(order))]
        for k in (1, 3, 5, 9):
            wanted = ndcg_score([[gains[item] for item in order]], [scores], k=k)
            assert metrics.ndcg(order, gains, k) == pytest.approx(wanted)


def test_figures_equal_ir_measures_on_random_data() -> None:
    import ir_measures
    from ir_measures import RR, P, R, nDCG

    rng = random.Random(3)
    for _ in range(20):
        rows: list[tuple[str, Any, list[Any]]] = []
        for query in range(8):
            gains = {f"d{i}": rng.randint(0, 2) for i in range(10)} | {"d10": 1}
            found = rng.sample([*gains, "x1", "x2", "x3"], rng.randint(1, 12))  # some that nobody has judged
            rows.append((f"q{query}", gains, [found]))
        qrels = [ir_measures.Qrel(query, doc, gain) for query, gains, _ in rows for doc, gain in gains.items()]
        run = [
            ir_measures.ScoredDoc(query, doc, 100.0 - place)
            for query, _, (order,) in rows
            for place, doc in enumerate(order)
        ]
        trials = trials_of(rows)
        for k in (1, 3, 5, 10):
            wanted = ir_measures.calc_aggregate([P @ k, R @ k, nDCG @ k, RR @ k, RR], qrels, run)
            assert metrics.precision_at(k)(trials).value == pytest.approx(wanted[P @ k])
            assert metrics.recall_at(k)(trials).value == pytest.approx(wanted[R @ k])
            assert metrics.ndcg_at(k)(trials).value == pytest.approx(wanted[nDCG @ k])
            assert metrics.mrr(k)(trials).value == pytest.approx(wanted[RR @ k])
            assert metrics.mrr()(trials).value == pytest.approx(wanted[RR])


ROUTES: list[tuple[str, Any, list[Any]]] = [
    ("t1", "billing", ["billing", "billing"]),
    ("t2", "billing", ["tech", "billing"]),
    ("t3", "tech", ["tech", "tech"]),
    ("t4", "tech", ["tech", None]),
    ("t5", "sales", ["billing", "weather"]),
]


def test_which_label_is_taken_for_which() -> None:
    value = metrics.classification(["billing", "tech", "sales"])(trials_of(ROUTES))
    assert value.value == pytest.approx((1 + 0.5 + 1 + 0.5 + 0) / 5)
    assert value.details["confusion"] == {
        "billing": {"billing": 3, "tech": 1},
        "tech": {"tech": 3, "(none)": 1},
        "sales": {"billing": 1, "(other)": 1},
    }
    assert value.details["support"] == {"billing": 4, "tech": 4, "sales": 2}
    assert value.part("precision of billing").value == pytest.approx(3 / 4)
    assert value.part("recall of billing").value == pytest.approx(3 / 4)
    assert value.part("F1 of tech").value == pytest.approx(6 / 8)
    assert value.part("recall of sales").value == 0.0
    assert value.part("precision of sales").value is None
    assert value.part("precision of sales").note == "there is no such case"
    assert value.details["macro_f1"] == pytest.approx((6 / 8 + 6 / 8 + 0) / 3)
    with pytest.raises(KeyError, match="accuracy has no part 'recall of x'; it has precision of billing"):
        value.part("recall of x")


def test_labels_are_found_in_parts_levelled_and_needn_be_text() -> None:
    rows = [("a", {"route": "Tech"}, [{"route": " tech "}, {"x": 1}, 3])]
    value = metrics.classification(expect="route", predicted="route", normalise=True)(trials_of(rows))
    assert value.details["confusion"] == {"tech": {"tech": 1, "(none)": 2}}
    assert value.details["labels"] == ["tech"]
    numbers = metrics.classification([1, 2])(trials_of([("a", 1, [1, 1.0, 2, float("nan")])]))
    assert numbers.details["confusion"] == {"1": {"1": 1, "(other)": 1, "2": 1, "(none)": 1}}
    assert metrics.confusion([]) == {}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: metrics.classification("abc"), "must be a list of labels"),
        (lambda: metrics.classification([]), "must be different labels"),
        (lambda: metrics.classification(["a", "a"]), "must be different labels"),
        (
            lambda: metrics.classification(["a"])(trials_of([("t", "b", ["a"])])),
            "task 't' expects the label 'b', which is none of a",
        ),
    ],
)
def test_labels_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_failed_trials_are_wrong_and_missing_ones_left_out() -> None:
    task = Task("t", expected="a")
    trials = [FinishedTrial(task, "a"), FinishedTrial(task, "a", status=Status.AGENT_ERROR)]
    trials += [FinishedTrial(task, None, status=Status.INTERRUPTED)]
    value = metrics.classification(["a", "b"])(trials)
    assert (value.value, value.trials, value.missing) == (0.5, 2, 1)
    assert value.details["confusion"] == {"a": {"a": 1, "(none)": 1}}


def test_no_interval_has_width_0_and_few_tasks_have_none_about_their_like() -> None:
    rows: list[tuple[str, Any, list[Any]]] = [(f"t{i}", "a", ["a", "a", "a"]) for i in range(12)]
    value = metrics.classification(["a", "b"])(trials_of(rows))
    for figure in (value, value.part("precision of a"), value.part("recall of a"), value.part("F1 of a")):
        assert figure.value == 1.0
        assert figure.tasks_like_these is not None
        low, high = figure.tasks_like_these
        assert 0.6 < low < 0.85
        assert high == 1.0
    assert value.these_tasks is not None
    assert 0.85 < value.these_tasks[0] < 1
    few = metrics.classification(["a", "b"])(trials_of(rows[:4]))
    for figure in (few, few.part("precision of a")):
        assert figure.tasks_like_these is None
        assert "4 independent tasks say next to nothing about tasks like these" in figure.note
    zero = metrics.classification(["a", "b"])(trials_of([(f"t{i}", "a", ["b"]) for i in range(12)]))
    interval = zero.part("recall of a").tasks_like_these
    assert interval is not None
    assert (interval[0], interval[1] > 0.15) == (0.0, True)


def test_tasks_of_one_family_count_as_one() -> None:
    rows = [(f"t{i}", "a", ["a" if i % 3 else "b"] * 3) for i in range(24)]
    apart = metrics.classification(["a", "b"])(trials_of(rows))
    families = [FinishedTrial(Task(t, expected=e, family=f"f{int(t[1:]) % 6}"), o) for t, e, os in rows for o in os]
    grouped = metrics.classification(["a", "b"])(families)
    assert grouped.value == apart.value
    for name in ("recall of a", "accuracy"):
        one, two = (apart, grouped) if name == "accuracy" else (apart.part(name), grouped.part(name))
        assert one.tasks_like_these is not None
        assert two.tasks_like_these is not None
        assert two.tasks_like_these[1] - two.tasks_like_these[0] > one.tasks_like_these[1] - one.tasks_like_these[0]


def test_the_same_trials_always_give_the_same_interval() -> None:
    trials = trials_of(ROUTES)
    assert metrics.classification()(trials) == metrics.classification()(trials)


def _graded(rng: random.Random) -> float:
    return rng.betavariate(4, 1)


# How often the router is right on a task; the mean over tasks is .8 in each world.
WORLDS: dict[str, Callable[[random.Random], float]] = {
    "easier and harder": _graded,
    "all alike": lambda rng: 0.8,
    "solved or not": lambda rng: float(rng.random() < 0.8),
    "mostly solved": lambda rng: rng.betavariate(1.6, 0.4),
}


def _routing(
    rng: random.Random, tasks: int, skill_of: Callable[[random.Random], float] = _graded
) -> list[FinishedTrial]:
    rows: list[tuple[str, Any, list[Any]]] = []
    for index in range(tasks):
        label = rng.choice("ab")
        skill = skill_of(rng)
        outputs = [label if rng.random() < skill else ("b" if label == "a" else "a") for _ in range(5)]
        rows.append((f"t{index}", label, outputs))
    return trials_of(rows)


def test_intervals_of_routing_cover_the_truth_in_seeded_repeats() -> None:
    """Accuracy, recall and precision are all .8 in this world; the intervals are at 95 %."""
    rng = random.Random(11)
    names = ("accuracy", "recall of a", "precision of a")
    covered = dict.fromkeys(names, 0)
    repeats = 100
    for _ in range(repeats):
        value = metrics.classification(["a", "b"])(_routing(rng, 30))
        for name in names:
            figure = value if name == "accuracy" else value.part(name)
            assert figure.tasks_like_these is not None
            covered[name] += figure.tasks_like_these[0] <= 0.8 <= figure.tasks_like_these[1]
    assert min(covered.values()) >= 0.94 * repeats, covered


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [12, 30, 60])
@pytest.mark.parametrize("world", WORLDS)
def test_the_interval_of_routing_accuracy_covers_in_every_world(world: str, tasks: int) -> None:
    rng = random.Random(17)
    covered, repeats = 0, 400
    for _ in range(repeats):
        interval = metrics.classification(["a", "b"])(_routing(rng, tasks, WORLDS[world])).tasks_like_these
        assert interval is not None
        covered += interval[0] <= 0.8 <= interval[1]
    assert covered >= 0.94 * repeats, covered / repeats


def called(*calls: tuple[str, Any], run: str | None = None, offered: str = "search") -> Transcript:
    wishes = tuple(ToolCall(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(calls))
    reply = Message("assistant", "hi", wishes)
    events: list[Any] = [ModelCall(1.0, 0.1, "chat", "scripted", tools=(ToolOffer(offered),), reply=reply)]
    if run is not None:
        events.append(ToolRun(2.0, 0.1, run, dict(calls)[run], call_id="c0"))
    return Transcript(tuple(events))


def chosen(should: bool, transcript: Transcript, task: str = "t", **more: Any) -> FinishedTrial:
    expected = {"search": should, "arguments": {"q": "refunds"}}
    return FinishedTrial(Task(task, expected=expected), None, transcript, **more)


RIGHT = called(("search", {"q": "refunds", "n": 3}))
WRONG = called(("search", {"q": "weather"}))
NOT = called(("other", {}))


def test_a_tool_is_chosen_when_it_should_be_and_left_alone_when_not() -> None:
    trials = [
        chosen(True, RIGHT, "a"),
        chosen(True, WRONG, "a"),
        chosen(True, NOT, "a"),
        chosen(True, RIGHT, "a", status=Status.TIMEOUT),
        chosen(False, NOT, "b"),
        chosen(False, NOT, "b", status=Status.AGENT_ERROR),
        chosen(False, RIGHT, "c"),
        chosen(False, Transcript(), "c"),
    ]
    value = metrics.tool_choice("search", "search", arguments="arguments")(trials)
    assert value.value == pytest.approx((2 / 4 + 1 / 2 + 0) / 3)
    assert value.missing == 1
    assert value.part("called when it should be").value == pytest.approx(0.5)
    assert value.part("left alone when it shouldn't be").value == pytest.approx((0.5 + 0) / 2)
    assert value.part("right arguments when called").value == pytest.approx(0.5)
    assert value.details["choices"] == {
        "should": {"called": 2, "not called": 1, "failed": 1},
        "should not": {"called": 1, "not called": 1, "failed": 1},
    }


def test_tool_choice_can_rest_on_runs() -> None:
    ran = called(("search", {"q": "x"}), run="search")
    metric = metrics.tool_choice("search", lambda task: True, evidence="executed")
    assert metric([chosen(True, ran)]).value == 1.0
    assert metric([chosen(True, RIGHT)]).missing == 1
    recorded = metrics.tool_choice("search", lambda task: True, evidence="executed", recorded=True)
    assert recorded([chosen(True, RIGHT)]).value == 0.0
    cut = Transcript(NOT.events, truncated="too long")
    assert metrics.tool_choice("search", "search")([chosen(True, cut)]).missing == 1
    assert "arguments" not in str([part.name for part in metric([chosen(True, ran)]).parts])


def test_the_right_arguments_of_runs_are_those_that_ran() -> None:
    other = ToolRun(2.0, 0.1, "search", {"q": "refunds"}, call_id="c0")
    trials = [chosen(True, Transcript((*WRONG.events, other)))]
    for evidence, right in (("requested", 0.0), ("executed", 1.0)):
        metric = metrics.tool_choice("search", "search", arguments="arguments", evidence=evidence)  # type: ignore[arg-type]
        assert metric(trials).part("right arguments when called").value == right
    cut = called(("search", '{"q": "refunds"'))
    metric = metrics.tool_choice("search", "search", arguments="arguments")
    assert metric([chosen(True, cut)]).part("right arguments when called").value == 0.0


def test_a_choice_that_isnt_stated_is_refused() -> None:
    with pytest.raises(ValueError, match="task 't': should='yes': must be True or False"):
        metrics.tool_choice("search", lambda task: "yes")([chosen(True, RIGHT)])
    with pytest.raises(ValueError, match="name is text"):
        metrics.tool_choice("", "search")


def test_a_metric_of_ones_own_is_a_mean_over_tasks_in_which_failed_trials_count_0() -> None:
    short = metrics.mean("short", lambda trial: None if trial.output is None else len(trial.output) < 3)
    rows: list[tuple[str, Any, list[Any]]] = [("a", "", ["x", "xyz"]), ("b", "", ["x", None])]
    trials = [*trials_of(rows), FinishedTrial(Task("b"), "x", status=Status.TIMEOUT)]
    value = short(trials)
    assert (value.name, value.value, value.trials, value.missing) == ("short", 0.5, 4, 1)
    for wrong in (2, -0.5, float("nan"), "yes"):
        with pytest.raises(ValueError, match=r"task 'a': m is .*; it must be a number in 0\.\.1, or None"):
            metrics.mean("m", lambda trial, wrong=wrong: wrong)(trials)  # type: ignore[misc]
    with pytest.raises(ValueError, match="must be a line of text"):
        metrics.mean(" ", len)
    with pytest.raises(ValueError, match="must be a function of a finished trial"):
        metrics.mean("m", 0.5)  # type: ignore[arg-type]


def test_no_trials_give_no_figure() -> None:
    for metric in (metrics.mrr(), metrics.classification(), metrics.tool_choice("x", "x"), metrics.mean("m", len)):
        value = metric([])
        assert isinstance(value, MetricValue)
        assert (value.value, value.tasks, value.trials) == (None, 0, 0)


def test_all_exported_names_exist() -> None:
    for name in passhat.metrics.__all__:
        assert hasattr(passhat.metrics, name)
