"""A run takes the time and writes the bytes that its plan says; `python -m benches.plans` has all of them."""

from pathlib import Path

import pytest

from benches import plans
from benches.plans import Compared, planned, taken
from tests.support.openpts_process import openpts


@pytest.fixture(autouse=True)
def _commands_are_started_as_by_other_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_openpts", lambda *words, **_limit: openpts(*words, cwd=tmp_path).stdout)


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("preset", ["mlc", "pslc", "theory"])
@pytest.mark.parametrize("test", ["lat", "wsat", "fill"])
def test_a_run_takes_what_its_plan_says(test: str, preset: str, tmp_path: Path) -> None:
    plan, run = planned(test, f"sim:{preset}"), taken(test, f"sim:{preset}", tmp_path / "run", 60)
    assert plan is not None
    assert run is not None
    for least, most, it_took in zip(*(one.values() for one in map(figures, plan)), run, strict=True):
        found = Compared(least, most, it_took)
        assert found.holds, found
        assert found.width < 4, found


def figures(extent: dict[str, int]) -> dict[str, int]:
    return {name: extent[name] for name in ("duration_ns", "written_bytes")}


def test_a_drive_of_no_kind_in_particular_may_be_ten_times_slower_behind_its_cache() -> None:
    """A drive with 3 GB/s in its cache took 56 min for what 2 min 54 s were planned for."""
    plan = planned("iops", "--capacity=512GB")
    assert plan is not None
    least, most = plan
    assert most["duration_ns"] > 5 * least["duration_ns"]
