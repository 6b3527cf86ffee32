"""A test of placement: a drive that takes no placement handles is refused before it is changed."""

from openpts.errors import TargetError
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver
from openpts.vocabulary.requests import Apply, Script


class PlacementDriver(Driver):
    """Looks first whether the drive has the handles that the streams name."""

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """Raise TargetError for a drive without the placement handles that the script names."""
        reading = device.health()
        known = reading.values.get("placement_handles")
        if known is None:
            raise TargetError(
                f"{device.facts.name} takes no placement handles, as its log says ({reading.source}): "
                "Flexible Data Placement is not supported, or not enabled (nvme fdp feature)"
            )
        named = {
            handle
            for request in script
            if isinstance(request, Apply)
            for step in request.steps
            for stream in step.streams
            if isinstance(handle := stream.stimulus.placement_handle, int)
        }
        if max(named) >= known:
            raise TargetError(
                f"{device.facts.name} has no placement handle {max(named)}, only 0 to {known - 1:g}: choose "
                "others with --handles"
            )
