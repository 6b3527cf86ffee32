"""Video and sensors: does the disk write on and on at the rate of a recording, without a gap?"""

from typing import Final

from msgspec.structs import replace

from openpts.units import GB, MB, MIB
from openpts.vocabulary.stimulus import AccessPattern, FixedRate, Stimulus, Stream
from openpts_check.purpose import Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Seen, Shown
from openpts_check.seen import longest_ms, rate, seconds_of, slowest_second

_CLASSES: Final = "SD Association, video speed class V90"
_V90_BYTES_PER_S: Final = 90 * MB
_BUFFER_MS: Final = 500
_CAMERA: Final = "camera"
_ALL_OUT: Final = "all-out"


def _loads(asked: Asked) -> tuple[Load, ...]:
    """As fast as the disk takes it; then at the rate of a recording, where each block has its moment."""
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, MIB, 0, 1, 4, asked.part)
    per_s = _V90_BYTES_PER_S / MIB
    waiting = round(per_s * _BUFFER_MS / 1000)  # as many blocks as a buffer of that length holds
    camera = replace(writes, qd=waiting, pacing=FixedRate(per_s))
    return (Load(_ALL_OUT, (Stream(writes, "writes"),)), Load(_CAMERA, (Stream(camera, _CAMERA),)))


def _slowest(seen: Seen) -> float | None:
    return slowest_second(seen.of(_ALL_OUT), MB)


PURPOSE: Final = CheckPurpose(
    name="record",
    title="Recordings of video and sensors",
    question="Can a recording at 90 MB/s continue to this disk without a gap?",
    size_bytes=8 * GB,
    least_bytes=128 * MIB,
    load_s=15.0,
    loads=_loads,
    fills=False,
    figures=(
        PurposeFigure(
            key="write_rate",
            label="Sequential writes, mean",
            unit="MB/s",
            of=lambda seen: rate(seen.of(_ALL_OUT), MB),
            bound=PublishedBound(90, _CLASSES, is_least=True),
            remedy="record at a lower rate, or to another disk: V60 is 60 MB/s, V30 30 MB/s",
            decimals=0,
        ),
        PurposeFigure(
            key="slowest_second",
            label="Sequential writes, slowest second",
            unit="MB/s",
            of=_slowest,
            bound=PublishedBound(90, _CLASSES, is_least=True),
            remedy="trim the disk (fstrim), leave a fifth of it free, and ask again after a rest; a drive "
            "with a full cache writes as fast as its flash, which `openpts run fill` measures to the end",
            decimals=0,
        ),
        PurposeFigure(
            key="longest_gap",
            label="Longest wait of a block at 90 MB/s",
            unit="ms",
            of=lambda seen: longest_ms(seen.of(_CAMERA), _CAMERA, "write"),
            bound=PublishedBound(_BUFFER_MS, "openpts, a buffer of half a second (45 MB)"),
            remedy="give the recorder a larger buffer than the wait, or keep other programs off this disk",
            decimals=0,
        ),
    ),
    shown=(
        Shown(
            "sequential writes",
            "MB/s",
            (
                ("fastest second", lambda seen: max(seconds_of(seen.of(_ALL_OUT), MB), default=None)),
                ("slowest", _slowest),
            ),
        ),
    ),
    mistakes=(
        "The file is written over and over. A drive with a cache of SLC may take it all there: --size and "
        "--minutes write more, and only a drive that is filled shows the cache's end.",
        "The rate of a codec is its mean; each frame comes at once. What counts is the longest wait.",
    ),
)
