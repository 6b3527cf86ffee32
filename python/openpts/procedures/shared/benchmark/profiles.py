"""The benchmarks that openpts knows, each a TOML file of rows under ``catalogue``."""

import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from openpts.procedures.kit.benchmark_profile import BenchmarkProfile, FigureUnit, ProfileRow, Statistic
from openpts.procedures.shared.benchmark import CATALOGUE, NAMES
from openpts.units import NS_PER_S, parse_size_bytes
from openpts.vocabulary.data import DataPattern
from openpts.vocabulary.stimulus import BlockSize

_WHOLE_RANGE: Final = "all"
_RANDOM_PCTS: Final = {"SEQ": 0, "RND": 100}

_Share = Annotated[int, Meta(ge=0, le=100)]
_Count = Annotated[int, Meta(ge=1)]
_Seconds = Annotated[float, Meta(ge=0)]


class _Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row as its file has it; ``sizes`` are pairs of size and weight, in place of ``size``."""

    name: str
    order: Literal["SEQ", "RND", "RND/SEQ"]
    random_pct: _Share | None = None
    size: str | None = None
    sizes: tuple[tuple[str, _Count], ...] = ()
    qd: _Count
    threads: _Count
    read_pct: _Share
    span: str = _WHOLE_RANGE
    data: DataPattern | None = None
    passes: _Count
    warm_up_s: _Seconds
    pass_s: _Seconds
    pass_size: str | None = None
    pause_s: _Seconds
    statistic: Statistic
    units: Annotated[tuple[FigureUnit, ...], Meta(min_length=1)]


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark as its file has it; each row has what ``defaults`` has unless it says otherwise."""

    title: str
    source: str
    doubt: str = ""
    differences: str = ""
    score: Literal["", "as-ssd"] = ""
    rows: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    defaults: dict[str, Any] = {}


def parse_benchmark(name: str, text: str) -> BenchmarkProfile:
    """The benchmark that a text describes. Raises msgspec.ValidationError for what no row can have."""
    file = msgspec.convert(tomllib.loads(text), _File)
    return BenchmarkProfile(
        name=name,
        title=file.title,
        source=file.source,
        doubt=file.doubt,
        differences=file.differences,
        score=file.score,
        rows=tuple(_row(msgspec.convert(file.defaults | row, _Row)) for row in file.rows),
    )


def _row(row: _Row) -> ProfileRow:
    sizes = row.sizes or ((row.size or "", 1),)
    return ProfileRow(
        name=row.name,
        random_pct=_RANDOM_PCTS[row.order] if row.random_pct is None else row.random_pct,
        block_sizes=tuple(BlockSize(parse_size_bytes(size), weight) for size, weight in sizes),
        read_pct=row.read_pct,
        tc=row.threads,
        qd=row.qd,
        span_bytes=None if row.span == _WHOLE_RANGE else parse_size_bytes(row.span),
        data=row.data,
        passes=row.passes,
        warm_up_ns=round(row.warm_up_s * NS_PER_S),
        pass_ns=round(row.pass_s * NS_PER_S),
        pass_bytes=None if row.pass_size is None else parse_size_bytes(row.pass_size),
        pause_ns=round(row.pause_s * NS_PER_S),
        statistic=row.statistic,
        units=row.units,
    )


# SOL-BMK-07 to 10
BENCHMARKS: Final[Mapping[str, BenchmarkProfile]] = {
    name: parse_benchmark(name, (CATALOGUE / f"{name}.toml").read_text(encoding="utf-8")) for name in NAMES
}
"""By name, in alphabetical order."""

SHORT: Final = BENCHMARKS["short"]
"""Sequential and random, deep and shallow; rows that only write do so in the whole active range."""

POPULAR: Final = tuple(BENCHMARKS[name] for name in ("crystaldiskmark", "as-ssd", "solidigm-low"))
"""What is measured unless other benchmarks are asked for."""
