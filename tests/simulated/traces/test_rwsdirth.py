"""All streams of a capture at once, at varied demand, on drives whose truth is known."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.time_scale import at_time_scale
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.summary import summarize
from openpts.report.times import default_date
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts_line.compare.contenders import Entry, compare_runs
from openpts_traces.characteristics.capture import Capture, CaptureStream, StreamKind, StreamPattern
from openpts_traces.rwsdirth import RwsDemandConditions
from tests.simulated.whole_tests import run_whole
from tests.support.job_subjects import CAPTURE
from tests.support.oracle_presets import write_oracle

parquet = pytest.importorskip("pyarrow.parquet")


def stream(kind: str, pattern: str, size_bytes: int, ios: int) -> CaptureStream:
    return CaptureStream(StreamKind(kind), StreamPattern(pattern), size_bytes, ios, ios * size_bytes)


STREAMS = (
    stream("read", "rnd", 4 * KIB, 50),
    stream("write", "rnd", 8 * KIB, 30),
    stream("read", "seq", 128 * KIB, 10),
    stream("write", "seq", 64 * KIB, 5),
    stream("trim", "rnd", 1024 * KIB, 4),
    stream("flush", "na", 0, 1),
)
ADDRESSED = STREAMS[:5]


def run_composite(
    folder: Path, streams: tuple[CaptureStream, ...], rate: float, *, scale: float = 1 / 60, **changes: Any
) -> Run:
    def adjust(conditions: Any) -> Any:
        assert isinstance(conditions, RwsDemandConditions)
        captured: Capture = replace(CAPTURE, streams=streams)
        few = {"captured": captured, "precondition_tc": 4, "tcs": (4, 1), "qds": (8, 4, 1)}
        return at_time_scale(replace(conditions, **{**few, **changes}), scale)

    folder.mkdir(exist_ok=True)
    preset = write_oracle(folder, [rate], by="seconds")
    return run_whole("rwsdirth", DriveClass.ENTERPRISE, folder / "run", adjust, f"sim:{preset}")


def test_each_demand_is_that_of_all_streams_together(tmp_path: Path) -> None:
    """At 500 I/Os a second, n outstanding ones of the whole mix wait 2n ms."""
    run = run_composite(tmp_path, ADDRESSED[:4], 500.0)
    figures = summarize(run)
    for point in figures["operating_points"]:
        toio = point["tc"] * point["qd"]
        if toio <= 16:
            assert point["art_ms"] == pytest.approx(2 * toio, rel=0.02)
            assert point["iops"] == pytest.approx(500, rel=0.02)
    assert {(point["tc"], point["qd"]) for point in figures["operating_points"]} == {
        (tc, qd) for tc in (4, 1) for qd in (8, 4, 1)
    }
    assert (figures["chosen_points"]["min"]["tc"], figures["chosen_points"]["min"]["qd"]) == (1, 1)


def test_the_drive_gets_each_stream_in_its_share_at_each_point(tmp_path: Path) -> None:
    """Counted in the captured I/Os, those that the drive was given: operation and size."""
    run = run_composite(tmp_path, STREAMS, 20_000.0, tcs=(4, 1), qds=(4, 1), histogram_ns=6 * 10**9)
    files = sorted((run.folder / "capture").glob("*.parquet"))
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    by_step: dict[int, Counter[tuple[str, int]]] = {}
    for row in rows:
        by_step.setdefault(row["step"], Counter())[row["operation"], row["length_bytes"]] += 1
    assert len(by_step) >= 2
    for number, counts in by_step.items():
        stimulus = run.steps[number].sample.step.stimulus
        assert stimulus is not None
        total = counts.total()
        for one in STREAMS:
            # each thread is at most a deck of 100 away from exact shares
            assert counts[one.kind.value, one.size_bytes] == pytest.approx(
                one.ios / 100 * total, abs=stimulus.tc * one.ios
            )
        assert total > 500
    assert summarize(run)["distributions"]["off"] == 0


def test_pre_writes_are_the_writes_of_the_workload_in_their_shares(tmp_path: Path) -> None:
    few = {"tcs": (1,), "qds": (4, 2, 1)}
    for name, streams, wanted in (
        ("mixed", STREAMS, [("RND 8K W", 30), ("SEQ 64K W", 5)]),
        ("reads", (STREAMS[0], STREAMS[2]), [("RND 4K W", 1)]),
    ):
        run = run_composite(tmp_path / name, streams, 20_000.0, scale=1 / 600, **few)
        for phase in (Phase.WDPC, Phase.ROUND_PREWRITE, Phase.HISTOGRAM_PREWRITE):
            for record in run.phase(phase):
                stimulus = record.sample.step.stimulus
                assert stimulus is not None
                sizes = {size.name: size.weight for size in stimulus.block_sizes}
                factor = sum(sizes.values()) / sum(weight for _, weight in wanted)
                assert sizes == {stream: weight * factor for stream, weight in wanted}
                assert (record.sample.read.ios, record.sample.write.ios > 0) == (0, True)
        assert ("RWS-DI-03" in {entry.rule_id for entry in run.ledger}) == (name == "reads")


def test_the_report_has_the_plots_of_dirth_and_the_capture_among_the_points(tmp_path: Path) -> None:
    run = run_composite(tmp_path, ADDRESSED[:4], 1000.0)
    report = build_report(run, default_date(run))
    drawn = {figure.number for figure in report.figures()}
    assert drawn >= {f"Plot X-RWSD-{number}" for number in (*range(1, 8), 10, 15, 16)}
    (section,) = report.sections
    assert section.header.title == "RWS-DIRTH - web: after the RWSW PTS, reading of openpts"
    tables = report.tables()
    points = [row.cells[-1].text for row in tables["rwsdirth-plane-values"].rows]
    assert points == [
        "step 0",
        *(f"TC {tc} / QD {qd}" for tc, qd in ((4, 8), (4, 4), (1, 8), (4, 1), (1, 4), (1, 1))),
    ]
    assert [row.head.text for row in tables["rwsdirth-pattern-sizes"].rows] == [
        "RND 4K R", "RND 8K W", "SEQ 128K R", "SEQ 64K W",
    ]  # fmt: skip
    rules = {entry.rule_id for entry in run.ledger if "after the RWSW PTS" in entry.used}
    assert rules == {"RWS-DEF-04", "RWS-DEF-05", "RWS-CUM-01", "RWS-PRE-01", "RWS-RPT-01", "RWS-DI-01"}


def test_runs_compare_only_with_those_of_the_same_capture(tmp_path: Path) -> None:
    few: Any = {"scale": 1 / 600, "tcs": (1,), "qds": (4, 2, 1)}
    runs = [
        run_composite(
            tmp_path / digest, ADDRESSED[:2], 1000.0,
            captured=replace(CAPTURE, streams=ADDRESSED[:2], sha256=digest * 64), **few,
        )
        for digest in "ab"
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"different workloads.*aaaa.*bbbb"):
        compare_runs([Entry(run, label=str(number)) for number, run in enumerate(runs)])
