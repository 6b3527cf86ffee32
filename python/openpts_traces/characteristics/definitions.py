"""What each figure of a trace means: names such as "random" mean different things to different tools."""

from typing import Final

SCHEMA: Final = "openpts.characteristics/1"
"""Name and version of the JSON form."""

DEFINITIONS: Final[dict[str, str]] = {
    "stream": "a kind of access: random or sequential by the strict rule, one transfer size, read or write; "
    "trims, flushes and zeroes are streams of their own",
    "mix": "shares of I/Os and of bytes by operation; zone appends count as writes",
    "sizes": "lengths of I/Os; percentiles within 0.1 %; aligned: offset and length are multiples",
    "partial_4k": "I/Os whose offset or length is not a multiple of 4 KiB",
    "strict": "CHR-SEQ-01: starts where the previous I/O of its operation, device and domain ended",
    "windowed": "CHR-SEQ-02: starts where one of the last 32 runs of its operation, device and domain ended",
    "near": "CHR-SEQ-03: as windowed, up to 32 KiB behind the end; a run is a stream from 512 KiB on",
    "random_by_distance": "CHR-SEQ-04: farther than 128 KiB from the offsets of the device's previous 32 "
    "reads and writes; the first I/O of a device is not counted",
    "seeks_log2": "CHR-SEQ-05: signed bytes from the end of the device's last read or write, by powers of 2",
    "arrivals": "CHR-IAT-01: gaps between issues; CV is deviation over mean; autocorrelation to lag 100",
    "peak_over_mean": "CHR-BST-01: I/Os in the busiest bin over the mean of the whole trace",
    "dispersion": "CHR-BST-01: variance over mean of I/Os per bin, over twelve octaves; 1 is Poisson; "
    "of reads and of writes as well",
    "hurst": "CHR-BST-02: of I/Os per bin, one or more on average; 95 % confidence; 0.5 is no memory",
    "queue_depth": "CHR-QD-01: I/Os in flight, from issue to completion, weighted by time",
    "busy": "CHR-BSY-01: time with an I/O in flight, as the union of all spans from issue to completion",
    "idle_gaps": "CHR-BSY-01: spans with nothing in flight between two I/Os",
    "latency": "CHR-LAT-01: from issue to completion at the trace's level",
    "footprint": "CHR-LBA-01: distinct blocks of 4 KiB; read before write: the first access is a read",
    "working_set": "CHR-LBA-01: distinct blocks in windows that follow each other from the trace's start; "
    "the mean is that of whole ones",
    "hot_cold": "CHR-LBA-02: accesses by blocks of 4 KiB, the most used first; Zipf: slope of log "
    "accesses over log rank by least squares, from 200 blocks on",
    "map": "CHR-LBA-03: I/Os by offset and time; devices are drawn over each other",
    "reuse": "CHR-REU-01: distinct blocks used between two uses of a block; misses of an LRU cache of "
    "reads and writes; SHARDS with 32,768 blocks, 95 % error",
    "updates": "CHR-REU-02: time between two successive accesses to a block of 4 KiB, by both operations; "
    "coverage: written blocks that are written again",
    "endurance": "CHR-DWP-01: bytes written per day over capacity; trimmed bytes are not deducted",
    "content": "CHR-CNT-01: unknown: traces have no contents",
    "think_time": "CHR-THK-01: from the last completion of the process, or of the domain, to its next issue; "
    "class A only",
    "processes": "CHR-PID-01: shares by process; active: processes that issue in a second that has any",
    "applied_workload": "RWS-CUM-02: streams in falling share of I/Os until the cover is 80 % or more and "
    "every stream that is left out is below 3 %, at most 9; ties by share, bytes, name",
}
