"""Writes build/measured.md: what the benches of ``page.toml`` print, with machine, date, commit and load.

    python -m benches.page [NAME...]       run these, or all, and keep what the others printed before
    python -m benches.page --mark          run nothing: mark what is older than the code that it measures

Measure on a quiet machine: the load before and after is printed beside each. What is measured is the commit
that is checked out, so nothing may be changed in it.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benches.targets import machine

_HOME: Final = Path(__file__).parents[1]
_PAGE: Final = _HOME / "build" / "measured.md"
_HEAD: Final = """# Measured

What the benches print, as they print it: written by `make performance`, which also marks what is older than
the code that it measures. What the figures mean is in docs/performance.md.
"""
_PART: Final = re.compile(
    r"^## (?P<title>.+)\n\n`(?P<command>.+)`: (?P<date>\S+), commit (?P<commit>[0-9a-f]+), "
    r"(?P<machine>.+?); load (?P<load>.+)\n(?:\n\*\*Older.*\n)?\n```text\n(?P<text>(?s:.*?))\n```\n",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Measured:
    """What a bench printed, and where."""

    title: str
    command: str
    date: str
    commit: str
    machine: str
    load: str
    text: str


def main() -> int:
    """Write the page; 1 if a bench failed."""
    benches: dict[str, dict[str, Any]] = tomllib.loads(
        Path(__file__).with_name("page.toml").read_text(encoding="utf-8")
    )
    names = [word for word in sys.argv[1:] if word != "--mark"]
    if unknown := set(names) - benches.keys():
        print(
            f"no such bench: {', '.join(sorted(unknown))}; choose from {', '.join(benches)}", file=sys.stderr
        )
        return 2
    wanted = [] if "--mark" in sys.argv else names or list(benches)
    if wanted and _git("status", "--porcelain", "--untracked-files=no"):
        print("measure a commit: there are changes that none has", file=sys.stderr)
        return 2
    known = {part["title"]: Measured(**part.groupdict()) for part in _PART.finditer(_stored())}
    failed = False
    for name in wanted:
        print(f"{name} ...", flush=True)
        try:
            known[benches[name]["title"]] = _measured(benches[name])
        except subprocess.CalledProcessError as error:
            failed = True
            print(f"{name} failed: {error}", file=sys.stderr)
        _write(benches, known)  # the next one may take an hour
    _write(benches, known)
    return int(failed)


def _write(benches: dict[str, dict[str, Any]], known: dict[str, Measured]) -> None:
    _PAGE.parent.mkdir(exist_ok=True)
    _PAGE.write_text("\n".join(_lines(benches, known)), encoding="utf-8")


def _stored() -> str:
    return _PAGE.read_text(encoding="utf-8") if _PAGE.exists() else ""


def _measured(bench: dict[str, Any]) -> Measured:
    words = bench["command"].split()
    words[0] = sys.executable if words[0] == "python" else words[0]
    before = os.getloadavg()[0]
    done = subprocess.run(words, cwd=_HOME, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(
        title=bench["title"],
        command=bench["command"],
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=_git("rev-parse", "--short=10", "HEAD"),
        machine=machine(),
        load=f"{before:.1f} before, {os.getloadavg()[0]:.1f} after",
        text=done.stdout.strip("\n"),
    )


def _lines(benches: dict[str, dict[str, Any]], known: dict[str, Measured]) -> Iterator[str]:
    yield _HEAD
    for bench in benches.values():
        if (found := known.get(bench["title"])) is None:
            continue
        yield f"## {found.title}\n"
        yield f"`{found.command}`: {found.date}, commit {found.commit}, {found.machine}; load {found.load}\n"
        if changed := _changed_since(found.commit, bench["paths"]):
            paths = ", ".join(bench["paths"])
            yield f"**Older than its code**: commits since that change {paths}: {changed}.\n"
        yield f"```text\n{found.text}\n```\n"


def _changed_since(commit: str, paths: list[str]) -> int:
    return len(_git("log", "--oneline", f"{commit}..HEAD", "--", *paths).splitlines())


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=_HOME, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
