"""Which runs are on this host at the same time: any, or one that has it for itself."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from openpts.errors import RefusedError, TargetError
from openpts.ownership import HOST_FOLDER, host_used
from openpts.runner.device_under_test import DeviceUnderTest


@contextmanager
def host_use(device: DeviceUnderTest, *, alone: bool, folder: Path = HOST_FOLDER) -> Iterator[None]:
    """Be on this host as long as the block lasts; ``alone`` keeps all others away. A simulated drive is not.

    Raises RefusedError if another run is in the way, and TargetError where other runs can't be kept away.
    """
    with ExitStack() as held:
        if device.facts.simulation is None:
            try:
                held.enter_context(host_used(folder, device.owner, alone=alone))
            except BlockingIOError as error:
                who = (
                    "other runs are on this host" if alone else f"this host belongs to {error.strerror} alone"
                )
                what_to_do = f"see fuser -v {folder}/host.lock; wait until they end, or stop them"
                raise RefusedError(f"refused [host]: {who}; {what_to_do}") from None
            except OSError as error:
                if alone:
                    raise TargetError(
                        f"can't keep other runs away by {folder}/host.lock: {error.strerror}"
                    ) from error
        yield
