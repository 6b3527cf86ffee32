"""Power states of a drive, and cutting its power."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from openpts.vocabulary.requests import Apply, DriverAnswer, DriverRequest

MOST_STATES: Final = 32


class PowerState(Struct, frozen=True):
    """A state as the drive declares it: times are maxima, None where it declares none.

    ``operational``: I/O is done in it; any other is left for an I/O.
    """

    number: int
    operational: bool
    most_w: float | None = None
    idle_w: float | None = None
    entry_ns: int | None = None
    exit_ns: int | None = None


class Transition(Struct, frozen=True):
    """After so long without I/O in state ``origin`` the drive enters ``to`` by itself."""

    origin: int
    to: int
    after_ns: int


class PowerMode(StrEnum):
    """Who decides on the state of an idle drive."""

    AUTONOMOUS = "autonomous"
    OFF = "off"
    COMMANDED = "commanded"


class PowerSetting(Struct, frozen=True):
    """How the states of a drive are set: the one commanded last, and those that it enters by itself."""

    state: int
    autonomous: bool
    table: tuple[Transition, ...] = ()


class SetPowerStates(DriverRequest, frozen=True):
    """Have the drive enter states by itself, none, or ``state`` now. The answer is a PowerStatesSet."""

    mode: PowerMode
    state: int = 0

    @property
    def planned(self) -> tuple[None, "PowerStatesSet"]:
        """A drive whose states are not known."""
        return None, PowerStatesSet(self.mode, self.state, "a plan")


class PowerStatesSet(DriverAnswer, frozen=True):
    """What became of it, and how the drive was set then: None where it can be neither set nor read.

    ``refused`` says why it was not done, empty where it was. ``source`` is where the states are declared.
    ``processors`` says how processors were kept awake, whose own states would be measured else.
    """

    mode: PowerMode
    state: int
    source: str
    states: tuple[PowerState, ...] = ()
    setting: PowerSetting | None = None
    refused: str = ""
    processors: str = ""


def entries(
    states: Sequence[PowerState], table: Sequence[Transition], begin: int = 0
) -> list[tuple[PowerState, int]]:
    """Each state that idle time leads to from the first one, and after how much of it the drive is there.

    Idle time of a transition counts in the state before it, and entering takes what is declared. A table
    that leads back ends there.
    """
    by_origin = {one.origin: one for one in table if one.after_ns > 0}
    by_number = {state.number: state for state in states}
    found: list[tuple[PowerState, int]] = []
    at_ns, number = 0, begin
    while (step := by_origin.get(number)) is not None and step.to > number and step.to in by_number:
        state = by_number[step.to]
        at_ns, number = at_ns + step.after_ns + (state.entry_ns or 0), step.to
        found.append((state, at_ns))
    return found


LOSSES: Final[Mapping[str, str]] = {
    "lost-write": "acknowledged write lost",
    "lost-flush": "flush lost",
    "reordered": "reordered across a flush",
    "torn-sector": "torn sector",
    "torn-unit": "torn atomic unit",
    "stale": "stale data",
    "changed": "changed without a write",
    "corrupt": "neither old nor new data",
    "unreadable": "unreadable",
}
"""What a drive may be accused of, by the names in a record."""


class CutLoad(Struct, frozen=True):
    """Stamped writes to the first ``range_bytes`` of a drive: ``writers`` I/Os are outstanding.

    ``writes_per_flush`` is a mean. ``fua_pct`` of the writes have Force Unit Access.
    """

    range_bytes: int
    write_sizes_bytes: tuple[int, ...]
    writers: int
    writes_per_flush: int
    fua_pct: int
    seed: int


class DataLoss(Struct, frozen=True):
    """Neighboring sectors with the same fault; ``loss`` is a name of ``LOSSES``.

    ``expected`` and ``found`` are writes by their numbers in the run, or words; ``context`` is what the
    journal has on the one that is missing. Its times count submissions and acknowledgments.
    """

    loss: str
    lba: int
    sectors: int
    expected: str
    found: str
    context: str


class Cut(DriverAnswer, frozen=True):
    """A power cut and what was found after it.

    ``write_cache`` is the state in which it hit the drive; ``volatile`` says whether only flushed writes and
    those with Force Unit Access had to survive. ``atomic_bytes`` is the largest write that had to be whole or
    not there, by ``atomic_source``. ``away_ns`` is the time from the cut until the drive was back,
    ``first_read_ns`` that from the end of the cut command, with the power back, to the first read that
    succeeded; None where none did, or the drive is simulated.
    ``losses`` count accusations by name; ``accusations`` are the first of them. ``promised`` are writes that
    had to survive, ``outstanding`` those that the cut interrupted. ``lost_unpromised_sectors`` were
    acknowledged and are lost, as a volatile cache may; ``indeterminate_sectors`` belong to interrupted writes
    for which nothing is promised.
    """

    number: int
    write_cache: str
    volatile: bool
    atomic_bytes: int
    atomic_source: str
    away_ns: int = 0
    first_read_ns: int | None = None
    writes: int = 0
    flushes: int = 0
    promised: int = 0
    outstanding: int = 0
    lost_unpromised_sectors: int = 0
    indeterminate_sectors: int = 0
    losses: Mapping[str, int] = field(default_factory=dict)
    accusations: tuple[DataLoss, ...] = ()

    @property
    def accused(self) -> bool:
        """Whether anything is missing that had to survive."""
        return any(self.losses.values())


class CutPower(DriverRequest, frozen=True):
    """Write with the cache in this state, cut the power after ``write_ns`` or so, and read everything back.

    ``apply`` has the same as steps, for a plan; its number is that of the cut. ``command`` cuts the power of
    a drive that exists, and gives it back; the drive has to be there again ``back_within_ns`` after it. The
    answer is a Cut.
    """

    apply: Apply
    load: CutLoad
    write_cache_enabled: bool
    write_ns: int
    command: str | None
    back_within_ns: int

    @property
    def planned(self) -> tuple[Apply, Cut]:
        """A cut that lost nothing."""
        return self.apply, Cut(self.apply.number, "planned", self.write_cache_enabled, 0, "a plan")


def losses_text(losses: Mapping[str, int]) -> str:
    """``2 x flush lost, 1 x torn sector``; empty if there are none."""
    return ", ".join(f"{count:,} x {LOSSES.get(loss, loss)}" for loss, count in losses.items() if count)
