"""From runs of a drive to its twin: which kind of drive it is, and which drive of that kind."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from openpts.errors import UsageError
from openpts.record.reader import Run
from openpts.simulation.presets import Preset, load_preset, shipped_presets
from openpts.simulation.scale import SIMULATED_BYTES_AT_MOST
from openpts_twin.findings import Confidence
from openpts_twin.twin.evidence import Evidence, evidence_of
from openpts_twin.twin.parameters import value_of, with_values
from openpts_twin.twin.search import Found, Search, Trial
from openpts_twin.twin.start import distance
from openpts_twin.twin.twin_file import texts_of

# a fit replays the runs some fifty times: with half of what other runs simulate
_BYTES: Final = SIMULATED_BYTES_AT_MOST // 2
# a kind of drive that is not farther than this from the nearest may be the right one as well
_NEAR: Final = 1.0


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
    search, start = _begun([load_preset(like)] if like else _nearest(evidence), evidence, scale, tell)
    found = search.find(start)
    text, fit_text = texts_of(name, search.content, evidence, found, scale=scale)
    return Twin(text, fit_text, search.content["name"], evidence, found)


def _begun(
    presets: Sequence[Preset], evidence: Evidence, scale: int, tell: Callable[[str], None]
) -> tuple[Search, Trial]:
    """The search that begins nearest to what was measured. Raises UsageError where none can begin."""
    found: list[tuple[Search, Trial]] = []
    for preset in presets:
        content = _content(preset)
        told = [
            one
            for one in evidence.findings
            if one.is_told and isinstance(one.value, type(value_of(content, one.name)))
        ]
        # of a class that draws some and takes the best, the number is not told
        values = {one.name: {"choices": 8} if one.value == "choices" else one.value for one in told}
        sure = frozenset(one.name for one in told if one.confidence is Confidence.HIGH)
        tell(f"like {preset.name}")
        search = Search(with_values(content, values), evidence, scale, tell, sure)
        try:
            found.append((search, search.begin()))
        except UsageError:
            if preset is presets[-1] and not found:
                raise
    return min(found, key=lambda one: one[1].cost)


def _content(preset: Preset) -> Mapping[str, Any]:
    if preset.model != "page-mapped":
        raise UsageError(f"{preset.label} is a {preset.model} drive: a twin is fitted like a page-mapped one")
    return tomllib.loads(preset.text)


def _nearest(evidence: Evidence) -> list[Preset]:
    """The shipped presets of which least has to be changed, by what can be computed from the runs."""
    # not those without times, nor those that reduce data, which no such run shows
    fitting = [
        preset
        for preset in shipped_presets()
        if preset.model == "page-mapped"
        and preset.figures()
        and value_of(_content(preset), "page_mapped.reduction") is None
    ]
    far = {preset.name: distance(_content(preset), evidence) for preset in fitting}
    return [preset for preset in fitting if far[preset.name] <= min(far.values()) + _NEAR]
