"""Starting a plan: only with the consent that was typed."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs openpts[web]")

from openpts.errors import RefusedError, RunFailedError, UsageError
from openpts_web import control
from openpts_web.control import Plans

SAYS_ITS_WORDS = """
import sys
print(*sys.argv[1:], sep="\\n")
if "WRONG" in sys.argv:
    sys.exit(print("the guard says no", file=sys.stderr) or 4)
"""


@pytest.fixture
def plans(tmp_path, monkeypatch) -> Plans:
    """Plans whose start is a program that says which words it got, and ends with 4 for the serial `WRONG`."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "plans" / "lab.toml").write_text("")
    (tmp_path / "plans" / "linked.toml").symlink_to("/etc/hostname")
    (tmp_path / "plans" / "notes.txt").write_text("")
    monkeypatch.setattr(control, "OPENPTS", (sys.executable, "-c", SAYS_ITS_WORDS))
    return Plans(tmp_path / "plans", tmp_path / "runs")


def test_a_plan_is_started_with_the_consent_that_was_typed(plans) -> None:
    assert plans.names() == ("lab.toml",)
    words = plans.start("lab.toml", "/dev/nvme0n1", "S3R1AL").split("\n")
    folder = words[words.index("--out") + 1]
    assert Path(folder).parent == plans.library
    wanted = [
        "run",
        "all",
        "/dev/nvme0n1",
        "--plan",
        str(plans.folder / "lab.toml"),
        "--confirm-serial",
        "S3R1AL",
    ]
    assert words == [*wanted, "--out", folder, "--detach"]


def test_what_the_guard_says_is_shown(plans) -> None:
    with pytest.raises(RunFailedError, match="exit code 4: the guard says no"):
        plans.start("lab.toml", "/dev/nvme0n1", "WRONG")


@pytest.mark.parametrize(
    ("name", "target", "serial", "error"),
    [
        ("../runs/x.toml", "/dev/sda", "S1", UsageError),
        ("linked.toml", "/dev/sda", "S1", UsageError),
        ("lab.toml", "file:/etc/passwd", "S1", UsageError),
        ("lab.toml", "--help", "S1", UsageError),
        ("lab.toml", "/dev/../etc/passwd", "S1", UsageError),
        ("lab.toml", "/dev/sda", "", RefusedError),
        ("lab.toml", "/dev/sda", "--erase-signatures", RefusedError),
        ("lab.toml", "/dev/sda", "S1\n--overwrite-file", RefusedError),
    ],
)
def test_what_no_one_can_have_meant_is_not_started(plans, name, target, serial, error) -> None:
    with pytest.raises(error):
        plans.start(name, target, serial)
    assert list(plans.library.iterdir()) == []
