"""Runs during which their drive fails: how a script in the lab begins them, and what is left of each."""

import os
from dataclasses import dataclass
from pathlib import Path

from openpts.record.reader import Run, read_run
from tests.lab.machine import OPENPTS, in_lab

ONE_ROUND = (
    "--tc 1 --qd 4 --max-rounds 1 --precondition-passes 0.2 --block-sizes 64KiB,4KiB --read-pcts 100,0 "
    "--tracking 'RND 4KiB RW0' --purge none --no-report"
)
NVME = "/dev/nvme0n1 --confirm-serial LABNVME0000"

# begin NAME TARGET...: the run is in the background, and in $run; until_log NAME WORD waits for what it
# prints; ended NAME waits for its end. what_is NAME COMMAND... keeps what a program says.
SHELL = f"""
begin() {{
  name=$1; shift
  {OPENPTS} run iops {ONE_ROUND} "$@" --out $name > $name.log 2> $name.complaint & run=$!
}}
until_log() {{ until grep -q "$2" $1.log; do [ -e /proc/$run ] || exit 90; sleep 0.1; done; }}
ended() {{ wait $run; echo $? > $1.status; }}
what_is() {{ name=$1; shift; "$@" > $name 2>&1; }}
mapped() {{ dmsetup suspend --nolockfs $1; dmsetup load "$@"; dmsetup resume $1; }}
"""


@dataclass(frozen=True)
class Left:
    """What a run of that name left in the folder that the machine shared."""

    folder: Path
    name: str

    @property
    def status(self) -> int:
        return int((self.folder / f"{self.name}.status").read_text())

    @property
    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()

    @property
    def complaint(self) -> str:
        return (self.folder / f"{self.name}.complaint").read_text()

    @property
    def run(self) -> Run:
        return read_run(self.folder / self.name)

    def said(self, what: str) -> str:
        """What a program said on the machine."""
        return (self.folder / what).read_text()


def left_by(folder: Path, *drives: str, script: str, timeout_s: int = 1500) -> None:
    """Carry out the script on a machine with these drives, with the functions of SHELL."""
    prelude = (
        f"cd {folder}; export OPENPTS_STATE={folder}/state PYTHONPATH={os.environ.get('PYTHONPATH', '')}"
    )
    ended = in_lab(folder, *drives, script=f"{prelude}\n{SHELL}\n{script}", timeout_s=timeout_s)
    texts = "".join(path.read_text() for path in sorted(folder.glob("*.[lc]o*")))
    assert ended.returncode == 0, ended.stdout + ended.stderr + texts
