"""How fast and how slow a simulated drive may be in a run; `python -m benches.plans` compares it to runs."""

from typing import Any, Final

from openpts.planning.dry_run import AssumedDrive, AssumedDrives
from openpts.units import KIB, NS_PER_US, TB
from openpts_sim.presets import Preset, load_preset
from openpts_sim.simulated_device import size_and_scale
from openpts_sim.simulated_target import parse_simulated_target

_SMALL_BYTES: Final = 4 * KIB
_LARGE_BYTES: Final = 1024 * KIB
# What drives in runs did of the formulas' rates, least and most: reads, small writes, large ones, those of a
# settled drive, small and large. What log blocks merge follows from the order of writes.
_SHARES: Final = {
    "page-mapped": ((0.5, 0.4, 0.8, 0.75, 0.75), (1.0, 1.05, 1.1, 1.6, 1.6)),
    "log-block": ((0.5, 0.4, 0.17, 0.005, 0.3), (1.0, 1.0, 1.0, 3.0, 3.0)),
}
_OF_ALL_WITH_CACHE: Final = 0.33
"""Large writes, while the cache is emptied into other cells."""


def assumed(text: str) -> AssumedDrives:
    """Rates that follow from the parts of the preset. An oracle's are in a script that no plan reads."""
    target = parse_simulated_target(text)
    preset = load_preset(target.preset, target.parameters)
    capacity_bytes, scale = size_and_scale(target, preset)
    shape = preset.shape(capacity_bytes, scale)
    if shape is None:
        return AssumedDrives()

    blocks = (_SMALL_BYTES, _LARGE_BYTES)
    reads, writes, settled = (
        [shape.expected_iops(size, read_share=share, collects=collects) for size in blocks]
        for share, collects in ((1, False), (0, False), (0, True))
    )

    def drive(shares: tuple[float, ...], **others: Any) -> AssumedDrive:
        return AssumedDrive(
            read_iops=shares[0] * reads[0],
            write_iops=shares[1] * writes[0],
            read_bytes_per_s=shares[0] * reads[1] * _LARGE_BYTES,
            write_bytes_per_s=shares[2] * writes[1] * _LARGE_BYTES,
            settled_write_iops=shares[3] * settled[0],
            settled_write_bytes_per_s=shares[4] * settled[1] * _LARGE_BYTES,
            **others,
        )

    least, most = _SHARES[preset.model]
    bursts, fresh_fills = None, 0.9 if preset.model == "page-mapped" else 0.0
    if (share := preset.slc_burst_share) is not None:
        bursts = preset.as_written()["page_mapped"]["link"]["write_bytes_per_s"]
        faster = most[2] / (share * writes[1] * _LARGE_BYTES / bursts + 1 - share)
        least, most = (*least[:2], _OF_ALL_WITH_CACHE, *least[3:]), (most[0], faster, faster, *most[3:])
        fresh_fills = 0.0
    times = _latencies_ns(preset)
    tbw = preset.rated.get("tbw")
    return AssumedDrives(
        drive(
            most, latency_ns=times[0], uncached_write_ns=times[1], fresh_fills=1.5, burst_bytes_per_s=bursts
        ),
        drive(least, latency_ns=times[2], uncached_write_ns=times[3], fresh_fills=fresh_fills),
        None if tbw is None else tbw * TB * capacity_bytes / preset.capacity_bytes,
    )


def _latencies_ns(preset: Preset) -> tuple[int, ...]:
    """The least of a single I/O, and of a write that waits for its flash; then the most of both."""
    parts: dict[str, Any] = preset.as_written().get("page_mapped", {})
    if not parts:
        return 100_000, 1_000_000, 1_000_000, 12_000_000
    nand, fixed_us = parts["nand"], parts.get("controller", {}).get("fixed_write_us", 3.0)
    slow_us, program_us = 2 * fixed_us + 3 * nand["read_us"], nand["program_us"]
    waits = (0.85 * program_us, 1.1 * program_us + slow_us)
    least_us, most_us = (fixed_us, slow_us) if parts["write_buffer"]["cache"] == "protected" else waits
    return tuple(max(1, round(one * NS_PER_US)) for one in (fixed_us, least_us, slow_us, most_us))
