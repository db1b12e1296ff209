"""What `passhat calibrate` shows."""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec
import pytest

from passhat.calibrating import Calibration, ControlLeak, Labelled, Rate, Robustness, calibrate
from passhat.facts import Grade, Label, Status, TrialRecord
from passhat.reporting._calibration import render_calibration
from passhat.summary import Agreement, Example

from .conftest import HOSTILE

JUDGE = "tone"


def made(
    labels: int = 70,
    *,
    run: str = "run",
    grader: str = JUDGE,
    tag: str = "refund",
    sample: str = "random",
    **fields: Any,
) -> Calibration:
    """Of 200 trials the judge passes 140; of what it passes people fail every fifth, of what it fails none passes."""
    passed = [i % 10 < 7 for i in range(200)]
    records = [
        TrialRecord(
            f"t{i // 4}",
            i % 4,
            Status.COMPLETED,
            passed[i],
            grades=(Grade(passed[i], name=grader),),
            tags=(tag,) if i < 80 else (),
        )
        for i in range(200)
    ]
    said = [
        Label(f"t{i // 4}", i % 4, "pass" if passed[i] and i % 5 else "fail", "ann", "", sample=sample, blind=True)
        for i in [(37 * j) % 200 for j in range(labels)]
    ]
    return calibrate(Labelled(run, records, said), grader, **fields)


def test_the_page_shows_the_table_both_rates_and_why_they_differ() -> None:
    found = made()
    text = render_calibration(found, width=100)
    (pp, pf), (fp, ff) = found.quality.table
    assert f"people pass            {pp}" in text
    for word in (
        "sensitivity",
        "specificity",
        "precision, pass",
        "kappa",
        "by the judge",
        "by people alone",
        "corrected",
    ):
        assert word in text
    assert f"it fails {ff} of {fp + ff} that people fail" in text
    flat = " ".join(text.split())
    assert found.correction.why in flat
    assert pf == 0
    assert "tag refund" in text
    assert "more labels" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for found in (made(), made(0), made(30, sample="failed")):
        text = render_calibration(found, width=width)
        commands = ("passhat ",)
        assert all(len(line) <= width or line.strip().startswith(commands) for line in text.split("\n"))


def test_plain_text_has_no_escapes_and_ascii_has_no_signs() -> None:
    assert "\x1b" not in render_calibration(made())
    assert render_calibration(made(), unicode=False).isascii()
    assert "\x1b[" in render_calibration(made(), color=True)


def test_names_from_outside_cannot_touch_the_terminal() -> None:
    text = render_calibration(made(run=HOSTILE, grader=HOSTILE, tag=HOSTILE), width=100)
    assert not set(text) & {"\x1b", "\x07", "\u202e"}


def test_a_refusal_is_in_place_of_the_rate_with_the_way_out() -> None:
    text = " ".join(render_calibration(made(30, sample="failed"), width=100).split())
    assert "no corrected rate: all 30 labels are of trials that were picked" in text
    assert "way out: have people read trials that chance draws (passhat review run --grader tone --blind" in text
    assert "corrected 0" not in text


def test_without_labels_the_next_step_is_said() -> None:
    text = render_calibration(made(0), width=100)
    assert "none of 200 judged trials has a verdict of people" in text
    assert "passhat review run --grader tone --blind" in text
    assert "sensitivity" not in text


def test_the_command_to_paste_names_run_and_grader_whole_and_quoted() -> None:
    run, grader = "my run; " + "x" * 100, "is it kind? " + "y" * 50
    text = render_calibration(made(0, run=run, grader=grader), width=60)
    command = next(line for line in text.split("\n") if line.strip().startswith("passhat review"))
    assert shlex.split(command) == ["passhat", "review", run, "--grader", grader, "--blind"]


def test_no_interval_of_kappa_looks_narrower_than_it_is() -> None:
    found = made()
    pair = Agreement(("ann", "ben"), 20, 9, 0.45, -0.1, (-0.2345, 0.0345))
    quality = msgspec.structs.replace(found.quality, kappa=-0.1, kappa_interval=(-0.2345, 0.0345))
    text = render_calibration(msgspec.structs.replace(found, raters=(pair,), quality=quality), width=100)
    assert "ann and ben: 9 of 20 alike (45 %), kappa -0.10 (-0.24 to 0.04)" in text
    assert "-0.235 to 0.035" in text


def test_robustness_shows_flips_and_leaks_with_an_example() -> None:
    example = Example("t1", 2, f"fine {HOSTILE}")
    leak = ControlLeak("injection", "an order to pass it", Rate.of(3, 8, 0.95), 1, 2, example)
    held = ControlLeak("empty", "nothing at all", Rate.of(0, 8, 0.95), 0, 0, None)
    checked = Robustness(
        trials=8,
        repeats=3,
        flips=Rate.of(2, 8, 0.95),
        flipped=(Example("t4", 0, ""),),
        recorded=Rate.of(0, 8, 0.95),
        order=Rate.of(1, 24, 0.95),
        first_favoured=1,
        leaks=(leak, held),
        leaked=Rate.of(3, 16, 0.95),
        errors=2,
        problem=f"no answer {HOSTILE}",
    )
    found = msgspec.structs.replace(made(), robustness=checked)
    text = render_calibration(found, width=100)
    assert "3 of 16 passed, a leak rate of 0.188 (0.040–0.457)" in text
    assert "1 unknown, 2 could not be judged" in text
    assert "flips: t4 #0" in text
    again, must_fail = text.split("Asked again")[1].split("Answers that must fail")
    assert re.search(r"\n +changed +interval\n +verdict flips +2/8", again)
    assert re.search(r"\n +passed +interval\n +injection +3/8", must_fail)
    assert "passed" not in again
    assert "2 could not be judged: no answer" in text
    assert "of comparisons; 1 favoured the first place" in text
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert found.exit_code == 1
    silent = msgspec.structs.replace(checked, leaks=(), leaked=Rate.of(0, 0, 0.95), problem=f"no answer {HOSTILE}")
    assert msgspec.structs.replace(made(), robustness=silent).exit_code == 3
    tight = msgspec.structs.replace(checked, leaks=(held,), leaked=Rate.of(0, 8, 0.95), errors=0)
    assert "none of 8 passed" in render_calibration(msgspec.structs.replace(made(), robustness=tight))
    assert msgspec.structs.replace(made(0), robustness=tight).exit_code == 0
