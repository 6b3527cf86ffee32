"""A made-up ATA drive with the security feature set, that answers as hdparm would.

Its states are those of ACS: SEC0 to SEC2 without a password (off, on, frozen), SEC3 to SEC6 with one (off,
locked, unlocked, unlocked and frozen). How drives differ is said by ``Manners``. Nothing of this was
recorded on a drive: it is what the standard says, and what reports of users tell of drives.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

from openpts.device.ata_identify import parse_ata_information_page
from openpts.device.block_device import BlockDevice
from openpts.journal import Journal
from openpts.programs import Reply
from openpts.system_files import SystemRoots
from tests import DATA
from tests.support.held_drive import give_node
from tests.support.identify_words import as_hdparm_prints

IDENTIFY_PAGE = DATA / "identify/qemu-sata-vpd-page-89.bin"
ATTEMPTS = 5
# as libata hands on an aborted command in fixed format: recorded in the lab on 6.1
_ABORTED_FIXED = "SG_IO: bad/missing sense data, sb[]:  70 00 0b 00 00 00 00 0a 04 41 40 01" + " 00" * 20


@dataclass(frozen=True)
class Manners:
    """How a drive, its kernel and its machine behave."""

    descriptor_sense: bool = True
    """Whether hdparm can read that a command was aborted: else it ends with 0 and a complaint."""
    must_erase_again: bool = False
    """After an interrupted erasure it unlocks only by another one."""
    unlock_only_when_locked: bool = False
    """Against the standard: an unlock of a drive that is not locked is aborted."""
    frozen_at_start: bool = False
    """The machine's firmware freezes every drive that is not locked when it starts."""
    keeps_password_after_erase: bool = False
    """Against the standard: the password survives a good erasure."""


@dataclass
class AtaSecurityDrive:
    """Implements openpts.programs.Run for hdparm on one drive.

    ``before`` and ``after`` are called around each command's effect, with its name, and may raise.
    """

    manners: Manners = field(default_factory=Manners)
    supported: bool = True
    enhanced_supported: bool = True
    password: str | None = None
    locked: bool = False
    frozen: bool = False
    attempts_left: int = ATTEMPTS
    world_wide_name: int | None = None
    prepared: bool = False
    erasure_unfinished: bool = False
    erased: int = 0
    commands: list[str] = field(default_factory=list)
    time_limits_s: list[float] = field(default_factory=list)
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """What hdparm would print, and its exit status."""
        assert command[0] == "hdparm"
        if not command[-1].endswith("/sda"):
            nothing = "\n".join(" ".join(["0000"] * 8) for _ in range(32))
            return Reply(tuple(command), 0, f"\n{command[-1]}:\n{nothing}", "", 1)
        option = command[1] if command[1] == "--Istdout" else command[-3]
        assert to_the_end is (option != "--Istdout"), "what changes the drive must come to its end"
        self.commands.append(option)
        self.time_limits_s.append(timeout_s)
        self.before(option)
        if option == "--Istdout":
            lines = as_hdparm_prints(self.identify_words())
            self.after(option)
            return Reply(tuple(command), 0, f"\n{command[-1]}:\n{lines}", "", 1)
        assert command[1:3] == ("--user-master", "u"), "never the master password"
        done = self._carry_out(option, command[-2])
        self.after(option)
        return self._answer(tuple(command), done)

    def power_cycle(self) -> None:
        """Off and on: a password locks, a freeze and an exhausted counter end."""
        self.locked = self.password is not None
        self.frozen = self.prepared = False
        self.attempts_left = ATTEMPTS
        self.restart_machine()

    def restart_machine(self) -> None:
        """The firmware starts, and the drive has kept its power."""
        if self.manners.frozen_at_start and not self.locked:
            self.frozen = True

    def identify_words(self) -> list[int]:
        """IDENTIFY DEVICE."""
        identity = parse_ata_information_page(IDENTIFY_PAGE.read_bytes())
        words = list(identity.words)
        words[82] |= self.supported << 1
        words[89], words[90] = 42, 1
        if self.world_wide_name is not None:
            words[87] |= 1 << 8
            words[108:112] = (self.world_wide_name >> shift & 0xFFFF for shift in (48, 32, 16, 0))
        words[128] = (
            self.supported
            | (self.password is not None) << 1
            | self.locked << 2
            | self.frozen << 3
            | (self.attempts_left == 0) << 4
            | (self.supported and self.enhanced_supported) << 5
        )
        words[255] = 0xA5
        rest = -sum(struct.pack("<256H", *words)) & 0xFF
        words[255] |= rest << 8
        return words

    def _carry_out(self, option: str, given: str) -> bool:
        if not self.supported or self.frozen:
            return False
        match option:
            case "--security-set-pass":
                return self._set_password(given)
            case "--security-unlock":
                return self._unlock(given)
            case "--security-disable":
                # hdparm goes on after an abort that it can't read
                unlocked = self._unlock(given)
                return (unlocked or not self.manners.descriptor_sense) and self._disable(given) and unlocked
            case "--security-erase" | "--security-erase-enhanced":
                return self._erase(given, enhanced=option.endswith("enhanced"))
        raise AssertionError(option)

    def _set_password(self, given: str) -> bool:
        if self.locked:
            return False
        self.password = given
        return True

    def _unlock(self, given: str) -> bool:
        if self.password is None or (self.manners.unlock_only_when_locked and not self.locked):
            return False
        if self.locked and (self.attempts_left == 0 or self.erasure_unfinished):
            return False
        if given != self.password:
            self.attempts_left -= 1
            return False
        self.locked = False
        return True

    def _disable(self, given: str) -> bool:
        if self.locked or self.password is None or given != self.password:
            return False
        self.password = None
        return True

    def _erase(self, given: str, *, enhanced: bool) -> bool:
        if self.password is None or given != self.password or (self.locked and self.attempts_left == 0):
            return False
        if enhanced and not self.enhanced_supported:
            return False
        self.erasure_unfinished = self.manners.must_erase_again
        self.before("in the middle of an erasure")
        self.erasure_unfinished = False
        self.erased += 1
        self.locked = False
        if not self.manners.keeps_password_after_erase:
            self.password = None
        return True

    def _answer(self, command: tuple[str, ...], done: bool) -> Reply:
        if done:
            return Reply(command, 0, "security_password: ...", "", 1)
        if self.manners.descriptor_sense:
            return Reply(command, 5, "", "SECURITY: Input/output error", 1)
        return Reply(command, 0, "", _ABORTED_FIXED, 1)


def is_free(drive: AtaSecurityDrive, journal: Journal) -> bool:
    """Neither a password on it, nor an entry of one."""
    return drive.password is None and not drive.locked and journal.entries() == ()


def give_sda(server: SystemRoots) -> SystemRoots:
    """The machine with a node for its sda, and where processes can be looked for."""
    (server.proc / "self").mkdir(parents=True, exist_ok=True)
    give_node(BlockDevice.of_name("sda", server))
    return server


CONFORMANT_MANNERS = tuple(
    Manners(descriptor_sense=descriptor, must_erase_again=again, frozen_at_start=frozen)
    for descriptor, again, frozen in product((True, False), repeat=3)
)
