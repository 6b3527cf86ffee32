"""Simulated drives that are drawn at random, for what has to tell or to predict drives that it has not seen.

A shipped preset gives the family; what drives of one family differ in is drawn. The same seed and family give
the same drive on each machine. A file of the drive is at the same time the truth about it.
"""

import random
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import tomli_w

Chance: TypeAlias = random.Random
Changes: TypeAlias = Mapping[str, Any]
"""Values by their dotted names in a preset."""


class Drawn(NamedTuple):
    """A drive: its file, what is in it, and the names of what was drawn."""

    family: str
    seed: int
    path: Path
    content: dict[str, Any]
    drawn: Changes

    def target(self, **words: object) -> str:
        """The drive as a target of `openpts run`, such as with scale=48."""
        query = "&".join(f"{name}={value}" for name, value in words.items())
        return f"sim:{self.path}" + (f"?{query}" if query else "")


def _flash(chance: Chance, read_us: float, program_us: float) -> Changes:
    return {
        "page_mapped.nand.read_us": round(read_us * chance.uniform(0.7, 1.5), 1),
        "page_mapped.nand.program_us": round(program_us * chance.uniform(0.6, 1.6), 1),
    }


def _collection(chance: Chance) -> Changes:
    return {"page_mapped.collection.victim": chance.choice(["greedy", "fifo", {"choices": 8}])}


def _enterprise(chance: Chance) -> Changes:
    dies_per_group = chance.choice([8, 16])
    chunk_pages = chance.choice([2, 4, 8])
    return {
        **_flash(chance, 62, 2880),
        **_collection(chance),
        "page_mapped.mapping.physical_per_user": round(chance.uniform(1.06, 1.45), 3),
        "page_mapped.geometry.dies": chance.choice([32, 64, 128]),
        "page_mapped.geometry.dies_per_group": dies_per_group,
        "page_mapped.geometry.chunk_pages": chunk_pages,
        "page_mapped.write_buffer.program_units_per_die": chance.choice([1, 2]),
        "page_mapped.controller.read_us": round(chance.uniform(0.8, 2.5), 2),
        "page_mapped.controller.write_us": round(chance.uniform(0.8, 2.5), 2),
        "page_mapped.link.read_bytes_per_s": chance.choice([3.37e9, 6.8e9]),
    }


def _coarse_map(chance: Chance) -> Changes:
    """Drives of large capacity, whose map has an entry for several pages."""
    return {**_enterprise(chance), "page_mapped.mapping.unit_pages": chance.choice([1, 2, 4, 8, 16])}


def _client(chance: Chance) -> Changes:
    return {
        **_flash(chance, 110, 6800),
        **_collection(chance),
        "page_mapped.mapping.physical_per_user": round(chance.uniform(1.06, 1.16), 3),
        "page_mapped.geometry.bytes_per_die": chance.choice([64_000_000_000, 128_000_000_000]),
        "page_mapped.geometry.chunk_pages": chance.choice([4, 8, 16]),
        "page_mapped.slc.static_share": round(chance.uniform(0.01, 0.05), 3),
        "page_mapped.slc.dynamic_share": round(chance.choice([0.0, chance.uniform(0.1, 0.9)]), 2),
        "page_mapped.slc.program_us": round(170 * chance.uniform(0.8, 1.4), 1),
        "page_mapped.slc.fold_share": chance.choice([0.5, 1.0]),
        "page_mapped.idle.folds": chance.choice([True, False]),
        "page_mapped.idle.delay_ms": chance.choice([500.0, 1000.0, 3000.0]),
    }


def _industrial(chance: Chance) -> Changes:
    return {
        **_flash(chance, 60, 1600),
        **_collection(chance),
        "page_mapped.mapping.physical_per_user": round(chance.uniform(1.07, 1.4), 3),
        "page_mapped.geometry.dies": chance.choice([2, 4, 8]),
        "page_mapped.geometry.chunk_pages": chance.choice([1, 2, 4]),
        "page_mapped.controller.read_us": round(chance.uniform(40, 80), 1),
        "page_mapped.controller.write_us": round(chance.uniform(40, 80), 1),
    }


def _log_block(chance: Chance) -> Changes:
    return {
        "log_block.unit_pages": chance.choice([4096, 8192, 16384]),
        "log_block.log_pages_per_unit": chance.choice([128, 256, 512]),
        "log_block.program_us": round(1600 * chance.uniform(0.6, 1.6), 1),
    }


def _reduction(chance: Chance) -> Changes:
    floor = round(chance.uniform(0.13, 0.3), 2)
    return {
        **_flash(chance, 75, 3500),
        "page_mapped.mapping.physical_per_user": round(chance.uniform(1.07, 1.3), 3),
        "page_mapped.reduction.floor": floor,
        "page_mapped.reduction.slope": round(1 - floor, 2),
    }


FAMILIES: Final[Mapping[str, tuple[str, Callable[[Chance], Changes]]]] = {
    "enterprise": ("enterprise-tlc", _enterprise),
    "coarse-map": ("enterprise-tlc", _coarse_map),
    "client": ("client-qlc", _client),
    "industrial": ("mlc", _industrial),
    "log-block": ("log-block", _log_block),
    "reduction": ("sata-reduction", _reduction),
}
"""The preset that a family comes from, and what is drawn of it."""


def draw(family: str, seed: int, folder: Path, fixed: Changes | None = None) -> Drawn:
    """A drive of a family, written into the folder; `fixed` gives values that are not drawn."""
    preset, changes_by = FAMILIES[family]
    text = (files("openpts_sim") / "presets" / f"{preset}.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    changes = {**changes_by(random.Random(f"{family}-{seed}")), **(fixed or {})}
    # published figures are those of the preset, not of a drive that was drawn
    content.pop("figures", None)
    content["assumed"] = []
    content["name"] = f"{family}-{seed}"
    for name, value in changes.items():
        put(content, name, value)
    path = folder / f"{family}-{seed}.toml"
    path.write_text(tomli_w.dumps(content), encoding="utf-8")
    return Drawn(family, seed, path, content, changes)


def put(content: dict[str, Any], name: str, value: object) -> None:
    """Set a value by its dotted name."""
    *tables, last = name.split(".")
    for table in tables:
        content = content.setdefault(table, {})
    content[last] = value
