"""Pages that show how a test converged over its rounds (PTS 7.3.3; design: section 4)."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.rounds import MeasurementWindow
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.procedures.kit.steps import IOPS, METRICS, HasFigures, Metric
from openpts.record.manifest import Manifest
from openpts.units import MB, block_size_kib, format_block_size
from openpts.vocabulary.bandwidth import PCIE_LANE_BYTES_PER_S, serial_bytes_per_s
from openpts.vocabulary.verdict import RoundPoint, SteadyStateReport, TrackingVariable
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table, values_of
from openpts_pages.model import Axis, Band, Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_pages.texts import fact_text
from openpts_pts.shared.rounds.results import RoundTestResults

_PCIE: Final = re.compile(r"Gen (\d) x(\d+)")
_SERIAL: Final = re.compile(r"^(?:SATA|SAS|SATA behind SAS), (\d+(?:\.\d+)?) Gb")
# SATA and SAS up to 12 Gbit/s send ten bits for eight.
_MOST_SERIAL_GBIT_PER_S: Final = 12


class InterfaceLimit(Struct, frozen=True):
    """``name`` of the link and what it carries at most, in MB/s of 10^6 bytes, before packet overhead."""

    name: str
    mb_per_s: float


def interface_limit(manifest: Manifest) -> InterfaceLimit | None:
    """The slowest link that the record names on the way to the drive; None where it names none."""
    interface = fact_text(manifest.dut, "interface", "")
    if serial := _SERIAL.match(interface):
        gbit_per_s = float(serial[1])
        if gbit_per_s <= _MOST_SERIAL_GBIT_PER_S:
            rate = serial_bytes_per_s(gbit_per_s) / MB
            return InterfaceLimit(serial[0].removesuffix(" Gb") + " Gbit/s", rate)
        return None
    if "PCIe" not in interface:
        return None
    # "Gen 4 x4 of Gen 5 x4, behind the bridge ... at Gen 3 x4": what the drive could do is no link in use
    in_use = re.sub(r" of Gen \d x\d+", "", fact_text(manifest.dut, "pcie", ""))
    links = [(int(generation), int(lanes)) for generation, lanes in _PCIE.findall(in_use)]
    known = [
        InterfaceLimit(f"PCIe Gen {generation} x{lanes}", lanes * PCIE_LANE_BYTES_PER_S[generation] / MB)
        for generation, lanes in links
        if generation in PCIE_LANE_BYTES_PER_S
    ]
    return min(known, key=lambda limit: limit.mb_per_s, default=None)


# Many rounds make two tables below the plot; a lower plot keeps them on its page.
_ROUNDS_IN_ONE_TABLE = 13
_TALL_PX, _LOW_PX = 380, 300
_LIMIT_SHOWN_UP_TO = 2.5  # x the highest value: beyond that a line would press the values flat


class HasWindow(Protocol):
    """Results of rounds that are judged: of test points, of operating points, of tracked minutes."""

    @property
    def window(self) -> MeasurementWindow:
        """Rounds that the results are of."""

    @property
    def steady(self) -> bool:
        """Whether they are steady in it."""


def height_over_rounds(rounds: int) -> int:
    """The height of a plot with a table of so many rounds below it."""
    return _TALL_PX if rounds <= _ROUNDS_IN_ONE_TABLE else _LOW_PX


def point_name(point: RoundPoint) -> str:
    """A test point in a sentence: ``RND 4 KiB 0/100``."""
    return (
        f"{point.access_pattern.short} {format_block_size(point.block_size_bytes)} "
        f"{point.read_pct}/{100 - point.read_pct}"
    )


def rounds_reason(results: HasWindow) -> str:
    """Why there is no full window: ``2 of 5 rounds``."""
    return f"{len(results.window.rounds)} of {WINDOW_ROUNDS} rounds"


def steady_state_sentence(results: RoundTestResults) -> Verdict:
    """Whether steady state was reached, in words, for the test as a whole."""
    names = ", ".join(point_name(variable) for variable in results.conditions.tracking)
    if results.steady:
        return Verdict(
            f"Steady State reached in Round {results.window.rounds[-1]} for all tracking variables "
            f"({names}): range and slope rules of 2.1.24 hold in Rounds {results.window.label}.",
            "pass",
        )
    if results.window.is_full:
        return Verdict(
            f"Steady State not reached within {len(results.rounds)} Rounds; "
            f"the last five Rounds ({results.window.label}) are shown.",
            "fail",
        )
    return Verdict(
        f"Steady State can't be judged: n/a ({rounds_reason(results)}). Results are those of the completed "
        "rounds.",
        "fail",
    )


def judged_sentence(
    what: str, results: HasWindow, completed: int, reason: str, word: str = "Round"
) -> Verdict:
    """Whether ``what`` came to steady state within so many rounds, with its rule."""
    rounds, label = results.window.rounds, results.window.label
    if results.steady:
        return Verdict(
            f"{what}: Steady State reached in {word} {rounds[-1]}; range and slope rules of 2.1.24 hold in "
            f"{word}s {label}.",
            "pass",
        )
    if results.window.is_full:
        return Verdict(
            f"{what}: Steady State not reached within {completed} {word}s; "
            f"the last five ({label}) are shown.",
            "fail",
        )
    return Verdict(f"{what}: Steady State can't be judged: n/a ({reason}).", "fail")


def convergence_page(
    results: RoundTestResults,
    name: PlotName,
    points: Sequence[RoundPoint],
    metric: Metric[HasFigures] = IOPS,
    *,
    limit: InterfaceLimit | None = None,
) -> Page:
    """A figure of each round, one series per point; the tracking variable is bold, the window shaded.

    ``limit`` is that of the interface, a line in the plot unless the values are far below it.
    """
    shown = _rounds_table(f"{name.id}-values", results, points, metric)
    sentence = steady_state_sentence(results)
    figure = None
    if results.rounds and points:
        figure = _with_limit(_convergence_plot(results, points, metric), shown, metric, limit).over(
            name, shown
        )
    return page(name, figure, sentence, _limit_sentence(limit), shown)


def _convergence_plot(
    results: RoundTestResults, points: Sequence[RoundPoint], metric: Metric[HasFigures]
) -> Plot:
    tracked = _tracked(results)
    return Plot(
        x=ticks.rounds_axis(len(results.rounds)),
        y=partial(_convergence_axis, metric),
        series=tuple(
            Series(
                f"{point.access_pattern.short} {format_block_size(point.block_size_bytes)}",
                "row",
                (line,),
                _size_color(results, point),
                emphasis=point in tracked,
            )
            for line, point in enumerate(points)
        ),
        alt=f"{_trend_text(results, points, metric)}. {{rows}} series, from {{low}} to {{high}} "
        f"{metric.unit}. {steady_state_sentence(results).text}",
        decimals=metric.decimals,
        bands=window_band(results),
        height_px=height_over_rounds(len(results.rounds)),
    )


def _tracked(results: RoundTestResults) -> set[RoundPoint]:
    return {variable.point for variable in results.conditions.tracking}


def _trend_text(results: RoundTestResults, points: Sequence[RoundPoint], metric: Metric[HasFigures]) -> str:
    """``RND 4 KiB 0/100 from 265,001 IOPS in Round 1 to 189,851 in Round 6``."""
    tracked = _tracked(results)
    point = next((point for point in points if point in tracked), points[0])
    values = metric.of_rounds(results.rounds, point)
    if not values:
        return f"{point_name(point)} was not measured"
    return (
        f"{point_name(point)} from {metric.text(values[0])} {metric.unit} in Round 1 "
        f"to {metric.text(values[-1])} in Round {len(results.rounds)}"
    )


def _with_limit(plot: Plot, shown: Table, metric: Metric[HasFigures], limit: InterfaceLimit | None) -> Plot:
    highest = max(values_of(shown))
    if limit is None or limit.mb_per_s > _LIMIT_SHOWN_UP_TO * highest:
        return plot
    y = ticks.linear_axis(metric.axis_title, 0, max(highest, limit.mb_per_s))
    return replace(plot, y=y, rules=(PlotRule(limit.name, limit.mb_per_s, "limit"),))


def _limit_sentence(limit: InterfaceLimit | None) -> Verdict | None:
    if limit is None:
        return None
    rate = cells.fixed(limit.mb_per_s, 1, "MB/s")
    return Verdict(f"The interface ({limit.name}) carries at most {rate} before packet overhead.")


def _convergence_axis(metric: Metric[HasFigures], values: Sequence[float]) -> Axis:
    above_zero = [value for value in values if value > 0]
    if metric.decimals is None and above_zero:
        return ticks.log_axis(metric.axis_title, above_zero)
    return ticks.amount_axis(metric.axis_title, values)


def _size_color(results: RoundTestResults, point: RoundPoint) -> int:
    """Small to large over all sizes of the test, so that a size keeps its color if another is skipped."""
    conditions = results.conditions
    sizes = sorted({*conditions.block_sizes_bytes, *conditions.skipped_block_sizes_bytes})
    return sizes.index(point.block_size_bytes)


def window_band(results: HasWindow, label: str = "") -> tuple[Band, ...]:
    """Shades the rounds of the window, if it is full, under a label of its own or the usual one."""
    if not results.window.is_full:
        return ()
    first, last = results.window.rounds[0], results.window.rounds[-1]
    name = "Measurement Window" if results.steady else "Last five Rounds"
    return (Band("x", first - 0.5, last + 0.5, "window", label or f"{name} {first}-{last}"),)


def _rounds_table(
    table_id: str, results: RoundTestResults, points: Sequence[RoundPoint], metric: Metric[HasFigures]
) -> Table:
    return rows_table(
        table_id,
        f"Values plotted: {metric.statistic} of each Round{_mixes_text(points)} ({metric.unit})",
        ("Block size (KiB):0", *round_columns(range(1, len(results.rounds) + 1))),
        (
            (
                Cell(block_size_kib(point.block_size_bytes), point.block_size_bytes / 1024),
                *(metric.shown(value) for value in metric.of_rounds(results.rounds, point)),
            )
            for point in points
        ),
    )


def _mixes_text(points: Sequence[RoundPoint]) -> str:
    """The R/W mix of the points, if it is one."""
    mixes = {point.read_pct for point in points}
    return f" at R/W {next(iter(mixes))}/{100 - next(iter(mixes))}" if len(mixes) == 1 else ""


def round_columns(rounds: Sequence[int]) -> tuple[Column, ...]:
    """A column for each round, in its place on the axis."""
    return tuple(Column(f"R{number}", float(number)) for number in rounds)


def share_of_average_page(results: RoundTestResults, name: PlotName) -> Page:
    """All rounds of the tracking variables, each in per cent of its window average."""
    judged = [
        (variable, verdict)
        for variable, verdict in zip(results.conditions.tracking, results.verdicts, strict=True)
        if verdict is not None and verdict.average > 0
    ]
    sentence = steady_state_sentence(results)
    if not judged:
        return page(name, sentence)
    shown = _shares_table(f"{name.id}-values", results, judged)
    plot = Plot(
        x=ticks.rounds_axis(len(results.rounds)),
        y=lambda values: ticks.linear_axis("% of window average", min(80.0, *values), max(120.0, *values)),
        series=tuple(
            Series(row.head.text, "row", (line,), _size_color(results, judged[line][0]))
            for line, row in enumerate(shown.rows)
        ),
        alt=f"the tracking variables in per cent of their window averages, from {{low}} % to {{high}} %. "
        f"{sentence.text}",
        rules=(
            PlotRule("100 %", 100, "average"),
            PlotRule("110 %", 110, "limit"),
            PlotRule("90 %", 90, "limit"),
        ),
        bands=(*window_band(results), Band("y", 90, 110, "allowed")),
    )
    return page(name, plot.over(name, shown), sentence, shown)


def _shares_table(
    table_id: str, results: RoundTestResults, judged: Sequence[tuple[TrackingVariable, SteadyStateReport]]
) -> Table:
    return rows_table(
        table_id,
        "Values plotted: per cent of the window average",
        ("Tracking variable:<0", *round_columns(range(1, len(results.rounds) + 1))),
        (
            (
                point_name(variable),
                *(
                    cells.percent(100 * value / verdict.average)
                    for value in METRICS[variable.figure].of_rounds(results.rounds, variable.point)
                ),
            )
            for variable, verdict in judged
        ),
        note="Limits drawn: 100 % (window average), 90 % and 110 % (the band of 7.3.4).",
    )


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
