"""--provider and --model on the command line, over one suite and over several."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("arguments", "environ", "words"),
    [
        (["--provider", "openai"], {}, "--provider openai names no model"),
        (["--model", "gpt"], {}, "--model gpt names no provider"),
        (["--provider=openai"], {"PASSHAT_MODEL": "openai/e"}, "--provider openai names no model"),
        (["--model", "gpt"], {"PASSHAT_PROVIDER": "openai", "PASSHAT_MODEL": "e"}, "--model gpt names no provider"),
        (["--provider", "--model", "gpt"], {}, "Missing value for --provider"),
        (["--model", "--provider", "openai"], {}, "Missing value for --model"),
        (["--model"], {}, "--model"),
        ([], {"PASSHAT_PROVIDER": "openai"}, "PASSHAT_PROVIDER=openai names no model"),
        ([], {"PASSHAT_MODEL": "gpt"}, "PASSHAT_MODEL=gpt names no provider"),
        (["--provider", "openai", "--model", "gpt"], {}, "openai needs a key"),
        (["--provider", "opnai", "--model", "gpt"], {}, "unknown provider 'opnai'"),
        (["--provider", "anthropic", "--model", "openai/gpt-5"], {}, "names two providers: --model openai/gpt-5 alone"),
    ],
)
def test_what_names_no_model_ends_with_2_before_anything_runs(
    here: Call, folder: Path, arguments: list[str], environ: dict[str, str], words: str
) -> None:
    done = here("run", "evals", "--isolation", "inline", *arguments, **environ)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert not (folder / ".passhat").exists()


def test_a_suite_that_cannot_be_answered_stops_the_others_before_they_spend(here: Call, folder: Path) -> None:
    text = (folder / "evals" / "eval_words.py").read_text()
    other = text.replace('"words"', '"other"').replace("simulation=policy", "model='anthropic/own'")
    (folder / "evals" / "eval_zother.py").write_text(other)
    done = here("run", "evals", "--isolation", "inline")
    assert (done.returncode, "anthropic needs a key" in done.stderr) == (2, True)
    assert not (folder / ".passhat").exists()
    named = here("run", "evals", "--dry-run", "--model", "openai/asked", OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")
    assert named.returncode == 0, named.stderr
    assert "openai/asked" in named.stdout
    assert "anthropic/own" in named.stdout
