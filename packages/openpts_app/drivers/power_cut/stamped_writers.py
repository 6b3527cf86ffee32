"""Writers on stamped sectors, up to a power cut, and the read-back behind it; in the Rust module."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts import _native
from openpts.engine.no_steps import NoSteps
from openpts.errors import RunFailedError, UsageError, failing_as
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.power_cut import Cut, CutLoad, DataLoss

_SOURCE: Final = "openpts._native"


class PowerRules(Struct, frozen=True):
    """What a drive promises: see vocabulary.power_cut.Cut.

    ``each_sector``: of interrupted writes that are longer than the atomic unit, each sector is old or new;
    otherwise nothing is promised of them.
    """

    write_cache: str
    volatile: bool
    atomic_bytes: int
    atomic_source: str
    each_sector: bool


class WriterProgress(Struct, frozen=True):
    """``ended``: nothing that is acknowledged from now on counts. ``failure``: of an I/O before the cut."""

    writes: int
    flushes: int
    at_work: int
    ended: bool
    failure: str | None


class StampedWriters(NoSteps):
    """Writes until a power cut.

    It holds no target: each call gets the descriptor of what is open then.
    """

    def __init__(
        self,
        load: CutLoad,
        sector_bytes: int,
        simulated: tuple[int, Sequence[tuple[str, float]], int] | None = None,
    ) -> None:
        """``simulated``: contents in memory, with an atomic unit in bytes, faults by rate, and a seed.

        Raises UsageError where the load makes no sense.
        """
        self._sector_bytes = sector_bytes
        self._simulated = simulated is not None
        try:
            self._bench = _native.PowerCut(
                sector_bytes=sector_bytes,
                sectors=load.range_bytes // sector_bytes,
                write_sectors=[size_bytes // sector_bytes for size_bytes in load.write_sizes_bytes],
                writers=load.writers,
                writes_per_flush=load.writes_per_flush,
                fua_pct=load.fua_pct,
                seed=load.seed,
                simulated=None if simulated is None else (simulated[0], list(simulated[1]), simulated[2]),
            )
        except ValueError as error:
            raise UsageError(f"--range is too small: {error}; or use fewer writers, --tc and --qd") from error

    @property
    def facts(self) -> Facts:
        """See the contract."""
        build = _native.build_info()
        how = "contents in memory" if self._simulated else "one system call for each I/O"
        return {
            "engine": Fact("stamped writers", _SOURCE),
            "build": Fact(f"{build['version']} {build['profile']} {build['architecture']}", _SOURCE),
            "stamped_io": Fact(how, _SOURCE),
        }

    def prepare(self, descriptor: int) -> None:
        """Give sectors contents that are known: all of them at first, later those that a cut has damaged."""
        with failing_as(RunFailedError, "the range can't be filled"):
            self._bench.prepare(descriptor)

    def start(self, descriptor: int) -> None:
        """Begin to write."""
        self._bench.start(descriptor)

    def cutting(self) -> None:
        """The power is about to go: I/Os that fail from now on are no faults of the drive."""
        self._bench.cut()

    def writer_progress(self) -> WriterProgress:
        """What was acknowledged so far."""
        return WriterProgress(*self._bench.progress())

    def end(self, timeout_s: float) -> bool:
        """Let writers end, and say whether all of their I/Os were answered in time."""
        return self._bench.end(timeout_s)

    def verify(self, descriptor: int, number: int, rules: PowerRules, away_ns: int) -> Cut:
        """Read everything back after a cut. Raises RunFailedError if nothing can be read."""
        with failing_as(RunFailedError, "the range can't be read"):
            counts, accused = self._bench.verify(
                descriptor,
                volatile=rules.volatile,
                atomic_sectors=self._sectors(rules),
                each_sector=rules.each_sector,
            )
        return _cut(number, rules, away_ns, counts, accused)

    def simulate(self, answers: int, number: int, rules: PowerRules, *, cache_on: bool) -> Cut:
        """A whole cycle on simulated contents, whose power goes after so many answers."""
        counts, accused = self._bench.simulate(
            answers,
            cache_on=cache_on,
            volatile=rules.volatile,
            atomic_sectors=self._sectors(rules),
            each_sector=rules.each_sector,
        )
        return _cut(number, rules, 0, counts, accused)

    def _sectors(self, rules: PowerRules) -> int:
        return max(1, rules.atomic_bytes // self._sector_bytes)


def _cut(
    number: int,
    rules: PowerRules,
    away_ns: int,
    counts: dict[str, int],
    accused: list[tuple[str, int, int, str, str, str]],
) -> Cut:
    figures = (
        "writes",
        "flushes",
        "promised",
        "outstanding",
        "lost_unpromised_sectors",
        "indeterminate_sectors",
    )
    return Cut(
        number=number,
        write_cache=rules.write_cache,
        volatile=rules.volatile,
        atomic_bytes=rules.atomic_bytes,
        atomic_source=rules.atomic_source,
        away_ns=away_ns,
        losses={name: count for name, count in counts.items() if name not in figures and count},
        accusations=tuple(DataLoss(*each) for each in accused),
        **{name: counts[name] for name in figures},
    )
