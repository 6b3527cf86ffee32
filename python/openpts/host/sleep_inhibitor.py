"""Inhibits sleep of the machine while this process runs (SOL-PWR-02, SOL-PWR-05)."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from openpts.host.services import runs_systemd
from openpts.host.setting_file import HostSettingError
from openpts.programs import find_program
from openpts.system_files import SystemRoots

_PROGRAM: Final = "systemd-inhibit"
_END_S: Final = 5.0


@contextmanager
def no_sleep(roots: SystemRoots) -> Iterator[None]:
    """logind holds the inhibition until the program started here ends, which waits for the end of a pipe.

    The pipe closes when this process ends, also when it is killed. Raises HostSettingError if
    sleep can't be inhibited.
    """
    program = find_program(_PROGRAM)
    if not runs_systemd(roots):
        raise HostSettingError("cannot inhibit sleep: systemd is not running")
    if program is None:
        raise HostSettingError(f"cannot inhibit sleep: {_PROGRAM} is not installed")
    command = [
        program,
        "--what=sleep:idle:handle-suspend-key:handle-hibernate-key:handle-lid-switch:handle-power-key",
        "--who=openpts",
        "--why=a drive is being measured",
        "--mode=block",
        "sh",
        "-c",
        "echo held; exec cat",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as holder:
        assert holder.stdin is not None and holder.stdout is not None and holder.stderr is not None  # noqa: S101, PT018 pipes
        if holder.stdout.readline() != b"held\n":
            complaint = holder.stderr.read().decode(errors="replace").strip()
            raise HostSettingError(f"{_PROGRAM}: {complaint or 'it ended without a message'}")
        try:
            yield
        finally:
            holder.stdin.close()
            try:
                holder.wait(_END_S)
            except subprocess.TimeoutExpired:
                holder.kill()
