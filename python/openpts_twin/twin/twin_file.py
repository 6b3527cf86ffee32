"""A twin as files: the preset, which users may read and edit, and beside it how well the fit knows it.

``drive.toml`` is a preset as any other. ``drive.fit.toml`` lists values that agree with the runs about as
well, and what of the figures the fit does not explain; it holds for the preset that it was written with.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import tomli_w
from msgspec import Struct

from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import placed_text, read_written, shaped
from openpts.simulation.presets import Preset
from openpts_twin.twin.evidence import Evidence
from openpts_twin.twin.parameters import with_values
from openpts_twin.twin.search import Found

_DIGITS: Final = 5
_TABLE: Final = "page_mapped"
_MOST_KIB: Final = 256


class Fit(Struct, frozen=True, forbid_unknown_fields=True):
    """How well a twin is known.

    ``alternatives`` are drawn at random from what agrees with the runs about as well: values by their dotted
    names. ``error_pct`` is how far what the twin showed was from what was measured, beside chance, by kind of
    figure (``rate``, ``mean``, ``p99``, ...): a standard deviation, as 68 % of them are within it.
    """

    preset_sha256: str
    runs: tuple[str, ...]
    scale: int
    error_pct: dict[str, float]
    alternatives: tuple[dict[str, Any], ...]


def fit_path(preset: Path) -> Path:
    """Where a twin's fit is."""
    return preset.with_suffix(".fit.toml")


def texts_of(
    name: str, content: Mapping[str, Any], evidence: Evidence, found: Found, *, scale: int
) -> tuple[str, str]:
    """The preset and its fit, as texts."""
    values = {key: _rounded(value) for key, value in found.values.items()}
    changed = with_values(content, values)
    changed["name"] = name
    changed["summary"] = (
        f"Twin of {evidence.drive}, fitted to {', '.join(evidence.runs)}; the rest as in {content['name']}"
    )
    changed["capacity_bytes"] = evidence.capacity_bytes
    changed["sector_bytes"] = evidence.sector_bytes
    for of_another in ("rated", "figures"):
        changed.pop(of_another, None)
    fitted = found.values.keys() - set(found.assumed)
    changed["assumed"] = [one for one in _leaves(changed[_TABLE], f"{_TABLE}.") if one not in fitted]
    text = tomli_w.dumps(changed)
    Preset(text)
    fit = Fit(
        preset_sha256=_digest(text),
        runs=evidence.runs,
        scale=scale,
        error_pct={kind: round(100 * error, 2) for kind, error in sorted(found.errors.items())},
        alternatives=tuple(
            {key: _rounded(value) for key, value in one.items() if _rounded(value) != values.get(key)}
            for one in found.alternatives
        ),
    )
    return text, tomli_w.dumps(msgspec.to_builtins(fit))


def read_fit(preset: Path) -> Fit | None:
    """How well a twin is known; None without a fit beside it, or where the preset was edited since.

    Raises UsageError where it makes no sense.
    """
    path = fit_path(preset)
    if not path.exists():
        return None
    fit = shaped(placed_text(read_written(path, _MOST_KIB, "fit"), str(path), read_toml), Fit, str(path))
    return fit if fit.preset_sha256 == _digest(preset.read_text(encoding="utf-8")) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _leaves(table: Mapping[str, Any], before: str) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict) and key not in {"housekeeping", "victim"}:
            yield from _leaves(value, f"{before}{key}.")
        else:
            yield before + key
