"""Commands as a shell, a batch system or another locale starts them: words instead of tracebacks."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.report.build import build_report
from openpts.report.sources import default_date, read_for_report

RUN = ("run", "lat", "sim:enterprise-tlc", "--quick", "--out", "run")


def assert_a_report_can_be_made(folder: Path) -> None:
    run = read_for_report(folder)
    assert list(build_report(run, default_date(run)).pages())


def openpts(
    *words: str, cwd: Path, prepare: Callable[[], None] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "openpts", *words],
        cwd=cwd,
        env=os.environ | {"XDG_CACHE_HOME": str(cwd)} | variables,
        preexec_fn=prepare,
        capture_output=True,
        check=False,
        text=True,
        errors="surrogateescape",
    )


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(
    ("closed", "words"),
    [
        *(((fd,), ("plan", "lat", "sim:enterprise-tlc")) for fd in range(3)),
        ((0, 1, 2), (*RUN, "--no-report")),
    ],
    ids=str,
)
def test_streams_that_the_parent_closed_are_no_obstacle(closed, words, tmp_path) -> None:
    ended = openpts(*words, cwd=tmp_path, prepare=lambda: [os.close(fd) for fd in closed] and None)
    assert ended.returncode == 0
    assert "Traceback" not in ended.stdout + ended.stderr
    if "run" in words:
        assert_a_report_can_be_made(tmp_path / "run")


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("kind", "limit", "told"),
    [(resource.RLIMIT_NOFILE, 20, "ulimit -n 20"), (resource.RLIMIT_AS, 400_000 << 10, "ulimit -v 400000")],
    ids=str,
)
def test_a_limit_that_lets_no_plot_be_drawn_is_named(kind, limit, told, tmp_path) -> None:
    ended = openpts(*RUN, cwd=tmp_path, prepare=lambda: resource.setrlimit(kind, (limit, limit)))
    assert ended.returncode == 1
    assert told in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    # its record is whole: a report can be made
    assert_a_report_can_be_made(tmp_path / "run")


def test_a_name_that_is_not_utf_8_is_refused_before_anything_is_done(tmp_path, golden) -> None:
    name = os.fsdecode(b"run\xff")
    ended = openpts(*RUN[:-1], name, cwd=tmp_path, LC_ALL="C")
    assert ended.returncode == 8
    assert ended.stderr == golden
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_their_completion(shell, tmp_path) -> None:
    ended = openpts(cwd=tmp_path, _OPENPTS_COMPLETE=f"{shell}_source")
    assert ended.returncode == 0
    assert "_OPENPTS_COMPLETE" in ended.stdout
    if shell == "bash":
        offered = {"_OPENPTS_COMPLETE": "bash_complete", "COMP_WORDS": "openpts run io", "COMP_CWORD": "2"}
        assert openpts(cwd=tmp_path, **offered).stdout == "plain,iops\n"
