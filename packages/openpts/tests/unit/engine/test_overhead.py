"""The engine's own share where it can't be measured: no kernel for it, or no time left for it."""

import pytest

from openpts import _native
from openpts.engine import native


@pytest.mark.parametrize("error", [_native.UnavailableError, _native.StoppedError])
def test_what_can_not_be_measured_has_its_reason(error, monkeypatch) -> None:
    def measure(*, cpus: list[int]) -> tuple[float, float, float]:
        raise error(f"processor {cpus[0]} is busy")

    monkeypatch.setattr(native._native, "measure_overhead", measure)
    a_processor_of_no_other_test = 9999
    assert native.cpu_ns_per_io((a_processor_of_no_other_test,)) is None
    fact = native._overhead((a_processor_of_no_other_test,))["own_overhead"]
    assert (fact.value, fact.source) == (None, "no measurement: processor 9999 is busy")
