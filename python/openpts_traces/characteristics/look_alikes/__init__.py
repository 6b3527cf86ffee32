"""Captures that look like published ones: made of figures, not of I/Os."""

import re
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

import msgspec

from openpts.errors import UsageError
from openpts.units import KIB

LIKE: Final = "like:"
"""Before the name of one of them, in place of a file."""

_STREAM: Final = re.compile(r"(RND|SEQ) ([0-9.]+)K ([RW])")
_MINUTE_NS: Final = 60 * 10**9
_SUFFIX: Final = ".toml"


class _Phase(msgspec.Struct, forbid_unknown_fields=True):
    """Steps of one mix; ``depth`` and ``iops`` go evenly from the first value to the last."""

    name: str
    steps: int
    depth: tuple[float, float]
    iops: tuple[float, float]
    streams: dict[str, int]


class _LookAlike(msgspec.Struct, forbid_unknown_fields=True):
    """What is published, and what of it is ours."""

    label: str
    sources: list[str]
    model: str
    step_minutes: int
    phase: list[_Phase]


def names() -> list[str]:
    """All that ship."""
    shipped = (file.name for file in files(__name__).iterdir() if file.name.endswith(_SUFFIX))
    return sorted(name.removesuffix(_SUFFIX) for name in shipped)


def steps_like(name: str) -> dict[str, Any]:
    """Header and steps as those of a capture that was read. Raises UsageError for an unknown name."""
    if name not in names():
        known = " or ".join(f"{LIKE}{one}" for one in names())
        raise UsageError(f"there is no capture {LIKE}{name}: use {known}")
    data = (files(__name__) / f"{name}{_SUFFIX}").read_bytes()
    made = msgspec.convert(tomllib.loads(data.decode()), _LookAlike)
    length_ns = made.step_minutes * _MINUTE_NS
    return {
        "header": {
            "notes": {
                "name": f"{LIKE}{name}, not the SNIA capture",
                "version": "of published figures",
                "tool": "openpts, from published figures",
            },
            "level": "block device, as published",
            "devices": [made.label],
            "sequential_rule": "as published",
            "step_length_ns": length_ns,
        },
        "sha256": sha256(data).hexdigest(),
        "is_step_table": True,
        "steps": [step for phase in made.phase for step in _steps(phase, length_ns)],
    }


def _steps(phase: _Phase, length_ns: int) -> Iterator[dict[str, Any]]:
    total = sum(phase.streams.values())
    for number in range(phase.steps):
        done = number / max(1, phase.steps - 1)
        depth, iops = (low + done * (high - low) for low, high in (phase.depth, phase.iops))
        wanted = iops * length_ns / 10**9
        streams = [_stream(text, round(wanted * part / total)) for text, part in phase.streams.items()]
        yield {
            "length_ns": length_ns,
            "ios": sum(stream["ios"] for stream in streams),
            "bytes": sum(stream["bytes"] for stream in streams),
            "lost": 0,
            "depth_ns": depth * length_ns,
            "max_depth": round(depth),
            "latencies": None,
            "cpu_busy": None,
            "streams": streams,
        }


def _stream(text: str, ios: int) -> dict[str, Any]:
    found = _STREAM.fullmatch(text)
    assert found is not None  # noqa: S101 the files ship, and all of them are tested
    pattern, kib, letter = found.groups()
    size_bytes = round(float(kib) * KIB)
    return {
        "kind": "read" if letter == "R" else "write",
        "pattern": pattern.lower(),
        "size_bytes": size_bytes,
        "is_binned": False,
        "ios": ios,
        "bytes": ios * size_bytes,
    }
