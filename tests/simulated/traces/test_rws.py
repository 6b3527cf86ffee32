"""The workload of a capture on drives whose rates and service times are known."""

from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from openpts.cli.verdict_lines import cycle_line
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.pages.model import Verdict
from openpts.record.possible import refuse_impossible
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.summary import summarize
from openpts.report.times import default_date
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts_fio.fio_job.conditions import parts_of
from openpts_line.compare.contenders import Entry, compare_runs
from openpts_traces.characteristics.capture import (
    Capture,
    CaptureStep,
    CaptureStream,
    StreamKind,
    StreamPattern,
    capture_of,
)
from openpts_traces.rws import RwsConditions, RwsPart
from tests.simulated.whole_tests import run_whole
from tests.support.job_subjects import CAPTURE, SECOND_NS
from tests.support.oracle_presets import write_oracle
from tests.support.subject_files import WEB
from tests.support.transcript import Golden

RECIPE = Path(__file__).parents[3] / "rust" / "trace" / "recipes" / "office.toml"
READS = CaptureStream(StreamKind.READ, StreamPattern.RANDOM, 4096, 700, 700 * 4096)
WRITES = CaptureStream(StreamKind.WRITE, StreamPattern.RANDOM, 8192, 300, 300 * 8192)


def step(*streams: CaptureStream, depth: float = 8.0) -> CaptureStep:
    ios, size = sum(s.ios for s in streams), sum(s.bytes for s in streams)
    return CaptureStep(SECOND_NS, ios, size, depth, 1000.0, 2000, 3000, streams)


def of_capture(steps: tuple[CaptureStep, ...], **changes: Any) -> Capture:
    return replace(CAPTURE, streams=(READS, WRITES), steps=steps, **changes)


def shortened(capture: Capture, *parts: RwsPart, **changes: Any) -> Any:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, RwsConditions)
        short = {
            "minute_ns": SECOND_NS,
            "tracking_period_ns": 2 * SECOND_NS,
            "precondition_passes": 0.1,
            "captured": capture,
            "parts": parts or conditions.parts,
        }
        return replace(conditions, **{**short, **changes})

    return adjust


def run_rws(folder: Path, preset: Path, adjust: Any) -> Run:
    return run_whole("rws", DriveClass.ENTERPRISE, folder, adjust, f"sim:{preset}")


def test_streams_share_the_known_rate_of_a_drive(tmp_path: Path) -> None:
    """1,000 I/Os a second: alone each has them all, together 70 and 30 % of them, with 8 outstanding."""
    preset = write_oracle(tmp_path, [1000.0])
    capture = of_capture((step(READS, WRITES),))
    run = run_rws(tmp_path / "run", preset, shortened(capture))
    figures = summarize(run)
    assert figures["outstanding"] == 8
    by_name = {one["stream"]: one for one in figures["individual"]}
    assert list(by_name) == ["RND 4K R", "RND 8K W"]
    for name, rate, interference in (("RND 4K R", 700, 10 / 7), ("RND 8K W", 300, 10 / 3)):
        assert by_name[name]["iops"] == pytest.approx(1000, rel=0.01)
        assert by_name[name]["art_ns"] == pytest.approx(8e6, rel=0.01)
        assert by_name[name]["composite_iops"] == pytest.approx(rate, rel=0.01)
        assert by_name[name]["interference"] == pytest.approx(interference, rel=0.02)
    multi = {(one["stream"], one["operation"]): one for one in figures["multi"]["streams"]}
    assert multi["all", "read"]["iops"] + multi["all", "write"]["iops"] == pytest.approx(1000, rel=0.01)
    assert figures["multi"]["steady"]
    assert figures["replay_native"]["steady"]
    assert figures["replay_native"]["steps"][0]["iops"] == pytest.approx(1000, rel=0.01)


def test_counts_of_each_step_keep_the_shares_of_the_capture(tmp_path: Path) -> None:
    """Within 4 standard deviations of a binomial, and never further off than one round of the shares."""
    shares = ((700, 300), (1, 9), (523, 477), (50, 50))
    steps = tuple(step(replace(READS, ios=reads), replace(WRITES, ios=writes)) for reads, writes in shares)
    capture = of_capture(steps)
    adjust = shortened(capture, RwsPart.REPLAY_NATIVE, minute_ns=10 * SECOND_NS)
    run = run_rws(tmp_path / "run", write_oracle(tmp_path, [20_000.0]), adjust)
    for record in run.phase(Phase.ROUND):
        reads, writes = shares[record.place.position]
        counted = {name: part.ios for name, part in parts_of(record.sample)}
        ios, wanted = sum(counted.values()), reads / (reads + writes)
        assert ios > 10_000
        allowed = 4 * sqrt(ios * wanted * (1 - wanted))
        assert abs(counted["RND 4K R"] - wanted * ios) <= allowed


def test_steps_that_name_the_same_streams_in_other_orders_are_read_back(tmp_path: Path) -> None:
    """A capture lists the streams of a step by their share of it; a record has one order in all steps."""
    few, many = replace(READS, ios=100, bytes=100 * 4096), replace(WRITES, ios=900, bytes=900 * 8192)
    capture = of_capture((step(READS, WRITES), step(many, few)))
    run = run_rws(tmp_path / "run", write_oracle(tmp_path, [1000.0]), shortened(capture))
    refuse_impossible(run)
    assert summarize(run)["replay_native"]["steady"]


def test_idle_steps_last_as_long_as_in_the_capture_or_are_cut(tmp_path: Path) -> None:
    idle = CaptureStep(4 * SECOND_NS, 0, 0, 0.0, None, None, None, ())
    capture = of_capture((step(READS), idle, idle, step(WRITES), idle))
    preset = write_oracle(tmp_path, [1000.0])
    for name, most_ns, lasted_ns in (("whole", None, 4 * SECOND_NS), ("cut", SECOND_NS, SECOND_NS)):
        adjust = shortened(capture, RwsPart.REPLAY_NATIVE, max_idle_ns=most_ns, max_rounds=5)
        run = run_rws(tmp_path / name, preset, adjust)
        first = [record.sample for record in run.phase(Phase.ROUND, number=1)]
        assert [sample.step.is_idle for sample in first] == [False, True, True, False, True]
        assert [sample.elapsed_ns for sample in first if sample.step.is_idle] == [lasted_ns] * 3
        text = build_report(run, default_date(run)).tables()
        assert len(text["rws-steps-values"].rows) == 5


def test_a_paced_replay_on_a_drive_that_drifts_is_not_steady(tmp_path: Path) -> None:
    """Its rates are those of the capture in each pass; its response times are not."""
    slower = [1.0 / (0.0002 + 0.00008 * n) for n in range(60)]
    preset = write_oracle(tmp_path, slower, by="steps", every=1)
    capture = of_capture((step(replace(READS, ios=70), replace(WRITES, ios=30)),))
    adjust = shortened(capture, RwsPart.REPLAY_NATIVE, pacing="rate", max_rounds=12)
    figures = summarize(run_rws(tmp_path / "run", preset, adjust))
    replay = figures["replay_native"]
    rates = [one["mb_per_s"] for one in replay["passes"]]
    assert rates == pytest.approx([rates[0]] * 12, rel=0.05)
    assert replay["passes"][-1]["art_ms"] > 2 * replay["passes"][0]["art_ms"]
    assert not replay["steady"]


def test_reports_follow_the_text_as_openpts_reads_it_and_claim_nothing(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    capture = of_capture((step(READS, WRITES),), version="7")
    run = run_rws(tmp_path / "run", write_oracle(tmp_path, [1000.0]), shortened(capture, max_rounds=5))
    report = build_report(run, default_date(run))
    (section,) = report.sections
    assert section.title == "Real-World Workload of a Capture: after the RWSW PTS, reading of openpts"
    rows = {row.label: row.value for group in section.header.groups for row in group.rows}
    assert (rows["Capture"], rows["SHA-256"]) == ("web, 7", CAPTURE.sha256[:16])
    words = [f"{row.label}: {row.value}" for group in section.header.groups[2:] for row in group.rows]
    for page in section.pages[1:]:
        words += [page.title, *(block.text for block in page.blocks if isinstance(block, Verdict))]
    assert "\n".join(words) == snapshot
    assert "conformant" not in "\n".join(words).lower()
    unchecked = [entry for entry in run.ledger if "after the RWSW PTS, reading of openpts" in entry.used]
    assert {entry.rule_id for entry in unchecked} == {
        *("RWS-DEF-04", "RWS-DEF-05", "RWS-CUM-01", "RWS-PRE-01", "RWS-RPT-01"),
        *("RWS-IS-01", "RWS-MW-01", "RWS-RN-01"),
    }


def test_maps_and_demand_of_capture_and_drive_have_the_same_streams_steps_and_axes(tmp_path: Path) -> None:
    """At 1,000 I/Os a second, n outstanding ones wait n ms; of 70 to 30, reads are 700 a second."""
    trims = CaptureStream(StreamKind.TRIM, StreamPattern.RANDOM, 1 << 20, 10, 10 << 20)
    busy = replace(step(READS, WRITES), ios=1100)
    capture = of_capture((busy, step(WRITES, trims)))
    run = run_rws(tmp_path / "run", write_oracle(tmp_path, [1000.0]), shortened(capture))
    report = build_report(run, default_date(run))
    tables, figures = report.tables(), {figure.number: figure for figure in report.figures()}
    of_capture_map, of_drive = tables["rws-map-table"], tables["rws-drive-map-table"]
    heads = ["RND 4K R", "RND 8K W", "other", "Queue depth"]
    for shown in (of_capture_map, of_drive):
        assert [column.label for column in shown.columns] == heads
        assert len(shown.rows) == 2
    assert [cell.value for cell in of_capture_map.rows[0].cells] == [700, 300, 100, 8]
    assert [cell.value for cell in of_capture_map.rows[1].cells] == [0, 300, 10, 8]
    first = [cell.value or 0.0 for cell in of_drive.rows[0].cells]
    assert first[:3] == pytest.approx([700, 300, 0], rel=0.02)
    # a stream that is ahead waits for the other one
    assert 6 < first[3] <= 8
    assert figures["Plot X-RWS-7"].y == figures["Plot X-RWS-8"].y
    points = [row.cells[-1].text for row in tables["rws-plane-values"].rows]
    assert points == ["step 0", "step 1", "step 0", "step 1"]
    drive = [cell.value for cell in tables["rws-plane-values"].rows[2].cells if cell.value is not None]
    assert drive == pytest.approx([first[3], first[3]], rel=0.02)  # ms, and outstanding


@pytest.mark.parametrize("pacing", ["depth", "rate"])
def test_the_fidelity_block_says_what_of_the_capture_was_issued(
    tmp_path: Path, pacing: str, snapshot: SnapshotAssertion
) -> None:
    odd = CaptureStream(StreamKind.WRITE, StreamPattern.RANDOM, 700, 50, 35_000)
    busy = replace(step(READS, WRITES), ios=1100)
    capture = of_capture((busy, step(READS, WRITES, odd)), ios=2150, unapplied_ios=40, lost=3)
    adjust = shortened(capture, RwsPart.REPLAY_NATIVE, pacing=pacing, max_rounds=5)
    run = run_rws(tmp_path / "run", write_oracle(tmp_path, [5000.0]), adjust)
    shown = build_report(run, default_date(run)).tables()["rws-fidelity-items"]
    words = [f"{row.head.text}: {row.cells[0].text}" for row in shown.rows]
    assert "\n".join(words) == snapshot


def test_passes_are_called_passes(tmp_path: Path) -> None:
    capture = of_capture((step(READS, WRITES),))
    preset = write_oracle(tmp_path, [1000.0])
    adjust = shortened(capture, RwsPart.MULTI, RwsPart.REPLAY_NATIVE, max_rounds=5)
    run = run_rws(tmp_path / "run", preset, adjust)
    conditions = run.manifest.conditions
    ends = [cycle_line(n, cycle, conditions) for n, cycle in enumerate(run.manifest.cycles, start=1)]
    assert ends == [
        "Multi-WSAT: steady state reached in tracking round 5",
        "Replay-Native: steady state reached in pass 5",
    ]


def test_a_recipe_that_ships_is_a_capture() -> None:
    capture = capture_of(Path("recipe:like:office"))
    assert (capture.name, capture.is_step_table, capture.sha256) == (
        "recipe:like:office",
        False,
        sha256(RECIPE.read_bytes()).hexdigest(),
    )
    assert capture.ios > 1000
    with pytest.raises(UsageError, match="there is no recipe nothing"):
        capture_of(Path("recipe:nothing"))


@pytest.mark.parametrize(
    ("name", "read_pct", "depths", "sizes", "largest_stream"),
    [
        ("retail-web-portal", 65, (5, 306), (512, 65_536), "RND 8K R"),
        ("gps-navigation-portal", 67, (6, 368), (4096, 131_072), "SEQ 128K R"),
    ],
)
def test_captures_like_published_ones_have_the_published_figures(
    name: str,
    read_pct: float,
    depths: tuple[int, int],
    sizes: tuple[int, int],
    largest_stream: str,
    golden: Golden,
) -> None:
    """Those of CMSI's reference workloads: 290 steps of 5 minutes, mix, queue depths, sizes."""
    capture = capture_of(Path(f"like:{name}"))
    assert (len(capture.steps), capture.step_length_ns) == (290, 300 * SECOND_NS)
    assert abs(100 * capture.read_ios / capture.moved_ios - read_pct) <= 1
    found = [one.depth for one in capture.steps if one.depth is not None]
    assert (min(found), max(found), capture.max_depth) == (*depths, depths[1])
    used = {one.size_bytes for step in capture.steps for one in step.streams}
    assert (min(used), max(used)) == sizes
    assert capture.streams[0].name == largest_stream
    assert capture.name == golden


def test_a_name_that_no_capture_is_like_is_refused() -> None:
    known = "use like:gps-navigation-portal or like:retail-web-portal"
    with pytest.raises(UsageError, match=f"there is no capture like:web: {known}"):
        capture_of(Path("like:web"))


def test_runs_compare_only_with_those_of_the_same_capture(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [1000.0])
    hashes = ("a" * 64, "b" * 64, "a" * 64)
    runs = []
    for number, digest in enumerate(hashes):
        capture = of_capture((step(READS, WRITES),), sha256=digest, name=f"web-{number}")
        adjust = shortened(capture, RwsPart.MULTI, max_rounds=5)
        runs.append(run_rws(tmp_path / str(number), preset, adjust))
    same, other = ([Entry(runs[n], label=str(n)) for n in pair] for pair in ((0, 2), (0, 1)))
    assert compare_runs(same).tests
    with pytest.raises(UsageError, match=r"different workloads.*aaaa.*bbbb"):
        compare_runs(other)


def test_a_trace_becomes_steps_and_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    capture = capture_of(WEB)
    assert [stream.name for stream in capture.streams] == ["RND 4K R", "SEQ 8K W"]
    assert [(one.ios, len(one.streams)) for one in capture.steps] == [(20, 3), (0, 0), (20, 2)]
    # 40 I/Os, 28 of 0.2 ms and 12 of 0.4 ms, in 2.76 s
    assert capture.sha256 == sha256(WEB.read_bytes()).hexdigest()
    assert capture.depth == pytest.approx((28 * 0.0002 + 12 * 0.0004) / 2.7604)
    (tmp_path / "none").write_text("no trace")
    with pytest.raises(UsageError, match="cannot apply the capture"):
        capture_of(tmp_path / "none")
    with pytest.raises(UsageError, match="No such file"):
        capture_of(tmp_path / "absent")
