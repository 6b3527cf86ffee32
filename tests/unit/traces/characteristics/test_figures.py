"""Every figure of a trace against brute force in NumPy, on small random traces."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.traces.characteristics.traces import Ios, figures_of, random_ios, write_trace

SEEDS = range(6)


@pytest.fixture(scope="module", params=SEEDS)
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Ios, dict[str, Any]]:
    ios = random_ios(request.param, devices=1 + request.param % 2)
    path = write_trace(tmp_path_factory.mktemp("trace") / "t.parquet", ios, capacity_bytes=1 << 30)
    return ios, figures_of(path)


def test_mix_and_sizes(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    mix = figures["whole"]["mix"]
    kinds = np.array(ios.operations())
    assert mix["ios"] == len(ios.at)
    assert mix["bytes"] == ios.length.sum()
    for kind, counts in mix["by_operation"].items():
        of = kinds == kind
        lengths, offsets = ios.length[of], ios.offset[of]
        assert (counts["ios"], counts["bytes"]) == (of.sum(), lengths.sum())
        values, times = np.unique(lengths, return_counts=True)
        top = sorted(zip(values.tolist(), times.tolist(), strict=True), key=lambda item: (-item[1], item[0]))
        assert [tuple(one) for one in counts["lengths"]["top"]] == top[:20]
        known = counts["lengths"]["distribution"]
        assert known["mean"] == pytest.approx(lengths.mean())
        assert known["deviation"] == pytest.approx(lengths.std(), abs=1e-6)
        for pct, value in known["percentiles"]:
            rank = max(1, math.ceil(round(pct / 100 * len(lengths), 9)))
            assert value == np.sort(lengths)[rank - 1]
        for align, share in counts["lengths"]["aligned_shares"].items():
            assert share == pytest.approx(((lengths % int(align) == 0) & (offsets % int(align) == 0)).mean())


def test_sequences(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    strict = {"read": 0, "write": 0}
    last: dict[Any, int] = {}
    for kind, device, offset, length in rows_of(ios):
        if kind in strict:
            strict[kind] += last.get((kind, device)) == offset
            last[kind, device] = offset + length
    for kind, shown in figures["whole"]["places"]["by_operation"].items():
        assert shown["strict"]["ios"] == strict[kind]
        for rule, gap in (("windowed", 0), ("near", 32 << 10)):
            continued, runs = followed(ios, kind, gap)
            assert shown[rule]["ios"] == continued
            assert shown[rule]["runs"] == len(runs)
            assert shown[rule]["run_ios"]["mean"] == pytest.approx(np.mean([ios for ios, _ in runs]))
            assert shown[rule]["run_bytes"]["mean"] == pytest.approx(np.mean([size for _, size in runs]))
            assert shown[rule]["streams_from_512k"] == sum(size >= 512 << 10 for _, size in runs)


def rows_of(ios: Ios) -> list[tuple[str, int, int, int]]:
    assert ios.device is not None
    return list(
        zip(ios.operations(), ios.device.tolist(), ios.offset.tolist(), ios.length.tolist(), strict=True)
    )


def followed(ios: Ios, wanted: str, gap: int) -> tuple[int, list[tuple[int, int]]]:
    """I/Os that continue one of the last 32 runs of their device, and all runs as I/Os and bytes."""
    continued, ended = 0, []
    by_device: dict[int, list[tuple[int, int, int]]] = {}
    for kind, device, offset, length in rows_of(ios):
        if kind != wanted:
            continue
        runs = by_device.setdefault(device, [])
        found = [run for run in reversed(runs) if 0 <= offset - run[0] <= gap][:1]
        for run in found:
            continued += 1
            runs.reverse()
            runs.remove(run)
            runs.reverse()
        if len(runs) == 32:
            ended.append(runs.pop(0)[1:])
        count, size = found[0][1:] if found else (0, 0)
        runs.append((offset + length, count + 1, size + length))
    return continued, [*ended, *(run[1:] for runs in by_device.values() for run in runs)]


def test_random_by_distance_and_seeks(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    assert ios.device is not None
    counts = {"read": 0, "write": 0}
    before: dict[int, list[tuple[int, int]]] = {}
    seeks: dict[tuple[int, int], int] = {}
    for kind, device, offset, length in rows_of(ios):
        if kind not in counts:
            continue
        known = before.setdefault(device, [])
        if known:
            counts[kind] += all(abs(other - offset) > 128 << 10 for other, _ in known[-32:])
            seek = offset - sum(known[-1])
            key = (int(np.sign(seek)), abs(seek).bit_length() - 1 if seek else 0)
            seeks[key] = seeks.get(key, 0) + 1
        known.append((offset, length))
    places = figures["whole"]["places"]
    for kind, shown in places["by_operation"].items():
        assert shown["random_by_distance"]["ios"] == counts[kind]
    assert {(sign, exponent): n for sign, exponent, n in places["seeks_log2"]} == seeks


def test_gaps_and_their_autocorrelation(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    gaps = np.diff(ios.at).astype(float)
    arrivals = figures["whole"]["arrivals"]
    shown = arrivals["all"]
    assert shown["gap_ns"]["mean"] == pytest.approx(gaps.mean())
    assert shown["gap_ns"]["cv"] == pytest.approx(gaps.std() / gaps.mean())
    assert shown["share_equal"] == pytest.approx((gaps == 0).mean())
    assert shown["share_below_10us"] == pytest.approx((gaps < 10_000).mean())
    away = gaps - gaps.mean()
    expected = [(away[:-lag] * away[lag:]).sum() / (away**2).sum() for lag in range(1, len(gaps) // 4 + 1)]
    assert arrivals["autocorrelation"] == pytest.approx(expected[:100], abs=1e-9)


def test_bursts(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    rates = figures["whole"]["rates"]
    peaks = dict(rates["peak_over_mean"])
    for width in (10**7, 10**9):
        expected = None
        if ios.at[-1] >= width:
            expected = np.bincount(ios.at // width).max() / (len(ios.at) * width / ios.at[-1])
        assert peaks[width / 1e9] == (None if expected is None else pytest.approx(expected))
    for width_s, value in rates["dispersion"]:
        width = round(width_s * 1e9)
        counts = np.bincount(ios.at // width)[: ios.at[-1] // width]
        finest = round(rates["dispersion"][0][0] * 1e9)
        whole = ios.at[-1] // finest * finest // width  # bins that the finest scale has in full
        counts = np.bincount(ios.at[ios.at < whole * width] // width, minlength=whole)
        assert value == pytest.approx(counts.var() / counts.mean(), rel=0.05)


def spans(ios: Ios) -> list[tuple[int, int]]:
    """Issue and completion of each; those without a completion that was seen last to the end."""
    assert ios.done is not None
    end = max(ios.at.max(), ios.done.max())
    return [
        (at, end if done < 0 else done) for at, done in zip(ios.at.tolist(), ios.done.tolist(), strict=True)
    ]


def test_depth_busy_and_idle_time(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    shown = figures["whole"]["completions"]
    events = sorted({moment for span in spans(ios) for moment in span})
    times: dict[int, int] = {}
    for low, high in pairwise(events):
        depth = sum(at <= low and done >= high for at, done in spans(ios))
        times[depth] = times.get(depth, 0) + high - low
    assert dict(shown["queue_depth"]["all"]["time_ns"]) == times
    total = sum(times.values())
    assert shown["queue_depth"]["all"]["mean"] == pytest.approx(
        sum(d * ns for d, ns in times.items()) / total
    )
    assert (shown["busy_ns"], shown["idle_ns"]) == (total - times.get(0, 0), times.get(0, 0))
    arrival = [
        sum(other <= at < done for other, done in spans(ios)[:n]) for n, at in enumerate(ios.at.tolist())
    ]
    assert shown["queue_depth"]["all"]["at_arrival"]["mean"] == pytest.approx(np.mean(arrival))
    assert sum(edge["sum_ns"] for edge in shown["idle_gaps"]["by_edge"]) == shown["idle_ns"]


def test_latencies(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    assert ios.done is not None
    shown = figures["whole"]["completions"]
    known = ios.done >= 0
    assert (shown["completed_ios"], shown["uncompleted_ios"]) == (known.sum(), (~known).sum())
    for kind in ("read", "write"):
        latencies = (ios.done - ios.at)[known & (np.array(ios.operations()) == kind)]
        all_ = shown["latency"][kind]["all"]
        assert (all_["mean"], all_["max"]) == (pytest.approx(latencies.mean()), latencies.max())
        parts = shown["latency"][kind]
        for by in ("by_length", "by_depth"):
            assert sum(part["latency_ns"]["count"] for part in parts[by]) == len(latencies)


def accesses(ios: Ios) -> list[tuple[tuple[int, int], str, int]]:
    assert ios.device is not None
    return [
        ((device, block), kind, at)
        for at, kind, device, offset, length in zip(
            ios.at.tolist(),
            ios.operations(),
            ios.device.tolist(),
            ios.offset.tolist(),
            ios.length.tolist(),
            strict=True,
        )
        if kind in {"read", "write"}
        for block in range(offset // 4096, (offset + length - 1) // 4096 + 1)
    ]


def test_footprint_and_working_set(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    blocks = figures["whole"]["blocks"]
    by_block: dict[Any, list[str]] = {}
    for block, kind, _ in accesses(ios):
        by_block.setdefault(block, []).append(kind)
    expected = {
        "touched": len(by_block),
        "read": sum("read" in kinds for kinds in by_block.values()),
        "written": sum("write" in kinds for kinds in by_block.values()),
        "read_and_written": sum(len(set(kinds)) == 2 for kinds in by_block.values()),
        "read_before_write": sum(kinds[0] == "read" for kinds in by_block.values()),
    }
    assert {name: blocks["footprint"][name]["bytes"] // 4096 for name in expected} == expected
    assert all(blocks["footprint"][name]["relative_error"] == 0 for name in expected)
    trimmed = {
        (device, byte)
        for kind, device, offset, length in zip(
            ios.operations(), ios.device.tolist(), ios.offset.tolist(), ios.length.tolist(), strict=True
        )  # type: ignore[union-attr]
        if kind == "trim"
        for byte in range(offset, offset + length, 512)
    }
    assert blocks["footprint"]["trimmed_bytes"] == 512 * len(trimmed)
    for window in blocks["working_set"]:
        length_ns = window["window_s"] * 10**9
        counts = [set() for _ in range(ios.at[-1] // length_ns + 1)]  # type: ignore[var-annotated]
        for block, _, at in accesses(ios):
            counts[at // length_ns].add(block)
        assert window["max_bytes"] == 4096 * max(map(len, counts))
        whole = [len(one) for one in counts[:-1]]  # the trace ends in the last one
        mean_bytes = 4096 * float(np.mean(whole)) if whole else None
        assert window["mean_bytes"] == (mean_bytes and pytest.approx(mean_bytes))


def test_the_mean_working_set_is_that_of_whole_windows(tmp_path: Path) -> None:
    """Blocks 0 and 1 in the first second, 0 to 3 in the second one, 0 in what is left: 3, and not 7 / 3."""
    blocks = np.array([0, 1, 0, 0, 1, 2, 3, 0])
    at = np.array([0, 300, 600, 1000, 1200, 1400, 1600, 2100]) * 1_000_000
    ios = Ios(at, blocks * 4096, np.full(len(blocks), 4096), np.zeros(len(blocks), bool))
    one_s, ten_s, *_ = figures_of(write_trace(tmp_path / "t.parquet", ios))["whole"]["blocks"]["working_set"]
    assert (one_s["mean_bytes"], one_s["max_bytes"]) == (3 * 4096, 4 * 4096)
    assert (ten_s["mean_bytes"], ten_s["is_longer_than_trace"]) == (None, True)


def test_hot_and_cold(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    for wanted in ("all", "read", "write"):
        counts: dict[Any, int] = {}
        for block, kind, _ in accesses(ios):
            if wanted in {"all", kind}:
                counts[block] = counts.get(block, 0) + 1
        falling = np.sort(list(counts.values()))[::-1].astype(float)
        curve = np.concatenate([[0], np.cumsum(falling) / falling.sum()])
        shown = figures["whole"]["blocks"]["heat"][wanted]
        for pct, share in shown["curve"]:
            assert share == pytest.approx(
                np.interp(pct / 100 * len(falling), np.arange(len(falling) + 1), curve)
            )
        if len(falling) >= 200:
            slope, intercept = np.polyfit(np.log(np.arange(1, len(falling) + 1)), np.log(falling), 1)
            assert shown["zipf"]["slope"] == pytest.approx(slope)
            del intercept
        else:
            assert "reason" in shown["zipf"]


def test_reuse_distances_are_those_of_an_lru_stack(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    stack: list[Any] = []
    distances: list[float] = []
    for block, _, _ in accesses(ios):
        if block in stack:
            place = stack.index(block)
            distances.append(place)
            stack.pop(place)
        else:
            distances.append(math.inf)
        stack.insert(0, block)
    reuse = figures["whole"]["reuse"]
    assert reuse["first_uses"] == sum(map(math.isinf, distances))
    assert sum(n for _, n in reuse["distance_bytes"]) == len(distances) - reuse["first_uses"]
    for point in reuse["miss_ratio_curve"]:
        expected = np.mean([distance >= point["cache_bytes"] / 4096 for distance in distances])
        assert point["miss_ratio"] == pytest.approx(expected)
        assert point["error"] == 0


def test_updates(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    last: dict[Any, tuple[str, int]] = {}
    intervals: dict[str, list[int]] = {}
    writes: dict[Any, int] = {}
    for block, kind, at in accesses(ios):
        if block in last:
            intervals.setdefault(f"{kind}_after_{last[block][0]}", []).append(at - last[block][1])
        last[block] = (kind, at)
        if kind == "write":
            writes[block] = writes.get(block, 0) + 1
    shown = figures["whole"]["blocks"]["updates"]
    for name, values in intervals.items():
        assert shown["intervals_ns"][name]["count"] == len(values)
        assert shown["intervals_ns"][name]["mean"] == pytest.approx(np.mean(values))
    assert shown["coverage"] == pytest.approx(np.mean([n > 1 for n in writes.values()]))
    assert shown["writes_per_block"] == pytest.approx(np.mean(list(writes.values())))


def test_think_time(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    assert ios.pid is not None
    assert ios.done is not None
    slack = []
    for n, (at, pid) in enumerate(zip(ios.at.tolist(), ios.pid.tolist(), strict=True)):
        done = [
            d
            for d, p in zip(ios.done[:n].tolist(), ios.pid[:n].tolist(), strict=True)
            if p == pid and 0 <= d <= at
        ]
        if done:
            slack.append(at - max(done))
    shown = figures["whole"]["think_time"]["slack_ns"]
    assert (shown["count"], shown["mean"]) == (len(slack), pytest.approx(np.mean(slack)))


def test_processes_map_and_endurance(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    assert ios.pid is not None
    whole = figures["whole"]
    kinds = np.array(ios.operations())
    expected = {int(pid): int((ios.pid == pid).sum()) for pid in np.unique(ios.pid)}
    assert {p["pid"]: p["ios"] for p in whole["processes"]["processes"]} == expected
    assert whole["processes"]["processes"][0]["command"].startswith("program ")
    for kind in ("read", "write", "trim"):
        cells: dict[tuple[int, int], int] = {}
        for at, offset in zip(
            ios.at[kinds == kind].tolist(), ios.offset[kinds == kind].tolist(), strict=True
        ):
            cell = (offset // whole["map"]["row_bytes"], at // whole["map"]["column_ns"])
            cells[cell] = cells.get(cell, 0) + 1
        assert {(row, column): n for row, column, n in whole["map"][kind]} == cells
    written = ios.length[kinds == "write"].sum()
    per_day = written / (ios.at[-1] / 86_400e9)
    assert whole["endurance"]["written_bytes_per_day"] == pytest.approx(per_day)
    devices = len(figures["trace"]["header"]["devices"])
    assert whole["endurance"]["drive_writes_per_day"] == pytest.approx(per_day / (devices << 30))


def test_steps_and_streams_sum_to_the_whole(case: tuple[Ios, dict[str, Any]]) -> None:
    ios, figures = case
    rows = figures["steps"]["rows"]
    assert sum(row["ios"] for row in rows) == len(ios.at)
    assert sum(stream["ios"] for stream in figures["streams"]) == len(ios.at)
    for row in rows:
        assert sum(ios for ios, _ in row["streams"].values()) == row["ios"]


@pytest.mark.parametrize("by", ["device", "process", "stream"])
def test_parts_have_all_figures_and_sum_to_the_whole(by: str, tmp_path: Path) -> None:
    ios = random_ios(11, devices=3)
    figures = figures_of(write_trace(tmp_path / "t.parquet", ios), by)
    assert len(figures["parts"]) > 2
    assert sum(part["figures"]["mix"]["ios"] for part in figures["parts"]) == len(ios.at)
    assert all(part["figures"].keys() == figures["whole"].keys() for part in figures["parts"])


def test_a_part_is_the_figures_of_its_i_os_alone(tmp_path: Path) -> None:
    ios = random_ios(3, devices=2)
    assert ios.device is not None
    figures = figures_of(write_trace(tmp_path / "t.parquet", ios), "device")
    for n, part in enumerate(figures["parts"]):
        assert part["part"] == f"sd{'ab'[n]}"
        assert part["figures"]["mix"]["ios"] == (ios.device == n).sum()


def test_what_a_trace_cannot_tell_is_null(tmp_path: Path) -> None:
    ios = random_ios(1)
    ios.done = ios.pid = None
    whole = figures_of(write_trace(tmp_path / "t.parquet", ios))["whole"]
    unknown = [name for name, value in whole.items() if value is None]
    assert unknown == ["completions", "content", "processes", "think_time"]
    assert whole["endurance"]["drive_writes_per_day"] is None
