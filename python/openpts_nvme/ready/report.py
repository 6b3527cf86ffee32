"""The report of time to ready: medians beside OCP's limits, and each interruption."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.order_statistics import median_ranks
from openpts.pages import cells
from openpts.pages.kit import PlotName, page, page_of, rows_table
from openpts.pages.measure import Measure
from openpts.pages.model import Cell, Page, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_latency_ms
from openpts.vocabulary.readiness import Interruption
from openpts_nvme.ready import ReadyConditions

_TITLE: Final = "Time to Ready"
_SOURCE: Final = "OCP Datacenter NVMe SSD 2.7, 7.2.1"


class Figure(Struct, frozen=True):
    """A time of each interruption; ``limit_ns`` is OCP's ``requirement``, 0 where it has none.

    The limit counts from a register of the controller, and the time from the order to the kernel: a time
    within it is proof, one beyond it is not.
    """

    key: str
    name: str
    pick: Callable[[Interruption], int | None]
    requirement: str = ""
    limit_ns: int = 0

    @property
    def limit_text(self) -> str:
        """``20 s (TTR-2)``."""
        return f"{self.limit_ns // NS_PER_S} s ({self.requirement})" if self.limit_ns else "-"


_FIGURES: Final = (
    Figure("first_identify", "First Identify", lambda one: one.identify_ns, "TTR-1", NS_PER_S),
    Figure("first_read", "First read", lambda one: one.read_ns, "TTR-2", 20 * NS_PER_S),
    Figure("read_gap", "Longest gap of reads", lambda one: one.gap_ns),
    Figure("shutdown", "Shutdown and removal", lambda one: one.shutdown_ns, "TTR-5", 10 * NS_PER_S),
)


class Times(Struct, frozen=True):
    """The times of a figure, in the order of the interruptions.

    ``interval_ns`` has the median with at least 95 % confidence, whatever the distribution; None with too few
    interruptions for that.
    """

    figure: Figure
    times_ns: tuple[int, ...]

    @property
    def interval_ns(self) -> tuple[int, int] | None:
        """See the class."""
        ordered, ranks = sorted(self.times_ns), median_ranks(len(self.times_ns))
        return None if ranks is None else (ordered[ranks[0] - 1], ordered[-ranks[0]])

    @property
    def keeps(self) -> bool | None:
        """Whether all were within the limit; None without one."""
        return max(self.times_ns) <= self.figure.limit_ns if self.figure.limit_ns else None

    @property
    def median_cell(self) -> Cell:
        """In ms, with its interval."""
        between = self.interval_ns
        note = "" if between is None else f"{_ms(between[0])} to {_ms(between[1])} at 95 %"
        return Cell(_ms(median(self.times_ns)), median(self.times_ns) / NS_PER_MS, note)


_MEDIANS: Final = tuple(
    Measure[Times](figure.key, f"{figure.name}, median", "ms", lambda times: times.median_cell)
    for figure in _FIGURES
)
_LONGEST: Final = Measure[Times](
    "longest_read_gap",
    "Longest gap of reads",
    "ms",
    lambda times: max(times.times_ns) / NS_PER_MS,
    decimals=3,
)


def times_of(found: Sequence[Interruption]) -> tuple[Times, ...]:
    """Figures that there are times of."""
    picked = ((figure, [figure.pick(one) for one in found]) for figure in _FIGURES)
    return tuple(
        Times(figure, tuple(time for time in times if time is not None))
        for figure, times in picked
        if any(time is not None for time in times)
    )


def report(run: Run) -> ReportContent:
    """The test's part of a report, from what the record has of interruptions."""
    found, asked = run.manifest.interruptions, run.conditions(ReadyConditions)
    by_figure = times_of(found)
    verdicts = judge(found, asked.title)
    medians = zip(_MEDIANS, by_figure, strict=False)
    return ReportContent(
        verdicts=verdicts,
        measures=(*(one.of(times) for one, times in medians), *(_LONGEST.of(one) for one in by_figure[2:3])),
        sections=methodology(run, _TITLE, _test_rows(run), lambda: (ready_page(found, verdicts),)),
        figures=lambda: _key_numbers(found),
    )


def judge(found: Sequence[Interruption], after: str) -> tuple[Verdict, ...]:
    """Each limit with the times that decide it, the longest gap, and what can't be told apart."""
    if not found:
        return (Verdict("n/a: the drive was never interrupted.", "fail"),)
    verdicts = []
    often = f"{len(found):,} {'time' if len(found) == 1 else 'times'}"
    for one in times_of(found):
        spread = " to ".join(dict.fromkeys((_ms(min(one.times_ns)), _ms(max(one.times_ns)))))
        if one.keeps is not None:
            kept = "kept" if one.keeps else "not shown to be kept (the host's driver is part of these times)"
            limit = f"limit {one.figure.limit_text}: {kept}"
            text = f"{one.figure.name} after {after}, {often}: {spread} ms, {limit}."
            verdicts.append(Verdict(text, "pass" if one.keeps else "info"))
    longest = max(found, key=lambda one: one.gap_ns)
    calm_ms = _ms(max(one.calm_gap_ns for one in found))
    begun = f"{_ms(abs(longest.gap_from_ns))} ms {'before' if longest.gap_from_ns < 0 else 'after'}"
    text = (
        f"Longest gap of the reads: {_ms(longest.gap_ns)} ms, begun {begun} interruption "
        f"{found.index(longest) + 1}; while nothing was interrupted up to {calm_ms} ms, and shorter ones "
        "can't be told from these."
    )
    return *verdicts, Verdict(text, "info")


def ready_page(found: Sequence[Interruption], verdicts: tuple[Verdict, ...]) -> Page:
    """The medians, and each interruption."""
    name = PlotName("ready-times", "", "Time to ready")
    if not found:
        return page_of(name, absent="the drive was never interrupted")
    medians = rows_table(
        "ready-medians",
        "Times of all interruptions (ms)",
        "Time:<1.4 | Median | Least | Most | Limit | Kept",
        (
            (
                one.figure.name,
                one.median_cell,
                _ms(min(one.times_ns)),
                _ms(max(one.times_ns)),
                one.figure.limit_text,
                {None: "-", True: "yes", False: "not shown"}[one.keeps],
            )
            for one in times_of(found)
        ),
        note=f"Limits: {_SOURCE}.",
    )
    each = rows_table(
        "ready-interruptions",
        "Each interruption (ms)",
        ("Interruption", *(figure.name for figure in _FIGURES), "Gap from | Longest before | Node:<1.4"),
        (
            (
                cells.count(number),
                *(_cell(figure.pick(one)) for figure in _FIGURES),
                _cell(one.gap_from_ns),
                _cell(one.calm_gap_ns),
                one.path,
            )
            for number, one in enumerate(found, start=1)
        ),
    )
    return page(name, *verdicts, medians, each)


def _ms(time_ns: float) -> str:
    return format_latency_ms(time_ns)


def _cell(time_ns: int | None) -> Cell:
    return Cell("-") if time_ns is None else cells.number(time_ns / NS_PER_MS, 3)


def _test_rows(run: Run) -> Rows:
    asked = run.conditions(ReadyConditions)
    return stimulus_rows(
        run,
        ("Test Stimulus 1", "Identify Controller every 2 ms"),
        ("TOIO - TC/QD", "1/1"),
        ("Test Stimulus 2", "RND 4 KiB R, one every millisecond"),
        ("TOIO - TC/QD", "1/1"),
        ("Interruption", asked.title),
        ("Interruptions", f"{asked.repeats:,}"),
        ("Source of the limits", _SOURCE),
        ("Steady State", NO_STEADY_STATE),
    )


def _key_numbers(found: Sequence[Interruption]) -> dict[str, Any]:
    """JSON-ready."""
    return {
        one.figure.key: {
            "times_ms": [time_ns / NS_PER_MS for time_ns in one.times_ns],
            "median_ms": median(one.times_ns) / NS_PER_MS,
            "interval_ms": None
            if one.interval_ns is None
            else [time_ns / NS_PER_MS for time_ns in one.interval_ns],
            "limit_ms": one.figure.limit_ns / NS_PER_MS if one.figure.limit_ns else None,
            "kept": one.keeps,
        }
        for one in times_of(found)
    }
