"""Targets of performance stand beside what was measured, with their source."""

from openpts_nvme.dssd.answers import Answers, CommandResult
from openpts_nvme.ocp.report import targets

MEASURED: Answers = {
    "M.trims_of_64_MiB_gib_per_s": CommandResult(b"61.5"),
    "M.trims_of_64_MiB_p99_ms": CommandResult(b"3.25"),
}


def test_trims_that_were_measured_stand_beside_what_is_asked() -> None:
    of_trims = [each for each in targets(MEASURED) if each.requirement == "META-PERF-2"]
    assert [(each.asked, each.measured) for each in of_trims] == [
        ("50 GiB/s or more, P99 of 10 ms or less", "61.5 GiB/s, P99 of 3.25 ms"),
        ("500 GiB/s or more, P99 of 10 ms or less", ""),
    ]


def test_targets_are_in_the_order_of_the_specification() -> None:
    numbers = [each.requirement for each in targets({})]
    assert numbers == sorted(numbers)
    assert all(each.test.startswith("openpts run ") for each in targets({}))
