"""Which drives a batch tests: resolved, held against each other, and confirmed, before any of them starts."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import placed_text, read_written, shaped
from openpts.device.ata_identify import model, serial_number
from openpts.device.block_device import BlockDevice, device_below, whole_drives
from openpts.device.guard.claims import NamedFile
from openpts.device.guard.guard import GuardVerdict, Safety, verdict_on
from openpts.device.guard.rules import SIGNATURE_RULE, unconfirmed
from openpts.device.guard.usage import drive_names, inode_name
from openpts.device.identity import slot
from openpts.device.nearby_cpus import numa_node
from openpts.device.targets.target import BlockTarget, FileTarget, parse_target
from openpts.did_you_mean import did_you_mean
from openpts.engine.native import cpu_ns_per_io
from openpts.errors import OpenptsError, RefusedError, TargetError, UsageError
from openpts.ownership import new_run_id
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts.vocabulary.facts import LABEL_NAME, Fact
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.run_request import RunRequest
from openpts_host.host_capacity import DrivenDrive, expected_limits
from openpts_sim.simulated_target import DEFAULT_SEED, names_simulated, parse_simulated_target

_MOST_KIB: Final = 1024
_FACTS: Final[dict[str, Callable[[BlockDevice, SystemRoots], Fact]]] = {
    "slot": slot,
    "model": lambda disk, _: model(disk),
    "serial": lambda disk, _: serial_number(disk),
}
_RANGE: Final = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_HOW: Final = "write for example model=SAMSUNG*,slot=3-8"

Query = dict[str, list[str]]
"""The words for each key; a drive matches one of each."""


class WrittenDrive(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A drive by its target, its slot or its serial number alone; the serial number, or the path, confirms
    that it may be erased.

    ``model`` is what it has to be, with ``*`` and ``?`` for any text and any character.
    """

    target: str | None = None
    slot: str | None = None
    serial: str | None = None
    model: str | None = None
    confirm_device_path: str | None = None
    labels: dict[Annotated[str, Meta(pattern=LABEL_NAME)], str] = {}


class WrittenDrives(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a file of drives may have."""

    drives: list[WrittenDrive]


def named_drives(targets: Sequence[str], drives: str | None, roots: SystemRoots) -> list[WrittenDrive]:
    """The drives of a command line: targets, and those of a file or a query. Raises UsageError."""
    named = [WrittenDrive(target=target) for target in targets]
    if drives is None:
        return named
    path = Path(drives)
    if path.is_file():
        return [*named, *read_drives(path)]
    if "=" not in drives:
        raise UsageError(
            f"--drives {drives}: there is no such file; a query is written as model=SAMSUNG*,slot=3-8"
        )
    found = selected(parse_query(drives), roots)
    if not found:
        raise UsageError(f"--drives {drives} selects no drive: `openpts devices` lists all")
    return [*named, *(WrittenDrive(target=str(disk.node)) for disk in found)]


def read_drives(path: Path) -> list[WrittenDrive]:
    """The drives in their order. Raises UsageError with the place of whatever is wrong."""
    text = placed_text(read_written(path, _MOST_KIB, "list of drives"), str(path), read_toml)
    drives = shaped(text, WrittenDrives, str(path)).drives
    if not drives:
        raise UsageError(f"{path} lists no drive")
    for number, drive in enumerate(drives, start=1):
        if drive.target is None and drive.slot is None and drive.serial is None:
            raise UsageError(
                f"{path}: drive {number} has no target, slot or serial: `openpts devices` lists all three"
            )
    return drives


def parse_query(text: str) -> Query:
    """Read a query: a part without a key is one more word of the key before it. Raises UsageError."""
    query: Query = {}
    key = ""
    for part in text.split(","):
        name, equals, word = part.partition("=")
        key, word = (name.strip(), word.strip()) if equals else (key, part.strip())
        if reason := _what_is_wrong(key, word):
            raise UsageError(f"--drives {text!r}: {reason}")
        query.setdefault(key, []).append(word)
    return query


def _what_is_wrong(key: str, word: str) -> str:
    """Empty if nothing is."""
    if not key:
        return f"{word} stands behind no key: {_HOW}"
    if key not in _FACTS:
        return f"{key} is none of {', '.join(_FACTS)}: {did_you_mean(key, _FACTS, _HOW)}"
    return "" if word else f"{key}= names nothing: {_HOW}"


def selected(query: Query, roots: SystemRoots) -> list[BlockDevice]:
    """Whole drives that match, in the order of `openpts devices`.

    Raises UsageError for a word that selects none, whatever the others do.
    """
    disks = whole_drives(roots)
    facts = [{key: _FACTS[key](disk, roots).value for key in query} for disk in disks]
    known = {key: {own[key] for own in facts} for key in query}
    for key, words in query.items():
        for word in words:
            if not any(_is_one(value, [word], known[key]) for value in known[key]):
                raise UsageError(f"--drives: {key}={word} selects no drive: `openpts devices` lists all")
    return [
        disk
        for disk, own in zip(disks, facts, strict=True)
        if all(_is_one(own[key], words, known[key]) for key, words in query.items())
    ]


def _is_one(value: str | None, words: list[str], known: set[str | None]) -> bool:
    """Whether a value is one of the words. A word that is a drive's own is that, though it look like a range:
    the kernel calls slots ``0-3`` as well."""
    return value is not None and any(value == word if word in known else fits(value, word) for word in words)


def fits(value: str, word: str) -> bool:
    """Whether a value is the word, matches it as a pattern (upper and lower case alike), or is in a range."""
    if fnmatchcase(value.casefold(), word.casefold()):
        return True
    numbers = _RANGE.fullmatch(word)
    number = value.rpartition("/")[2]
    return numbers is not None and number.isdecimal() and int(numbers[1]) <= int(number) <= int(numbers[2])


class LocatedDrive(Struct, frozen=True):
    """``names`` are those of the drive on every path: two with a name in common are one drive.

    ``device`` is None for what is no block device: a simulated drive, a scratch file, a directory.
    """

    target: str
    names: tuple[str, ...]
    device: BlockDevice | None = None
    slot: str | None = None
    numa_node: int | None = None


def located(request: RunRequest, roots: SystemRoots) -> LocatedDrive:
    """The drive of a request: by its target, else by its slot, else by its serial number.

    Raises TargetError, also for a drive of another model than the request has, and UsageError for a name
    that makes no sense.
    """
    found = _named(request, roots)
    own = None if found.device is None else model(found.device).value
    if found.device is not None and request.model is not None and own != request.model:
        raise TargetError(f"{found.target} is a {own or 'drive without a model'}, not {request.model}")
    return found


def _named(request: RunRequest, roots: SystemRoots) -> LocatedDrive:
    if request.target is None and request.slot is None and request.serial is not None:
        return _of_device(_with_serial(request.serial, roots), None, roots)
    if request.target is None:
        return _of_device(_in_slot(request.slot, roots), None, roots)
    if names_simulated(request.target):
        return LocatedDrive(request.target, (request.target,), slot=request.slot)
    path = Path(request.target)
    if path.is_dir():
        return _below(request, path, str(path.resolve()), roots)
    target = parse_target(request.target)
    if isinstance(target, FileTarget):
        return _below(request, target.path, _file_name(target.path), roots)
    found = _of_device(BlockDevice.of_node(target.path, roots), request.target, roots)
    if None not in (request.slot, found.slot) and request.slot != found.slot:
        raise TargetError(f"{request.target} is in slot {found.slot}, not in {request.slot}")
    return found


def _of_device(device: BlockDevice, target: str | None, roots: SystemRoots) -> LocatedDrive:
    nodes = {numa_node(disk) for disk in device.beneath}
    return LocatedDrive(
        target or str(device.node),
        drive_names(device),
        device,
        slot(device, roots).value,
        nodes.pop() if len(nodes) == 1 else None,
    )


def _below(request: RunRequest, path: Path, name: str, roots: SystemRoots) -> LocatedDrive:
    """A file or directory, near the disk that it is on, whose slot tells nothing of it."""
    disk = device_below(path, roots)
    node = None if disk is None else numa_node(disk)
    return LocatedDrive(request.target or "", (name,), slot=request.slot, numa_node=node)


def _file_name(path: Path) -> str:
    file = NamedFile.at(path)
    return str(file.path) if file.inode is None else inode_name(file.inode)


def _in_slot(name: str | None, roots: SystemRoots) -> BlockDevice:
    found = [disk for disk in whole_drives(roots) if name is not None and slot(disk, roots).value == name]
    if len(found) != 1:
        what = " and ".join(str(disk.node) for disk in found) or "no drive"
        raise TargetError(f"slot {name} has {what}: `openpts devices` lists the slots")
    return found[0]


def _with_serial(serial: str, roots: SystemRoots) -> BlockDevice:
    found = [disk for disk in whole_drives(roots) if serial_number(disk).value == serial]
    if len(found) != 1:
        what = f"is that of {' and '.join(str(disk.node) for disk in found)}" if found else "is of no drive"
        how = "name it by its target" if found else "`openpts devices` lists all"
        raise TargetError(f"serial number {serial} {what}: {how}")
    return found[0]


def limits_together(
    drives: Sequence[LocatedDrive], cpus: int, roots: SystemRoots, memory: MemoryBandwidth | None = None
) -> tuple[str, ...]:
    """What this host can't do for drives that are measured at once on so many processors, a sentence each."""
    disks = [(one, disk) for one in drives if one.device is not None for disk in one.device.beneath]
    driven = [DrivenDrive.of_device(disk, roots, one.slot) for one, disk in disks]
    return expected_limits(driven, cpus, cpu_ns_per_io(), roots, memory) if driven else ()


class RefusedBatchError(RefusedError):
    """Drives of a batch that are refused, each with its reason; none was started."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self._reasons = tuple(reasons)

    @property
    def complaints(self) -> tuple[str, ...]:
        """A line for each, and that nothing was started."""
        return (*self._reasons, "no drive was started")


class ChosenDrive(Struct, frozen=True):
    """A drive as it was named and as it is; ``refusal`` says why it can't be tested, empty if it can."""

    written: WrittenDrive
    drive: LocatedDrive | None
    model: str | None = None
    serial: str | None = None
    verdict: str = ""
    refusal: str = ""

    @property
    def name(self) -> str:
        """The target, else what was named."""
        if self.drive is not None:
            return self.drive.target
        written = self.written
        return written.target or (f"slot {written.slot}" if written.slot else f"serial {written.serial}")

    def refused(self, verdict: str, refusal: str) -> "ChosenDrive":
        """The drive as one that can't be tested."""
        return replace(self, verdict=verdict, refusal=refusal)

    def request(self, test_words: Sequence[str]) -> RunRequest:
        """The run on it, with an ID of its own."""
        assert self.drive is not None  # noqa: S101 a drive that was not found is refused
        path, is_drive = self.written.confirm_device_path, self.drive.device is not None
        confirmed = ("--confirm-device-path", path) if path is not None and is_drive else ()
        return RunRequest(
            run_id=new_run_id(),
            test_words=(test_words[0], *confirmed, *test_words[1:]),
            target=self.drive.target,
            slot=self.drive.slot,
            model=self.model,
            serial=self.serial,
            labels=self.written.labels,
        )


def chosen_drives(
    named: Iterable[WrittenDrive],
    consent: Consent,
    serials: Sequence[str],
    paths: Sequence[str],
    roots: SystemRoots,
) -> list[ChosenDrive]:
    """Every drive with the reason why it is refused, if it is. ``consent`` has what holds for all of them.

    A drive's serial number in the file, or among ``serials``, confirms it; ``paths`` confirm likewise.
    """
    chosen = [_checked(one, consent, roots) for one in _each_its_own_seed(list(named))]
    confirmed = [_confirmed(one, consent, serials, paths) for one in chosen]
    return list(_each_once(confirmed))


def refuse_any(chosen: Sequence[ChosenDrive], serials: Sequence[str], paths: Sequence[str]) -> None:
    """Raise RefusedBatchError if a drive is refused, or a word of consent is of none of them."""
    reasons = [one.refusal for one in chosen if one.refusal]
    known = {one.serial for one in chosen}
    names = {one.name for one in chosen}
    strange = [
        *(f"--confirm-serial {word} is the serial number of none" for word in serials if word not in known),
        *(f"--confirm-device-path {path} is none" for path in paths if path not in names),
    ]
    reasons += [f"refused [confirmation]: {word} of these drives" for word in strange]
    if reasons:
        raise RefusedBatchError(reasons)


def _checked(written: WrittenDrive, consent: Consent, roots: SystemRoots) -> ChosenDrive:
    request = RunRequest(
        run_id="", test_words=(), target=written.target, slot=written.slot, serial=written.serial
    )
    try:
        drive = located(request, roots)
        if names_simulated(drive.target):
            return _simulated(written, drive, roots)
    except OpenptsError as error:
        return ChosenDrive(written, None, verdict="not usable", refusal=str(error))
    if Path(drive.target).is_dir():
        return ChosenDrive(written, drive, verdict="a directory")
    device = drive.device
    found = ChosenDrive(
        written,
        drive,
        model=None if device is None else model(device).value,
        serial=None if device is None else serial_number(device).value,
    )
    return _judged(found, verdict_on(parse_target(drive.target), roots), consent)


def _simulated(written: WrittenDrive, drive: LocatedDrive, roots: SystemRoots) -> ChosenDrive:
    simulation = UnopenedTarget.of(drive.target, roots).facts.simulation
    assert simulation is not None  # noqa: S101 its name says so
    target = parse_simulated_target(drive.target)
    name = str(replace(target, seed=simulation.seed))
    serial = f"SIM{simulation.seed:04X}"
    found = ChosenDrive(written, replace(drive, names=(name,)), simulation.preset, serial, "simulated")
    return _as_written(found)


def _judged(found: ChosenDrive, verdict: GuardVerdict, consent: Consent) -> ChosenDrive:
    waived = SIGNATURE_RULE.rule_id if consent.erase_signatures else ""
    refusals = [one for one in verdict.refusals if one.rule_id != waived]
    if consent.overwrite_file and found.drive is not None and found.drive.device is None:
        refusals = []
    if refusals:
        return found.refused(f"no: {refusals[0].rule_id}", str(refusals[0]))
    if verdict.verdict is Safety.UNKNOWN:
        return found.refused("unknown", f"{found.name}: {verdict.reason}")
    return _as_written(replace(found, verdict="free"))


def _as_written(found: ChosenDrive) -> ChosenDrive:
    """Refused if it is another drive than the file says."""
    written = found.written
    if written.serial is not None and written.serial != found.serial:
        is_one = f"has the serial number {found.serial or 'none'}, not {written.serial}"
        return found.refused("no: other serial", f"refused [confirmation]: {found.name} {is_one}")
    if written.model is not None and not fits(found.model or "", written.model):
        is_one = f"is a {found.model or 'drive without a model'}, not {written.model}"
        return found.refused("no: other model", f"refused [confirmation]: {found.name} {is_one}")
    return found


def _confirmed(
    found: ChosenDrive, consent: Consent, serials: Sequence[str], paths: Sequence[str]
) -> ChosenDrive:
    """Refused if its operator has not named it twice; the path that confirms it goes with it."""
    if found.refusal or found.drive is None or found.drive.device is None:
        return found
    word = found.written.serial or (found.serial if found.serial in serials else None)
    path = found.written.confirm_device_path or (found.name if found.name in paths else None)
    own = dataclasses.replace(consent, confirm_serial=word, confirm_device_path=path)
    refusal = unconfirmed(BlockTarget(Path(found.drive.target)), found.drive.device, own)
    found = replace(found, written=replace(found.written, confirm_device_path=path))
    return found if refusal is None else found.refused("not confirmed", str(refusal))


def _each_once(chosen: Sequence[ChosenDrive]) -> Iterator[ChosenDrive]:
    """The same drive under another name is refused where it comes again."""
    known: dict[str, ChosenDrive] = {}
    for one in chosen:
        names = () if one.drive is None else one.drive.names
        twin = next((known[name] for name in names if name in known), None)
        if twin is not None:
            what = "comes twice" if twin.name == one.name else f"is the drive {twin.name} under another name"
            yield one.refused("no: twice", f"refused [twice]: {one.name} {what}")
        else:
            known |= dict.fromkeys(names, one)
            yield one


def _each_its_own_seed(named: list[WrittenDrive]) -> Iterator[WrittenDrive]:
    """Simulated drives that are named alike, without a seed, are several of a kind and no copies."""
    texts = [one.target or "" for one in named]
    seeds = {_seed(text) for text in texts if names_simulated(text)} | {DEFAULT_SEED}
    following = iter(number for number in range(1, len(named) + len(seeds) + 1) if number not in seeds)
    seen: set[str] = set()
    for one, text in zip(named, texts, strict=True):
        if names_simulated(text) and _seed(text) is None and text in seen:
            yield replace(one, target=f"{text}{'&' if '?' in text else '?'}seed={next(following)}")
        else:
            yield one
        seen.add(text)


def _seed(text: str) -> int | None:
    try:
        return parse_simulated_target(text).seed
    except UsageError:
        return None  # refused when it is looked at
