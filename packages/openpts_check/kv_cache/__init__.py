"""Attention caches of language models: do contexts come back in time beside new ones, and for how long?"""

from collections.abc import Callable
from typing import Final

from openpts.units import GB, GIB, KIB, MIB
from openpts.vocabulary.stimulus import (
    AccessPattern,
    BlockSize,
    ByteAmount,
    OperationWeights,
    Poisson,
    Stimulus,
    Stream,
)
from openpts_check.purpose import Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Seen, Shown
from openpts_check.seen import elapsed_s, life_left, percentile_ms

_MLPERF: Final = "MLPerf Storage, KV cache benchmark of 2026"
# Llama 3.1 8B keeps 32 layers x 2 x 8 heads x 128 numbers of 2 bytes of each token (its table of models)
_TOKEN_BYTES: Final = 128 * KIB
# 16 tokens are vLLM's block, 256 are LMCache's chunk, 512 the shortest prompt of the benchmark's chats;
# how many there are of each is openpts' own
_OBJECTS: Final = tuple(
    BlockSize(tokens * _TOKEN_BYTES, weight) for tokens, weight in ((16, 4), (256, 1), (512, 1))
)
# BurstGPT (arXiv 2401.17644): requests have 621 tokens in the mean; here one comes each second
_WRITTEN_BYTES_PER_S: Final = 621 * _TOKEN_BYTES
# Between 1.7 with 4 GB of memory before the drive and 8 without any (its rates by iostat)
_READS_PER_WRITE: Final = 3
_SERVING: Final = "serving"
_LONG: Final = "a long context"
_READS, _WRITES = "reads", "writes"


def _loads(asked: Asked) -> tuple[Load, ...]:
    """A request each second, whose objects are read again three times; then 8,192 tokens at once."""
    deck_bytes = sum(one.weight * one.block_size_bytes for one in _OBJECTS)
    writes_per_s = _WRITTEN_BYTES_PER_S * sum(one.weight for one in _OBJECTS) / deck_bytes

    def objects(operations: OperationWeights, per_s: float) -> Stimulus:
        return Stimulus(100, _OBJECTS, operations, 1, 4, asked.part, pacing=Poisson(per_s))

    reads = objects(OperationWeights(read=1), _READS_PER_WRITE * writes_per_s)
    writes = objects(OperationWeights(write=1), writes_per_s)
    long = Stimulus.of(AccessPattern.SEQUENTIAL, 32 * MIB, 100, 1, 4, asked.part)
    return (
        Load(_SERVING, (Stream(reads, _READS), Stream(writes, _WRITES))),
        Load(_LONG, (Stream(long, _READS),), ByteAmount(GIB)),
    )


def _percentile(stream: str, operation: str, percentile: float) -> Callable[[Seen], float | None]:
    return lambda seen: percentile_ms(seen.of(_SERVING), stream, operation, percentile)


def _times(stream: str, operation: str) -> Shown:
    found = tuple((f"{pct:g} %", _percentile(stream, operation, pct)) for pct in (50, 95, 99))
    return Shown(f"objects of 2 to 64 MiB, {stream}", "ms", found)


PURPOSE: Final = CheckPurpose(
    name="kv-cache",
    title="Attention caches of language models",
    question="Can this disk hold the attention cache of a language model, at a request a second, for years?",
    size_bytes=8 * GB,
    least_bytes=2 * GB,
    load_s=100.0,  # three of them are the 300 s of the benchmark
    loads=_loads,
    figures=(
        PurposeFigure(
            key="reads_p95",
            label="An object of the cache read, 95 %",
            unit="ms",
            of=_percentile(_READS, "read", 95),
            bound=PublishedBound(200, f"{_MLPERF}, NVMe Read P95"),
            remedy="keep more of the cache in memory, and compute again what takes longer to read",
            decimals=1,
            absent="below 20 reads",
            of_reads=True,
        ),
        PurposeFigure(
            key="writes_p95",
            label="An object of the cache written, 95 %",
            unit="ms",
            of=_percentile(_WRITES, "write", 95),
            bound=PublishedBound(500, f"{_MLPERF}, NVMe Write P95"),
            remedy="use a drive that holds its rate when its cache is full: `openpts run fill` finds it",
            decimals=1,
            absent="below 20 writes",
            needs_repeats=False,
        ),
        life_left(
            _WRITTEN_BYTES_PER_S,
            "write only what is read again: offload contexts on their second use, or use a drive for writes "
            "(3 drive writes a day)",
        ),
    ),
    shown=(
        _times(_READS, "read"),
        _times(_WRITES, "write"),
        Shown("8,192 tokens (1 GiB) read back", "s", (("mean", lambda seen: elapsed_s(seen.of(_LONG))),)),
    ),
    mistakes=(
        "A request a second writes 7 TB a day. A cache that is filled at 750 MB/s writes 65 TB a day: the "
        "600 TBW of a consumer drive last nine days.",
        "The rate of the request that waits is that of one context, not of a data sheet at depth 32.",
        "A cache on a full drive is slower: ask again when it is as full as it will be.",
    ),
)
