"""The report of the real-world storage workload of a capture."""

from collections.abc import Iterator
from typing import Any, Final

from openpts.pages.kit import PlotName
from openpts.pages.measure import Measure, Measured, Subject, measured
from openpts.pages.model import Page, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.procedures.shared.tracking.pages import tracking_sentence
from openpts.record.reader import Run
from openpts.units import format_duration
from openpts_fio.fio_job.pages import STREAM_MEASURES, stream_times, times_of_stream
from openpts_traces.captured.pages import captured_map, map_page, workload_page
from openpts_traces.rws import PART_TITLES
from openpts_traces.rws.pages import alone_page, multi_pages, stream_figures
from openpts_traces.rws.replay_pages import drive_map, replay_pages, replay_sentence
from openpts_traces.rws.results import RwsRun, rws_run
from openpts_traces.rws.streams import pass_figures

_MAP: Final = PlotName("rws-map", "Plot X-RWS-7", "Stream Map: Capture")
_TITLE: Final = "Real-World Workload of a Capture: after the RWSW PTS, reading of openpts"
_PASS: Final[tuple[Measure[tuple[float, float]], ...]] = (
    Measure("replay_art", "Replay-Native, average response time", "ms", lambda pass_: pass_[0], decimals=3),
    Measure("replay_mb_per_s", "Replay-Native, throughput", "MB/s", lambda pass_: pass_[1], decimals=1),
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = rws_run(run)
    return ReportContent(
        verdicts=tuple(_verdicts(found)),
        measures=tuple(_measures(found)),
        sections=methodology(run, _TITLE, _test_rows(found), lambda: _pages(found)),
        figures=lambda: _figures(found),
    )


def _verdicts(found: RwsRun) -> Iterator[Verdict]:
    for one in found.alone:
        yield tracking_sentence(one.tracked, f"{one.stream.name} alone")
    if found.multi is not None:
        yield tracking_sentence(found.multi, "Multi-WSAT")
    if found.replay is not None:
        yield replay_sentence(found.replay)


def _measures(found: RwsRun) -> Iterator[Measured]:
    def subject(name: str, steady: bool) -> Subject:
        state = "" if steady else "not of steady state"
        return Subject(name, state=state, steady="reached" if steady else "not reached")

    for one in found.alone:
        steady = one.tracked.results.steady
        for times in stream_times(one.tracked.results.window_minutes):
            yield from measured(STREAM_MEASURES, times, subject(f"{one.stream.name} alone", steady))
    if found.multi is not None:
        for times in stream_times(found.multi.results.window_minutes):
            of = subject(f"Multi-WSAT {times.name}", found.multi.results.steady)
            yield from measured(STREAM_MEASURES, times, of)
    if found.replay is not None and found.replay.typical:
        yield from measured(_PASS, pass_figures(found.replay.typical), subject("", found.replay.steady))


def _test_rows(found: RwsRun) -> Rows:
    capture, conditions = found.capture, found.conditions
    steady = [one.tracked.results.steady for one in found.alone]
    steady += [found.multi.results.steady] if found.multi else []
    steady += [found.replay.steady] if found.replay else []
    length = format_duration(capture.step_length_ns)
    return (
        ("Capture", f"{capture.name}, {capture.version}"),
        ("SHA-256", capture.sha256[:16]),
        ("Level", capture.level),
        ("Logical Storage", capture.storage),
        ("Duration", format_duration(capture.duration_ns)),
        ("Steps", f"{len(capture.steps):,} of {length}"),
        ("Streams", f"{len(capture.streams)} of {capture.kinds}, {float(capture.cover):.1%} of the I/Os"),
        ("R/W Mix", f"{100 * capture.read_ios / (capture.moved_ios or 1):.1f} % reads of the I/Os"),
        ("Total outstanding", str(conditions.toio)),
        ("Steady State", f"{sum(steady)} of {len(steady)} reached it"),
    )


def _pages(found: RwsRun) -> tuple[Page, ...]:
    streams, isolate = found.capture.streams, found.conditions.isolate
    cycles = [
        f"{streams[numbers[0]].name} alone" if numbers and isolate else PART_TITLES[part]
        for part, numbers in found.conditions.cycles()
    ]
    prepared = state_page(found.run, "Purge and Pre-conditioning", cycles)
    capture = found.capture
    drive = drive_map(found.replay.typical) if found.replay else []
    mapped = map_page(_MAP, captured_map(capture), capture, capture.level, drive)
    pages = [prepared, workload_page(capture), mapped]
    if found.alone:
        pages.append(alone_page(found))
    if found.multi is not None:
        pages += multi_pages(found.multi)
    if found.replay is not None:
        pages += replay_pages(found, found.replay)
    return tuple(pages)


def _figures(found: RwsRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    capture, replay = found.capture, found.replay
    return {
        "followed": "after the RWSW PTS, reading of openpts",
        "capture": {"name": capture.name, "version": capture.version, "sha256": capture.sha256},
        "cover": float(capture.cover),
        "outstanding": found.conditions.toio,
        "individual": [
            {
                "stream": one.stream.name,
                "steady": one.tracked.results.steady,
                **stream_figures(found, one).as_json(),
            }
            for one in found.alone
        ],
        "multi": None
        if found.multi is None
        else {
            "steady": found.multi.results.steady,
            "streams": [times_of_stream(one) for one in stream_times(found.multi.results.window_minutes)],
        },
        "replay_native": None
        if replay is None
        else {
            "steady": replay.steady,
            "passes": [
                dict(zip(("art_ms", "mb_per_s"), pass_figures(one), strict=True)) for one in replay.passes
            ],
            "window": list(replay.window.rounds),
            "steps": [
                {"capture_iops": step.iops, "iops": sample.iops, "art_ns": sample.mean_latency_ns}
                for step, sample in zip(capture.steps, replay.typical, strict=False)
            ],
        },
    }
