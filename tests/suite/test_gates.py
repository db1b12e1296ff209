import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.suite import Gate, SuiteError


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("pass@1 >= 0.6", Gate("pass@k", ">=", 0.6, 1)),
        ("pass^3>=50%", Gate("pass^k", ">=", 0.5, 3)),
        ("  pass ^ 10 ≥ .9 ", Gate("pass^k", ">=", 0.9, 10)),
        ("score >= 1", Gate("score", ">=", 1.0)),
        ("grader:never issue_refund >= 95%", Gate("grader", ">=", 0.95, name="never issue_refund")),
        ("missing <= 2%", Gate("missing", "<=", 0.02)),
        ("seconds <= 30", Gate("seconds", "<=", 30.0)),
        ("dollars ≤ 0.05", Gate("dollars", "<=", 0.05)),
        ("mean dollars <= 0.05", Gate("dollars", "<=", 0.05)),
        ("p95 seconds <= 30", Gate("seconds", "<=", 30.0, percent=95)),
        ("p 50 tokens>=100 at .9", Gate("tokens", ">=", 100.0, level=0.9, percent=50)),
        ("pass@1 >= 0.6 of tasks like these", Gate("pass@k", ">=", 0.6, 1, of="tasks like these")),
        ("pass@1 >= 0.6 of these tasks at 0.9", Gate("pass@k", ">=", 0.6, 1, level=0.9)),
        ("pass@1 >= 0.6 at 99%", Gate("pass@k", ">=", 0.6, 1, level=0.99)),
    ],
)
def test_a_gate_is_read_as_it_is_written(text: str, gate: Gate) -> None:
    assert Gate.parse(text) == gate
    assert Gate.parse(str(gate)) == gate


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pass@1", "can't be read"),
        ("pass@1 > 0.6", "use >= or <=: reaching the bar is enough"),
        ("pass@0 >= 0.6", "k must be 1 or more"),
        ("pass@k >= 0.6", "unknown rate 'pass@k'; did you mean 'pass@1'?"),
        ("secnds <= 3", "did you mean 'seconds'?"),
        ("pass@1 >= 60", "for a percentage write 60%"),
        ("pass@1 >= 160%", "a share lies in 0..1"),
        ("pass@1 >= nan", "finite"),
        ("pass@1 >= -1", "finite number, 0 or more"),
        ("pass@1 >= six", "no number"),
        ("pass@1 >= 1_0", "no number"),
        ("seconds <= 5%", "no percent"),
        ("p95 score >= 0.5", "p95 is for an amount a trial: seconds, dollars"),
        ("p0 seconds <= 5", "a percentile lies in p1 to p99"),
        ("p100 seconds <= 5", "a percentile lies in p1 to p99"),
        ("p95 seconds <= 5 of tasks like these", "an amount a trial"),
        ("seconds <= 5 of tasks like these", "an amount a trial"),
        ("grader: >= 0.5", "name the grader"),
        ("pass@1 >= 0.6 at 0.5", "level must be above 0.5"),
        ("pass@1 >= 0.6 at 1", "level must be above 0.5"),
        ("pass@1 >= 0.6 of tasks", "can't be read"),
        ("", "can't be read"),
        (0.6, "a gate is text, got 0.6"),
    ],
)
def test_a_gate_that_cannot_be_read_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        Gate.parse(text)
    assert message in str(caught.value)


@settings(deadline=None)
@given(st.integers(1, 99), st.floats(0, 1), st.sampled_from(["@", "^"]), st.floats(0.501, 0.999))
def test_what_a_gate_prints_reads_back_as_the_same_bar(k: int, number: float, sign: str, level: float) -> None:
    gate = Gate(f"pass{sign}k", ">=", number, k, level=level)
    again = Gate.parse(str(gate))
    assert (again.rate, again.k, again.label) == (gate.rate, k, f"pass{sign}{k}")
    assert again.number == pytest.approx(number, rel=1e-9)
    assert again.level == pytest.approx(level, rel=1e-5)
