"""A host by the OpenSSH client: programs are started there by argument list, with a time limit."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from msgspec import Struct

from openpts.errors import FleetError, failing_as
from openpts.programs import ProgramError, Reply, Run, run_program
from openpts_many.fleet.configuration import Host

_CONNECT_S: Final = 10
_SILENT_S: Final = 5  # of which three in a row are a cut link
_ANSWER_S: Final = 60.0
_OF_SSH: Final = 255  # the exit status of ssh itself; any other is that of the program on the host
_MOST_AT_ONCE: Final = 32
# all but root need sudo, for drives, units and the folders of runs
_AS_ROOT: Final = 'if [ "$(id -u)" = 0 ]; then exec "$@"; else exec sudo -n -- "$@"; fi'

_A = TypeVar("_A")
_B = TypeVar("_B")


class Remote(Struct, frozen=True):
    """A host; ``run`` starts ssh."""

    host: Host
    run: Run = run_program

    @property
    def destination(self) -> str:
        """What ssh calls the host."""
        return self.host.address if self.host.user is None else f"{self.host.user}@{self.host.address}"

    def client(self) -> list[str]:
        """ssh with its options, as it is given to other programs that connect; never asks a question."""
        settings = {
            "BatchMode": "yes",
            "ConnectTimeout": _CONNECT_S,
            "ServerAliveInterval": _SILENT_S,
            "ServerAliveCountMax": 3,
        }
        return ["ssh", *self.host.ssh_options, *(f"-o{name}={value}" for name, value in settings.items())]

    def quiet(self, words: Sequence[str]) -> list[str]:
        """As a command that runs as root, on the housekeeping processors of the host if it has some."""
        pinned = ["taskset", "-c", ",".join(map(str, self.host.housekeeping))]
        return ["sh", "-c", _AS_ROOT, "sh", *(pinned if self.host.housekeeping else ()), *words]

    def ask(self, words: Sequence[str], timeout_s: float = _ANSWER_S) -> Reply:
        """What a program on the host answers as root, whatever its exit status.

        Raises FleetError if the host can't be reached, or the answer takes longer: whether the program was
        started, or has ended, is unknown then.
        """
        command = [*self.client(), "--", self.destination, shlex.join(self.quiet(words))]
        with failing_as(FleetError, f"host {self.host.name}", self._remedy, of=ProgramError):
            answer = self.run(command, timeout_s)
        if answer.returncode == _OF_SSH:
            raise FleetError(f"host {self.host.name} can't be reached: {answer.complaint}; {self._remedy}")
        return answer

    @property
    def _remedy(self) -> str:
        command = ["ssh", "-oBatchMode=yes", *self.host.ssh_options, self.destination, "true"]
        return f"try {shlex.join(command)}"


def on_all(items: Iterable[_A], do: Callable[[_A], _B]) -> list[_B | FleetError]:
    """What comes of each, on many hosts at once, in their order; of one that fails the error."""

    def done(item: _A) -> _B | FleetError:
        try:
            return do(item)
        except FleetError as error:
            return error

    with ThreadPoolExecutor(_MOST_AT_ONCE) as threads:
        return list(threads.map(done, items))
