"""The page of one measurement window: why it is steady, or is not (PTS 7.3.4, 7.3.5; design: section 4)."""

from openpts.analysis.round_test import RoundTestResults
from openpts.analysis.rounds import iops_by_round
from openpts.report import cells, ticks
from openpts.report.model import (
    Axis,
    Band,
    Block,
    Cell,
    Column,
    Figure,
    Page,
    Row,
    Rule,
    Series,
    Table,
    Verdict,
)
from openpts.report.steady_state_pages import PlotName, point_name, round_columns, rounds_reason
from openpts.vocabulary.verdict import SteadyStateReport, TrackingVariable

_IOPS_COLOR = 2
_FIT_COLOR = 3
_AROUND_AVERAGE = 0.25


def window_page(results: RoundTestResults, variable_index: int, name: PlotName, *, conditions: str) -> Page:
    """One tracking variable over the measurement window, with the determination data (PTS 7.3.4, 8.3.6)."""
    variable = results.conditions.tracking[variable_index]
    verdict = results.verdicts[variable_index]
    if verdict is None:
        return _unjudged_page(results, variable, name)
    table = _window_values(f"{name.id}-values", verdict)
    figure = Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=ticks.window_axis(verdict.rounds),
        y=_window_axis(verdict),
        alt=f"{name.title}: {cells.fixed(verdict.minimum, 1)} to {cells.fixed(verdict.maximum, 1)} IOPS "
        f"around an average of {cells.fixed(verdict.average, 1)}. {judgement(verdict).text}",
        series=(
            Series("IOPS", "row", (0,), _IOPS_COLOR, emphasis=True),
            Series("Best linear fit", "row", (2,), _FIT_COLOR, style="fit"),
        ),
        rules=(
            Rule("Average", verdict.average, "average"),
            Rule("110 % of average", verdict.band[1], "limit"),
            Rule("90 % of average", verdict.band[0], "limit"),
        ),
        bands=(Band("y", *verdict.band, "allowed"),),
        height_px=320,
    )
    blocks: tuple[Block, ...] = (
        figure,
        *_judgements(verdict),
        determination_table(f"{name.id}-data", verdict, conditions),
        table,
    )
    return Page(name.id, name.title, blocks, mandatory=True)


def _window_axis(verdict: SteadyStateReport) -> Axis:
    fit = [verdict.slope * number + verdict.intercept for number in verdict.rounds]
    return ticks.around_axis("IOPS", verdict.average, _AROUND_AVERAGE, [*verdict.values, *fit])


def _unjudged_page(results: RoundTestResults, variable: TrackingVariable, name: PlotName) -> Page:
    """The page of a window that does not exist: the rounds there are, and why nothing is judged."""
    table = Table(
        id=f"{name.id}-values",
        title="Rounds completed: IOPS",
        head=Column("Tracking variable", align="left", width=0),
        columns=round_columns(range(1, len(results.rounds) + 1)),
        rows=(
            Row(
                Cell(point_name(variable)),
                tuple(cells.number(value, 1) for value in iops_by_round(results.rounds, variable)),
            ),
        ),
    )
    reason = rounds_reason(results) if not results.window.is_full else "tracking variable not measured"
    verdict = Verdict(f"Steady State Measurement Window: n/a ({reason}).", "fail")
    return Page(name.id, name.title, (verdict, table) if results.rounds else (verdict,), mandatory=True)


def judgement(verdict: SteadyStateReport) -> Verdict:
    """The verdict by definition 2.1.24, with both figures and their limits."""
    outcome = "Steady State reached" if verdict.steady else "Steady State not reached"
    return Verdict(
        f"{outcome}: range {cells.fixed(verdict.range_pct, 1)} % of average (limit 20 %), slope excursion "
        f"{cells.fixed(verdict.slope_excursion_pct, 1)} % of average (limit 10 %); rules of 2.1.24.",
        "pass" if verdict.steady else "fail",
    )


def _judgements(verdict: SteadyStateReport) -> tuple[Verdict, ...]:
    if verdict.steady == verdict.inside_band:
        return (judgement(verdict),)
    inside = "inside" if verdict.inside_band else "outside"
    return (
        judgement(verdict),
        Verdict(
            f"The values lie {inside} the ±10 % band that the verification record of 7.3.4 prints, while "
            f"definition 2.1.24 says {'steady' if verdict.steady else 'not steady'}; the definition decides.",
        ),
    )


def determination_table(table_id: str, verdict: SteadyStateReport, conditions: str) -> Table:
    """The Steady State determination data, both forms of the specification in one (PTS 7.3.4, Plot 8-3)."""
    low, high = verdict.band
    return Table(
        id=table_id,
        title="Steady State Determination Data",
        head=Column("Item", align="left", width=1.75),
        columns=(
            Column("Value", width=1.2),
            Column("Item", align="left", width=1.85),
            Column("Value", width=1.2),
            Column("Result", align="center", width=0.35),
        ),
        rows=(
            _pair(
                "Measurement Window",
                cells.words(f"Start {verdict.rounds[0]}; End {verdict.rounds[-1]}"),
                "Average",
                cells.number(verdict.average, 1),
                cells.words("-"),
            ),
            _pair(
                "Allowed maximum data excursion (20 %)",
                cells.number(verdict.allowed_range, 1),
                "Measured maximum data excursion (max - min)",
                cells.number(verdict.range, 1, note=cells.fixed(verdict.range_pct, 1, "%")),
                cells.verdict(verdict.range_ok),
            ),
            _pair(
                "Allowed maximum slope excursion (10 %)",
                cells.number(verdict.allowed_slope_excursion, 1),
                "Measured maximum slope excursion",
                cells.number(
                    verdict.slope_excursion, 1, note=cells.fixed(verdict.slope_excursion_pct, 1, "%")
                ),
                cells.verdict(verdict.slope_ok),
            ),
            _pair(
                "Allowed range (average ±10 %)",
                cells.words(f"{cells.fixed(low, 1)} to {cells.fixed(high, 1)}"),
                "Measured range (min to max)",
                cells.words(f"{cells.fixed(verdict.minimum, 1)} to {cells.fixed(verdict.maximum, 1)}"),
                cells.verdict(verdict.inside_band),
            ),
            _pair(
                "Least squares linear fit",
                cells.words(f"{cells.fixed(verdict.slope, 3)} * R + {cells.fixed(verdict.intercept, 1)}"),
                "Correlation coefficient r",
                cells.missing("constant values") if verdict.r is None else cells.number(verdict.r, 3),
                cells.words("-"),
            ),
        ),
        note=conditions,
    )


def _pair(first: str, value: Cell, second: str, measured: Cell, result: Cell) -> Row:
    return Row(Cell(first), (value, Cell(second), measured, result))


def _window_values(table_id: str, verdict: SteadyStateReport) -> Table:
    fit = [verdict.slope * number + verdict.intercept for number in verdict.rounds]
    return Table(
        id=table_id,
        title="Values plotted",
        head=Column("Round", align="left", width=0),
        columns=tuple(Column(str(number), float(number)) for number in verdict.rounds),
        rows=(
            Row(Cell("IOPS"), tuple(cells.number(value, 1) for value in verdict.values)),
            Row(
                Cell("Deviation from average (%)"),
                tuple(
                    cells.percent(
                        100 * (value / verdict.average - 1) if verdict.average else 0.0, 2, plus=True
                    )
                    for value in verdict.values
                ),
            ),
            Row(Cell("Best linear fit"), tuple(cells.number(value, 1) for value in fit)),
        ),
    )
