"""The report of an application benchmark: times and their spread, what each run did, what it waited for."""

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from openpts.analysis.run_comparison import Quality, RunSet
from openpts.procedures.kit.content import (
    ReportContent,
    repeat_figures,
    rse_cell,
    set_remarks,
    spread_remarks,
)
from openpts.procedures.kit.header import Rows
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.command_run import CommandRun, DeviceCounts, FileSystemReport, RunKind
from openpts.vocabulary.verdict import Better
from openpts_app.app import AppConditions
from openpts_app.app.results import (
    BOUND_RULE,
    AppResults,
    bound_of,
    bound_sentence,
    busy_pct,
    cpu_pct,
    decimals,
    stall_pct,
    total,
)
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, table
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Block, Cell, Page, PlotRule, Series, Table, Verdict
from openpts_pages.texts import brief
from openpts_pts.shared.preparation_page import methodology, nothing_page

_COUNTED: Final = (RunKind.COLD, RunKind.WARM)
_COLORS: Final = {RunKind.COLD: 2, RunKind.WARM: 3}
_NAME: Final = PlotName("app-runs", "Plot X-APP-1", "Time of each Run")
_RUN: Final[Col[CommandRun]] = Col("Run", lambda run: Cell(run.name), align="left", width=1.3)
_NONE_COUNTED: Final = "not counted by this kernel"


class AppReport(AppResults, frozen=True):
    """What the runs of a program come to, a method for each page."""

    record: Run

    def pages(self) -> tuple[Page, ...]:
        """The scores of a list, the times, what the runs waited for, and what ran where."""
        scores = (self.scores_page(),) if self.conditions.applications else ()
        return *scores, self.times_page(), self.bound_page(), self.place_page()

    def verdicts(self) -> list[Verdict]:
        """A sentence on the times of each kind of runs, and what they were bound by; of a list its scores."""
        if len(self.conditions.listed) == 1:
            return self._verdicts_of_one()
        scores = [(kind, self.score(kind)) for kind in self._kinds]
        mean = f"the geometric mean of {len(self.conditions.applications)} programs"
        found = [
            Verdict(f"{kind.capitalize()}: {cells.fixed(score, 1)} runs an hour, {mean}.")
            if score is not None
            else Verdict(f"{kind.capitalize()}: no score, as an application has none.", "fail")
            for kind, score in scores
        ]
        return [
            *found,
            *(
                replace(one, text=f"{name}: {one.text}")
                for name, part in self.parts.items()
                for one in part.verdicts()
                if one.tone == "fail"
            ),
        ]

    @property
    def _kinds(self) -> list[RunKind]:
        return [kind for kind in _WARM_FIRST if kind is RunKind.WARM or self.conditions.cold_runs]

    def scores_page(self) -> Page:
        """Time and score of each application of a list, cold and warm, and their geometric means."""
        page_id, title = "app-scores", "Scores of the Applications"
        rows: list[tuple[str, AppReport]] = [*self.parts.items(), ("Geometric mean", self)]
        columns: list[Col[tuple[str, AppReport]]] = []
        for kind in self._kinds:
            columns += [
                Col(f"{kind.capitalize()}, median (s)", partial(_time_cell, kind)),
                Col(f"{kind.capitalize()}, score", partial(_score_cell, kind)),
            ]
        bound = Col[tuple[str, AppReport]]("Bound, warm", _bound_cell, align="left")
        scores = table(
            "app-scores-table",
            "Scores, in runs an hour",
            Col("Application", lambda row: Cell(row[0]), align="left", width=1.6),
            [*columns, bound],
            rows,
            note="Score: 3,600 s over the median time. Higher is better.",
        )
        return Page(page_id, title, (*self.verdicts(), scores), mandatory=True)

    def _verdicts_of_one(self) -> list[Verdict]:
        found = []
        for kind in _WARM_FIRST:
            if (times := self.times(kind)) is None:
                continue
            spread = "; ".join(spread_remarks(times))
            cold = all(run.cold for run in self.of_kind(kind)) or kind is RunKind.WARM
            runs = self.of_kind(kind)
            note = "" if cold else f" The page cache was {runs[0].page_cache}."
            median = "" if times.count == 1 else f"median of {times.count} runs "
            value = f"{median}{cells.fixed(times.median, decimals(times.median))} s; "
            head = f"{kind.capitalize()}: {'' if times.quality is Quality.DISCARDED else value}"
            is_apart = times.quality in {Quality.DISCARDED, Quality.MORE_RUNS}
            found.append(Verdict(f"{head}{spread}.{note}", "info" if cold and not is_apart else "fail"))
            typical = self.median_run(kind)
            if typical is not None:
                found.append(Verdict(f"{kind.capitalize()}, {bound_sentence(typical)}."))
        return found or [Verdict("n/a: no run of the command that counts came to its end.", "fail")]

    def times_page(self) -> Page:
        """The times as a plot, their sets, and every run."""
        counted = [run for kind in _COUNTED for run in self.of_kind(kind)]
        if not counted:
            return nothing_page(_NAME.id, _NAME.title, "no run that counts came to its end")
        plotted = _plotted(counted)
        warm = None if self.conditions.applications else self.times(RunKind.WARM)
        show_median = warm is not None and warm.quality is not Quality.DISCARDED
        plot = Plot(
            x=ticks.whole_axis("Run, in the order in which they were made", 1, len(counted)),
            y=lambda values: ticks.linear_axis("Time (s)", 0, max(values)),
            series=tuple(
                Series(kind.capitalize(), "column", (column,), _COLORS[kind])
                for column, kind in enumerate(_COUNTED)
                if self.of_kind(kind)
            ),
            alt="{count} runs, from {low} to {high} s.",
            decimals=3,
            rules=(PlotRule("Median of the warm runs", warm.median, "average"),)
            if warm and show_median
            else (),
            height_px=260,
        )
        blocks: tuple[Block, ...] = (
            *self.verdicts(),
            plot.over(_NAME, plotted),
            self._sets_table(),
            self._runs_table(),
            plotted,
        )
        return Page(_NAME.id, _NAME.title, blocks, mandatory=True)

    def _sets_table(self) -> Table:
        """Median, range and spread of each kind of runs."""
        figure = self.conditions.figure
        rows = [
            (_named(application, f"{kind} runs, {name}"), values)
            for application, part in self.parts.items()
            for kind in (RunKind.WARM, RunKind.COLD)
            for name, values in (
                ("time (s)", part.times(kind)),
                (figure.label if figure else "", part.printed(kind)),
            )
            if values is not None
        ]
        return table(
            "app-sets",
            "Medians and spread",
            Col("Figure", lambda row: Cell(row[0]), align="left", width=1.6),
            [
                Col("Runs", lambda row: cells.count(row[1].count), width=0.5),
                Col(
                    "Median",
                    lambda row: (
                        cells.missing("set discarded")
                        if row[1].quality is Quality.DISCARDED
                        else cells.number(row[1].median, decimals(row[1].median))
                    ),
                ),
                Col("Lowest", lambda row: cells.number(row[1].low, decimals(row[1].low))),
                Col("Highest", lambda row: cells.number(row[1].high, decimals(row[1].high))),
                Col("RSE (%)", lambda row: rse_cell(row[1]), width=0.7),
                Col(
                    "Judged",
                    lambda row: cells.words("; ".join(set_remarks(row[1])) or "accepted"),
                    align="left",
                    width=1.5,
                ),
            ],
            rows,
            note="The median is a time that was measured. RSE: relative standard error of the mean, "
            f"{self.conditions.set_rule.rse_limit_pct:g} % at most; a set that exceeds it with "
            f"{self.conditions.set_rule.most} runs is discarded.",
        )

    def _runs_table(self) -> Table:
        figure = self.conditions.figure
        own: list[Col[CommandRun]] = []
        if figure is not None:
            own = [
                Col(
                    figure.label, lambda run: cells.number_or("not printed", run.figure, decimals(run.figure))
                )
            ]
        return table(
            "app-runs-table",
            "Runs",
            _RUN,
            [
                Col("Start (UTC)", lambda run: Cell(run.started_at[:19].replace("T", " ")), width=1.6),
                Col("Time (s)", lambda run: cells.number(run.elapsed_ns / NS_PER_S, 3)),
                *own,
                Col("Written back after (s)", lambda run: cells.number(run.sync_ns / NS_PER_S, 3)),
                Col("Page cache before", lambda run: cells.words(run.page_cache), align="left", width=1.3),
                Col(
                    "Ended",
                    lambda run: cells.words(
                        run.failure or "exit status 0", tone="fail" if run.failure else ""
                    ),
                    align="left",
                    width=1.3,
                ),
            ],
            self.runs,
            note="Time: from just before the command is started until it ends, by the monotonic clock. The "
            "conditioning run counts in no figure.",
        )

    def bound_page(self) -> Page:
        """What each run waited for, and the I/O that reached the drive."""
        page_id, title = "app-bound", "Where the Time went"
        if not self.runs:
            return nothing_page(page_id, title, "no run came to its end")
        return Page(
            page_id, title, (Verdict(BOUND_RULE), self._shares_table(), self._io_table()), mandatory=True
        )

    def _shares_table(self) -> Table:
        return table(
            "app-shares",
            "Shares of the time of each run",
            _RUN,
            [
                Col("Bound", lambda run: cells.words(bound_of(run)), align="left"),
                Col("Drive with I/O outstanding (%)", lambda run: cells.percent(busy_pct(run))),
                Col("I/Os outstanding on average", lambda run: cells.number(_depth(run), 2)),
                Col("Processor time (% of one)", lambda run: cells.percent(cpu_pct(run))),
                Col("of it in the kernel (s)", lambda run: cells.number(run.system_ns / NS_PER_S, 3)),
                Col("Tasks waited for I/O (%)", lambda run: _stall_cell(run.io_stall_ns, run)),
                Col("Tasks waited for a processor (%)", lambda run: _stall_cell(run.cpu_stall_ns, run)),
            ],
            self.runs,
            note="Drive: of the block device that the file system is on, until the command ended, by the "
            "kernel's io_ticks and time in queue. The kernel counts both in its clock ticks. Processor: of "
            "the command and of all that it started and waited for. Tasks: at least one of the whole host, "
            "by its pressure stall information; where tasks waited for a processor, others had it.",
        )

    def _io_table(self) -> Table:
        def of(label: str, value: Callable[[DeviceCounts], Cell]) -> Col[CommandRun]:
            return Col(label, lambda run: value(total(run)))

        def process(amount: Callable[[CommandRun], int | None]) -> Callable[[CommandRun], Cell]:
            return lambda run: (
                cells.missing(_NONE_COUNTED)
                if (found := amount(run)) is None
                else cells.number(found / MB, 1)
            )

        return table(
            "app-io",
            "I/O that reached the drive",
            _RUN,
            [
                of("Reads", lambda done: cells.count(done.reads)),
                of("Read (MB)", lambda done: cells.number(done.read_bytes / MB, 1)),
                of("Writes", lambda done: cells.count(done.writes)),
                of("Written (MB)", lambda done: cells.number(done.written_bytes / MB, 1)),
                Col("of it after the run (MB)", lambda run: cells.number(run.synced.written_bytes / MB, 1)),
                of("Discards", lambda done: cells.count(done.discards)),
                of("Flushes", lambda done: cells.count(done.flushes)),
                Col("Command read (MB)", process(lambda run: run.process_read_bytes)),
                Col("Command wrote (MB)", process(lambda run: run.process_written_bytes)),
                Col("Others on the drive (MB)", _others_cell),
            ],
            self.runs,
            note="Drive: all programs' I/O on the block device of the file system, from the start of the "
            "command until its data were written back. Command: what the kernel charges to it. "
            "Others: on the rest of the drive, where the file system is on a part of it.",
        )

    def place_page(self) -> Page:
        """The command and its output, and the file system that it ran on."""
        outputs = [(one.name, name) for one in self.runs for name in one.outputs]
        conditions = self.conditions
        items = [
            *((one.name or "Command", shlex.join(one.command)) for one in conditions.listed),
            ("Shell", "none: the words are the program's arguments"),
            (
                "Limit of a run",
                "none" if conditions.limit_ns is None else format_duration(conditions.limit_ns),
            ),
        ]
        if conditions.figure is not None:
            items.append((f"Figure {conditions.figure.name}", f"last match of {conditions.figure.pattern}"))
            items.append(("Better", str(conditions.figure_better or "n/a: not stated")))
        blocks: list[Block] = [items_table("app-command", "Command", items)]
        many = len(self.record.manifest.file_systems) > 1
        for number, report in enumerate(self.record.manifest.file_systems, start=1):
            name = f"Preparation {number}" if many else "File system"
            blocks.append(items_table(f"app-file-system-{number}", name, _file_system_items(report)))
        if outputs:
            blocks.append(
                table(
                    "app-outputs",
                    "Output of the command",
                    Col("Run", lambda row: Cell(row[0]), align="left"),
                    [Col("File in the run folder", lambda row: Cell(row[1]), align="left", width=2.6)],
                    outputs,
                    note=self._left_out(),
                )
            )
        return Page("app-place", "Command and File System", tuple(blocks), mandatory=True)

    def _left_out(self) -> str:
        left_out = sum(one.left_out_bytes for one in self.runs)
        if not left_out:
            return "SHA256SUMS has the checksums of these files."
        return (
            f"Of long outputs the first and the last MiB are kept; {left_out:,} bytes are in no file. "
            "SHA256SUMS has the checksums."
        )

    def measures(self) -> list[Measured]:
        """Times, the program's own figure, and of the median warm run what it did."""
        conditions, figure, kinds = self.conditions, self.conditions.figure, self._kinds
        found = [
            Measure[RunSet](
                f"{kind}_time",
                _named(name, f"{kind} runs, median time"),
                "s",
                _set_cell,
                better=Better.LOWER,
                cover_label=_named(name, f"{kind} runs"),
                repeats=_several,
            ).of(part.times(kind), Subject(name))
            for name, part in self.parts.items()
            for kind in kinds
        ]
        if conditions.applications:
            found[:0] = [_score(kind).of(self, Subject(key="score")) for kind in kinds]
        if figure is not None:
            found += [
                Measure[RunSet](
                    kind,
                    f"{kind.capitalize()} runs, median {{name}}",
                    figure.unit,
                    _set_cell,
                    better=conditions.figure_better or Better.UNJUDGED,
                    repeats=_several,
                    cover_label=f"{{name}}, {kind}",
                ).of(self.printed(kind), Subject(figure.name, key="figure"))
                for kind in kinds
            ]
        for name, part in self.parts.items():
            for kind in kinds:
                found += measured(_OF_A_RUN, part.median_run(kind), Subject(_named(name, f"{kind} runs")))
        return found

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        systems = self.record.manifest.file_systems
        used = f"{systems[-1].used_pct:.1f} % used" if systems and systems[-1].directory else "N/A"
        return (
            ("Data Pattern", "the command's own"),
            ("AR & Amount", used),
            (
                "Test Stimulus",
                brief(", ".join(one.name or shlex.join(one.command) for one in conditions.listed)),
            ),
            ("File system", systems[-1].type if systems else "N/A"),
            ("Conditioning runs", str(len(self.of_kind(RunKind.CONDITIONING)))),
            ("Cold runs", str(len(self.of_kind(RunKind.COLD)))),
            ("Warm runs", str(len(self.of_kind(RunKind.WARM)))),
            ("RSE limit", f"{conditions.set_rule.rse_limit_pct:g} %"),
            ("", ""),
            ("", ""),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        return {
            "command": list(self.conditions.command),
            **(self._figures_of_list() if self.conditions.applications else self.times_figures()),
            "file_systems": [msgspec.to_builtins(report) for report in self.record.manifest.file_systems],
            "runs": [_run_figures(one) for one in self.runs],
        }

    def _figures_of_list(self) -> dict[str, Any]:
        return {
            "scores": {kind: self.score(kind) for kind in _WARM_FIRST},
            "applications": {
                name: {
                    "command": list(one.command),
                    "scores": {kind: part.score(kind) for kind in _WARM_FIRST},
                    **part.times_figures(),
                }
                for one, (name, part) in zip(self.conditions.listed, self.parts.items(), strict=True)
            },
        }

    def times_figures(self) -> dict[str, Any]:
        """Times and figures of each kind of runs, JSON-ready."""
        return {
            **{
                f"{kind}_seconds": None if (times := self.times(kind)) is None else repeat_figures(times)
                for kind in _WARM_FIRST
            },
            **{
                f"{kind}_figure": repeat_figures(values)
                for kind in _WARM_FIRST
                if (values := self.printed(kind)) is not None
            },
        }


def _named(application: str, text: str) -> str:
    """``unpack: warm runs``; of one command ``Warm runs``."""
    return f"{application}: {text}" if application else text[0].upper() + text[1:]


def _score(kind: RunKind) -> Measure[AppReport]:
    return Measure(
        kind,
        f"{kind.capitalize()} score, geometric mean",
        "runs/h",
        lambda found: found.score(kind),
        better=Better.HIGHER,
        decimals=1,
        absent="an application has no median",
    )


def _time_cell(kind: RunKind, row: tuple[str, AppReport]) -> Cell:
    """The median of an application; the mean of scores has no time."""
    times = row[1].times(kind)
    return _set_cell(times) if times is not None and len(row[1].conditions.listed) == 1 else cells.none()


def _score_cell(kind: RunKind, row: tuple[str, AppReport]) -> Cell:
    return cells.number_or("no score", row[1].score(kind), 1)


def _bound_cell(row: tuple[str, AppReport]) -> Cell:
    typical = row[1].median_run(RunKind.WARM)
    if typical is None or len(row[1].conditions.listed) > 1:
        return cells.none()
    return cells.words(bound_of(typical))


def _plotted(counted: list[CommandRun]) -> Table:
    place = {id(run): number for number, run in enumerate(counted, start=1)}

    def of(kind: RunKind) -> Col[CommandRun]:
        return Col(
            f"{kind.capitalize()} (s)",
            lambda run: cells.number(run.elapsed_ns / NS_PER_S, 3) if run.kind is kind else cells.none(),
        )

    head: Col[CommandRun] = Col("Run", lambda run: Cell(str(place[id(run)]), float(place[id(run)])))
    columns = [of(kind) for kind in _COUNTED]
    return table(f"{_NAME.id}-values", "Values plotted", head, columns, counted, printed=False)


def _depth(run: CommandRun) -> float:
    return run.until_exit.queue_ns / run.elapsed_ns if run.elapsed_ns else 0.0


def _stall_cell(stall_ns: int | None, run: CommandRun) -> Cell:
    return cells.percent_or("no count in this kernel", stall_pct(stall_ns, run))


def _others_cell(run: CommandRun) -> Cell:
    if run.disk is None:
        return cells.none()
    done = total(run)
    others = run.disk.read_bytes + run.disk.written_bytes - done.read_bytes - done.written_bytes
    return cells.number(max(0, others) / MB, 1)


def _file_system_items(report: FileSystemReport) -> list[tuple[str, str]]:
    if not report.directory:
        return [("Block device", report.device), ("File system", "none: the command had the raw drive")]
    return [
        ("Directory", report.directory),
        ("Block device", report.device),
        ("File system", report.type),
        ("Mount options", report.options),
        ("Made by", report.made_by or "found as it was: openpts formatted nothing"),
        ("Partition", "none: the file system begins at LBA 0" if report.made_by else "as it was found"),
        ("Capacity", format_capacity(report.capacity_bytes)),
        ("Used as the first run began", f"{report.used_pct:.1f} %"),
        ("Written to fill it", format_capacity(report.filled_bytes) if report.filled_bytes else "nothing"),
        ("Trim", report.trim),
    ]


_WARM_FIRST: Final = (RunKind.WARM, RunKind.COLD)


def _of_a_run(key: str, label: str, unit: str, value: Callable[[CommandRun], float]) -> Measure[CommandRun]:
    return Measure(
        key,
        f"{{name}}, {label}",
        unit,
        value,
        better=Better.UNJUDGED,
        decimals=1,
        is_key=False,
        on_cover=False,
    )


_OF_A_RUN: Final = (
    _of_a_run("read_mb", "read from the drive", "MB", lambda run: total(run).read_bytes / MB),
    _of_a_run("written_mb", "written to the drive", "MB", lambda run: total(run).written_bytes / MB),
    _of_a_run("cpu_pct", "processor time", "% of one processor", cpu_pct),
    _of_a_run("busy_pct", "drive with I/O outstanding", "% of the time", busy_pct),
)


def _several(repeats: RunSet) -> Mapping[str, Any] | None:
    return repeat_figures(repeats) if repeats.count > 1 else None


def _set_cell(repeats: RunSet) -> Cell:
    """The median with its spread; none of a set that is discarded."""
    note = "; ".join(spread_remarks(repeats)) if repeats.count > 1 else ""
    if repeats.quality is Quality.DISCARDED:
        return cells.missing(note)
    return Cell(cells.fixed(repeats.median, decimals(repeats.median)), repeats.median, note)


def _run_figures(run: CommandRun) -> dict[str, Any]:
    done: DeviceCounts = total(run)
    return {
        **({"application": run.application} if run.application else {}),
        "kind": run.kind,
        "number": run.number,
        "seconds": run.elapsed_ns / NS_PER_S,
        "figure": run.figure,
        "status": run.status,
        "failure": run.failure or None,
        "cold": run.cold,
        "reads": done.reads,
        "read_bytes": done.read_bytes,
        "writes": done.writes,
        "written_bytes": done.written_bytes,
        "discards": done.discards,
        "flushes": done.flushes,
        "busy_pct": busy_pct(run),
        "cpu_pct": cpu_pct(run),
        "io_stall_pct": stall_pct(run.io_stall_ns, run),
        "cpu_stall_pct": stall_pct(run.cpu_stall_ns, run),
        "bound": bound_of(run),
    }


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the runs in the record."""
    found = AppReport(run.conditions(AppConditions), run.manifest.command_runs, run)
    return ReportContent(
        verdicts=tuple(found.verdicts()),
        measures=tuple(found.measures()),
        sections=methodology(run, "Application Benchmark", found.test_rows(), found.pages),
        figures=found.figures,
    )
