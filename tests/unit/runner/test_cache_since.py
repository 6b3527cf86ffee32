"""Whether a write cache is still at the end of a cycle as it was when that began."""

from typing import TYPE_CHECKING, cast

import pytest

from openpts.runner.preparation import Preparation
from openpts.vocabulary.facts import WriteCacheReport
from openpts.vocabulary.purge import PurgeChoice

if TYPE_CHECKING:
    from openpts.runner.device_under_test import DeviceUnderTest


class Drive:
    def __init__(self, actual: str) -> None:
        self.actual = actual

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        return WriteCacheReport("WCE" if required_enabled else "WCD", self.actual, "NVMe Get Features, 06h")


def since(then: str, now: str, required: str = "WCD") -> list[str]:
    preparation = Preparation(cast("DeviceUnderTest", Drive(now)), PurgeChoice.AUTO)
    entries = preparation.cache_since(WriteCacheReport(required, then, "NVMe Get Features, 06h"))
    assert all(entry.rule_id == "PTS-CACHE-01" for entry in entries)
    return [f"{entry.required}: {entry.used}" for entry in entries]


@pytest.mark.parametrize("state", ["WCD", "WCE", "no volatile cache"])
def test_a_cache_that_stayed_is_no_entry(state: str) -> None:
    assert since(state, state) == []


def test_a_cache_that_came_back_is_entered() -> None:
    """As after a reset of the controller, which forgets the feature."""
    assert since("WCD", "WCE") == [
        "WCD, throughout: WCD when the cycle began, WCE at its end (NVMe Get Features, 06h)"
    ]
    assert since("WCE", "WCD", "WCE") == [
        "WCE, throughout: WCE when the cycle began, WCD at its end (NVMe Get Features, 06h)"
    ]


def test_a_drive_that_does_not_tell_any_more_is_no_entry() -> None:
    assert since("WCD", "unknown") == []
