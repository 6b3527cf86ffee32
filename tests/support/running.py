"""A run in a process of its own, which owns its target until it ends or is killed."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# owns its target and a run folder until its standard input is closed; with one more argument, fio reads it
_RUN: Final = """
import os, sys, threading
from pathlib import Path
from openpts.vocabulary.purge import Consent
from openpts.device.guard.guard import open_target
from openpts.device.targets.target import parse_target
from openpts.ownership import folder_claimed
from openpts.system_files import SystemRoots

target, folder, serial, *with_fio = sys.argv[1:]
consent = Consent(confirm_device_path=target, confirm_serial=serial or None, erase_signatures=True)
with open_target(parse_target(target), consent, SystemRoots()) as opened:
    with folder_claimed(Path(folder), opened.owner):
        if with_fio:
            job = f"[reads]\\nfilename=/proc/self/fd/{opened.fd}\\nrw=randread\\ntime_based\\nruntime=60\\n"
            from openpts_fio.engine.engine import FioProcess, find_fio
            fio = FioProcess(find_fio(), opened.fd, read_only=True)
            threading.Thread(target=fio.run, args=[job], daemon=True).start()
        print(opened.owner.run_id, flush=True)
        sys.stdin.read()
"""


@dataclass
class Running:
    """A run in a process of its own. ``text`` is how others name it."""

    process: "subprocess.Popen[str]"
    run_id: str
    folder: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def running(target: object, folder: Path, *, serial: str = "", with_fio: bool = False) -> Iterator[Running]:
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, str(target), str(folder), serial, *["fio"] * with_fio],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        run_id = process.stdout.readline().strip()
        assert run_id, "the run could not take its target: its error is in the captured output"
        yield Running(process, run_id, folder)


def is_named(run: Running, text: str) -> None:
    """With its ID, its process, since when, and its folder."""
    named = (
        rf"run {run.run_id} \(process {run.pid} on \S+, since \d{{4}}-\d\d-\d\dT\S+, folder {run.folder}\)"
    )
    assert re.search(named, text), text
