"""passhat init: a small suite that runs, and a workflow for continuous integration."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from passhat.facts import PasshatError, plural

_WORKFLOWS = {"github": ".github/workflows/evals.yml"}


class InTheWay(PasshatError):
    """Files that are there already: nothing is overwritten."""


@click.command("init")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--ci", type=click.Choice(sorted(_WORKFLOWS)), help="Also a workflow with five tiers of evaluation.")
def command(folder: Path, ci: str | None) -> int:
    """Write a small suite that runs without a key: an agent, its evals/ and tests/. Nothing is overwritten."""
    wanted = starter(ci)
    there = [name for name in wanted if (folder / name).exists()]
    if there:
        raise InTheWay(
            f"{folder}: {', '.join(there)} {plural(len(there), 'is', 'are')} there already; use another folder"
        )
    for name, text in wanted.items():
        _write(folder / name, text)
        click.echo(f"wrote {folder / name}" if str(folder) != "." else f"wrote {name}")
    click.echo("next: passhat run evals")
    return 0


def starter(ci: str | None) -> dict[str, str]:
    """Relative paths and texts of the files."""
    root = files("passhat.cli") / "starter"
    texts = {name: text for name, text in _texts(root, "") if not name.startswith("ci/")}
    if ci is not None:
        texts[_WORKFLOWS[ci]] = (root / "ci" / f"{ci}.yml").read_text(encoding="utf-8")
    return dict(sorted(texts.items()))


def _texts(place: Traversable, path: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in place.iterdir():
        if entry.name.startswith("__pycache__"):
            continue
        name = f"{path}{entry.name}"
        if entry.is_dir():
            found += _texts(entry, f"{name}/")
        else:
            found.append((name.removesuffix(".txt"), entry.read_text(encoding="utf-8")))
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InTheWay(f"{path}: can't be written: {error.strerror or error}") from None
