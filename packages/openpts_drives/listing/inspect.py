"""Looks at one drive without disturbing it: first what the kernel knows, then what the drive tells.

Nothing is written, no data is read where that might wake a drive, and the commands sent to it are those that
ask for its identity, its settings and its log.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.guard.erase_in_progress import at_work
from openpts.device.guard.guard import check_drive
from openpts.device.guard.rules import SECURITY_RULE, SIGNATURE_RULE, quiet_refusals
from openpts.device.guard.signatures import recorded_signatures
from openpts.device.guard.usage import Usage
from openpts.device.guard.verdict import GuardVerdict
from openpts.device.identity.identity import drive_facts, identified_controller
from openpts.device.identity.media import media
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.device.purge.methods import capabilities
from openpts.device.security.security import Security, read_security
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import open_for_reading
from openpts.device.targets.target import BlockTarget
from openpts.device.write_cache import UNKNOWN, read_write_cache
from openpts.errors import RefusedError, TargetError
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.health import HealthReading
from openpts_drives.health.health import read_health_of
from openpts_drives.link import negotiated_link
from openpts_drives.listing.drive_listing import DeviceListing, PurgeAbility

_NOT_IDENTIFIED: Final = "the drive was not asked"
_WELL: Final = 0


def inspect_disk(
    device: BlockDevice, usage: Usage | RefusedError, *, may_wake: bool = False
) -> Iterator[DeviceListing]:
    """What the kernel knows of a drive, at once; then with what the drive answers; last how it can be purged.

    ``may_wake``: read its first sectors, as the guard does, even where that might spin it up.
    """
    known = _as_the_kernel_knows_it(device, usage)
    yield known
    if not isinstance(usage, RefusedError) and (busy := at_work(device, usage)) is not None:
        yield replace(known, silent=f"left alone: {busy}")
        return
    if not may_wake and _sleeps(device):
        silent = f"asleep and left alone: openpts devices {device.node} wakes it"
        yield replace(known, verdict=_verdict(device, usage, known, None, may_wake=False), silent=silent)
        return
    reported = _as_it_answers(device, usage, known, may_wake=may_wake)
    yield reported
    yield replace(reported, purge=_purge(device))


def _as_the_kernel_knows_it(device: BlockDevice, usage: Usage | RefusedError) -> DeviceListing:
    link = negotiated_link(device)
    siblings = NvmeSubsystem.of(device).besides(device)
    turns = media(device)
    facts = drive_facts(device, device.roots, None, _NOT_IDENTIFIED)
    return DeviceListing(
        path=str(device.node),
        facts=facts,
        capacity_bytes=device.capacity_bytes,
        sector_bytes=device.integer("queue/logical_block_size"),
        physical_sector_bytes=device.integer("queue/physical_block_size"),
        media=turns,
        link=link,
        verdict=_known_verdict(device, usage),
        siblings=tuple(str(sibling.node) for sibling in siblings),
        warnings=(*link.warnings, *_siblings_in_use(siblings, usage)),
    )


def _siblings_in_use(siblings: tuple[BlockDevice, ...], usage: Usage | RefusedError) -> tuple[str, ...]:
    """Other namespaces of the controller: their load comes to it as well, and some purges erase them."""
    if isinstance(usage, RefusedError):
        return ()
    found = (refusals[0] for sibling in siblings if (refusals := quiet_refusals(sibling, usage)))
    return tuple(f"the same controller serves another namespace in use: {one.evidence}" for one in found)


def _known_verdict(device: BlockDevice, usage: Usage | RefusedError) -> GuardVerdict:
    if isinstance(usage, RefusedError):
        return GuardVerdict(unknown=str(usage))
    refusals = quiet_refusals(device, usage)
    if not refusals and device.capacity_bytes == 0:
        return GuardVerdict(unknown=f"{device.node} has no capacity: is there a medium in it?")
    return GuardVerdict(refusals, "" if refusals else "its contents were not checked")


def _as_it_answers(
    device: BlockDevice, usage: Usage | RefusedError, known: DeviceListing, *, may_wake: bool
) -> DeviceListing:
    facts = known.facts | drive_facts(device, device.roots, *identified_controller(device))
    try:
        with open_for_reading(BlockTarget(device.node), device.roots) as target:
            facts |= _cache(target, device)
    except TargetError as error:
        facts |= {"write_cache": Fact(None, str(error))}
    # also of a drive that can't be read: its log may say why
    health = read_health_of(device)
    security = read_security(device)
    return replace(
        known,
        facts=facts | {"security": security.fact},
        health=health,
        verdict=_verdict(device, usage, known, security, may_wake=may_wake),
        warnings=(*known.warnings, *_security_warnings(security), *_health_warnings(health)),
    )


def _sleeps(device: BlockDevice) -> bool:
    """Whether the kernel has put it to sleep: to open it would wake it."""
    return device.text("device/power/runtime_status") == "suspended"


def _cache(target: OpenTarget, device: BlockDevice) -> Facts:
    report = read_write_cache(target, required_enabled=False, roots=device.roots)
    return {"write_cache": Fact(None if report.actual == UNKNOWN else report.actual, report.source)}


def _purge(device: BlockDevice) -> tuple[PurgeAbility, ...]:
    return tuple(
        PurgeAbility.of(method, capability)
        for method, capability in capabilities(device)
        if not capability.foreign
    )


def _verdict(
    device: BlockDevice,
    usage: Usage | RefusedError,
    known: DeviceListing,
    security: Security | None,
    *,
    may_wake: bool,
) -> GuardVerdict:
    """``security`` is None of a drive that was left alone."""
    if isinstance(usage, RefusedError) or known.verdict.refusals or device.capacity_bytes == 0:
        return known.verdict
    against = None if security is None or security.against is None else f"{device.node}: {security.against}"
    if against is not None and security is not None and security.state is not None:
        return GuardVerdict((SECURITY_RULE.refusal(device, against),))
    if not may_wake and (recorded := recorded_signatures(device)) is not None:
        evidence = f"{device.node} holds {', '.join(recorded)}, according to udev"
        if recorded:
            return GuardVerdict((SIGNATURE_RULE.refusal(device, evidence),))
        return GuardVerdict(unknown=against or "")
    if not may_wake and (known.media.is_rotational or _sleeps(device)):
        return GuardVerdict(
            unknown="its contents were not checked, since that might wake it: run "
            f"openpts devices {device.node}"
        )
    try:
        return GuardVerdict(check_drive(device, usage))
    except TargetError as error:
        return GuardVerdict(unknown=str(error))


def _security_warnings(security: Security) -> Iterator[str]:
    state = security.state
    if state is not None and state.enabled and not state.keeps_data_away:
        yield f"{state}: its owner can lock it again, and it may refuse to be formatted or sanitized"


def _health_warnings(health: HealthReading) -> tuple[str, ...]:
    said = []
    if (warning := health.values.get("critical_warning", _WELL)) != _WELL:
        said.append(f"the drive's log has a critical warning, {int(warning):#04x}")
    if health.values.get("read_only", 0) == 1:
        said.append("the drive is read-only")
    if health.values.get("failure_foretold", 0) == 1:
        said.append("the drive predicts its own failure (SMART)")
    temperature_c, limit_c = health.values.get("temperature_c"), health.values.get("warning_limit_c")
    if temperature_c is not None and limit_c is not None and temperature_c >= limit_c:
        said.append(f"its temperature is {temperature_c:g} °C, its own limit {limit_c:g} °C")
    return tuple(said)
