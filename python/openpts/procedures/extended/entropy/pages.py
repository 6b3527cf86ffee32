"""Pages of the entropy and write-share sweeps: rates by level, and the generator of the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, Plot, PlotName, table
from openpts.pages.model import Axis, Cell, Figure, Page, Series, Table, Verdict
from openpts.pages.texts import fact_text
from openpts.procedures.extended.entropy.conditions import EntropyConditions
from openpts.procedures.extended.entropy.results import (
    CONFIDENCE,
    REDUCTION_LIMIT,
    Level,
    entropy_effect,
    loss_pct,
    sweep_drift_pct,
)
from openpts.procedures.shared.data_checks_table import data_checks_table
from openpts.procedures.shared.methodology import nothing_page
from openpts.record.reader import Run
from openpts.units import format_block_size
from openpts.vocabulary.condition_text import data_text
from openpts.vocabulary.data import DataCheck, ReducibleData

FEW_WRITES_PCT: Final = 5
_ENTROPY_AXIS: Final = Axis(
    "Entropy asked for (%)", "linear", (-3, 103), tuple(float(n) for n in range(0, 101, 20))
)
_WRITES_AXIS: Final = Axis(
    "Share of writes (%)", "linear", (-2, 102), tuple(float(n) for n in range(0, 101, 10))
)
_UP_COLOR, _DOWN_COLOR, _MEAN_COLOR = 6, 3, 2
_HALF_PX: Final = 360


@dataclass(frozen=True, slots=True)
class EntropyRun:
    """MB/s and IOPS over entropy, IOPS over the share of writes; empty where nothing was measured."""

    run: Run
    conditions: EntropyConditions
    sequential: tuple[Level, ...]
    random: tuple[Level, ...]
    write_share: tuple[Level, ...]

    @property
    def sequential_name(self) -> str:
        """What the first sweep writes."""
        return f"SEQ {format_block_size(self.conditions.sequential_block_size_bytes)} W"

    @property
    def random_name(self) -> str:
        """What the second sweep writes."""
        return f"RND {format_block_size(self.conditions.random_block_size_bytes)} W"

    @property
    def mix_name(self) -> str:
        """What the third sweep mixes."""
        return f"RND {format_block_size(self.conditions.random_block_size_bytes)}"


def effect_verdict(name: str, levels: tuple[Level, ...]) -> Verdict:
    """Whether the entropy of the data changes the rate, with the rule and the drift."""
    effect = entropy_effect(levels)
    if effect is None or effect.factor is None:
        return Verdict(f"{name}: n/a (fewer than two levels of entropy were measured).", "fail")
    least, most = effect.least, effect.most
    interval = "n/a (single visits)"
    if effect.interval is not None:
        interval = " to ".join(cells.fixed(end, 2) for end in effect.interval)
    return Verdict(
        f"{name}: {effect.reduction.value}. Rate at {least.level:g} % over rate at {most.level:g} % entropy: "
        f"factor {cells.fixed(effect.factor, 2)}, {100 * CONFIDENCE:g} % interval {interval} by the scatter "
        f"of visits (limit {REDUCTION_LIMIT:g}: seen if the interval is above it, no effect if below, "
        f"otherwise no verdict); largest difference between two visits of a level: {_drift_text(levels)}."
    )


def loss_verdict(measured: EntropyRun) -> Verdict:
    """What a few writes cost a drive that reads."""
    loss = loss_pct(measured.write_share, FEW_WRITES_PCT)
    if loss is None:
        return Verdict(f"{measured.mix_name}, loss at {FEW_WRITES_PCT} % writes: n/a (not measured).", "fail")
    means = {level.level: level.mean for level in measured.write_share}
    cost = f"{cells.fixed(loss, 1)} % of the IOPS" if loss > 0 else "none of the IOPS"
    drift_pct = max(
        (abs(level.drift_pct or 0.0) for level in measured.write_share if level.level <= FEW_WRITES_PCT),
        default=0.0,
    )
    doubt = (
        f"; not proven: visits of a level differ by up to {cells.fixed(drift_pct, 1)} %"
        if abs(loss) <= drift_pct
        else ""
    )
    return Verdict(
        f"{measured.mix_name}: {FEW_WRITES_PCT} % writes cost {cost} of reads alone "
        f"({cells.fixed(means[0.0], 0)} to {cells.fixed(means[float(FEW_WRITES_PCT)], 0)} IOPS){doubt}."
    )


@dataclass(frozen=True, slots=True)
class _Panel:
    """A plot of a sweep and its table: ``number`` is the plot's, ``verified`` are checks of its data."""

    number: int
    name: str
    unit: str
    decimals: int
    levels: tuple[Level, ...]
    head: str
    x: Axis
    width_px: int = 720
    height_px: int = 240
    verified: tuple[DataCheck, ...] = ()


# LSI-ENT-01
def entropy_page(measured: EntropyRun) -> Page:
    """Rate over entropy, sequential and random side by side."""
    page_id, title = "entropy-sweep", "Write Rate v Entropy of the Data"
    checks = measured.run.manifest.data_checks
    panels = [
        _Panel(
            number,
            name,
            unit,
            decimals,
            levels,
            "Entropy asked (%)",
            _ENTROPY_AXIS,
            width_px=_HALF_PX,
            verified=checks,
        )
        for number, name, unit, decimals, levels in (
            (1, measured.sequential_name, "MB/s", 1, measured.sequential),
            (2, measured.random_name, "IOPS", 0, measured.random),
        )
    ]
    begun = [panel for panel in panels if panel.levels]
    if not begun:
        return nothing_page(page_id, title, "no level was measured")
    figures = tuple(_figure(panel, f"{panel.name} v entropy") for panel in begun)
    verdicts = tuple(effect_verdict(panel.name, panel.levels) for panel in panels)
    tables = tuple(_levels_table(panel) for panel in begun)
    return Page(page_id, title, (*figures, *verdicts, *tables), mandatory=True)


# LSI-MIX-01
def share_page(measured: EntropyRun) -> Page:
    """IOPS over the share of writes."""
    page_id, title = "entropy-writes", f"{measured.mix_name} IOPS v Share of Writes"
    if not measured.write_share:
        return nothing_page(page_id, title, "no mix was measured")
    name = f"{measured.mix_name} mixes"
    panel = _Panel(3, name, "IOPS", 0, measured.write_share, "Writes (%)", _WRITES_AXIS, height_px=220)
    rule = Verdict(f"Largest difference between two visits of a level: {_drift_text(measured.write_share)}.")
    blocks = (_figure(panel, title), loss_verdict(measured), rule, _levels_table(panel))
    return Page(page_id, title, blocks, mandatory=True)


def _drift_text(levels: tuple[Level, ...]) -> str:
    drift = sweep_drift_pct(levels)
    return "one visit only" if drift is None else f"{cells.signed(drift, 1)} %"


# LSI-ENT-02, LSI-GEN-03
def generator_page(measured: EntropyRun) -> Page:
    """What makes the data, which version of it, and what a compressor leaves of it."""
    page_id = "entropy-generator"
    manifest = measured.run.manifest
    description = items_table(
        f"{page_id}-items",
        "Generator of the data",
        [
            (
                "Generator",
                f"{fact_text(manifest.software, 'test_software')}; {fact_text(manifest.engine, 'build')}",
            ),
            (
                "Data of the sweeps of entropy",
                "pieces of 4 KiB: random bytes for the share asked for, then zeros; generated for each "
                "write, so that pieces with random bytes differ, and at 0 % all are equal",
            ),
            ("Data of pre-conditioning and mixes", data_text(measured.conditions.data)),
            ("Seed", str(measured.conditions.seed)),
        ],
    )
    checks = data_checks_table(manifest.data_checks, f"{page_id}-checks")
    unchecked = Verdict("Entropy verified: n/a (this run checked no sample of its data).", "fail")
    return Page(page_id, "Data Generator", (description, checks or unchecked), mandatory=True)


def _levels_table(panel: _Panel) -> Table:
    """A row per level: what its visits measured, their mean, and the difference between them."""
    columns: list[Col[Level]] = [
        Col("Mean", lambda level: cells.number(level.mean, panel.decimals)),
        Col("Way up", lambda level: _visit(level, 0, panel.decimals)),
        Col("Way down", lambda level: _visit(level, 1, panel.decimals)),
        Col("Difference (%)", lambda level: cells.percent_or("one visit", level.drift_pct, plus=True)),
        Col("RSE (%)", lambda level: cells.percent_or("one visit", level.rse_pct, 2)),
    ]
    if panel.verified:
        columns.append(Col("Entropy verified (%)", lambda level: _verified(panel.verified, level.level)))
    return table(
        f"entropy-values-{panel.number}",
        f"{panel.name} ({panel.unit})",
        Col(panel.head, lambda level: Cell(f"{level.level:g}", level.level), width=0),
        columns,
        panel.levels,
        note=_verified_how(panel.verified),
    )


def _verified_how(checks: Sequence[DataCheck]) -> str:
    """Where the column of verified entropies comes from."""
    how = "; ".join(dict.fromkeys(check.how for check in checks))
    return f"Entropy verified: {how}." if how else ""


def _visit(level: Level, number: int, decimals: int) -> Cell:
    if number >= len(level.visits):
        return cells.missing("not measured")
    return cells.number(level.visits[number], decimals)


def _verified(checks: Sequence[DataCheck], entropy_pct: float) -> Cell:
    for check in checks:
        if isinstance(check.data, ReducibleData) and check.data.entropy_pct == entropy_pct:
            if not check.sampled_bytes:
                return cells.missing("no data made")
            return cells.percent(check.compressed_pct)
    return cells.missing("no sample")


def _figure(panel: _Panel, title: str) -> Figure:
    means = [level.mean for level in panel.levels]
    plot = Plot(
        part=f"plot-{panel.number}",
        x=panel.x,
        y=lambda visits: ticks.linear_axis(panel.unit, 0, max(visits)),
        series=(
            Series("Mean", "column", (0,), _MEAN_COLOR, emphasis=True),
            Series("Way up", "column", (1,), _UP_COLOR, style="points"),
            Series("Way down", "column", (2,), _DOWN_COLOR, style="points"),
        ),
        alt=f"means of {{rows}} levels, from {cells.fixed(min(means), 0)} to {cells.fixed(max(means), 0)} "
        f"{panel.unit}.",
        height_px=panel.height_px,
        width_px=panel.width_px,
    )
    return plot.over(PlotName("entropy", f"Plot X-ENTROPY-{panel.number}", title), _levels_table(panel))
