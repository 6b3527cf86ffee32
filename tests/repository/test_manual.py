"""The commands of the manual and of the README, as their pages show them: each is one, and can be run."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any, Final

import click
import pytest

from docs.schema_files import OUTPUTS
from tests.support.command_tree import all_commands
from tests.support.manual import PAGES, ROOT, files_of, scripts, typed_in, words_of
from tests.support.typed_openpts import ENDED, WORLD, parsed

_ANSWERS: Final = {0, 10, 13, None}
"""Verdicts are ends as good as any; null: only parsed."""
_FAULTY: Final = "?faults="
"""Such a drive loses what it promised to keep, and the run ends so."""
_OF_AN_EXAMPLE: Final = re.compile(r'^\+?"procedure\.(\w+)" = ', re.MULTILINE)
_EXAMPLE: Final = ROOT / "examples" / "plugin" / "pyproject.toml"
_FOLLOWED: Final = re.compile(r"guides|tutorial|adding-a-test|plugins")
"""Pages that tests of their own follow, at full length: test_guides, test_tour, and those of plug-ins."""
_SECONDS: Final = re.compile(r"\b(sim|file):|openpts (re|verify|compare|gate|export|trace|purge) ?")
"""What takes seconds: runs in virtual time, purges, and commands on runs and traces."""
_INLINE: Final = re.compile(r"`openpts ([a-z][^`]*)`")


def _name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", [page for page in PAGES if scripts(page)], ids=_name)
def test_each_command_that_a_page_types_is_one(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    installed = _EXAMPLE.read_text(encoding="utf-8") if "pip install" in text else ""
    examples = _OF_AN_EXAMPLE.findall(text + installed)
    wrong = []
    for script in scripts(page):
        typed = words_of(script, tmp_path)
        assert typed, f"line {script.line} types nothing"
        for words in typed:
            try:
                parsed(words)
            except click.ClickException as error:
                if not (isinstance(error, click.NoSuchCommand) and error.command_name in examples):
                    wrong.append(f"line {script.line}: openpts {shlex.join(words)}: {error.format_message()}")
    assert wrong == []


def _mentioned() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for words in _INLINE.findall(line):
                yield f"{page.name}:{number}: {words}", words.replace("'", "").split()


def test_each_command_that_a_sentence_names_is_one_and_has_the_options() -> None:
    """A sentence may leave out what an option takes, so this asks only whether there are such options."""
    options = {
        words: {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for words, command in all_commands()
    }
    for command, own_options in list(options.items()):  # those of a group are the options of its commands
        for length in range(1, len(command)):
            options[command[:length]] |= own_options
    wrong = []
    for place, words in _mentioned():
        own = words[: words.index("--")] if "--" in words else words
        command = next(tuple(own[:length]) for length in (3, 2, 1, 0) if tuple(own[:length]) in options)
        named = {word.partition("=")[0] for word in own if word.startswith("--")} - {"--help"}
        if not command and not own[0].isupper():
            wrong.append(f"{place}: no command {own[0]}")
        if missing := named - options[command]:
            wrong.append(f"{place}: {' '.join(command)} has no {', '.join(sorted(missing))}")
    assert wrong == []


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("world")


def _followed() -> Iterator[Any]:
    for page in PAGES:
        text = "".join(script.text for script in scripts(page))
        if text and not _FOLLOWED.fullmatch(page.stem):
            marks = [pytest.mark.slow] if _SECONDS.search(text) else []
            yield pytest.param(page, id=page.stem, marks=marks)


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("page", list(_followed()))
def test_what_a_page_types_is_done(
    page: Path, tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "typed"
    folder.mkdir()
    for name, text in files_of(page).items():
        (folder / name).write_text(text, encoding="utf-8")
    for setting in (
        *ROOT.glob("packages/*/docs/*.toml"),
        *ROOT.glob("packages/*/docs/*.schema.json"),
        OUTPUTS,
    ):
        if not (folder / setting.name).exists():
            shutil.copy(setting, folder)
    for name, value in ((ENDED, tmp_path / "ended"), (WORLD, world), ("PYTHONPATH", ROOT)):
        old = os.environ.get("PYTHONPATH", "")
        monkeypatch.setenv(name, f"{value}:{old}" if name == "PYTHONPATH" else str(value))
    programs = {name: Path(path) for name in ("sed",) if (path := shutil.which(name))}
    shown = [
        typed_in(script, folder, programs, f'{quote(sys.executable)} -m tests.support.typed_openpts "$@"')
        for script in scripts(page)
    ]
    ended = [json.loads(line) for line in (tmp_path / "ended").read_text().splitlines()]
    failed = [
        words for code, *words in ended if code not in _ANSWERS and not (code == 7 and _FAULTY in str(words))
    ]
    assert failed == [], "\n".join(one.stdout + one.stderr for one in shown)
