"""A drive that does not exist: its name, and what it says it is, under the keys of the report's header.

The name is ``sim:PRESET?capacity=SIZE&scale=N&seed=N&state=worn-in&faults=NAME:RATE,...``; parameters of the
preset by their dotted names may follow: ``page_mapped.mapping.physical_per_user=1.07``.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.targets.target import CONTROL_CHARACTERS, Scheme
from openpts.errors import UsageError
from openpts.units import MB, format_capacity, parse_size_bytes
from openpts.vocabulary.facts import Fact, Facts, SimulationFacts, TargetFacts

_PREFIX: Final = "sim:"
DEFAULT_SEED: Final = 1
"""Of a drive that is named without one: the same command gets the same drive."""
_MOST_CAPACITY_BYTES: Final = 2**63 - 1
MOST_SCALE: Final = 1_000_000
_MOST_SEED: Final = 2**63 - 1
_KEYS: Final = frozenset({"capacity", "scale", "seed", "state", "faults"})
"""What may be behind the question mark, besides parameters of the preset, which have a dot."""
_DIGITS: Final = re.compile(r"[0-9]{1,19}")
_HOW_TO_NAME: Final = (
    "write sim:PRESET?capacity=1TB&scale=64&seed=1&state=new, all behind the question mark being optional"
)


class DriveHistory(StrEnum):
    """What a simulated drive has behind it.

    WORN_IN: so much random writing over its whole range that its performance is steady.
    """

    NEW = "new"
    WORN_IN = "worn-in"


class SimulatedTarget(Struct, frozen=True):
    """A simulated drive as the operator named it; None for what the preset shall decide.

    ``preset`` is the name of one that ships, or the path of a file. ``scale``: each simulated page stands
    for so many. ``seed`` makes the drive one of its kind: what differs between two of them, and what is
    left to chance in their work. ``faults`` are what goes wrong when the power goes, each with the share of
    writes that it begins in. ``parameters`` are values of the preset that this drive has instead.
    """

    preset: str
    capacity_bytes: int | None = None
    scale: int | None = None
    seed: int | None = None
    state: DriveHistory = DriveHistory.NEW
    faults: tuple[tuple[str, float], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        values = {
            "capacity": self.capacity_bytes,
            "scale": self.scale,
            "seed": self.seed,
            "state": None if self.state is DriveHistory.NEW else self.state,
            "faults": ",".join(f"{name}:{rate:g}" for name, rate in self.faults) or None,
            **dict(self.parameters),
        }
        query = "&".join(f"{key}={value}" for key, value in values.items() if value is not None)
        return f"{_PREFIX}{self.preset}{'?' if query else ''}{query}"


def names_simulated(text: str) -> bool:
    """Whether the operator's text names a simulated drive."""
    return text.startswith(_PREFIX)


def parse_simulated_target(text: str) -> SimulatedTarget:
    """Read the name of a simulated drive. Whether there is such a preset is for the presets to say.

    Raises UsageError where the text makes no sense.
    """
    if CONTROL_CHARACTERS.search(text):
        raise UsageError(f"the target contains control characters: {text!r}")
    preset, question_mark, query = text.removeprefix(_PREFIX).rpartition("?")
    if not question_mark:
        preset, query = query, ""
    if not preset:
        raise UsageError(f"{_PREFIX} does not name a preset: {_HOW_TO_NAME}")
    return _of_words(preset, _words(query) if question_mark else {})


def at_scale(path: str, scale: int) -> str:
    """What to type for the drive of that name at another scale."""
    return str(replace(parse_simulated_target(path), scale=scale))


def _of_words(preset: str, words: Mapping[str, str]) -> SimulatedTarget:
    return SimulatedTarget(
        preset,
        capacity_bytes=_capacity_bytes(words["capacity"]) if "capacity" in words else None,
        scale=_number("scale", words["scale"]) if "scale" in words else None,
        seed=_number("seed", words["seed"]) if "seed" in words else None,
        state=_state(words["state"]) if "state" in words else DriveHistory.NEW,
        faults=_faults(words["faults"]) if "faults" in words else (),
        parameters=tuple((key, text) for key, text in words.items() if "." in key),
    )


def _words(query: str) -> dict[str, str]:
    words: dict[str, str] = {}
    for word in query.split("&"):
        key, equals, text = word.partition("=")
        if (key not in _KEYS and "." not in key) or not equals:
            raise UsageError(f"{word!r} after the ? of a simulated drive is unknown: {_HOW_TO_NAME}")
        if key in words:
            raise UsageError(f"{key} is given twice after the ? of a simulated drive: {_HOW_TO_NAME}")
        words[key] = text
    return words


def _state(text: str) -> DriveHistory:
    if text not in set(DriveHistory):
        raise UsageError(f"invalid state={text}: use one of {', '.join(DriveHistory)}")
    return DriveHistory(text)


def _faults(text: str) -> tuple[tuple[str, float], ...]:
    """Whether there are such faults is for the drive to say."""
    found: list[tuple[str, float]] = []
    for word in text.split(","):
        name, _, rate = word.partition(":")
        try:
            found.append((name, float(rate)))
        except ValueError:
            raise UsageError(f"invalid faults={text}: write for example faults=lost-flush:1e-4") from None
        if not 0 <= found[-1][1] <= 1:
            raise UsageError(f"invalid faults={text}: use rates from 0 to 1")
    return tuple(found)


def _capacity_bytes(text: str) -> int:
    capacity_bytes = parse_size_bytes(text)
    if text.isdigit() and 0 < capacity_bytes < MB:
        raise UsageError(f"invalid capacity={text}: a number alone counts bytes; write capacity={text}GB")
    if not 0 < capacity_bytes <= _MOST_CAPACITY_BYTES:
        raise UsageError(f"invalid capacity={text}: write for example capacity=1TB")
    return capacity_bytes


def _number(key: str, text: str) -> int:
    least, most = (1, MOST_SCALE) if key == "scale" else (0, _MOST_SEED)
    if not _DIGITS.fullmatch(text) or not least <= int(text) <= most:
        raise UsageError(f"invalid {key}={text}: use a whole number from {least} to {most:,}")
    return int(text)


SCHEME: Final = Scheme(
    "sim",
    what="a simulated drive",
    device="openpts_sim.simulated_device:opened",
    unopened="openpts_sim.simulated_device:unopened",
    assumed="openpts_sim.assumed_rates:assumed",
    quick="openpts_sim.cli.fitting_scale:quick_of",
    fitting="openpts_sim.cli.fitting_scale:at_fitting_scale",
    at_scale="openpts_sim.simulated_target:at_scale",
    usual_class="openpts_sim.simulated_device:usual_class",
)


_NO_HARDWARE: Final = Fact("none (simulated)", "there is no hardware")


def simulated_facts(target: TargetFacts, simulation: SimulationFacts) -> Facts:
    """The facts of a simulated drive: its maker is openpts, its model the preset."""
    from importlib.metadata import version  # noqa: PLC0415 takes a tenth of the time of a start

    capacity_bytes = target.user_capacity_bytes
    return {
        "capacity": Fact(
            f"{format_capacity(capacity_bytes)} ({capacity_bytes:,} bytes)",
            f"{simulation.simulated_bytes:,} simulated bytes, each of which stands for {simulation.scale:,}",
        ),
        "manufacturer": Fact("openpts", "the simulator"),
        "model": Fact(simulation.preset, "name of the preset"),
        "serial": Fact(f"SIM{simulation.seed:04X}", "seed of the drive"),
        "firmware": Fact(version("openpts"), "version of openpts"),
        "interface": Fact("simulated", "the simulator"),
        "form_factor": _NO_HARDWARE,
        "nand_type": Fact(f"{simulation.model} model (simulated)", "kind of the preset's model"),
        "features": Fact(None, "see the preset's parameters"),
        "sector": Fact(f"{target.sector_bytes} B logical", "preset"),
        "file_system": Fact("none (simulated drive)", "the target is a simulated drive"),
        "pcie": _NO_HARDWARE,
        "hba": _NO_HARDWARE,
    }
