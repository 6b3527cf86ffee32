"""A simulated drive behind NVMe over TCP, in the Rust module: its order, and what it served."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Final
from uuid import UUID

from msgspec import Struct

from openpts.errors import TargetError, UsageError
from openpts_sim.presets import Preset
from openpts_testbench import _native
from openpts_testbench.overrides import Ordered


class Faults(Struct, frozen=True):
    """What goes wrong on purpose; ``unreadable_lbas`` are those of the LBA format that it begins with.

    ``power`` are faults of a volatile write cache when the process is killed, each with the share of writes
    that it begins in; None: there is nothing that a kill could take. ``overrides`` are what the drive answers
    otherwise than it would.
    """

    sanitize_fails: bool = False
    format_fails: bool = False
    purge_lies: bool = False
    unreadable_lbas: tuple[int, ...] = ()
    vanishes_after_ios: int | None = None
    power: tuple[tuple[str, float], ...] | None = None
    overrides: tuple[Ordered, ...] = ()


SOUND: Final = Faults()
"""Nothing goes wrong but by itself."""


class Access(Struct, frozen=True):
    """Whether and when hosts get at the drive.

    ``security`` is the state of its locking: one of those in nvme-target/src/access.rs.
    ``ready_after_s`` is the time from the enabling of a controller to the one at which it is ready,
    ``media_after_s`` to the one from which its namespace is.
    """

    security: str = "none"
    ready_after_s: float = 0.0
    media_after_s: float = 0.0


OPEN: Final = Access()
"""Not locked, and ready at once."""


class DriveNames(Struct, frozen=True):
    """Who the drive says it is: ``nqn`` among NVMe subsystems, ``guid`` among all things."""

    nqn: str
    serial: str
    guid: UUID

    @property
    def psid(self) -> str:
        """The number on its label, by which it is reverted."""
        return self.guid.bytes.hex().upper()


class Served(Struct, frozen=True):
    """What was served. Lateness: how long after the model's moment answers went out; None without an I/O."""

    ios: int
    read_bytes: int
    write_bytes: int
    modelled_ns: int
    late_ns: int
    late_p50_ns: int | None
    late_p99_ns: int | None
    late_p99_9_ns: int | None
    late_max_ns: int | None
    connections: int

    @property
    def late_share(self) -> float:
        """How much longer I/Os took than the model says, as a share of that."""
        return self.late_ns / self.modelled_ns if self.modelled_ns else 0.0


class ServedDrive:
    """A drive that is served from now until ``stop``, or until it vanishes as ordered.

    ``address`` is where it listens, with the port's number; ``capacity_bytes`` its size as hosts see it.
    """

    def __init__(
        self,
        preset: Preset,
        names: DriveNames,
        *,
        address: str,
        capacity_bytes: int,
        scale: int,
        seed: int,
        worn_in: bool,
        ambient_c: float | None,
        initial_wear_pct: float,
        sanitize_takes_s: float,
        data: int | None,
        access: Access,
        faults: Faults,
        host_keys: Mapping[str, tuple[bytes, bytes | None]],
    ) -> None:
        """Make the drive and listen; ``data`` is a descriptor of the file for its contents.

        With ``host_keys``, hosts must prove that they have theirs.

        Raises UsageError for a drive that makes no sense, TargetError if the address or the file for the
        contents can't be had.
        """
        self.preset = preset
        self.names = names
        self.scale = scale
        self.seed = seed
        try:
            self._served: _native.ServedDrive | None = _native.ServedDrive(
                preset.text,
                address=address,
                capacity_bytes=capacity_bytes,
                scale=scale,
                seed=seed,
                worn_in=worn_in,
                ambient_c=ambient_c,
                initial_wear_pct=initial_wear_pct,
                nqn=names.nqn,
                serial=names.serial,
                model=f"openpts SIMULATED {preset.name}",
                firmware=version("openpts"),
                guid=names.guid.bytes,
                data=data,
                access=(access.security, access.ready_after_s, access.media_after_s),
                sanitize_takes_s=sanitize_takes_s,
                sanitize_fails=faults.sanitize_fails,
                format_fails=faults.format_fails,
                purge_lies=faults.purge_lies,
                unreadable_bytes=[lba * preset.sector_bytes for lba in faults.unreadable_lbas],
                vanishes_after_ios=faults.vanishes_after_ios,
                power_faults=None if faults.power is None else list(faults.power),
                secrets=host_keys,
                overrides=list(faults.overrides),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            raise TargetError(str(error)) from error

        self.address = self._served.address
        self.capacity_bytes = self._served.capacity_bytes
        self._in_the_end: Served | None = None

    @property
    def is_serving(self) -> bool:
        """Whether hosts can still reach it."""
        return self._served is not None and self._served.is_serving()

    def served(self) -> Served:
        """What was served so far."""
        if self._served is None:
            assert self._in_the_end is not None  # noqa: S101 stop has both
            return self._in_the_end
        return Served(**self._served.served())

    def stop(self) -> None:
        """End all connections, and let go of the file for the contents, which is complete then."""
        if self._served is not None:
            self._served.stop()
            self._in_the_end = self.served()
            self._served = None
