"""Energy and media writes of each part of a run: the measures, and their pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct

from openpts.record.reader import StepRecord
from openpts.units import GB, MB, NS_PER_S
from openpts.vocabulary.verdict import Better
from openpts_pages import cells
from openpts_pages.kit import Col, table
from openpts_pages.measure import Measure, Measured, Subject, key_of
from openpts_pages.model import Block, Cell, Page, Verdict
from openpts_work.work import DriveWork, PhaseWork, WorkSpan

_ABSENT: Final = "too few samples"
NO_METER: Final = "nothing metered the drive: see --power-command"


class _Figure(Struct, frozen=True):
    """A figure of a part: a measure, and a column."""

    key: str
    column: str
    label: str
    unit: str
    better: Better
    decimals: int
    value: Callable[[PhaseWork], float | None]

    def measure(self) -> Measure[PhaseWork]:
        return Measure(
            self.key,
            f"{{name}}, {self.label}",
            self.unit,
            self.value,
            better=self.better,
            decimals=self.decimals,
            absent=_ABSENT,
            of_steady_state=False,
            on_cover=False,
        )

    def cell(self, part: PhaseWork) -> Cell:
        value = self.value(part)
        if value is not None:
            return cells.number(value, self.decimals)
        return cells.none() if part.mean_w is not None else cells.missing(_ABSENT)


def _milli(value: float | None) -> float | None:
    return None if value is None else 1000 * value


_MEAN_W: Final = _Figure("mean_w", "Mean (W)", "mean power", "W", Better.LOWER, 3, lambda part: part.mean_w)
_READ: Final = _Figure(
    "j_per_gb_read", "J/GB read", "energy", "J/GB", Better.LOWER, 2, lambda part: part.j_per_gb_read
)
_WRITTEN: Final = _Figure(
    "j_per_gb_written", "J/GB written", "energy", "J/GB", Better.LOWER, 2, lambda part: part.j_per_gb_written
)
_FIGURES: Final = (
    _MEAN_W,
    _Figure("joules", "Energy (J)", "energy", "J", Better.UNJUDGED, 1, lambda part: part.joules),
    _READ,
    _WRITTEN,
    _Figure(
        "mj_per_io", "mJ/I/O", "energy of an I/O", "mJ", Better.LOWER, 4, lambda part: _milli(part.j_per_io)
    ),
    _Figure(
        "iops_per_w", "IOPS/W", "IOPS per watt", "IOPS/W", Better.HIGHER, 0, lambda part: part.iops_per_w
    ),
    _Figure("gb_per_kwh", "GB/kWh", "GB per kWh", "GB/kWh", Better.HIGHER, 0, lambda part: part.gb_per_kwh),
)


_WINDOWS: Final = (
    _Figure(
        "largest_second_w",
        "Most in 1 s (W)",
        "largest mean of a second",
        "W",
        Better.LOWER,
        3,
        lambda part: part.largest_mean_w,
    ),
    _Figure("peak_w", "Peak, 100 us (W)", "peak of 100 us", "W", Better.LOWER, 3, lambda part: part.peak_w),
)
"""The windows of OCP (PCM-1, PCM-2), of meters that are fast enough."""


def _windows(work: DriveWork) -> tuple[_Figure, ...]:
    """OCP's windows that the meter has for any part."""
    return tuple(figure for figure in _WINDOWS if any(figure.value(part) is not None for part in work.parts))


def _of_whole(
    battery: tuple[_Figure, ...],
) -> tuple[tuple[str, str, Callable[[PhaseWork], bool], tuple[_Figure, ...]], ...]:
    """Name, key, which parts, and what is compared of them all together."""
    return (
        ("All loads", "loads", lambda part: not part.is_idle, (_MEAN_W, *battery)),
        (
            "All that only reads",
            "reads",
            lambda part: bool(part.read_bytes and not part.written_bytes),
            (_READ,),
        ),
        (
            "All that only writes",
            "writes",
            lambda part: bool(part.written_bytes and not part.read_bytes),
            (_WRITTEN,),
        ),
        ("Idle", "idle", lambda part: part.is_idle, (_MEAN_W,)),
    )


def _battery(battery_wh: float | None) -> tuple[_Figure, ...]:
    if battery_wh is None:
        return ()
    name = f"Battery {battery_wh:g} Wh"
    return (
        _Figure(
            "battery_h", f"{name} (h)", name, "h", Better.HIGHER, 1, lambda part: part.battery_h(battery_wh)
        ),
    )


_HEADLINE: Final = 8
"""Mean power of all loads is the last of what a buyer asks."""


def energy_measures(work: DriveWork) -> Iterator[Measured]:
    """Key values of all loads and of idle time, and all figures of each part; none without a meter."""
    if work.meter is None:
        return
    battery = _battery(work.run.manifest.conditions.battery_wh)
    for name, key, chosen, figures in _of_whole(battery):
        if (whole := work.whole(name, chosen)) is not None:
            subject = Subject(name, f"energy.{key}")
            for figure in figures:
                headline = _HEADLINE if key == "loads" and figure is _MEAN_W else 0
                yield replace(figure.measure(), headline=headline).of(whole, subject)
    for part in work.parts:
        subject = Subject(part.name, f"energy.{key_of(part.name)}")
        found = (
            replace(figure.measure(), is_key=False).of(part, subject)
            for figure in (*_FIGURES, *_windows(work), *battery)
        )
        yield from (one for one in found if one.value is not None)


# PTS-IOPS-35, PTS-HIR-27, PTS-XSR-25
def power_cell(work: DriveWork, steps: Sequence[StepRecord]) -> Cell:
    """Average power of some steps in mW, for the secondary tables of the specification."""
    if work.meter is None:
        return cells.words("not measured", tone="missing", note=NO_METER)
    mean_w = work.part("", steps).mean_w
    return cells.missing(_ABSENT) if mean_w is None else cells.number(1000 * mean_w, 0)


def efficiency_cell(work: DriveWork, steps: Sequence[StepRecord]) -> Cell:
    """IOPS/W of some steps."""
    iops_per_w = work.part("", steps).iops_per_w
    return cells.missing(_ABSENT) if iops_per_w is None else cells.number(iops_per_w, 0)


_LONGEST_PRINTED: Final = 200


def energy_page(work: DriveWork, prefix: str) -> Page | None:
    """The table of all parts; None where nothing measured the drive's power and no battery was given."""
    page_id, battery_wh = f"{prefix}-energy", work.run.manifest.conditions.battery_wh
    if work.meter is None or not work.parts:
        if battery_wh is None:
            return None
        why = NO_METER if work.meter is None else "the run has no part with I/O or a rest"
        if work.meter is None and (simulation := work.run.manifest.target.simulation) is not None:
            why = f"the preset {simulation.preset} has no power model"
        return Page(page_id, "Energy", (Verdict(f"Battery {battery_wh:g} Wh: no hours, {why}.", "warn"),))
    figures = (*_FIGURES, *_windows(work), *_battery(battery_wh))
    shown = table(
        page_id,
        "Energy of each part",
        Col("Part", lambda part: Cell(part.name), align="left", width=2.6),
        (
            Col("Time (s)", lambda part: cells.number(part.elapsed_ns / NS_PER_S, 1)),
            *(Col(figure.column, figure.cell) for figure in figures),
            Col("Covered (%)", lambda part: cells.percent(part.coverage_pct)),
        ),
        work.parts,
        printed=_LONGEST_PRINTED,
        note="Mean power over the covered time; energy of all the time at that power. J/GB where a part only "
        "reads or only writes. IOPS/W is I/Os per joule. n/a where less than half of the time is covered.",
    )
    source = Verdict(f"Power of the drive: {work.meter[1]}, integrated over each step.")
    return Page(page_id, "Energy", (source, shown), mandatory=False)


class MediaWrites(Struct, frozen=True):
    """Stretches of the same kind together, such as all rests of a length.

    ``logged`` is the drive's own account of all of them in one, where it has one: its log of the run.
    """

    name: str
    stretches: tuple[WorkSpan, ...]
    logged: WorkSpan | None = None

    @classmethod
    def of_run(cls, work: DriveWork) -> "MediaWrites":
        """All of a run."""
        return cls("All of the run", work.stretches, work.logged)

    @property
    def host_bytes(self) -> float:
        """Written by the host."""
        return sum(stretch.host_bytes for stretch in self._accounts)

    @property
    def media_bytes(self) -> float:
        """Written to the media."""
        return sum(stretch.media_bytes for stretch in self._accounts)

    @property
    def _accounts(self) -> tuple[WorkSpan, ...]:
        return (self.logged,) if self.logged else self.stretches

    @property
    def idle_ns(self) -> int:
        """How long the host was idle."""
        return sum(stretch.idle_ns for stretch in self.stretches)

    @property
    def background_bytes(self) -> float:
        """Written to the media in rests."""
        return sum(stretch.media_bytes for stretch in self.stretches if stretch.is_rest)

    @property
    def rate_mb_per_s(self) -> float | None:
        """Written to the media while the host was idle, in MB/s."""
        return self.media_bytes * NS_PER_S / self.idle_ns / MB if self.idle_ns else None

    @property
    def amplification(self) -> float | None:
        """Bytes written to the media per byte of the host; None where it wrote none."""
        return self.media_bytes / self.host_bytes if self.host_bytes else None

    @property
    def foreground_pct(self) -> float | None:
        """Share of the writes to the media that came while the host was at work."""
        in_steps = sum(stretch.media_bytes for stretch in self.stretches)
        return 100 * (1 - self.background_bytes / in_steps) if in_steps else None


_AMPLIFICATION: Final = Measure[MediaWrites](
    "write_amplification",
    "{name}, write amplification",
    "",
    lambda writes: writes.amplification,
    better=Better.LOWER,
    decimals=3,
    of_steady_state=False,
    on_cover=False,
)
_OF_WHOLE: Final = (
    _AMPLIFICATION,
    Measure[MediaWrites](
        "foreground_pct",
        "{name}, share of media writes under host I/O",
        "%",
        lambda writes: writes.foreground_pct,
        better=Better.UNJUDGED,
        decimals=1,
        of_steady_state=False,
        on_cover=False,
    ),
)
_BACKGROUND: Final = Measure[MediaWrites](
    "background_mb_per_s",
    "{name}, background media writes",
    "MB/s",
    lambda writes: writes.rate_mb_per_s,
    better=Better.UNJUDGED,
    decimals=1,
    of_steady_state=False,
    on_cover=False,
)


def media_measures(work: DriveWork) -> Iterator[Measured]:
    """Of the entire run, of all rests, and of each part; none where writes to the media are not known."""
    if not work.stretches:
        return
    whole = MediaWrites.of_run(work)
    yield from (measure.of(whole, Subject(whole.name, "media")) for measure in _OF_WHOLE)
    if rests := [stretch for stretch in work.stretches if stretch.is_rest]:
        yield _BACKGROUND.of(MediaWrites("All rests", tuple(rests)), Subject("All rests", "media.rests"))
    for writes in _loads(work):
        yield _of_part(_AMPLIFICATION, writes)
    for writes in _rests(work):
        yield _of_part(_BACKGROUND, writes)


def _of_part(measure: Measure[MediaWrites], writes: MediaWrites) -> Measured:
    return replace(measure, is_key=False).of(writes, Subject(writes.name, f"media.{key_of(writes.name)}"))


def _grouped(named: Iterable[tuple[str, WorkSpan]]) -> tuple[MediaWrites, ...]:
    groups: dict[str, list[WorkSpan]] = {}
    for name, stretch in named:
        groups.setdefault(name, []).append(stretch)
    return tuple(MediaWrites(name, tuple(stretches)) for name, stretches in groups.items())


def _loads(work: DriveWork) -> tuple[MediaWrites, ...]:
    """By part, where the host wrote."""
    return _grouped((name, stretch) for name, stretch in work.named_stretches if stretch.is_load)


def _rests(work: DriveWork) -> tuple[MediaWrites, ...]:
    """By part and length: a rest of 5 s does other work than one of half an hour."""
    return _grouped(
        (f"{name}, {stretch.idle_ns / NS_PER_S:g} s", stretch)
        for name, stretch in work.named_stretches
        if stretch.is_rest
    )


def media_page(work: DriveWork, prefix: str) -> Page | None:
    """Write amplification by part and background work by rest; None where neither is known."""
    if not work.stretches:
        return None
    page_id = f"{prefix}-media-writes"
    whole = MediaWrites.of_run(work)
    blocks: list[Block] = [Verdict(_sentence(whole))]
    if loads := _loads(work):
        blocks.append(_loads_table(page_id, loads))
    if rests := _rests(work):
        blocks.append(_rests_table(page_id, rests))
    return Page(page_id, "Write Amplification and Background Work", tuple(blocks), mandatory=False)


def _sentence(whole: MediaWrites) -> str:
    if whole.amplification is None or whole.foreground_pct is None:
        return f"Written to the media: {cells.fixed(whole.media_bytes / GB, 3)} GB; the host wrote nothing."
    foreground = (
        f"{cells.fixed(whole.foreground_pct, 1)} % of the media writes came while the host was at work; "
        f"{cells.fixed(whole.background_bytes / GB, 3)} GB were background work while it was idle."
        if whole.idle_ns
        else "The host was never idle: what the drive did on its own is in them."
    )
    return (
        f"Write amplification {cells.fixed(whole.amplification, 3)}: the host wrote "
        f"{cells.fixed(whole.host_bytes / GB, 3)} GB, the media {cells.fixed(whole.media_bytes / GB, 3)} GB. "
        f"{foreground}"
    )


def _loads_table(page_id: str, loads: Sequence[MediaWrites]) -> Block:
    return table(
        f"{page_id}-loads",
        "Write amplification of each part",
        Col("Part", lambda one: Cell(one.name), align="left", width=2.6),
        (
            Col("Host wrote (GB)", lambda one: cells.number(one.host_bytes / GB, 3)),
            Col("Media written (GB)", lambda one: cells.number(one.media_bytes / GB, 3)),
            Col("Write amplification", lambda one: cells.number_or("no write", one.amplification, 3)),
        ),
        loads,
        note="Between two readings of the drive's log, or by step where a drive reports more. I/Os that "
        "count in no step are in both. Work that a drive puts off is in the part in which it is done.",
    )


def _rests_table(page_id: str, rests: Sequence[MediaWrites]) -> Block:
    return table(
        f"{page_id}-rests",
        "Background work: written to the media while the host was idle",
        Col("Rest", lambda one: Cell(one.name), align="left", width=2.6),
        (
            Col("Times", lambda one: cells.count(len(one.stretches))),
            Col("Idle (s)", lambda one: cells.number(one.idle_ns / NS_PER_S, 1)),
            Col("Media written (GB)", lambda one: cells.number(one.media_bytes / GB, 3)),
            Col("Background (MB/s)", lambda one: cells.number_or("not idle", one.rate_mb_per_s, 1)),
        ),
        rests,
    )
