"""A step table as `openpts capture --steps` writes it, written by pyarrow."""

import json
from pathlib import Path
from typing import Final

import pyarrow as arrow
import pyarrow.parquet as parquet

_FIELDS: Final = {
    "subject": arrow.string(),
    "device": arrow.string(),
    "step": arrow.uint32(),
    "start_ns": arrow.int64(),
    "length_ns": arrow.uint64(),
    "kind": arrow.string(),
    "pattern": arrow.string(),
    "size_bytes": arrow.uint64(),
    "binned": arrow.bool_(),
    "pid": arrow.int32(),
    "comm": arrow.string(),
    "ios": arrow.uint64(),
    "bytes": arrow.uint64(),
    "windowed_sequential_ios": arrow.uint64(),
    "lat_sum_ns": arrow.uint64(),
    "lat_max_ns": arrow.uint64(),
    "lat_hist": arrow.binary(),
    "qd_time": arrow.list_(arrow.uint64()),
    "qd_area_ns": arrow.uint64(),
    "qd_max": arrow.uint64(),
    "busy_ns": arrow.uint64(),
    "idle_ns": arrow.uint64(),
    "cpu_busy": arrow.float32(),
    "lost": arrow.uint64(),
}
STEP_NS: Final = 10**9


def write_step_table(path: Path, steps: list[dict[tuple[str, str, int], int]], *, lost: int = 0) -> Path:
    """I/Os by (kind, pattern, size) in each step of a second; ``lost`` events in the first."""
    rows = []
    for number, streams in enumerate(steps):
        ios, moved = sum(streams.values()), sum(size * ios for (_, _, size), ios in streams.items())
        rows.append(_row(number, "device", ("all", "na", 0), ios, moved, 0 if number else lost))
        rows += [
            _row(number, "stream", stream, count, stream[2] * count, 0) for stream, count in streams.items()
        ]
    header = {
        "step_length_ns": STEP_NS,
        "level": "issue",
        "devices": ["/dev/made"],
        "commands": [""],
        "notes": {},
    }
    schema = arrow.schema(
        list(_FIELDS.items()),
        metadata={"openpts.steps": "1", "openpts.header": json.dumps(header | {"epoch_ns": None})},
    )
    parquet.write_table(arrow.Table.from_pylist(rows, schema), path, compression="none")
    return path


def _row(
    step: int, subject: str, stream: tuple[str, str, int], ios: int, moved: int, lost: int
) -> dict[str, object]:
    kind, pattern, size = stream
    counts = {"ios": ios, "bytes": moved, "windowed_sequential_ios": 0, "lost": lost}
    places = {
        "device": "/dev/made",
        "step": step,
        "start_ns": step * STEP_NS,
        "length_ns": STEP_NS,
        "pid": -1,
        "comm": "",
    }
    nothing = {"lat_sum_ns": 0, "lat_max_ns": 0, "lat_hist": b"", "qd_time": [], "binned": False}
    return {
        "subject": subject,
        "kind": kind,
        "pattern": pattern,
        "size_bytes": size,
        **counts,
        **places,
        **nothing,
    }
