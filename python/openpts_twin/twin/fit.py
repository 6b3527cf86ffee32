"""From runs of a drive to its twin: which kind of drive it is, and which drive of that kind."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from openpts.errors import UsageError
from openpts.record.reader import Run
from openpts.simulation.presets import Preset, load_preset, shipped_presets
from openpts.simulation.scale import SIMULATED_BYTES_AT_MOST
from openpts_twin.twin.evidence import Evidence, evidence_of
from openpts_twin.twin.parameters import value_of
from openpts_twin.twin.search import Found, Search
from openpts_twin.twin.twin_file import texts_of

# a fit replays the runs some fifty times: with half of what other runs simulate
_BYTES = SIMULATED_BYTES_AT_MOST // 2


class Twin(Struct, frozen=True):
    """A twin as its files' texts, and what is to be said of it."""

    preset: str
    fit: str
    like: str
    evidence: Evidence
    found: Found


def fit(
    runs: Sequence[Run], *, name: str, like: str | None, scale: int | None, tell: Callable[[str], None]
) -> Twin:
    """The twin of the drive that the runs are of.

    ``like`` is the preset to begin from; None: the shipped one whose computed beginning is nearest. Raises
    UsageError for runs of several drives, and where no such drive can be simulated.
    """
    evidence = evidence_of(runs)
    if scale is None:
        scale = evidence.scale if evidence.scale > 1 else max(1, -(-evidence.capacity_bytes // _BYTES))
    preset = load_preset(like) if like else _nearest(evidence, scale, tell)
    content = _content(preset)
    tell(f"like {preset.name}")
    found = Search(content, evidence, scale, tell).find()
    text, fit_text = texts_of(name, content, evidence, found, scale=scale)
    return Twin(text, fit_text, preset.name, evidence, found)


def _content(preset: Preset) -> Mapping[str, Any]:
    if preset.model != "page-mapped":
        raise UsageError(f"{preset.label} is a {preset.model} drive: a twin is fitted like a page-mapped one")
    return tomllib.loads(preset.text)


def _nearest(evidence: Evidence, scale: int, tell: Callable[[str], None]) -> Preset:
    """The shipped preset with which the computed beginning is nearest."""
    found: list[tuple[float, Preset]] = []
    for preset in shipped_presets():
        # those without times, and those that reduce data, which no such run shows
        if preset.model != "page-mapped" or not preset.figures() or "reduction" in _page_mapped(preset):
            continue
        try:
            trial, _ = Search(_content(preset), evidence, scale, lambda _: None).begin()
        except UsageError:
            continue
        tell(f"a drive like {preset.name}: {trial.cost:.1f}")
        found.append((trial.cost, preset))
    if not found:
        raise UsageError(
            f"no shipped preset can be simulated at scale {scale}: name one by --like, or a scale"
        )
    return min(found, key=lambda one: one[0])[1]


def _page_mapped(preset: Preset) -> Mapping[str, Any]:
    return value_of(_content(preset), "page_mapped", {})
