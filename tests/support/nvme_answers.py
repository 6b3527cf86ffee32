"""What NVMe drives answer to the questions of a purge, as bytes, and a clock that takes no time."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from openpts.device.nvme_admin import NvmeController
from openpts.programs import Reply
from openpts_drives.purge.nvme_drive import NvmeQuestions

NEVER = 0xFFFF_FFFF


def sanitize_log(
    progress: int,
    status: int,
    command: int,
    overwrite_s: int = NEVER,
    block_s: int = NEVER,
    crypto_s: int = NEVER,
) -> bytes:
    """The Sanitize Status log as the specification lays it out: SPROG, SSTAT, SCDW10, ETO, ETBE, ETCE."""
    return struct.pack("<HHIIII", progress, status, command, overwrite_s, block_s, crypto_s).ljust(512, b"\0")


def identify_namespace(
    *,
    flbas: int = 0,
    dps: int = 0,
    nuse: int = 1000,
    ncap: int = 1000,
    nsfeat: int = 0,
    dlfeat: int = 1,
    nvmcap: int = 0,
) -> bytes:
    """Identify Namespace with formats 0: 512 B, 1: 512 + 8 B, 2: 4096 B, 17: 4096 + 64 B."""
    data = bytearray(4096)
    struct.pack_into("<QQQB", data, 0, 1000, ncap, nuse, nsfeat)
    data[26], data[29], data[33] = flbas, dps, dlfeat
    data[48:64] = nvmcap.to_bytes(16, "little")
    for index, (metadata, shift) in {0: (0, 9), 1: (8, 9), 2: (0, 12), 17: (64, 12)}.items():
        struct.pack_into("<HB", data, 128 + 4 * index, metadata, shift)
    return bytes(data)


@dataclass
class Drive:
    """A drive that answers as told; the last of the logs and of the namespaces comes again and again."""

    controller: NvmeController
    logs: Sequence[bytes | Exception] = ()
    namespaces: Sequence[bytes] = (identify_namespace(),)
    nvme: Reply = field(default_factory=lambda: Reply((), 0, "", "", 0))
    allocated: Sequence[int] | Exception = (1,)
    commands: list[list[str]] = field(default_factory=list)
    now_s: float = 0.0

    def questions(self) -> NvmeQuestions:
        """The drive in place of the ioctls."""
        logs, namespaces = list(self.logs), list(self.namespaces)

        def log(_fd: int) -> bytes:
            answer = logs.pop(0) if len(logs) > 1 else logs[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        def allocated(_fd: int) -> tuple[int, ...]:
            if isinstance(self.allocated, Exception):
                raise self.allocated
            return tuple(self.allocated)

        return NvmeQuestions(
            controller=lambda _fd: self.controller,
            allocated=allocated,
            namespace=lambda _fd, _nsid: namespaces.pop(0) if len(namespaces) > 1 else namespaces[0],
            sanitize_log=log,
        )

    def run(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """In place of run_program."""
        assert to_the_end or list(command) == ["nvme", "version"]
        if list(command) != ["nvme", "version"]:
            self.commands.append(list(command))
        return self.nvme

    def sleep(self, seconds: float) -> None:
        """Time passes at once."""
        self.now_s += seconds
