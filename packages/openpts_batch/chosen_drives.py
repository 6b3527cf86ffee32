"""Which drives a batch tests: resolved, held against each other, and confirmed, before any of them starts."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.guard.consent import unconfirmed
from openpts.device.guard.rules import SIGNATURE_RULE
from openpts.device.guard.verdict import GuardVerdict, Safety, verdict_on
from openpts.device.identity.drive_name import model, serial_number
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import OpenptsError, RefusedError, UsageError
from openpts.ownership import new_run_id
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.located_drive import LocatedDrive, located
from openpts_batch.named_drives import WrittenDrive, fits
from openpts_sim.simulated_target import DEFAULT_SEED, names_simulated, parse_simulated_target


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
    chosen = [_looked_at(one, consent, roots) for one in _each_its_own_seed(list(named))]
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


def _looked_at(written: WrittenDrive, consent: Consent, roots: SystemRoots) -> ChosenDrive:
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
    if verdict.safety is Safety.UNKNOWN:
        return found.refused("can't tell", f"{found.name}: {verdict.unknown}")
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
