"""What pages type about a real drive, typed on one: the manual's other tests only parse it."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.lab.machine import FORKED, ONE_ELEMENT, SHORT, in_lab, needs_lab
from tests.support.manual import PAGES, scripts, words_of

pytestmark = [needs_lab, pytest.mark.slow]

_TYPED: Final = {
    **dict.fromkeys(("README", "index", "tutorial", "purge", "safety", "devices", "doctor"), None),
    "check": {"check"},
    "measurement": {"io"},
    "traces": {"capture"},
}
"""Pages, and of those that type much else these commands; most purposes of `check` need a mounted drive."""
_OF_DRIVES: Final = {"devices", "doctor", "check", "capture", "purge", "plan", "run", "io"}
_ELSEWHERE: Final = re.compile(
    r"sim:|file:|md0|/srv|/var|\.toml|--like \w+\.|--drives|S3Z8|pgbench|--for (?!endurance)|/dev/sdb"
)
"""Simulated drives are the other tests'; the rest are arrays, files and serial numbers of the reader's."""
_ENDED: Final = {0, 13}
"""13: a verdict, such as that of a disk that is not good enough for what was asked."""


def _commands(folder: Path) -> list[list[str]]:
    """Each command once, with the machine's drive and its serial number."""
    found = [
        [_here(word) for word in words]
        for page in PAGES
        if page.stem in _TYPED
        for script in scripts(page)
        for words in words_of(script, folder)
        if words[0] in (_TYPED[page.stem] or _OF_DRIVES) and not _ELSEWHERE.search(" ".join(words))
    ]
    return [list(words) for words in dict.fromkeys(map(tuple, found))]


def _here(word: str) -> str:
    drive = re.sub(r"nvme\dn1", "nvme0n1", word)
    return re.sub("^(S3R1AL|SERIAL|LABNVME0001)$", "LABNVME0000", drive)


def test_each_command_about_a_drive_does_what_its_page_says(tmp_path: Path) -> None:
    commands = _commands(tmp_path)
    assert {words[0] for words in commands} == _OF_DRIVES
    lines = [
        f"openpts {shlex.join(words)}{_shortened(words)} > {tmp_path}/{n} 2>&1; echo $? > {tmp_path}/{n}.code"
        for n, words in enumerate(commands)
    ]
    script = "\n".join(
        (
            "mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing",
            # a first import from so slow a disk takes longer than openpts waits for a plug-in
            f"{sys.executable} -c 'import openpts_traces.cli.capture'",
            FORKED,
            f"cd {tmp_path}",
            *lines,
        )
    )
    ended = in_lab(tmp_path, "--nvme", "256M", "--sata", "64M", script=script, timeout_s=500)
    codes = {
        n: int(file.read_text())
        for n in range(len(commands))
        if (file := tmp_path / f"{n}.code").exists() and file.read_text().strip()
    }
    told = {n: (tmp_path / f"{n}").read_text()[-600:] for n in codes}
    assert len(codes) == len(commands), ended.stderr
    wrong = {shlex.join(commands[n]): told[n] for n, code in codes.items() if code not in _ENDED}
    assert wrong == {}, json.dumps(wrong, indent=1)


def _shortened(words: list[str]) -> str:
    """Options that make a run, a load or a look a short one; what a page gives itself stays."""
    match words[0]:
        case "run":
            return f" {SHORT} {ONE_ELEMENT}"
        case "capture":
            return " --seconds 1"
        case "check" if "--like" not in words:
            return " --minutes 0.05"
    return ""
