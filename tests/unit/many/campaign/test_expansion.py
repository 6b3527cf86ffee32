"""The runs of a campaign and their order."""

from collections import Counter
from itertools import product

import pytest

from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, CampaignTest, OrderOfRuns, Variant
from openpts_many.campaign.expansion import PlannedRun, planned_runs, requests_of

HOSTS, SLOTS, REPETITIONS = 3, 8, 2
DRIVES = tuple(
    CampaignDrive(slot=f"bay{slot}", serial=f"S{host}{slot}", host=f"h{host}")
    for host, slot in product(range(HOSTS), range(SLOTS))
)
TESTS = (CampaignTest(test="iops"), CampaignTest(test="lat", options=("--quick", "--seed=5")))
VARIANTS = (Variant(name="cold", labels={"chamber": "10"}), Variant(name="hot", options=("--tune",)))


def campaign(order: OrderOfRuns, seed: int = 7) -> Campaign:
    return Campaign(
        drives=DRIVES, tests=TESTS, conditions=VARIANTS, repetitions=REPETITIONS, order=order, seed=seed
    )


def key(run: PlannedRun) -> tuple[str | None, str, str | None, int]:
    return run.drive.serial, run.test.test, run.variant.name if run.variant else None, run.repetition


def keys(order: OrderOfRuns, seed: int = 7) -> list[tuple[str | None, str, str | None, int]]:
    return [key(run) for run in planned_runs(campaign(order, seed))]


@pytest.mark.parametrize("order", OrderOfRuns)
def test_each_order_has_each_run_once_and_is_the_same_again(order: OrderOfRuns) -> None:
    found = keys(order)
    wanted = product((drive.serial for drive in DRIVES), ("iops", "lat"), ("cold", "hot"), (1, 2))
    assert Counter(found) == Counter(wanted)
    assert keys(order) == found
    assert (keys(order, seed=8) == found) is (order is OrderOfRuns.AS_LISTED)


def test_as_listed_all_drives_are_side_by_side() -> None:
    found = keys(OrderOfRuns.AS_LISTED)
    assert [serial for serial, *_ in found[:24]] == [drive.serial for drive in DRIVES]
    assert {tuple(rest) for _, *rest in found[:24]} == {("iops", "cold", 1)}


def test_randomised_runs_are_spread_over_time() -> None:
    """A repetition tells nothing of when its runs come: their mean place is the middle, within 4 sigma."""
    places = [place for place, run in enumerate(keys(OrderOfRuns.RANDOMISED)) if run[3] == 1]
    assert abs(sum(places) / len(places) - 95.5) < 4 * 192 / (12 * 192) ** 0.5


def test_blocks_are_balanced_over_hosts_slots_and_time() -> None:
    found = keys(OrderOfRuns.BLOCKED)
    half = len(found) // REPETITIONS
    assert {run[3] for run in found[:half]} == {1}  # a block for each repetition
    for first in range(0, len(found), len(DRIVES)):
        one_round = found[first : first + len(DRIVES)]
        assert len({serial for serial, *_ in one_round}) == len(DRIVES)
        in_host = Counter((serial[1], test, variant) for serial, test, variant, _ in one_round if serial)
        assert set(in_host.values()) == {SLOTS // 4}  # each of four treatments, in each host
        neighbors = {serial: (test, variant) for serial, test, variant, _ in one_round}
        assert all(
            neighbors[f"S{host}{slot}"] != neighbors[f"S{host}{slot + 1}"]
            for host, slot in product(range(HOSTS), range(SLOTS - 1))
        )


def test_requests_have_ids_words_and_labels_of_their_own() -> None:
    requests = requests_of(campaign(OrderOfRuns.AS_LISTED))
    assert len({request.run_id for request in requests}) == len(requests)
    first, last = requests[0], requests[-1]
    assert first.test_words == ("iops", "--seed", "7")
    assert first.labels == {
        "chamber": "10",
        "slot": "bay0",
        "host": "h0",
        "condition": "cold",
        "repetition": "1",
    }
    assert last.test_words == ("lat", "--quick", "--seed=5", "--tune")
    assert (last.serial, last.host, last.slot, last.target) == ("S27", "h2", "bay7", None)
    assert {request.test_words[-1] for request in requests if request.labels["repetition"] == "2"} == {
        "8",
        "--tune",
        "--seed=5",
    }
