"""A target as it can be known without touching it: a drive by what it answers, a file by its size."""

from collections.abc import Callable, Sequence
from typing import Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice, check_file_system, device_below
from openpts.device.guard.usage import at_work, read_usage
from openpts.device.purge.methods import choose, method_named
from openpts.device.purge.purge import FILE_METHOD, no_purge
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import FileTarget, parse_target, scheme_of
from openpts.device.write_cache import read_write_cache
from openpts.errors import OpenptsError, TargetError
from openpts.runner.physical_device import NOT_THE_DEVICE, kernel_made, not_a_purge, purge_of_a_file
from openpts.runner.preparation import other_write_cache, purge_left_out
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation

_USUAL_SECTOR_BYTES = 512


class UnopenedTarget(Struct, frozen=True):
    """``assumed`` are sentences on what could not be known; ``device`` is the drive as sysfs shows it.

    ``not_one`` is of a target of a scheme: why it is no drive that exists, as entries of the ledger of a run
    of these steps; it raises UsageError where figures would say nothing.
    """

    facts: TargetFacts
    assumed: tuple[str, ...] = ()
    device: BlockDevice | None = None
    not_one: Callable[[Sequence[Step]], tuple[Deviation, ...]] | None = None

    @property
    def exists(self) -> bool:
        """Whether it is a drive or a file."""
        return self.not_one is None

    @classmethod
    def of(cls, text: str, roots: SystemRoots) -> Self:
        """What the operator's text names. Raises OpenptsError as a run would, as far as can be seen."""
        if (scheme := scheme_of(text)) is not None:
            found: Self = scheme.part("unopened")(text)
            return found
        target = parse_target(text)
        if isinstance(target, FileTarget):
            return cls._file(target, roots)
        return cls._drive(BlockDevice.of_node(target.path, roots))

    @classmethod
    def of_capacity(cls, capacity_bytes: int) -> Self:
        """A drive known by its capacity alone, with the usual sector size assumed."""
        facts = TargetFacts(TargetKind.BLOCK, "a drive", "-", capacity_bytes, _USUAL_SECTOR_BYTES)
        return cls(facts, (_sector_text(_USUAL_SECTOR_BYTES), _CACHE_TEXT))

    @classmethod
    def _file(cls, target: FileTarget, roots: SystemRoots) -> Self:
        path = target.path.absolute()
        check_file_system(path, roots)
        size_bytes = target.size_bytes or path.stat().st_size
        if not size_bytes:
            raise TargetError(f"{target.path} is empty: give its size, as ?size=512MiB")
        device = device_below(path.resolve(), roots)
        sector_bytes = None if device is None else device.whole.integer("queue/logical_block_size")
        facts = TargetFacts(
            TargetKind.FILE, path.name, str(path), size_bytes, sector_bytes or _USUAL_SECTOR_BYTES
        )
        return cls(facts, () if sector_bytes else (_sector_text(_USUAL_SECTOR_BYTES),))

    @classmethod
    def _drive(cls, device: BlockDevice) -> Self:
        if not device.capacity_bytes:
            raise TargetError(f"{device.node} has no capacity: is there a medium in it?")
        sector_bytes = device.integer("queue/logical_block_size")
        facts = TargetFacts(
            TargetKind.BLOCK,
            device.name,
            str(device.node),
            device.capacity_bytes,
            sector_bytes or _USUAL_SECTOR_BYTES,
            partitions=device.places_of_partitions,
        )
        assumed = (_CACHE_TEXT,) if sector_bytes else (_sector_text(_USUAL_SECTOR_BYTES), _CACHE_TEXT)
        return cls(facts, assumed, device=device)

    def deviations(
        self, steps: Sequence[Step], purge: PurgeChoice | None, write_cache_enabled: bool, roots: SystemRoots
    ) -> tuple[Deviation, ...]:
        """Entries of the ledger that are known beforehand, in a run's order; without ``purge`` it makes none.

        Raises UsageError where the figures of a target of a scheme would say nothing.
        """
        found: list[Deviation] = []
        if self.not_one is not None:
            found += self.not_one(steps)
        is_file = self.facts.kind is TargetKind.FILE
        if is_file:
            found.append(NOT_THE_DEVICE)
        if self.device is not None:
            found += kernel_made(self.device)
        if purge is not None:
            found += self._purge_entries(purge)
        if is_file:
            cache = read_write_cache(OpenTarget(-1, self.facts, None), write_cache_enabled, roots)
            found.append(other_write_cache(cache))
        return tuple(found)

    def _purge_entries(self, choice: PurgeChoice) -> tuple[Deviation, ...]:
        if choice.left_out:
            return (purge_left_out(no_purge("the operator asked for none")),)
        if self.facts.kind is TargetKind.FILE:
            return (purge_of_a_file(FILE_METHOD),)
        named = [method_named(name) for name in choice.methods]
        return (not_a_purge(named[0].title),) if named and not named[0].is_purge else ()

    def purge_text(self, choice: PurgeChoice) -> str:
        """What a run would purge it by, as far as it can be asked now; never raises.

        A drive is not asked while a program may be at work on it: a question could break that off.
        """
        if choice.left_out:
            return "none"
        if self.facts.kind is TargetKind.FILE:
            return FILE_METHOD
        if self.device is None:
            return f"{choice}, if the drive supports it" if self.exists else "its own"
        try:
            if (busy := at_work(self.device, read_usage(self.device.roots))) is not None:
                return f"not queried: {busy}"
            chosen = choose(choice, self.device, frozenset())
        except OpenptsError as error:
            return f"would fail: {error}"
        return ", else ".join(f"{method.name} ({method.title})" for method in chosen.methods)


_CACHE_TEXT = "the volatile write cache can be set as required; otherwise a deviation is recorded"


def _sector_text(sector_bytes: int) -> str:
    return f"sectors of {sector_bytes} bytes"
