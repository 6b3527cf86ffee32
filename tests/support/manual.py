"""Commands of the manual: what its pages show to be typed, as a shell would hand it to openpts."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests import ROOT

_MADE: Final = {"command-line.md", "reference.md", "conformance.md", "conformance-guides.md"}
"""By `make docs`, from the commands, the requirements and the marks of tests."""
PAGES: Final = (
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in _MADE),
    *sorted(ROOT.glob("packages/*/docs/*.md")),
)
_SHELL: Final = {"", "console", "sh", "bash", "shell", "text"}
_PROMPT: Final = re.compile(r"[$#] ")
_TYPED: Final = re.compile(r"\s*(?:sudo )?openpts ")
_INSTALLED: Final = re.compile(r"^(?:\S*/openpts|\./openpts-\S+\.pyz)(?= )", re.MULTILINE)
"""openpts by the place where an installation has put it."""
_FILE: Final = re.compile(r"^```(toml|ini)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ENDINGS: Final = {"toml": "toml", "ini": "fio"}


@dataclass(frozen=True, slots=True)
class Script:
    """A block of a page that types openpts; the line is that of its first one."""

    page: Path
    line: int
    text: str


def scripts(page: Path) -> list[Script]:
    """All of a page. Of a block with prompts only what is behind them is typed, the rest is printed."""
    found = []
    for line, language, shown in _blocks(page.read_text(encoding="utf-8")):
        block = [_INSTALLED.sub("openpts", one) for one in shown]
        prompted = any(_PROMPT.match(one) and _TYPED.match(one[2:]) for one in block)
        typed = list(_behind_prompts(block)) if prompted else block
        if language == "text" and not prompted:
            continue
        if any(_TYPED.match(one) for one in typed):
            found.append(Script(page, line, "\n".join(typed) + "\n"))
    return found


def _blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Fenced blocks of a shell and indented ones, with the line at which they begin and their language."""
    language: str | None = None
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("```"):
            if language in _SHELL and block:
                yield number - len(block), language or "", block
            language, block = (line[3:].strip() if language is None else None), []
        elif language is not None:
            block.append(line)
        elif line.startswith("    "):
            block.append(line[4:])
        elif block:
            yield number - len(block), language or "", block
            block = []


def _behind_prompts(block: Sequence[str]) -> Iterator[str]:
    goes_on = False
    for line in block:
        if _PROMPT.match(line):
            yield line[2:]
        elif goes_on:
            yield line
        goes_on = line.endswith("\\") and (goes_on or bool(_PROMPT.match(line)))


def section(page: Path, heading: str) -> str:
    """The text below a heading of a page, up to the next one of its level or above."""
    found: list[str] = []
    level, is_code = 0, False
    for line in page.read_text(encoding="utf-8").splitlines(keepends=True):
        is_code ^= line.startswith("```")
        marks = 0 if is_code else len(line) - len(line.lstrip("#"))
        if level and 0 < marks <= level:
            break
        if level:
            found.append(line)
        elif marks and line[marks:].strip() == heading:
            level = marks
    assert level, f"{page.name} has no heading {heading!r}"
    return "".join(found)


def files_of(page: Path) -> dict[str, str]:
    """Settings and job files that a page shows, each under the last name of such a file before it."""
    text = page.read_text(encoding="utf-8")
    files: dict[str, str] = {}
    for shown in _FILE.finditer(text):
        if names := re.findall(rf"[\w-]+\.{_ENDINGS[shown[1]]}\b", text[: shown.start()]):
            files.setdefault(names[-1], shown[2])
    return files


def typed_in(
    script: Script, folder: Path, programs: Mapping[str, Path], openpts: str
) -> subprocess.CompletedProcess[str]:
    """The script in bash, in a folder, with these programs and no other; ``openpts`` is what it does for one.

    A program that is not there ends as one that had nothing to say.
    """
    places = folder / ".programs"
    places.mkdir(exist_ok=True)
    for name, path in programs.items():
        if not (places / name).exists():
            (places / name).symlink_to(path)
    setting = (
        f'PATH={places}\ncommand_not_found_handle() {{ return 0; }}\nsudo() {{ "$@"; }}\n'
        f"openpts() {{ {openpts}; }}\n"
    )
    return subprocess.run(
        ["/bin/bash", "-c", setting + script.text],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def words_of(script: Script, folder: Path) -> list[list[str]]:
    """The arguments of each openpts in the script, as its shell hands them over; nothing is run."""
    calls = folder / ".calls"
    calls.unlink(missing_ok=True)
    record = f"printf '%s\\0' \"$@\" $'\\n' >> {calls}"
    typed_in(script, folder, {}, record)
    if not calls.exists():
        return []
    return [call.split("\0")[:-1] for call in calls.read_text().split("\n\0")[:-1]]
