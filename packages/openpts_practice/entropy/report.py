"""The report of the entropy and write-share sweeps: rates by level, and the generator of the data.

Implements: LSI-ENT-01, LSI-ENT-02, LSI-MIX-01, LSI-GEN-03.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from statistics import fmean
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.ratio import critical_value
from openpts.analysis.run_comparison import relative_standard_error_pct
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, active_range_amount_text, data_text, demand_text
from openpts.procedures.kit.steps import IOPS, THROUGHPUT, HasFigures, Key, Metric, select, summarize
from openpts.procedures.shared.data_checks_table import data_checks_table
from openpts.record.reader import Run
from openpts.units import format_block_size, format_duration
from openpts.vocabulary import workload as condition_text
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import DataCheck, ReducibleData, Stimulus
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, page, page_of, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Axis, Cell, Figure, Page, Series, Table, Verdict
from openpts_pages.texts import fact_text
from openpts_practice.entropy import EntropyConditions
from openpts_pts.shared.preparation_page import methodology, state_page

REDUCTION_LIMIT: Final = 1.05
"""A drive reduces data only if it is at least so many times as fast at the least entropy as at the most."""

CONFIDENCE: Final = 0.99
_VISITS: Final = 2

K = TypeVar("K")
T = TypeVar("T")


class PropertyLevel(Struct, frozen=True):
    """A level of the property, and the figure at each visit, in the order of the visits."""

    level: float
    visits: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the visits."""
        return fmean(self.visits)

    @property
    def rse_pct(self) -> float | None:
        """Relative standard error of the visits; None with a single one."""
        return relative_standard_error_pct(self.visits)

    @property
    def drift_pct(self) -> float | None:
        """How far the last visit lies from the first one, in per cent of it; None with a single one."""
        first, last = self.visits[0], self.visits[-1]
        return 100 * (last / first - 1) if len(self.visits) > 1 and first else None


class Reduction(Enum):
    """What an entropy sweep shows of a drive."""

    SEEN = "data reduction seen"
    NONE = "no effect seen"
    UNDECIDED = "no verdict"


class EntropyEffect(Struct, frozen=True):
    """The figure at the least entropy over that at the most.

    ``interval`` holds the factor with a confidence of ``CONFIDENCE``, by what the two visits of all levels
    differ; None with single visits.
    """

    least: PropertyLevel
    most: PropertyLevel
    factor: float | None
    interval: tuple[float, float] | None

    @property
    def reduction(self) -> Reduction:
        """Seen if all of the interval reaches ``REDUCTION_LIMIT``, none if nothing of it does."""
        if self.interval is None:
            return Reduction.UNDECIDED
        low, high = self.interval
        if low >= REDUCTION_LIMIT:
            return Reduction.SEEN
        return Reduction.NONE if high < REDUCTION_LIMIT else Reduction.UNDECIDED


def levels_of(
    rows: Iterable[tuple[K, T]], key: Callable[[K], float], figure: Callable[[T], float]
) -> tuple[PropertyLevel, ...]:
    """Levels in rising order, of what was applied and measured in the order of the visits."""
    return tuple(PropertyLevel(level, visits) for level, visits in summarize(rows, key, figure).items())


def entropy_effect(levels: tuple[PropertyLevel, ...]) -> EntropyEffect | None:
    """The two ends of a sweep; None with fewer than two levels."""
    if len(levels) < 2:
        return None
    least, most = levels[0], levels[-1]
    factor = least.mean / most.mean if most.mean else None
    reach = _reach(levels)
    interval = None if reach is None or factor is None else (factor / reach, factor * reach)
    return EntropyEffect(least, most, factor, interval)


def _reach(levels: Sequence[PropertyLevel]) -> float | None:
    """The factor by which the ratio of two levels may be off, from the scatter of visits; None if unknown.

    With a scatter s of the logarithms of single visits, the difference of two visits scatters by s √2, the
    mean of two by s / √2, and the difference of two such means by s.
    """
    pairs = [(level.visits[0], level.visits[-1]) for level in levels if len(level.visits) == _VISITS]
    if len(pairs) < len(levels) or not all(first and last for first, last in pairs):
        return None
    scatter = math.sqrt(math.fsum(math.log(last / first) ** 2 for first, last in pairs) / 2 / len(pairs))
    return math.exp(critical_value(CONFIDENCE, len(pairs)) * scatter)


def sweep_drift_pct(levels: tuple[PropertyLevel, ...]) -> float | None:
    """The drift of the level whose visits differ most: the possible effect of time alone."""
    drifts = [level.drift_pct for level in levels if level.drift_pct is not None]
    return max(drifts, key=abs, default=None)


def loss_pct(levels: tuple[PropertyLevel, ...], at: float, of: float = 0.0) -> float | None:
    """What is lost from level ``of`` to level ``at``, in per cent; None where one of them is missing."""
    means = {level.level: level.mean for level in levels}
    if not means.get(of) or at not in means:
        return None
    return 100 * (1 - means[at] / means[of])


FEW_WRITES_PCT: Final = 5
_ENTROPY_AXIS: Final = Axis(
    "Entropy asked for (%)", "linear", (-3, 103), tuple(float(n) for n in range(0, 101, 20))
)
_WRITES_AXIS: Final = Axis(
    "Share of writes (%)", "linear", (-2, 102), tuple(float(n) for n in range(0, 101, 10))
)
_HALF_PX: Final = 360
_UP_COLOR, _DOWN_COLOR, _MEAN_COLOR = 6, 3, 2
_WHOLE_IOPS: Final = replace(IOPS, decimals=0)


class Sweep(Struct, frozen=True):
    """A sweep as far as it was measured; ``key`` is the name of its levels in JSON.

    ``checks`` are those of the data that it wrote, if its levels are of entropy.
    """

    number: int
    name: str
    key: str
    metric: Metric[HasFigures]
    levels: tuple[PropertyLevel, ...]
    checks: tuple[DataCheck, ...] = ()

    @property
    def effect(self) -> EntropyEffect | None:
        """What both ends of the sweep show; None with fewer than two levels."""
        return entropy_effect(self.levels)

    @property
    def drift_text(self) -> str:
        """The drift of the level whose visits differ most."""
        drift = sweep_drift_pct(self.levels)
        return "one visit only" if drift is None else f"{cells.signed(drift, 1)} %"

    def verdict(self) -> Verdict:
        """Whether the entropy of the data changes the rate, with the rule and the drift."""
        effect = self.effect
        if effect is None or effect.factor is None:
            return Verdict(f"{self.name}: n/a (fewer than two levels of entropy were measured).", "fail")
        least, most = effect.least, effect.most
        interval = "n/a (single visits)"
        if effect.interval is not None:
            interval = " to ".join(cells.fixed(end, 2) for end in effect.interval)
        return Verdict(
            f"{self.name}: {effect.reduction.value}. Rate at {least.level:g} % over rate at {most.level:g} % "
            f"entropy: factor {cells.fixed(effect.factor, 2)}, {100 * CONFIDENCE:g} % interval {interval} by "
            f"the scatter of visits (limit {REDUCTION_LIMIT:g}: seen if the interval is above it, no effect "
            "if below, otherwise no verdict); largest difference between two visits of a level: "
            f"{self.drift_text}."
        )

    def table(self) -> Table:
        """A row for each level: what its visits measured, their mean, and the difference between them."""
        shown, checks = replace(self.metric, absent="not measured").shown, self.checks

        def visit(number: int) -> Callable[[PropertyLevel], Cell]:
            return lambda level: shown(level.visits[number] if number < len(level.visits) else None)

        columns: list[Col[PropertyLevel]] = [
            Col("Mean", lambda level: shown(level.mean)),
            Col("Way up", visit(0)),
            Col("Way down", visit(1)),
            Col("Difference (%)", lambda level: cells.percent_or("one visit", level.drift_pct, plus=True)),
            Col("RSE (%)", lambda level: cells.percent_or("one visit", level.rse_pct, 2)),
        ]
        if checks:
            columns.append(Col("Entropy verified (%)", lambda level: _verified(checks, level.level)))
        is_mix = self.key == "write_pct"
        head = "Writes (%)" if is_mix else "Entropy asked (%)"
        how = "; ".join(dict.fromkeys(check.how for check in checks))
        return table(
            f"entropy-values-{self.number}",
            f"{self.name}{' mixes' if is_mix else ''} ({self.metric.unit})",
            Col(head, lambda level: Cell(f"{level.level:g}", level.level), width=0),
            columns,
            self.levels,
            note=f"Entropy verified: {how}." if how else "",
        )

    def figure(self, title: str, x: Axis, *, height_px: int, width_px: int = 2 * _HALF_PX) -> Figure:
        """Means and visits over the levels."""
        means, unit = [level.mean for level in self.levels], self.metric.unit
        plot = Plot(
            part=f"plot-{self.number}",
            x=x,
            y=lambda visits: ticks.linear_axis(unit, 0, max(visits)),
            series=(
                Series("Mean", "column", (0,), _MEAN_COLOR, emphasis=True),
                Series("Way up", "column", (1,), _UP_COLOR, style="points"),
                Series("Way down", "column", (2,), _DOWN_COLOR, style="points"),
            ),
            alt=f"means of {{rows}} levels, from {cells.fixed(min(means), 0)} to "
            f"{cells.fixed(max(means), 0)} {unit}.",
            height_px=height_px,
            width_px=width_px,
        )
        return plot.over(PlotName("entropy", f"Plot X-ENTROPY-{self.number}", title), self.table())

    def figures(self) -> dict[str, Any]:
        """The levels, JSON-ready."""
        name = self.metric.key
        return {
            "levels": [
                {
                    self.key: level.level,
                    name: level.mean,
                    f"{name}_of_visits": list(level.visits),
                    "rse_pct": level.rse_pct,
                }
                for level in self.levels
            ],
            "largest_drift_pct": sweep_drift_pct(self.levels),
        }

    def effect_figures(self) -> dict[str, Any]:
        """The levels of entropy and what they show, JSON-ready."""
        effect = self.effect
        return self.figures() | {
            "factor": effect and effect.factor,
            "factor_interval": effect and effect.interval,
            "verdict": effect and effect.reduction.value,
        }


def _verified(checks: Sequence[DataCheck], entropy_pct: float) -> Cell:
    for check in checks:
        if isinstance(check.data, ReducibleData) and check.data.entropy_pct == entropy_pct:
            if not check.sampled_bytes:
                return cells.missing("no data made")
            return cells.percent(check.compressed_pct)
    return cells.missing("no sample")


# how much a drive gains by reducing data says nothing of how fast it is
_EFFECT: Final = Measure[EntropyEffect](
    "entropy_factor", "{name}, least / most entropy", "x", lambda effect: effect.factor, decimals=2
)
_LOSS: Final = Measure[float](
    "loss_at_few_writes",
    f"{{name}}, loss at {FEW_WRITES_PCT} % writes",
    "%",
    lambda loss: loss,
    decimals=1,
    better=Better.LOWER,
)


class EntropyReport(Struct, frozen=True):
    """Two sweeps of the entropy of data, and one of the share of writes; a method for each page."""

    run: Run
    conditions: EntropyConditions
    sequential: Sweep
    random: Sweep
    mixes: Sweep

    @classmethod
    def of(cls, run: Run) -> "EntropyReport":
        """The three sweeps as far as they were measured."""
        conditions, checks = run.conditions(EntropyConditions), run.manifest.data_checks

        def levels(number: int, key: Key[float], metric: Metric[HasFigures]) -> tuple[PropertyLevel, ...]:
            rows = select(run.phase(Phase.SWEEP, number=number))
            return levels_of(rows, key, lambda sample: metric.value(sample) or 0.0)

        sequential = f"SEQ {format_block_size(conditions.sequential_block_size_bytes)} W"
        random = f"RND {format_block_size(conditions.random_block_size_bytes)}"
        key = "entropy_pct"
        shares = levels(3, lambda mix: 100 - mix.read_pct, IOPS)
        return cls(
            run,
            conditions,
            Sweep(1, sequential, key, THROUGHPUT, levels(1, _entropy_pct, THROUGHPUT), checks),
            Sweep(2, f"{random} W", key, _WHOLE_IOPS, levels(2, _entropy_pct, IOPS), checks),
            Sweep(3, random, "write_pct", _WHOLE_IOPS, shares),
        )

    @property
    def loss_at_few_writes(self) -> float | None:
        """What a few writes cost a drive that reads, in per cent."""
        return loss_pct(self.mixes.levels, FEW_WRITES_PCT)

    def loss(self) -> Verdict:
        """What a few writes cost a drive that reads."""
        mixes, loss = self.mixes, self.loss_at_few_writes
        if loss is None:
            return Verdict(f"{mixes.name}, loss at {FEW_WRITES_PCT} % writes: n/a (not measured).", "fail")
        means = {level.level: level.mean for level in mixes.levels}
        cost = f"{cells.fixed(loss, 1)} % of the IOPS" if loss > 0 else "none of the IOPS"
        few = (level for level in mixes.levels if level.level <= FEW_WRITES_PCT)
        drift_pct = max(abs(level.drift_pct or 0.0) for level in few)
        doubt = f"; not proven: visits of a level differ by up to {cells.fixed(drift_pct, 1)} %"
        return Verdict(
            f"{mixes.name}: {FEW_WRITES_PCT} % writes cost {cost} of reads alone "
            f"({cells.fixed(means[0.0], 0)} to {cells.fixed(means[float(FEW_WRITES_PCT)], 0)} IOPS)"
            f"{doubt if abs(loss) <= drift_pct else ''}."
        )

    def measures(self) -> tuple[Measured, ...]:
        """The factor of each sweep of entropy, and the loss."""
        of_entropy = (_EFFECT.of(one.effect, Subject(one.name)) for one in (self.sequential, self.random))
        return (*of_entropy, _LOSS.of(self.loss_at_few_writes, Subject(self.mixes.name)))

    def pages(self) -> Iterator[Page]:
        """What was done before, the sweeps, the data."""
        yield state_page(self.run, "Purge and Pre-conditioning")
        yield self.entropy()
        yield self.shares()
        yield self.generator()

    # LSI-ENT-01
    def entropy(self) -> Page:
        """Rate over entropy, sequential and random side by side."""
        name = PlotName("entropy-sweep", "", "Write Rate v Entropy of the Data")
        sweeps = (self.sequential, self.random)
        begun = [sweep for sweep in sweeps if sweep.levels]
        if not begun:
            return page_of(name, absent="no level was measured")
        figures = (
            sweep.figure(f"{sweep.name} v entropy", _ENTROPY_AXIS, width_px=_HALF_PX, height_px=240)
            for sweep in begun
        )
        return page(name, *figures, *map(Sweep.verdict, sweeps), *map(Sweep.table, begun))

    # LSI-MIX-01
    def shares(self) -> Page:
        """IOPS over the share of writes."""
        mixes = self.mixes
        name = PlotName("entropy-writes", "", f"{mixes.name} IOPS v Share of Writes")
        if not mixes.levels:
            return page_of(name, absent="no mix was measured")
        rule = Verdict(f"Largest difference between two visits of a level: {mixes.drift_text}.")
        return page(
            name, mixes.figure(name.title, _WRITES_AXIS, height_px=220), self.loss(), rule, mixes.table()
        )

    # LSI-ENT-02, LSI-GEN-03
    def generator(self) -> Page:
        """What makes the data, which version of it, and what a compressor leaves of it."""
        name, manifest = PlotName("entropy-generator", "", "Data Generator"), self.run.manifest
        software, build = fact_text(manifest.software, "test_software"), fact_text(manifest.engine, "build")
        items = [
            ("Generator", f"{software}; {build}"),
            (
                "Data of the sweeps of entropy",
                "pieces of 4 KiB: random bytes for the share asked for, then zeros; generated for each "
                "write, so that pieces with random bytes differ, and at 0 % all are equal",
            ),
            ("Data of pre-conditioning and mixes", condition_text.data_text(self.conditions.data)),
            ("Seed", str(self.conditions.seed)),
        ]
        checks = data_checks_table(manifest.data_checks, f"{name.id}-checks")
        unchecked = Verdict("Entropy verified: n/a (this run checked no sample of its data).", "fail")
        shown = items_table(f"{name.id}-items", "Generator of the data", items)
        return page(name, shown, checks or unchecked)

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        random = demand_text(conditions.tc, conditions.qd)
        least, most = min(conditions.entropies_pct), max(conditions.entropies_pct)
        return (
            ("Data Pattern", f"entropy {least:g} to {most:g} %"),
            ("AR & Amount", active_range_amount_text(self.run)),
            ("Test Stimulus 1", f"{self.sequential.name}, sweep of entropy"),
            ("TOIO - TC/QD", demand_text(conditions.sequential_tc, conditions.sequential_qd)),
            ("Test Stimulus 2", f"{self.random.name}, sweep of entropy"),
            ("TOIO - TC/QD", random),
            ("Test Stimulus 3", f"{self.mixes.name}, sweep of writes"),
            ("Data Pattern", data_text(conditions)),
            ("TOIO - TC/QD", random),
            ("Duration", f"{format_duration(conditions.minute_ns)} per visit of a level"),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        return {
            "sequential_write": self.sequential.effect_figures(),
            "random_write": self.random.effect_figures(),
            "write_share": self.mixes.figures() | {"loss_at_5_pct_writes_pct": self.loss_at_few_writes},
        }


def _entropy_pct(stimulus: Stimulus) -> float:
    assert isinstance(stimulus.data, ReducibleData)  # noqa: S101 no level is of another pattern
    return stimulus.data.entropy_pct


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = EntropyReport.of(run)
    return ReportContent(
        verdicts=(found.sequential.verdict(), found.random.verdict(), found.loss()),
        measures=found.measures(),
        sections=methodology(run, "Entropy and Write-Share Sweeps", found.test_rows(), found.pages),
        figures=found.figures,
    )
