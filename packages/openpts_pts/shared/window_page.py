"""The page of one measurement window: why it is steady or not (PTS 7.3.4, 7.3.5; design: section 4)."""

from collections.abc import Sequence

from msgspec import Struct

from openpts.procedures.kit.steps import METRICS, HasFigures, Metric
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table
from openpts_pages.model import Band, Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared.rounds.results import RoundTestResults
from openpts_pts.shared.steady_state_pages import point_name, round_columns, rounds_reason

_VALUE_COLOR = 2
_FIT_COLOR = 3
_AROUND_AVERAGE = 0.25


class Window(Struct, frozen=True):
    """A measurement window to be shown: ``verdict`` None where it can't be judged, for ``reason``.

    ``values`` are those of all completed rounds, ``conditions`` the line below the determination data,
    ``round_word`` what a round is called: Round, or Tracking Round. ``further_verdicts`` are shown
    below the first.
    """

    variable: str
    metric: Metric[HasFigures]
    verdict: SteadyStateReport | None
    values: tuple[float, ...]
    reason: str
    conditions: str
    round_word: str = "Round"
    further_verdicts: tuple[Verdict, ...] = ()


def window_of(results: RoundTestResults, variable_index: int, conditions: str) -> Window:
    """The window of one tracking variable of a test of rounds."""
    variable = results.conditions.tracking[variable_index]
    reason = rounds_reason(results) if not results.window.is_full else "tracking variable not measured"
    return Window(
        variable=point_name(variable),
        metric=METRICS[variable.figure],
        verdict=results.verdicts[variable_index],
        values=METRICS[variable.figure].of_rounds(results.rounds, variable.point),
        reason=reason,
        conditions=conditions,
    )


def window_page(window: Window, name: PlotName) -> Page:
    """One tracking variable over the measurement window, with the determination data (PTS 7.3.4, 8.3.6)."""
    verdict, metric = window.verdict, window.metric
    if verdict is None:
        return _unjudged_page(window, name)
    fit = [verdict.slope * number + verdict.intercept for number in verdict.rounds]
    shown = _window_values(f"{name.id}-values", window, verdict, fit)
    plot = Plot(
        x=ticks.window_axis(verdict.rounds, window.round_word),
        y=ticks.around_axis(metric.axis_title, verdict.average, _AROUND_AVERAGE, [*verdict.values, *fit]),
        series=(
            Series(metric.unit, "row", (0,), _VALUE_COLOR, emphasis=True),
            Series("Best linear fit", "row", (2,), _FIT_COLOR, style="fit"),
        ),
        alt=f"{metric.text(verdict.minimum)} to {metric.text(verdict.maximum)} {metric.unit} "
        f"around an average of {metric.text(verdict.average)}. {judgement(verdict).text}",
        rules=(
            PlotRule("Average", verdict.average, "average"),
            PlotRule("110 % of average", verdict.band[1], "limit"),
            PlotRule("90 % of average", verdict.band[0], "limit"),
        ),
        bands=(Band("y", *verdict.band, "allowed"),),
        height_px=320,
    )
    data = determination_table(f"{name.id}-data", verdict, metric, window.conditions)
    return page(name, plot.over(name, shown), *_judgements(verdict), *window.further_verdicts, data, shown)


def _unjudged_page(window: Window, name: PlotName) -> Page:
    """The page of a window that does not exist: the rounds there are, and why nothing is judged."""
    table = rows_table(
        f"{name.id}-values",
        f"{window.round_word}s completed ({window.metric.unit})",
        ("Tracking variable:<0", *round_columns(range(1, len(window.values) + 1))),
        ((window.variable, *(window.metric.shown(value) for value in window.values)),),
    )
    verdict = Verdict(f"Steady State Measurement Window: n/a ({window.reason}).", "fail")
    return page(name, verdict, table if window.values else None)


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
            f"Range {inside} the ±10 % band of the verification record (7.3.4), but "
            f"{'steady' if verdict.steady else 'not steady'} by definition 2.1.24; the definition decides."
        ),
    )


def determination_table(
    table_id: str, verdict: SteadyStateReport, metric: Metric[HasFigures], conditions: str
) -> Table:
    """The Steady State determination data, both forms of the specification in one (PTS 7.3.4, Plot 8-3)."""
    low, high = verdict.band
    slope = cells.fixed(verdict.slope, 3 if metric.decimals is not None else 6)
    pairs = (
        (
            "Measurement Window",
            Cell(f"Start {verdict.rounds[0]}; End {verdict.rounds[-1]}"),
            "Average",
            metric.shown(verdict.average),
            Cell("-"),
        ),
        (
            "Allowed maximum data excursion (20 %)",
            metric.shown(verdict.allowed_range),
            "Measured maximum data excursion (max - min)",
            metric.shown(verdict.range, note=cells.fixed(verdict.range_pct, 1, "%")),
            cells.verdict(verdict.range_ok),
        ),
        (
            "Allowed maximum slope excursion (10 %)",
            metric.shown(verdict.allowed_slope_excursion),
            "Measured maximum slope excursion",
            metric.shown(verdict.slope_excursion, note=cells.fixed(verdict.slope_excursion_pct, 1, "%")),
            cells.verdict(verdict.slope_ok),
        ),
        (
            "Allowed range (average ±10 %)",
            Cell(f"{metric.text(low)} to {metric.text(high)}"),
            "Measured range (min to max)",
            Cell(f"{metric.text(verdict.minimum)} to {metric.text(verdict.maximum)}"),
            cells.verdict(verdict.inside_band),
        ),
        (
            "Least squares linear fit",
            Cell(f"{slope} * R + {metric.text(verdict.intercept)}"),
            "Correlation coefficient r",
            cells.number_or("constant values", verdict.r, 3),
            Cell("-"),
        ),
    )
    return rows_table(
        table_id,
        "Steady State Determination Data",
        "Item:<1.75 | Value:1.2 | Item:<1.85 | Value:1.2 | Result:^0.35",
        pairs,
        note=conditions,
    )


def _window_values(table_id: str, window: Window, verdict: SteadyStateReport, fit: Sequence[float]) -> Table:
    metric = window.metric
    return rows_table(
        table_id,
        "Values plotted",
        (
            Column(window.round_word, align="left", width=0),
            *(Column(str(number), float(number)) for number in verdict.rounds),
        ),
        (
            (metric.unit, *(metric.shown(value) for value in verdict.values)),
            (
                "Deviation from average (%)",
                *(
                    cells.percent(
                        100 * (value / verdict.average - 1) if verdict.average else 0.0, 2, plus=True
                    )
                    for value in verdict.values
                ),
            ),
            ("Best linear fit", *(metric.shown(value) for value in fit)),
        ),
    )
