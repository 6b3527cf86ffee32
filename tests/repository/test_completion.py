"""Completion without Python: the table and its reader against what click itself completes, in each shell."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from openpts.cli.main import cli
from openpts.device.block_device import whole_drives
from openpts.parameters.shipped_plans import shipped_names
from openpts.programs import OPENPTS
from openpts.system_files import SystemRoots
from tests import ROOT
from tests.support.command_tree import all_commands

FOLDER = ROOT / "packaging/completion"
INSTALLED = "/usr/share/openpts"
DISKS = {
    "nvme0n1": (8, 0, "Fast One"),
    "nvme0c0n1": (8, 1, ""),
    "ram0": (8, 0, ""),
    "sdb": (0, 0, ""),
    "vda": (8, 0, ""),
}
"""Size in sectors, whether it is hidden, and model."""
TREE = dict(all_commands())
pytestmark = [pytest.mark.skipif(shutil.which("awk") is None, reason="there is no awk")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the files of completion, which name it, and a PATH on which there is no Python."""
    folder = tmp_path_factory.mktemp("completion")
    table = subprocess.run([sys.executable, FOLDER / "table.py"], capture_output=True, check=True).stdout
    (folder / "completions").write_bytes(table)
    for file in FOLDER.iterdir():
        if file.is_file():
            text = file.read_text().replace(INSTALLED, str(folder)).replace("/sys/block", f"{folder}/block")
            (folder / file.name).write_text(text)
    for name, (sectors, hidden, model) in DISKS.items():
        disk = folder / "block" / name
        (disk / "device").mkdir(parents=True)
        (disk / "size").write_text(f"{sectors}\n")
        (disk / "hidden").write_text(f"{hidden}\n")
        if model:
            (disk / "device/model").write_text(f"{model}   \n")
    (folder / "bin").mkdir()
    awk = shutil.which("awk")
    assert awk is not None
    (folder / "bin/awk").symlink_to(awk)
    return folder


@pytest.fixture
def runs(tmp_path) -> Path:
    """The present folder of one who types, with runs in it and below it, and no other file."""
    for name in ("first", "it's new", "lot 7/first", "lot 7/second", "far/too/deep"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.db").touch()
    (tmp_path / "first/report.html").touch()
    (tmp_path / "other").mkdir()
    return tmp_path


def offered(folder: Path, before: Sequence[str], current: str, present: Path | None = None) -> set[str]:
    lines = lines_of(folder, before, current, present)
    return {line.partition("\t")[0] for line in lines} - {""}


def lines_of(folder: Path, before: Sequence[str], current: str, present: Path | None = None) -> list[str]:
    ended = subprocess.run(
        ["awk", "-f", folder / "complete.awk", folder / "completions"],
        env=os.environ | {"before": "\n".join(before), "current": current},
        cwd=present,
        capture_output=True,
        check=True,
        text=True,
    )
    assert ended.stderr == ""
    return ended.stdout.splitlines()


@pytest.mark.full_matrix(most=8)
@pytest.mark.parametrize("current", ["", "-"])
@pytest.mark.parametrize("first", sorted({words[0] for words in TREE if words}))
def test_every_command_is_completed_as_by_click(first, current, installed, monkeypatch) -> None:
    for words, command in TREE.items():
        if words[:1] not in {(), (first,)}:
            continue
        # click keeps that of another test, which had no parent to give it "-h"
        monkeypatch.setattr(command, "_help_option", None)
        if command.hidden or not (current or isinstance(command, click.Group)):
            continue
        completer = ShellComplete(cli, {}, "openpts", "_OPENPTS_COMPLETE")
        wanted = {item.value for item in completer.get_completions(list(words), current)}
        assert offered(installed, words, current) == wanted, words


def test_values_follow_their_option(installed) -> None:
    assert offered(installed, ["run", "iops", "--scenario"], "r") == {"real-world"}
    assert offered(installed, ["run", "iops"], "--scenario=r") == {"--scenario=real-world"}
    assert offered(installed, ["run", "iops", "--seed", "1"], "sim:enter") == {"sim:enterprise-tlc"}
    assert "mlc" in offered(installed, ["sim", "show"], "")
    assert offered(installed, ["run", "iops", "--seed"], "") == set()


def test_values_are_those_that_ship(installed) -> None:
    assert offered(installed, ["check", "sim:mlc", "--for"], "c") == {"commit", "checkpoint"}
    assert offered(installed, ["run", "iops", "--plan"], "") == set(shipped_names())
    assert offered(installed, ["run", "benchmarks", "--list"], "atto") == {"atto"}
    assert offered(installed, ["run"], "io") == {"iops"}


def test_drives_are_those_that_are_listed(installed) -> None:
    roots = SystemRoots(sys=installed)
    listed = {str(disk.node) for disk in whole_drives(roots)}
    assert listed == {"/dev/nvme0n1", "/dev/vda"}
    assert offered(installed, ["run", "iops"], "/dev/") == listed
    assert offered(installed, ["devices"], "") == listed
    # and none of the other nodes beside them
    assert lines_of(installed, ["run", "iops"], "/dev/nv") == ["/dev/nvme0n1\tFast One"]


@pytest.mark.parametrize(
    "command", [["report"], ["gate", "--baseline"], ["resume"], ["compare", "first", "--cold"]]
)
def test_runs_are_those_below_the_present_folder(command, installed, runs) -> None:
    assert offered(installed, command, "", runs) == {"first", "it's new", "lot 7/first", "lot 7/second"}
    assert offered(installed, command, "lot 7/s", runs) == {"lot 7/second"}
    assert lines_of(installed, command, f"{runs}/it's", runs) == [f"{runs}/it's new\t"]
    # a name of a file that is no run is asked of the shell
    assert lines_of(installed, command, "oth", runs) == ["\t"]


def test_the_folder_of_an_option_stays_behind_its_sign(installed, runs) -> None:
    assert offered(installed, ["gate", "first"], "--baseline=lot", runs) == {
        "--baseline=lot 7/first",
        "--baseline=lot 7/second",
    }


def test_measures_are_what_a_limit_may_name(installed, runs, monkeypatch) -> None:
    """The program that lists them is openpts itself; here, one that shows what it was asked."""
    program = runs / "bin/openpts"
    program.parent.mkdir()
    program.write_text(
        """#!/bin/sh
printf '%s\\n' "$#:$1:$2" >"${0%/*}/asked"
echo 'key measures of lat, a run:'
echo '  lat.rnd_4_kib_rw0.art = 0.0139825 ms'
echo 'and of each of these iops, p99.9 and any other percentile:'
echo '  lat.rnd_4_kib_rw0'
echo 'openpts: no limits: x.y' >&2
exit 2
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    keys = ["lat.rnd_4_kib_rw0.art\t0.0139825 ms", "lat.rnd_4_kib_rw0\t"]
    assert lines_of(installed, ["gate", "it's new", "--limit"], "", runs) == keys
    assert (runs / "bin/asked").read_text() == "2:gate:it's new\n"
    assert lines_of(installed, ["gate", "lot*/*", "--limit"], "'lat.", runs) == keys
    assert (runs / "bin/asked").read_text() == "2:gate:lot 7/first\n"
    assert lines_of(installed, ["gate", "$(touch harmed)`touch harmed`", "--limit"], "iops", runs) == []
    assert not (runs / "harmed").exists()


@pytest.mark.slow
def test_openpts_lists_measures_as_completion_reads_them(installed, tmp_path) -> None:
    words = ("run", "lat", "sim:enterprise-tlc", "--quick", "--no-report", "--out", "first")
    subprocess.run([*OPENPTS, *words], cwd=tmp_path, check=True, capture_output=True)
    program = tmp_path / "openpts"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(OPENPTS)} "$@"\n')
    program.chmod(0o755)
    found = subprocess.run(
        ["sh", "-c", f". {installed}/found.sh"],
        env=os.environ | {"kind": "MEASURE", "named": "first", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    keys = [line.partition("\t")[0] for line in found.stdout.splitlines()]
    assert "lat.rnd_4_kib_rw0.art" in keys
    limits = [word for key in keys[:3] for word in ("--limit", f"{key} >= 0")]
    gate = [*OPENPTS, "gate", "first", *limits, "--allow", "deviations", "--allow", "not steady"]
    assert subprocess.run(gate, cwd=tmp_path, capture_output=True, check=False).returncode in {0, 13}


BASH = """
source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; compopt() { :; }; _openpts; printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compadd() { print -l -- ${(P)@[-1]}; }; _files() { print FILES; }; compset() { :; }
words=(${(z)2}); [[ $2 == *' ' ]] && words+=(''); CURRENT=$#words; source $1
"""
FISH = """
source $argv[1]; complete -C $argv[2] | string replace -r '\\t.*' ''; true
"""


@pytest.mark.parametrize(
    ("shell", "script", "file"),
    [("bash", BASH, "openpts.bash"), ("zsh", ZSH, "_openpts"), ("fish", FISH, "openpts.fish")],
    ids=["bash", "zsh", "fish"],
)
def test_a_shell_completes_and_starts_no_python(shell, script, file, installed, tmp_path) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"there is no {shell}")
    source = str(installed / file)

    def completed(line: str) -> list[str]:
        words = {
            "bash": [path, "--norc", "-c", script, "bash", source, line],
            "zsh": [path, "-f", "-c", script, "zsh", source, line],
            "fish": [path, "--no-config", "-c", script, source, line],
        }[shell]
        environment = {"PATH": str(installed / "bin"), "HOME": str(tmp_path)}
        ended = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, check=True, text=True
        )
        assert ended.stderr == ""
        return sorted(ended.stdout.split())

    assert completed("openpts run io") == ["iops"]
    assert completed("openpts doctor --s") == ["--self", "--self-test"]
    assert completed("openpts run iops --scenario ") == ["real-world", "synthetic"]
    for name in ("first", "second"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.db").touch()
    assert completed("openpts gate ru") == ["runs/first", "runs/second"]
    assert completed("openpts devices ") == ["/dev/nvme0n1", "/dev/vda"]
    sim = completed("openpts run iops sim:enterprise")
    assert sim[-1] == ("enterprise-tlc" if shell == "bash" else "sim:enterprise-tlc")
