"""A detached run: started apart from the terminal, and observed until it has begun or was refused.

Both ends are here. What starts a run listens at a socket; the run sends there what it prints, then its
folder, and prints into that from then on.
"""

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec import Struct

from openpts.errors import InterruptedRunError, RunFailedError, UsageError
from openpts.programs import ProgramError, run_program
from openpts.record.writer import LOG_NAME
from openpts.run_folder_files import open_to_append
from openpts.system_files import SystemRoots, printable
from openpts.temporary_folder import remove_temporary, temporary_folder
from openpts.transient_unit import lasting_manager, literal, unit_words

OPTION: Final = "--detach"
_KEPT: Final = ("HOME", "LANG", "NO_COLOR", "PATH", "TMPDIR", "VIRTUAL_ENV")
_KEPT_BEGINNINGS: Final = ("LC_", "OPENPTS_", "PYTHON", "XDG_")
_UNIT_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.2


class _Begun(Struct):
    """What a run sends to what started it; exactly one of the two."""

    folder: str | None = None
    exit_code: int | None = None


class _Started(Struct):
    """Where a run was started, in words, and whether it has ended by now."""

    where: str
    is_gone: Callable[[], bool]


def start_detached() -> None:
    """Start what the command line says without ``--detach``, and return when its run has begun.

    What it prints until then is on the error channel. Ends with the exit code of one that was refused.
    """
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if OPTION not in arguments[:end]:
        raise UsageError(f"{OPTION} is for the command line of openpts")
    arguments.remove(OPTION)
    with temporary_folder("detach") as home, socket.socket(socket.AF_UNIX) as listener:
        place = str(home / "begun")
        try:
            listener.bind(place)
        except OSError as error:
            raise UsageError(f"can't listen at {place}: {error}; set TMPDIR to a shorter path") from error
        listener.listen()
        started = _started([sys.executable, "-m", "openpts.cli.detached", place, *arguments], arguments)
        begun = _until_begun(listener, started)
    if begun.folder is None:
        sys.exit(RunFailedError.exit_code if begun.exit_code is None else begun.exit_code)
    folder = begun.folder
    click.echo(f"run folder {folder}, in {started.where}; what it prints is in {Path(folder) / LOG_NAME}")
    click.echo(f"`openpts attach {folder}` shows it, with --stop it ends as by Ctrl-C")


def _started(command: Sequence[str], arguments: Sequence[str]) -> _Started:
    """In a unit where systemd lets it outlive this login, else in a session of its own."""
    manager = lasting_manager(SystemRoots())
    if manager is not None:
        unit = f"openpts-{secrets.token_hex(4)}.service"
        cpus = " ".join(map(str, sorted(os.sched_getaffinity(0))))
        settings = {"WorkingDirectory": Path.cwd(), "CPUAffinity": cpus, "Nice": os.nice(0)}
        kept = [
            f"--setenv={name}={value}"
            for name, value in os.environ.items()
            if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
        ]
        description = printable(f"openpts {' '.join(arguments)}")
        start = [*unit_words(unit, description, settings), *manager, *kept, "--", *literal(command)]
        with suppress(ProgramError):
            if run_program(start, _UNIT_TIMEOUT_S).returncode == 0:
                query = ["systemctl", *manager, "is-active", "--quiet", unit]
                return _Started(f"unit {unit}", lambda: run_program(query, _UNIT_TIMEOUT_S).returncode != 0)
    none = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=none, stdout=none, stderr=none, start_new_session=True)
    return _Started("a session of its own", lambda: process.poll() is not None)


def _until_begun(listener: socket.socket, started: _Started) -> _Begun:
    """Pass on what the run prints until it has begun or has ended."""
    try:
        while not select.select([listener], [], [], _POLL_S)[0]:
            if started.is_gone():
                raise RunFailedError("the run ended before it could say why")
        with listener.accept()[0] as printed, listener.accept()[0] as control:
            while text := printed.recv(65536):
                click.echo(text.decode(errors="replace"), err=True, nl=False)
            answer = control.makefile("rb").readline()
    except KeyboardInterrupt:
        raise InterruptedRunError("stopped by the operator before the run began") from None
    return msgspec.json.decode(answer, type=_Begun) if answer else _Begun()


_STARTER: list[socket.socket] = []
"""The connection to what started this process, as long as it waits."""


def report_to(place: str) -> None:
    """Be the run: print into the socket at ``place``, ignore a lost terminal, and heed Ctrl-C again."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    printed, control = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    try:
        printed.connect(place)
        control.connect(place)
    finally:
        remove_temporary(Path(place).parent)  # what started this may have been killed, and can't
    with printed:
        _print_into(printed.fileno())
    _STARTER.append(control)


def begun(folder: Path) -> None:
    """Say that a run has its folder, once, and print into that; nothing in a process that is not detached.

    What started the run may be gone, stopped before it could say so: raises KeyboardInterrupt then.
    """
    if _STARTER:
        with _STARTER.pop() as control:
            try:
                control.sendall(msgspec.json.encode(_Begun(folder=str(folder))))
            except OSError:
                raise KeyboardInterrupt from None
            log = open_to_append(folder, LOG_NAME)
            _print_into(log)
            os.close(log)


def ended(exit_code: int) -> None:
    """Say the exit code of a command that began no run."""
    if _STARTER:
        with _STARTER.pop() as control, suppress(OSError):
            control.sendall(msgspec.json.encode(_Begun(exit_code=exit_code)))


def _print_into(fd: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number in (1, 2):
        os.dup2(fd, number)
