"""passhat audit: tests of the tests, before money is spent."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from passhat.cli import _options as options
from passhat.cli._found import NoSuite, found_everywhere
from passhat.cli._reports import print_json, terminal
from passhat.summary import ExitCode

if TYPE_CHECKING:
    from passhat.auditing import Audit, LeakAudit, RestatedScript
    from passhat.running import Entrance
    from passhat.suite import FoundSuite


@click.command("audit")
@click.argument("paths", nargs=-1, required=True, metavar="PATH[::SUITE]...")
@click.option(
    "--times", type=click.IntRange(min=1), default=3, show_default=True, help="How often each reference is played."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Chooses the wrong solutions.")
@click.option("--leaks", is_flag=True, help="Run the suite's own agent and look for what a trial leaves to the next.")
@click.option("--strict", is_flag=True, help="Warnings end with 1 too, not only errors.")
@click.option("--model", metavar="PROVIDER/NAME", help="With --leaks: the model that may be paid for.")
@options.isolated("process")
@options.root
@click.option("--quiet", "-q", is_flag=True, help="No progress on standard error.")
@options.as_json
def command(
    paths: tuple[str, ...],
    times: int,
    seed: int,
    leaks: bool,
    strict: bool,
    model: str | None,
    isolation: Literal["process", "spawn", "inline"],
    root: Path,
    quiet: bool,
    as_json: bool,
) -> int:
    """Test the tests of suites: references must pass; doing nothing, and wrong solutions, must fail.

    PATH is a file, or a folder in which every eval_*.py is taken. No model is asked and nothing is recorded. Leaves
    with 1 when there is an error that the suite doesn't allow (allow={"rule": "why"}); with --strict also for
    warnings: an impossible task, a rigid number and a check that is blind for the order are warnings. Test files
    (test_*.py) are read for tests with a scripted model that can't fail: their asserts only restate the script, they
    assert nothing, or make a check and never ask it. One that is found counts as a warning.

    With --leaks the suite's own agent is run instead, four times over: forward, again, backward, and with a word of its
    own planted in each task's input. Leaves with 1 when a trial left something to another.

    --json prints one object for one suite and a list of them for several; where test files were read too, an object
    with "suites", a list, and "tests".
    """
    from passhat.auditing import restated_scripts
    from passhat.running import entrance

    if leaks:
        if strict:
            raise click.UsageError("--strict counts the warnings of an audit without --leaks, which has none")
        return _leaks(paths, seed, isolation, model, quiet=quiet, as_json=as_json)
    if model is not None:
        raise click.UsageError("--model goes with --leaks: an audit without it asks no model")
    tests = [path for path in paths if _holds(path, "test_*.py") or _holds(path, "*_test.py")]
    evals = [path for path in paths if path not in tests or _holds(path, "eval_*.py")]
    for path in evals:
        if Path(path).is_dir() and not _holds(path, "eval_*.py"):
            raise NoSuite(
                f"{path}: there is neither a suite (eval_*.py) nor a test (test_*.py, *_test.py) in it; name a file"
            )
    restated = restated_scripts(tests)
    with entrance() as through:
        suites = found_everywhere(evals)
        audits = [_one(found, through, root, times=times, seed=seed, quiet=quiet) for found in suites]
    if as_json:
        _print_json(audits, restated if tests else None, strict=strict)
    else:
        from passhat.reporting import render_audit

        click.echo("\n".join(render_audit(each, **terminal()) for each in audits), nl=False)
        if restated or (tests and not audits):
            click.echo("\n".join(_lint_lines(restated)))
        click.echo(_last_line(audits, restated, strict=strict))
    return _exit_code(audits, restated, strict=strict)


def _exit_code(audits: Sequence[Audit], restated: Sequence[RestatedScript], *, strict: bool) -> ExitCode:
    if any(strict or each.severity == "error" for each in restated):
        return ExitCode.GATE_NOT_MET
    return max((each.strict_exit_code if strict else each.exit_code for each in audits), default=ExitCode.FINE)


def _last_line(audits: Sequence[Audit], restated: Sequence[RestatedScript], *, strict: bool) -> str:
    """What was found in all, counted as it is shown, and what follows for the exit code."""
    shown = Counter(group[0].severity for each in audits for group in each.grouped())
    shown.update(each.severity for each in restated)
    errors, warnings = shown["error"], shown["warning"]
    code = _exit_code(audits, restated, strict=strict)
    hint = " (1 with --strict)" if code != _exit_code(audits, restated, strict=True) else ""
    return f"\n{_some(errors, 'error')}, {_some(warnings, 'warning')}: exit code {code:d}{hint}"


def _some(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'s' * (number > 1)}"


def _leaks(
    paths: tuple[str, ...],
    seed: int,
    isolation: Literal["process", "spawn", "inline"],
    model: str | None,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    from passhat.auditing import audit_leaks
    from passhat.running import entrance

    audits = []
    with entrance() as through:
        for found in found_everywhere(paths):

            def say(name: str, suite: str = found.suite.name) -> None:
                if not quiet and sys.stderr.isatty():
                    click.echo(f"{suite}: running its trials {name}", err=True)

            audits.append(
                audit_leaks(found.suite, seed=seed, isolation=isolation, model=model, through=through, progress=say)
            )
    if as_json:
        _print_json(audits)
    else:
        from passhat.reporting import render_leaks

        click.echo("\n".join(render_leaks(each, **terminal()) for each in audits), nl=False)
    return max((each.exit_code for each in audits), default=ExitCode.FINE)


def _holds(path: str, pattern: str) -> bool:
    """Whether a path is such a file, or a folder with one."""
    place = Path(path.partition("::")[0])
    return place.match(pattern) if place.is_file() else next(place.rglob(pattern), None) is not None


def _lint_lines(restated: list[RestatedScript]) -> list[str]:
    from passhat.reporting import clean

    if not restated:
        return ["No test was found that can't fail whatever the code does with a scripted answer."]
    lines: list[str] = []
    for rule in dict.fromkeys(each.rule for each in restated):
        found = [each for each in restated if each.rule == rule]
        lines += [f"{clean(each.path)}:{each.line}: {clean(each.test or each.message)}" for each in found]
        if found[0].test:
            who = "This test" if len(found) == 1 else f"Each of these {len(found)} tests"
            lines.append(f"{who} {found[0].message}.")
    return lines


def _one(found: FoundSuite, through: Entrance, root: Path, *, times: int, seed: int, quiet: bool) -> Audit:
    from passhat.auditing import audit

    shows = not quiet and sys.stderr.isatty()

    def progress(done: int, tasks: int) -> None:
        click.echo(f"\r{found.suite.name}: {done} of {tasks} tasks", err=True, nl=done == tasks)

    shown = progress if shows else None
    return audit(found.suite, times=times, seed=seed, through=through, root=root, progress=shown)


def _print_json(
    audits: Sequence[Audit | LeakAudit], restated: list[RestatedScript] | None = None, *, strict: bool = False
) -> None:
    import msgspec

    codes = [getattr(each, "strict_exit_code", each.exit_code) if strict else each.exit_code for each in audits]
    rows = [{**msgspec.to_builtins(each), "exit_code": int(code)} for each, code in zip(audits, codes, strict=True)]
    if restated is not None:
        print_json({"suites": rows, "tests": restated})
    else:
        print_json(rows[0] if len(rows) == 1 else rows)
