"""Four things that newcomers want, each in three commands at most and without the manual, at 80 columns.

The snapshots are transcripts of a pipe. ``--seed`` keeps figures; times of the clock and versions are left
out.
"""

import re
import textwrap
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.openpts_process import openpts
from tests.support.transcript import Transcript

DRIVE = "sim:client-qlc?capacity=4GB"
SHORT = ("--quick", "--seed", "1")
JOB = """\
[lookups]
ioengine=io_uring
rw=randread
bs=4k
iodepth=32
size=1g
runtime=5
time_based
"""
WANTED = {
    "figures of a drive against another": (
        [
            ("run", "lat", DRIVE, *SHORT, "--no-report", "--out", "one"),
            ("run", "lat", "sim:tlc?capacity=4GB", "--like", "one", "--no-report", "--out", "other"),
            ("compare", "one", "other"),
        ],
        r"RND 4 KiB RW100, ART \(ms ↓\) +[\d.]+ +[\d.]+ \([\d.]+ x\)",
    ),
    "an answer for etcd": (
        [("check", "sim:client-qlc?capacity=64GB", "--for", "etcd", "--minutes", "0.1", "--seed", "1",
          "--no-report", "--out", "asked")],
        r"YES: every figure keeps its bound",
    ),
    "a report to hand over": (
        [
            ("run", "lat", DRIVE, *SHORT, "--no-report", "--out", "run"),
            ("report", "run", "--for-customer", "--no-csv", "--out", "customer"),
        ],
        r"customer/\S+\.pdf",
    ),
    "a fio job measured": (
        [("run", "workload", "lookups.fio", DRIVE, *SHORT, "--out", "job")],
        r"lookups, read, IOPS: [\d,]+ IOPS",
    ),
}  # fmt: skip
_CLOCK = re.compile(
    r"\[\d\d:\d\d:\d\d\]|(?<= in )\d[\d.]* m?s\b|\d{8}T\d{6}Z|(?<=-lat-)[0-9a-f]{6}|\d{4}-\d\d-\d\d"
)
SCREEN = 24


def shown(words: tuple[str, ...], folder: Path) -> str:
    """A command as it is typed, with what it prints."""
    ended = openpts(*words, cwd=folder, COLUMNS="80")
    assert ended.exit_code == 0, ended.stderr
    return f"$ openpts {' '.join(words)}\n{ended.stderr}{ended.stdout}"


@pytest.mark.long("runs of a test, with a report")
@pytest.mark.parametrize("wanted", WANTED)
def test_it_takes_three_commands_and_the_answer_is_on_the_last_screen(wanted, tmp_path, snapshot) -> None:
    typed, answer = WANTED[wanted]
    (tmp_path / "lookups.fio").write_text(JOB, encoding="utf-8")
    assert len(typed) <= 3
    texts = [shown(words, tmp_path).replace(version("openpts"), "VERSION") for words in typed]
    screens = [
        [part for line in text.splitlines() for part in textwrap.wrap(line, 80) or [""]][-SCREEN:]
        for text in texts
    ]
    assert any(re.search(answer, "\n".join(screen)) for screen in screens), screens
    assert snapshot.use_extension(Transcript) == _CLOCK.sub("TIME", "\n".join(texts))
