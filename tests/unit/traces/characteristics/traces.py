"""Traces in the canonical form, written with pyarrow, and their figures as the program sees them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from openpts import _native

NO_COMPLETION = 1
NO_PROCESSOR = np.uint64(0xFFFF)
FOREVER_NS = 2**63 - 1


@dataclass
class Ios:
    """Columns of a trace; ``done`` below 0 is no completion."""

    at: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    write: np.ndarray
    done: np.ndarray | None = None
    device: np.ndarray | None = None
    pid: np.ndarray | None = None
    operation: list[str] | None = None

    def operations(self) -> list[str]:
        return self.operation or np.where(self.write, "write", "read").tolist()


def write_trace(path: Path, ios: Ios, *, capacity_bytes: int | None = None, resolution_ns: int = 1) -> Path:
    n = len(ios.at)
    device = np.zeros(n, np.int32) if ios.device is None else ios.device.astype(np.int32)
    pids = None if ios.pid is None else sorted(set(ios.pid.tolist()))
    issuer = pa.nulls(n, pa.uint64())
    if ios.pid is not None:
        command = np.searchsorted(pids, ios.pid).astype(np.uint64) + 1
        issuer = pa.array(command << 48 | NO_PROCESSOR << 32 | ios.pid.astype(np.uint64), pa.uint64())
    known = np.zeros(n, bool) if ios.done is None else ios.done >= 0
    latency = pa.array(np.zeros(n, np.int64) if ios.done is None else ios.done - ios.at, mask=~known)
    seen = np.where(known, 0, 0 if ios.done is None else NO_COMPLETION)
    zeros = np.zeros(n, np.uint32)
    columns = {
        "seq": pa.array(np.arange(n), pa.uint64()),
        "t_ns": pa.array(ios.at, pa.int64()),
        "latency_ns": latency,
        "operation": pa.array(ios.operations()),
        "offset_bytes": pa.array(ios.offset, pa.uint64()),
        "length_bytes": pa.array(ios.length, pa.uint64()),
        "flags": pa.array(zeros, pa.uint16()),
        "device": pa.array(device, pa.uint16()),
        "domain": pa.array(device, pa.uint16()),
        "issuer": issuer,
        "status": pa.array(seen, pa.int32()),
        "quality": pa.array(zeros, pa.uint8()),
        "source_position": pa.array(np.arange(n), pa.uint64()),
    }  # fmt: skip
    has_completions = ios.done is not None
    header = {
        "format": "test", "level": "queue", "class": "A" if has_completions else "B",
        "resolution_ns": resolution_ns,
        "origin_utc_ns": None, "has_completions": has_completions, "has_issue_times": True,
        "devices": [{"name": f"sd{chr(97 + n)}", "capacity_bytes": capacity_bytes, "sector_bytes": 512}
                    for n in range(int(device.max(initial=0)) + 1)],
        "commands": ["", *(f"program {pid}" for pid in pids or [])],
        "sources": [],
        "records": {"read": n, "accepted": n, "skipped": {}, "damaged": {}, "lost": 0, "notes": {}},
        "changes": [],
    }  # fmt: skip
    fields = [
        pa.field(name, column.type, nullable=name in {"latency_ns", "issuer"})
        for name, column in columns.items()
    ]
    metadata = {"openpts.trace": "2", "openpts.trace_header": json.dumps(header)}
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema, store_schema=False, compression="none") as writer:
        writer.write_table(pa.Table.from_arrays(list(columns.values()), schema=schema))
        writer.add_key_value_metadata(metadata)
    return path


def figures_of(
    path: Path, by: str | None = None, span_ns: tuple[int, int] = (0, FOREVER_NS)
) -> dict[str, Any]:
    text = _native.characterize([path], format=None, devices=[], by=by, from_ns=span_ns[0], to_ns=span_ns[1])
    figures: dict[str, Any] = json.loads(text)
    return figures


def random_ios(seed: int, n: int = 400, *, devices: int = 1) -> Ios:
    """Some runs, some hot blocks, overlapping I/Os, several processes, trims and flushes."""
    random = np.random.default_rng(seed)
    at = np.cumsum(random.integers(0, 3000, n) * random.choice([0, 1, 1, 1000], n))
    at -= at[0]
    length = random.choice([512, 4096, 4096, 8192, 12288, 65536], n)
    offset = random.integers(0, 64, n) * 4096 * random.choice([1, 1, 64], n)
    for i in range(2, n):
        if random.random() < 0.4:
            back = random.integers(1, 3)
            offset[i] = offset[i - back] + length[i - back] + random.choice([0, 0, 4096])
    operation = random.choice(["read", "write", "trim", "flush"], n, p=[0.5, 0.4, 0.07, 0.03])
    offset = np.where(operation == "flush", 0, offset)
    length = np.where(operation == "flush", 0, length)
    done = at + random.integers(0, 200_000, n)
    done = np.where(random.random(n) < 0.02, -1, done)
    device = random.integers(0, devices, n)
    pid = random.integers(1, 5, n)
    return Ios(at, offset, length, operation == "write", done, device, pid, operation.tolist())
