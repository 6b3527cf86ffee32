"""All drives of this machine, what each is and how it is, and whether one could be tested.

Wakes no drive, and writes to none. A command to a drive that hangs can't be cancelled: the process sleeps in
the kernel until the driver gives up, for minutes. So each drive is queried by a child process of its own: one
that doesn't answer in time is left behind, and costs its own answer only.
"""

import os
import pickle
import selectors
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.guard.claims import Usage
from openpts.device.guard.guard import GuardVerdict, check_drive, settled
from openpts.device.guard.rules import SECURITY_RULE, SIGNATURE_RULE, quiet_refusals, recorded_signatures
from openpts.device.guard.usage import at_work, read_usage
from openpts.device.identity import Media, drive_facts, identified_controller, media
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.device.purge.methods import Capability, PurgeMethod, capabilities
from openpts.device.security import Security, read_security
from openpts.device.targets.reading import open_for_reading
from openpts.device.targets.target import BlockTarget
from openpts.device.write_cache import UNKNOWN, read_write_cache
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import ROTATIONAL, Fact, Facts, HealthReading, fact_of
from openpts_drives.health.health import read_health_of
from openpts_drives.link import NegotiatedLink, negotiated_link


class PurgeAbility(Struct, frozen=True):
    """A purge method, and whether the drive has it; ``reason`` is where that was read, or why not.

    ``reaches`` are nodes of other namespaces that it would erase too.
    """

    name: str
    title: str
    is_purge: bool
    supported: bool
    reason: str
    duration_s: float | None
    reaches: tuple[str, ...]

    @classmethod
    def of(cls, method: PurgeMethod, capability: Capability) -> Self:
        """What the drive says of one of the methods."""
        return cls(
            method.name,
            method.title,
            method.is_purge,
            capability.supported,
            capability.reason,
            capability.duration_s,
            capability.reaches,
        )


class ListedLink(Struct, frozen=True):
    """The link as it was negotiated, and the most that both ends could do."""

    current: str | None
    maximum: str | None


class ListedDevice(Struct, frozen=True, kw_only=True):
    """A whole drive; None is what nothing reports.

    ``facts`` have the keys of the report's header and their places. ``other_namespaces`` are nodes of its
    controller. ``warnings`` are sentences that an operator should read before a test. ``silent`` says that
    the drive didn't answer in time, so that only the kernel's own knowledge is here.
    """

    path: str
    model: str | None
    serial: str | None
    slot: str | None
    firmware: str | None
    capacity_bytes: int
    interface: str | None
    link: ListedLink
    form_factor: str | None
    media: str | None
    rotation_rpm: int | None
    logical_sector_bytes: int | None
    physical_sector_bytes: int | None
    write_cache: str | None
    temperature_c: float | None
    percentage_used_pct: float | None
    health: HealthReading
    purge_methods: tuple[PurgeAbility, ...]
    other_namespaces: tuple[str, ...]
    facts: Facts
    warnings: tuple[str, ...]
    silent: str | None
    safety: GuardVerdict

    @classmethod
    def of(cls, device: BlockDevice, facts: Facts, media: Media, link: NegotiatedLink, **known: Any) -> Self:
        """A drive that has answered nothing itself."""
        unknown: dict[str, Any] = {
            "logical_sector_bytes": None,
            "physical_sector_bytes": None,
            "purge_methods": (),
            "other_namespaces": (),
            "warnings": (),
            "silent": None,
        }
        return cls(
            **unknown | known | named(facts) | measured(HealthReading("the drive was not asked")),
            path=str(device.node),
            capacity_bytes=device.capacity_bytes,
            link=ListedLink(link.current, link.most),
            media=media.kind,
            rotation_rpm=media.rpm,
        )


_FACTS: Final = ("model", "serial", "slot", "firmware", "interface", "form_factor", "write_cache")
_VALUES: Final = ("temperature_c", "percentage_used_pct")


def named(facts: Facts) -> dict[str, Any]:
    """The fields of a drive that its facts fill."""
    return {"facts": facts, **{key: fact_of(facts, key) for key in _FACTS}}


def measured(health: HealthReading) -> dict[str, Any]:
    """The fields of a drive that its log fills."""
    return {"health": health, **{key: health.values.get(key) for key in _VALUES}}


_NOT_IDENTIFIED: Final = "the drive was not asked"
_WELL: Final = 0


def inspect_disk(
    device: BlockDevice, usage: Usage | RefusedError, *, may_wake: bool = False
) -> Iterator[ListedDevice]:
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
        yield replace(known, safety=_verdict(device, usage, known, None, may_wake=False), silent=silent)
        return
    reported = _as_it_answers(device, usage, known, may_wake=may_wake)
    yield reported
    methods = (PurgeAbility.of(*each) for each in capabilities(device) if not each[1].foreign)
    yield replace(reported, purge_methods=tuple(methods))


def _as_the_kernel_knows_it(device: BlockDevice, usage: Usage | RefusedError) -> ListedDevice:
    link = negotiated_link(device)
    siblings = NvmeSubsystem.of(device).besides(device)
    return ListedDevice.of(
        device,
        drive_facts(device, device.roots, None, _NOT_IDENTIFIED),
        media(device),
        link,
        logical_sector_bytes=device.integer("queue/logical_block_size"),
        physical_sector_bytes=device.integer("queue/physical_block_size"),
        safety=_known_verdict(device, usage),
        other_namespaces=tuple(str(sibling.node) for sibling in siblings),
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
        return GuardVerdict.of(unknown=str(usage))
    refusals = quiet_refusals(device, usage)
    if not refusals and device.capacity_bytes == 0:
        return GuardVerdict.of(unknown=f"{device.node} has no capacity: is there a medium in it?")
    return GuardVerdict.of(refusals, "" if refusals else "its contents were not checked")


def _as_it_answers(
    device: BlockDevice, usage: Usage | RefusedError, known: ListedDevice, *, may_wake: bool
) -> ListedDevice:
    facts = known.facts | drive_facts(device, device.roots, *identified_controller(device))
    try:
        with open_for_reading(BlockTarget(device.node), device.roots) as target:
            cache = read_write_cache(target, required_enabled=False, roots=device.roots)
        actual = None if cache.actual == UNKNOWN else cache.actual
        facts |= {"write_cache": Fact(actual, cache.source)}
    except TargetError as error:
        facts |= {"write_cache": Fact(None, str(error))}
    # also of a drive that can't be read: its log may say why
    health = read_health_of(device)
    security = read_security(device)
    return replace(
        known,
        **named(facts | {"security": security.fact}),
        **measured(health),
        safety=_verdict(device, usage, known, security, may_wake=may_wake),
        warnings=(*known.warnings, *_security_warnings(security), *_health_warnings(health)),
    )


def _sleeps(device: BlockDevice) -> bool:
    """Whether the kernel has put it to sleep: to open it would wake it."""
    return device.text("device/power/runtime_status") == "suspended"


def _verdict(
    device: BlockDevice,
    usage: Usage | RefusedError,
    known: ListedDevice,
    security: Security | None,
    *,
    may_wake: bool,
) -> GuardVerdict:
    """``security`` is None of a drive that was left alone."""
    if isinstance(usage, RefusedError) or known.safety.refusals or device.capacity_bytes == 0:
        return known.safety
    against = None if security is None or security.against is None else f"{device.node}: {security.against}"
    if against is not None and security is not None and security.state is not None:
        return GuardVerdict.of((SECURITY_RULE.refusal(device, against),))
    if not may_wake and (recorded := recorded_signatures(device)) is not None:
        evidence = f"{device.node} holds {', '.join(recorded)}, according to udev"
        if recorded:
            return GuardVerdict.of((SIGNATURE_RULE.refusal(device, evidence),))
        return GuardVerdict.of(unknown=against or "")
    if not may_wake and (known.media == ROTATIONAL or _sleeps(device)):
        return GuardVerdict.of(
            unknown="its contents were not checked, since that might wake it: run "
            f"openpts devices {device.node}"
        )
    try:
        return GuardVerdict.of(check_drive(device, usage))
    except TargetError as error:
        return GuardVerdict.of(unknown=str(error))


def _security_warnings(security: Security) -> Iterator[str]:
    state = security.state
    if state is not None and state.enabled and not state.keeps_data_away:
        yield f"{state}: its owner can lock it again, and it may refuse to be formatted or sanitized"


def _health_warnings(health: HealthReading) -> tuple[str, ...]:
    found = []
    if (warning := health.values.get("critical_warning", _WELL)) != _WELL:
        found.append(f"the drive's log has a critical warning, {int(warning):#04x}")
    if health.values.get("read_only", 0) == 1:
        found.append("the drive is read-only")
    if health.values.get("failure_foretold", 0) == 1:
        found.append("the drive predicts its own failure (SMART)")
    temperature_c, limit_c = health.values.get("temperature_c"), health.values.get("warning_limit_c")
    if temperature_c is not None and limit_c is not None and temperature_c >= limit_c:
        found.append(f"its temperature is {temperature_c:g} °C, its own limit {limit_c:g} °C")
    return tuple(found)


Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_READ_BYTES = 1 << 16
_LENGTH_BYTES = 8


class ChildReply(Struct, Generic[Answer]):
    """The last answer that was read. ``complete`` is False where time ran out, or the child ended early."""

    answer: Answer | None = None
    complete: bool = False


class _Child(Struct, Generic[Answer]):
    pid: int
    pipe: int
    reply: ChildReply[Answer] = field(default_factory=ChildReply)
    received: bytearray = field(default_factory=bytearray)

    def take(self) -> bool:
        """Read what is there; False at the end of it."""
        chunk = os.read(self.pipe, _READ_BYTES)
        self.received += chunk
        while len(self.received) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self.received[:_LENGTH_BYTES], "little")
            if len(self.received) < end:
                break
            # from a child of this very process: no other process can write to it
            self.reply.answer, self.reply.complete = pickle.loads(self.received[_LENGTH_BYTES:end])  # noqa: S301
            del self.received[:end]
        return bool(chunk)


def ask_each(
    asked: Sequence[Asked], answers: Callable[[Asked], Iterator[Answer]], timeout_s: float
) -> list[ChildReply[Answer]]:
    """What ``answers`` yields for each of ``asked``, all at the same time, each in a process of its own.

    The last answer counts; earlier ones are there for the case that the next never comes. Returns
    after ``timeout_s`` at the latest, in the order of ``asked``.
    """
    children = [_start(one, answers) for one in asked]
    try:
        _collect(children, time.monotonic() + timeout_s)
    finally:
        for child in children:
            os.close(child.pipe)
            _dismiss(child.pid, ended=child.reply.complete)
    return [child.reply for child in children]


def _start(one: Asked, answers: Callable[[Asked], Iterator[Answer]]) -> "_Child[Answer]":
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # other threads: the child uses none of their locks
        pid = os.fork()
    if pid:
        os.close(writing)
        return _Child(pid, reading)
    status = 1
    try:
        os.setpgid(0, 0)  # what it starts ends with it
        os.close(reading)
        last = None
        for last in answers(one):
            _send(writing, last, complete=False)
        _send(writing, last, complete=True)
        status = 0
    except Exception:  # noqa: BLE001 whatever it is, it must not continue as a second parent
        traceback.print_exc()  # a defect: the parent sees no more than that the answer is missing
    finally:
        os._exit(status)  # nothing of the parent's is flushed or cleaned up twice


def _send(pipe: int, answer: object, *, complete: bool) -> None:
    content = memoryview(pickle.dumps((answer, complete)))
    content = memoryview(len(content).to_bytes(_LENGTH_BYTES, "little") + bytes(content))
    while content:
        content = content[os.write(pipe, content) :]


def _collect(children: Sequence["_Child[Answer]"], deadline_s: float) -> None:
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.pipe, selectors.EVENT_READ, child)
        while selector.get_map() and (left_s := deadline_s - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                if not key.data.take():
                    selector.unregister(key.fileobj)


def _dismiss(pid: int, *, ended: bool) -> None:
    """End a child and what it started; one that sleeps in the kernel ends when the driver lets it go."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0 if ended else os.WNOHANG)


PATIENCE_S: Final = 10.0


def list_devices(roots: SystemRoots, patience_s: float = PATIENCE_S) -> list[ListedDevice]:
    """Every whole drive, as far as it answers within ``patience_s``; none is woken, and none written to."""
    return _inspect(whole_drives(roots), roots, patience_s, may_wake=False)


def list_device(device: BlockDevice, roots: SystemRoots, patience_s: float = PATIENCE_S) -> ListedDevice:
    """One drive, its first sectors read as before a test."""
    return _inspect([device], roots, patience_s, may_wake=True)[0]


def _inspect(
    disks: list[BlockDevice], roots: SystemRoots, patience_s: float, *, may_wake: bool
) -> list[ListedDevice]:
    usage: Usage | RefusedError
    try:
        usage = settled(read_usage(roots), disks)
    except RefusedError as error:
        usage = error
    replies = ask_each(disks, lambda disk: inspect_disk(disk, usage, may_wake=may_wake), patience_s)
    silent = f"no answer within {patience_s:g} s: see dmesg"
    return [_listed(disk, reply, silent) for disk, reply in zip(disks, replies, strict=True)]


def _listed(disk: BlockDevice, reply: ChildReply[ListedDevice], silent: str) -> ListedDevice:
    if reply.answer is not None:
        return reply.answer if reply.complete else replace(reply.answer, silent=silent)
    unknown, nothing = GuardVerdict.of(unknown=silent), NegotiatedLink(None, None, (), silent)
    return ListedDevice.of(disk, {}, Media(None, None, silent), nothing, safety=unknown, silent=silent)
