"""The file of a campaign: drives, tests, repetitions, conditions and their order, as TOML."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from openpts.config_files.source_position import Path as Keys
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import placed_text, read_written, refuse_all, shaped
from openpts.did_you_mean import nearest_word
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.people import LABEL_NAME

_MOST_KIB: Final = 1024
MOST_RUNS: Final = 100_000
_OURS: Final = {
    "--out": "the campaign has a folder for each run",
    "--run-id": "the campaign mints the IDs",
    "--events": "the campaign reads the events of its runs",
    "--json": "`openpts campaign status --json` tells of all runs",
    "--label": "write labels = { name = 'value' }",
    "--confirm-serial": "write serial = '...' with the drive",
    "--drives": "write the drives as [[drives]]",
    "--stagger": "write stagger_s = ... at the head of the file",
    "--at-most": "write at_most = ... at the head of the file",
}

_Text = Annotated[str, Meta(min_length=1, max_length=500)]
_Words = tuple[Annotated[str, Meta(max_length=1000)], ...]


class OrderOfRuns(StrEnum):
    """AS_LISTED: repetition by repetition, all drives side by side. RANDOMISED: all runs shuffled.

    BLOCKED: each repetition is a block of rounds, in which every drive has one run; in each round, the tests
    and conditions are spread evenly over the slots of each host.
    """

    AS_LISTED = "as listed"
    RANDOMISED = "randomised"
    BLOCKED = "blocked"


class OnInterruption(StrEnum):
    """What becomes of a run that was cut off: it is resumed, or a new one takes its place."""

    RESUME = "resume"
    REPEAT = "repeat"


class CampaignDrive(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A drive: by its target or slot, with the serial number that it has to have there, or by that alone."""

    target: _Text | None = None
    slot: _Text | None = None
    serial: _Text | None = None
    model: _Text | None = None
    host: _Text | None = None
    labels: dict[str, str] = {}

    @property
    def name(self) -> str:
        """For people."""
        place = "/".join(word for word in (self.host, self.slot or self.target) if word)
        return " in ".join(word for word in (self.serial, place) if word)

    @property
    def is_by_serial_alone(self) -> bool:
        """Whether the file leaves it open where the drive is."""
        return not self.target and not self.slot


class CampaignTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A test with options of ``openpts run``; a plan is the option ``--plan FILE``."""

    test: Annotated[str, Meta(extra_json_schema={"enum": list(PROCEDURES)})]
    options: _Words = ()


class Variant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Named conditions: options that all tests get under them, and labels of their runs."""

    name: _Text
    options: _Words = ()
    labels: dict[str, str] = {}


class Campaign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a campaign's file may have; docs/campaigns.md.

    ``seed`` is that of the order, and, counted on, that of the tests. ``at_most`` and ``stagger_s`` hold for
    runs on this host.
    """

    drives: Annotated[tuple[CampaignDrive, ...], Meta(min_length=1)]
    tests: Annotated[tuple[CampaignTest, ...], Meta(min_length=1)]
    title: str = ""
    repetitions: Annotated[int, Meta(ge=1, le=1000)] = 1
    conditions: tuple[Variant, ...] = ()
    order: OrderOfRuns = OrderOfRuns.AS_LISTED
    seed: Annotated[int, Meta(ge=0, le=2**31)] = 1
    interrupted: OnInterruption = OnInterruption.RESUME
    at_most: Annotated[int, Meta(ge=1)] | None = None
    stagger_s: Annotated[float, Meta(ge=0, le=86400)] = 0.0
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def run_count(self) -> int:
        """How many runs it makes."""
        return len(self.drives) * len(self.tests) * self.repetitions * max(1, len(self.conditions))


def read_campaign(path: Path) -> Campaign:
    """Read a campaign's file. Raises UsageError with line and column of everything that makes no sense."""
    return parse_campaign(read_written(path, _MOST_KIB, "campaign's file"), str(path))


def parse_campaign(raw: bytes, path: str) -> Campaign:
    """As ``read_campaign``, from bytes; ``path`` is what complaints call them."""
    text = placed_text(raw, path, read_toml)
    return shaped(text, Campaign, path, _wrong)


def refuse_changes(before: Campaign, path: Path) -> Campaign:
    """The file as it is now. Raises UsageError with the place of each change to a campaign that has begun."""
    raw = read_written(path, _MOST_KIB, "campaign's file")
    now = parse_campaign(raw, str(path))
    old, new = _leaves(msgspec.to_builtins(before)), _leaves(msgspec.to_builtins(now))
    changes = [
        (keys, f"{_spelt(keys)} is {_shown(new, keys)}; when the campaign began it was {_shown(old, keys)}")
        for keys in sorted({*old, *new}, key=str)
        if old.get(keys) != new.get(keys) and keys[0] not in _MAY_CHANGE
    ]
    refuse_all(changes, placed_text(raw, str(path), read_toml), str(path))
    return now


def refuse_at(path: Path, wrong: Sequence[tuple[Keys, str]]) -> None:
    """Raises UsageError with the places of what makes no sense, if anything does."""
    text = placed_text(read_written(path, _MOST_KIB, "campaign's file"), str(path), read_toml)
    refuse_all(wrong, text, str(path))


_MAY_CHANGE: Final = frozenset({"title", "interrupted", "at_most", "stagger_s"})
"""What concerns only how the rest of the campaign is carried out."""


def _leaves(value: Any, keys: Keys = ()) -> dict[Keys, Any]:
    """All single values of tables and lists by their keys."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list | tuple)
        else None
    )
    if pairs is None:
        return {keys: value}
    return {leaf: one for key, below in pairs for leaf, one in _leaves(below, (*keys, key)).items()}


def _shown(leaves: dict[Keys, Any], keys: Keys) -> str:
    return repr(leaves[keys]) if leaves.get(keys) is not None else "not there"


def _spelt(keys: Keys) -> str:
    return ".".join(str(key + 1) if isinstance(key, int) else key for key in keys)


def _wrong(campaign: Campaign) -> Iterator[tuple[Keys, str]]:
    yield from _wrong_drives(campaign)
    for number, one in enumerate(campaign.tests):
        if one.test not in PROCEDURES:
            near = nearest_word(one.test, PROCEDURES)
            meant = f"; did you mean {near}?" if near else ""
            yield ("tests", number, "test"), f"there is no test {one.test}{meant}"
        yield from _wrong_options(("tests", number, "options"), one.options)
    for number, variant in enumerate(campaign.conditions):
        yield from _wrong_options(("conditions", number, "options"), variant.options)
        yield from _wrong_labels(("conditions", number, "labels"), variant.labels)
    yield from _wrong_labels(("labels",), campaign.labels)
    for name, count in Counter(variant.name for variant in campaign.conditions).items():
        if count > 1:
            yield ("conditions",), f"{count} conditions are called {name!r}: names tell them apart"
    if campaign.run_count > MOST_RUNS:
        yield ("repetitions",), f"this makes {campaign.run_count:,} runs, and {MOST_RUNS:,} are the most"


def _wrong_drives(campaign: Campaign) -> Iterator[tuple[Keys, str]]:
    seen: set[tuple[str | None, str | None, str | None]] = set()
    serials = Counter(drive.serial for drive in campaign.drives)
    for number, drive in enumerate(campaign.drives):
        keys: Keys = ("drives", number)
        if not drive.target and not drive.serial:
            yield keys, "a drive is named by its target, by slot and serial, or by its serial alone"
        if drive.target and drive.target.startswith("/dev/") and not drive.serial:
            yield keys, f"{drive.target} needs its serial: what is on the drive is destroyed"
        place = (drive.host, drive.target, drive.slot)
        if serials[drive.serial] > 1 if drive.is_by_serial_alone else place in seen:
            yield keys, f"{drive.name} is named twice"
        seen.add(place)
        yield from _wrong_labels((*keys, "labels"), drive.labels)
    if any(drive.host for drive in campaign.drives) != all(drive.host for drive in campaign.drives):
        yield ("drives",), "either all drives have a host, or none has: then they are in this one"


def _wrong_labels(keys: Keys, labels: dict[str, str]) -> Iterator[tuple[Keys, str]]:
    for name in labels:
        if not re.match(LABEL_NAME, name):
            yield (*keys, name), f"{name} is no name of a label: letters, digits and _ are"
        elif name in {"condition", "repetition"}:
            yield (*keys, name), f"the label {name} is the campaign's own"


def _wrong_options(keys: Keys, options: _Words) -> Iterator[tuple[Keys, str]]:
    for place, word in enumerate(options):
        if reason := _OURS.get(word.partition("=")[0]):
            yield (*keys, place), f"{word.partition('=')[0]} can't be given: {reason}"
