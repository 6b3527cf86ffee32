"""Titles of the pages of CBW and DIRTH, and the run as both reports use it (PTS Table 13-3)."""

from typing import Final

from msgspec import Struct

from openpts.procedures.kit.header import of_cycle
from openpts.record.reader import Run
from openpts.units import format_block_size, format_latency_ms
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.workload import Workload
from openpts_pages.kit import PlotName, Required
from openpts_pages.model import Verdict
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.demand.results import DemandResults, OperatingPoint, analyze_demand
from openpts_pts.shared.steady_state_pages import judged_sentence, rounds_reason
from openpts_pts.shared.tracking.pages import TrackedPhase, tracked_phase


class Names(Struct, frozen=True):
    """A test's words: ``titles`` are those of plots 1 to 15, whose numbers begin behind ``plots_before``.

    ``over_rounds``: preconditioning is plotted over its tracking rounds, not over time.
    """

    prefix: str
    test: str
    bar: str
    section: int | str
    plots_before: int
    titles: tuple[str, ...]
    over_rounds: bool = False

    def plot(self, number: int, *, detail: str = "", suffix: str = "") -> PlotName:
        """The name of plot 1 to 15; ``suffix`` distinguishes pages of the same plot."""
        title = f"{self.titles[number - 1]} - {detail}" if detail else self.titles[number - 1]
        return self._required(number, suffix).named(self.prefix, title)

    @property
    def required(self) -> tuple[Required, ...]:
        """All plots that the specification demands."""
        return tuple(self._required(number) for number in range(1, len(self.titles) + 1))

    def _required(self, number: int, suffix: str = "") -> Required:
        plot = number + self.plots_before
        return Required(f"{number}{suffix}", f"Plot {self.section}-{plot}{suffix}")


HISTOGRAMS: Final = (
    "MaxIOPS Prewrites",
    "Max IOPS Histogram",
    "MidIOPS Prewrites",
    "Mid IOPS Histogram",
    "MinIOPS Prewrites",
    "Min IOPS Histogram",
    "IOPS v Total OIO",
)
VARIATION: Final = (
    "DV IOPS Plot, TC=Tracking",
    "DV Steady State Plot, Tracking Variable",
    "Demand Variation Plot",
    "Demand Intensity Plot",
)


class DemandRun(Struct, frozen=True):
    """A run of CBW or DIRTH with the results of its samples."""

    run: Run
    names: Names
    conditions: DemandConditions
    results: DemandResults
    preconditioning: TrackedPhase

    @property
    def pattern(self) -> str:
        """The access pattern with its R/W mix: ``RND 8 KiB 65/35``."""
        return pattern_text(self.conditions.workload, self.conditions.workload.read_pct)

    @property
    def writes(self) -> str:
        """The pattern of preconditioning and pre-writes."""
        return pattern_text(self.conditions.workload, 0)


def demand_run(run: Run, names: Names) -> DemandRun:
    """Analyze a run from its record alone."""
    conditions = run.conditions(DemandConditions)
    finished = of_cycle(run.manifest.cycles, 1)
    results = analyze_demand(
        conditions,
        ((step.place.number, step.sample) for step in run.phase(Phase.ROUND)),
        finished.outcome.steady_round if finished else None,
    )
    return DemandRun(run, names, conditions, results, tracked_phase(run, Phase.WDPC))


def pattern_text(workload: Workload, read_pct: int) -> str:
    """A workload with an R/W mix in the header's words."""
    if len(workload.block_sizes) > 1:
        what = "Composite" if workload.name == "composite" else workload.title
    else:
        order = {0: "SEQ", 100: "RND"}.get(workload.random_pct, f"RND {workload.random_pct} %")
        what = f"{order} {format_block_size(workload.block_sizes[0].block_size_bytes)}"
    return f"{what} {read_pct}/{100 - read_pct}"


def point_text(point: OperatingPoint) -> str:
    """An operating point in a title: ``TC32-QD8``."""
    return f"TC{point.tc}-QD{point.qd}"


def steady_state_sentence(demand: DemandRun) -> Verdict:
    """Whether demand variation came to steady state, with its rule."""
    results = demand.results
    what = f"Demand variation (IOPS of {demand.pattern} at {results.tracked})"
    return judged_sentence(what, results, len(results.rounds), rounds_reason(results))


def choice_rule(demand: DemandRun) -> str:
    """How the points are chosen, with this run's limits."""
    conditions = demand.conditions
    return (
        f"MaxIOPS: of the points with ART below {format_latency_ms(conditions.art_limit_ns)} ms, those "
        f"within {conditions.plateau_pct:g} % of the highest IOPS; of these the lowest TOIO, then the higher "
        "TC. MinIOPS: the lowest demand. MidIOPS: nearest to the IOPS that divide the range between them "
        f"into {conditions.mid_points + 1} equal parts."
    )


def choice_sentence(demand: DemandRun) -> Verdict:
    """The points chosen, or that there is none below the limit."""
    chosen = demand.results.chosen
    if chosen is None:
        return Verdict("Operating points: n/a (no Round was completed).", "fail")
    limit = format_latency_ms(demand.conditions.art_limit_ns)
    points = [
        f"{name} {measured.point} with {measured.iops:,.0f} IOPS"
        + ("" if (art_ns := measured.mean_latency_ns) is None else f" and ART {format_latency_ms(art_ns)} ms")
        for name, measured in chosen.named
    ]
    missing = "" if chosen.middles else " No point lies strictly between: there is no MidIOPS point."
    if chosen.below_art_limit:
        return Verdict(f"{'; '.join(points)}.{missing}", "pass" if chosen.middles else "fail")
    return Verdict(
        f"No operating point has an ART below {limit} ms: the point with the lowest ART takes the place of "
        f"MaxIOPS. {'; '.join(points)}.{missing}",
        "fail",
    )
