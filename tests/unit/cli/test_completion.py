"""Completion without Python: the table and its reader against what click itself completes, in each shell."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from openpts.cli.main import cli
from tests.support.command_tree import all_commands

FOLDER = Path(__file__).parents[3] / "packaging/completion"
INSTALLED = "/usr/share/openpts"
TREE = dict(all_commands())
pytestmark = [
    pytest.mark.with_plugins,
    pytest.mark.skipif(shutil.which("awk") is None, reason="there is no awk"),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of completion, which name it, and a PATH on which there is no Python."""
    folder = tmp_path_factory.mktemp("completion")
    table = subprocess.run([sys.executable, FOLDER / "table.py"], capture_output=True, check=True).stdout
    (folder / "completions").write_bytes(table)
    for file in FOLDER.iterdir():
        if file.is_file():
            (folder / file.name).write_text(file.read_text().replace(INSTALLED, str(folder)))
    (folder / "bin").mkdir()
    awk = shutil.which("awk")
    assert awk is not None
    (folder / "bin/awk").symlink_to(awk)
    return folder


def offered(folder: Path, before: Sequence[str], current: str) -> set[str]:
    ended = subprocess.run(
        ["awk", "-f", folder / "complete.awk", folder / "completions"],
        env=os.environ | {"before": "\n".join(before), "current": current},
        capture_output=True,
        check=True,
        text=True,
    )
    return {line.partition("\t")[0] for line in ended.stdout.splitlines()} - {""}


@pytest.mark.parametrize("current", ["", "--", "-"])
def test_every_command_is_completed_as_by_click(
    current: str, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, command in TREE.items():
        # click keeps that of another test, which had no parent to give it "-h"
        monkeypatch.setattr(command, "_help_option", None)
        if command.hidden or not (current or isinstance(command, click.Group)):
            continue
        completer = ShellComplete(cli, {}, "openpts", "_OPENPTS_COMPLETE")
        wanted = {item.value for item in completer.get_completions(list(words), current)}
        assert offered(installed, words, current) == wanted, words


def test_values_follow_their_option(installed: Path) -> None:
    assert offered(installed, ["run", "iops", "--scenario"], "r") == {"real-world"}
    assert offered(installed, ["run", "iops"], "--scenario=r") == {"--scenario=real-world"}
    assert offered(installed, ["run", "iops", "--seed", "1"], "sim:enter") == {"sim:enterprise-tlc"}
    assert "mlc" in offered(installed, ["sim", "show"], "")
    assert offered(installed, ["run", "iops", "--seed"], "") == set()


BASH = """
source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; compopt() { :; }; _openpts; printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compadd() { print -l -- ${(P)@[-1]}; }; _files() { print FILES; }; compset() { :; }
words=(${(z)2}); [[ $2 == *' ' ]] && words+=(''); CURRENT=$#words; source $1
"""
FISH = """
source $argv[1]; complete -C $argv[2] | string replace -r '\\t.*' ''
"""


@pytest.mark.parametrize(
    ("shell", "script", "file"),
    [("bash", BASH, "openpts.bash"), ("zsh", ZSH, "_openpts"), ("fish", FISH, "openpts.fish")],
    ids=["bash", "zsh", "fish"],
)
def test_a_shell_completes_and_starts_no_python(
    shell: str, script: str, file: str, installed: Path, tmp_path: Path
) -> None:
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
    assert completed("openpts doctor --s") == ["--self"]
    assert completed("openpts run iops --scenario ") == ["real-world", "synthetic"]
    sim = completed("openpts run iops sim:enterprise")
    assert sim[-1] == ("enterprise-tlc" if shell == "bash" else "sim:enterprise-tlc")
