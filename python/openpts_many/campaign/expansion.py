"""The runs of a campaign in their order: each drive, test, condition and repetition once."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

from msgspec import Struct

from openpts.ownership import new_run_id
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, CampaignTest, OrderOfRuns, Variant


class PlannedRun(Struct, frozen=True):
    """A run before it has an ID; ``repetition`` counts from 1."""

    drive: CampaignDrive
    test: CampaignTest
    variant: Variant | None
    repetition: int


_Treatment = tuple[CampaignTest, Variant | None]


def planned_runs(campaign: Campaign) -> list[PlannedRun]:
    """All runs in the order of the campaign; the same file gives the same order."""
    treatments: list[_Treatment] = [
        (test, variant) for variant in campaign.conditions or (None,) for test in campaign.tests
    ]
    draw = random.Random(campaign.seed)  # noqa: S311 an order that can be repeated
    repetitions = range(1, campaign.repetitions + 1)
    if campaign.order is OrderOfRuns.BLOCKED:
        return [run for number in repetitions for run in _block(campaign.drives, treatments, number, draw)]
    runs = [
        PlannedRun(drive, *treatment, repetition)
        for repetition, treatment, drive in product(repetitions, treatments, campaign.drives)
    ]
    if campaign.order is OrderOfRuns.RANDOMISED:
        draw.shuffle(runs)
    return runs


def _block(
    drives: Sequence[CampaignDrive], treatments: Sequence[_Treatment], repetition: int, draw: random.Random
) -> Iterator[PlannedRun]:
    """A round for each treatment: neighbors in a host have different ones, drives come in random order."""
    by_place = sorted(range(len(drives)), key=lambda number: (drives[number].host or "", number))
    dealt = list(treatments)
    draw.shuffle(dealt)
    for shift in range(len(dealt)):
        runs = [
            PlannedRun(drives[number], *dealt[(place + shift) % len(dealt)], repetition)
            for place, number in enumerate(by_place)
        ]
        draw.shuffle(runs)
        yield from runs


def requests_of(campaign: Campaign) -> tuple[RunRequest, ...]:
    """The runs as requests, each with an ID of its own that is minted here."""
    return tuple(_request(campaign, run) for run in planned_runs(campaign))


def _request(campaign: Campaign, run: PlannedRun) -> RunRequest:
    drive, variant = run.drive, run.variant
    words = (run.test.test, *run.test.options, *(variant.options if variant else ()))
    if not any(word.partition("=")[0] == "--seed" for word in words):
        words = (*words, "--seed", str(campaign.seed + run.repetition - 1))
    places = {"slot": drive.slot, "host": drive.host, "condition": variant.name if variant else None}
    return RunRequest(
        run_id=new_run_id(),
        test_words=words,
        target=drive.target,
        slot=drive.slot,
        model=drive.model,
        serial=drive.serial,
        host=drive.host,
        labels={
            **campaign.labels,
            **drive.labels,
            **(variant.labels if variant else {}),
            **{name: text for name, text in places.items() if text},
            "repetition": str(run.repetition),
        },
    )
