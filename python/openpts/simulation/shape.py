"""What follows from a preset, a capacity and a scale before any drive is made: geometry, buffer, rates.

Rates are estimates from closed formulas, good for planning; what a drive really does, only its
simulation tells.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

from openpts import _native
from openpts.simulation.presets import Preset
from openpts.vocabulary.stimulus import Stimulus

PAGE_BYTES: Final = 4096
_NS_PER_US: Final = 1000
_DEFAULT_SUPERBLOCKS: Final = 800
_DEFAULT_ROWS_PER_ERASE: Final = 256


@dataclass(frozen=True, slots=True)
class Shape:
    """A simulated drive's size and speed. Bytes and pages are the simulated ones, times micro times.

    ``superblocks``, their user bytes and ``rows`` are 0 where the model has none. ``settling_ns`` is how far
    work that one phase leaves behind can reach into the next: a full write buffer, or a merge or collection
    at once.
    """

    user_bytes: int
    physical_pages: int
    superblocks: int
    superblock_user_bytes: float
    rows: int
    rows_of_real_drive: int
    buffer_bytes: int
    settling_ns: float
    fresh_write_bytes_per_s: float
    steady_write_bytes_per_s: float
    read_commands_per_s: float
    write_commands_per_s: float
    read_bytes_per_s: float
    array_reads_per_s: float
    array_read_bytes: int


def shape_of(preset: Preset, capacity_bytes: int, scale: int) -> Shape | None:
    """The shape of such a drive; None for an oracle, whose script knows neither flash nor buffer."""
    user_bytes = capacity_bytes // scale
    match preset.model:
        case "page-mapped":
            return _page_mapped(preset.parameters["page_mapped"], capacity_bytes, user_bytes)
        case "log-block":
            return _log_block(preset.parameters["log_block"], user_bytes)
        case _:
            return None


def expected_iops(shape: Shape, stimulus: Stimulus, *, fresh: bool = False) -> float:
    """About how many I/Os of this stimulus the drive does each second at most.

    Random writes are those of the steady state unless the drive is ``fresh``.
    """
    reads = stimulus.operations.read / max(1, stimulus.operations.read + stimulus.operations.write)
    transfer_bytes = max(PAGE_BYTES, stimulus.block_size_bytes)
    fast = fresh or stimulus.random_pct == 0
    write_bytes_per_s = shape.fresh_write_bytes_per_s if fast else shape.steady_write_bytes_per_s
    read_s = max(
        1 / shape.read_commands_per_s,
        transfer_bytes / shape.read_bytes_per_s,
        math.ceil(transfer_bytes / shape.array_read_bytes) / shape.array_reads_per_s,
    )
    write_s = max(1 / shape.write_commands_per_s, transfer_bytes / write_bytes_per_s)
    return 1 / (reads * read_s + (1 - reads) * write_s)


def slc_burst_share(preset: Preset) -> float | None:
    """Share of the user capacity that a fresh drive takes into single-bit cells; None without such a cache.

    ``x = (S P + kappa U) / (bits + kappa)``: each page written takes room from the dynamic part.
    """
    slc = preset.parameter("page_mapped.slc")
    if slc is None:
        return None
    alpha = preset.parameter("page_mapped.mapping.physical_per_user")
    kappa = slc["dynamic_share"]
    return float((slc["static_share"] * alpha + kappa) / (slc["bits"] + kappa))


def _page_mapped(parts: dict[str, Any], capacity_bytes: int, user_bytes: int) -> Shape:
    geometry, nand, mapping = parts["geometry"], parts["nand"], parts["mapping"]
    link, controller = parts.get("link", {}), parts.get("controller", {})
    dies = _dies(geometry, capacity_bytes)
    unit_pages = geometry["program_unit_pages"]
    alpha = mapping["physical_per_user"]
    physical_pages = round(alpha * (user_bytes // PAGE_BYTES))
    row_pages = dies * unit_pages
    rows = max(1, round(physical_pages / row_pages / geometry.get("superblocks", _DEFAULT_SUPERBLOCKS)))
    amplification = _native.steady_write_amplification(alpha)
    buffer_units = parts["write_buffer"]["program_units_per_die"]
    program_s = nand["program_us"] / 1e6
    flash_bytes_per_s = row_pages * PAGE_BYTES / program_s
    write_link = link.get("write_bytes_per_s", math.inf)
    settling_us = buffer_units * nand["program_us"] * amplification
    if parts["collection"]["pace"] == "burst":
        settling_us = max(settling_us, rows * nand["program_us"] + nand["erase_us"])
    return Shape(
        user_bytes=user_bytes,
        physical_pages=physical_pages,
        superblocks=round(physical_pages / (row_pages * rows)),
        superblock_user_bytes=rows * row_pages * PAGE_BYTES / alpha,
        rows=rows,
        rows_of_real_drive=nand.get("rows_per_erase", _DEFAULT_ROWS_PER_ERASE),
        buffer_bytes=buffer_units * row_pages * PAGE_BYTES,
        settling_ns=settling_us * _NS_PER_US,
        fresh_write_bytes_per_s=min(flash_bytes_per_s, write_link),
        steady_write_bytes_per_s=min(
            write_link, row_pages * PAGE_BYTES / _steady_row_s(nand, geometry, amplification)
        ),
        read_commands_per_s=_rate_of_us(controller.get("read_us", 0.0)),
        write_commands_per_s=_rate_of_us(controller.get("write_us", 0.0)),
        read_bytes_per_s=link.get("read_bytes_per_s", math.inf),
        array_reads_per_s=dies * _rate_of_us(nand["read_us"]),
        array_read_bytes=geometry["chunk_pages"] * PAGE_BYTES,
    )


def _steady_row_s(nand: dict[str, Any], geometry: dict[str, Any], amplification: float) -> float:
    """Time that a die needs for one program unit of the host, with all that is moved and erased for it."""
    unit_pages, chunk_pages = geometry["program_unit_pages"], geometry["chunk_pages"]
    valid = 1 - 1 / amplification
    moved_of_chunk = chunk_pages * valid / (1 - (1 - valid) ** chunk_pages) if valid > 0 else 1.0
    rows_of_real_drive = nand.get("rows_per_erase", _DEFAULT_ROWS_PER_ERASE)
    microseconds = (
        amplification * nand["program_us"]
        + (amplification - 1) * unit_pages * nand["read_us"] / moved_of_chunk
        + amplification * nand["erase_us"] / rows_of_real_drive
    )
    return float(microseconds / 1e6)


def _dies(geometry: dict[str, Any], capacity_bytes: int) -> int:
    """The dies of a drive of this capacity, in whole groups."""
    per_die, group = geometry.get("bytes_per_die"), geometry["dies_per_group"]
    most: int = geometry["dies"]
    if per_die is None:
        return most
    wanted = min(most, (capacity_bytes + per_die // 2) // per_die)
    return int(max(1, wanted // group) * group)


def _log_block(parts: dict[str, Any], user_bytes: int) -> Shape:
    unit_pages, dies = parts["unit_pages"], parts["dies"]
    program_us_per_page = parts["program_us"] / parts["program_unit_pages"] / dies
    read_pages = parts.get("read_unit_pages", 1)
    read_us_per_page = parts["read_us"] / read_pages / dies
    merge_us = unit_pages * (program_us_per_page + read_us_per_page) + parts["erase_us"]
    flash_bytes_per_s = PAGE_BYTES / (program_us_per_page / 1e6)
    link = parts["link_bytes_per_s"]
    amplification = 1 + unit_pages / (1 + parts["log_pages_per_unit"])
    user_pages = user_bytes // PAGE_BYTES
    return Shape(
        user_bytes=user_bytes,
        physical_pages=user_pages + user_pages // unit_pages * parts["log_pages_per_unit"],
        superblocks=0,
        superblock_user_bytes=0,
        rows=0,
        rows_of_real_drive=0,
        buffer_bytes=parts.get("buffer_program_units", 1) * parts["program_unit_pages"] * PAGE_BYTES,
        settling_ns=merge_us * _NS_PER_US,
        fresh_write_bytes_per_s=min(link, flash_bytes_per_s * parts["log_speed"]),
        steady_write_bytes_per_s=min(link, flash_bytes_per_s / amplification),
        read_commands_per_s=_rate_of_us(parts["command_read_us"]),
        write_commands_per_s=_rate_of_us(parts["command_write_us"]),
        read_bytes_per_s=link,
        array_reads_per_s=dies * _rate_of_us(parts["read_us"]),
        array_read_bytes=read_pages * PAGE_BYTES,
    )


def _rate_of_us(service_us: float) -> float:
    return 1e6 / service_us if service_us > 0 else math.inf
