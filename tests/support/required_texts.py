"""Reports of made-up runs with texts that are looked for at a place: a page, or the header of a test."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from openpts.pages.model import Report
from openpts.procedures.registry import PTS
from openpts.record.reader import Run
from openpts.report.build import build_combined, build_report
from openpts.report.run_part import part_of
from openpts.report.short.build import short_report
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import made_up_run, restless_rate, telling_run
from tests.support.page_transcript import transcript_of

DATE: Final = "2026-02-03T04:05:06Z"
OF_ROUNDS: Final = {1: "2", 2: "1.5", 3: "0.98", 4: "1", 5: "1.02", 6: "1.01", 7: "0.99"}
"""Shares of the rate, or of the latency, in each round: steady in the seventh, first in the third."""


Trajectory = Callable[[Stimulus, Phase, int], float | Fraction]


class Item(NamedTuple):
    """Texts of a report at a place.

    ``place`` is a page, ``header`` of all tests or of the one named behind it, or ``order``: the titles of
    mandatory pages, one behind the other.
    """

    report: str
    place: str
    texts: tuple[str, ...]


def item(report: str, place: str, *texts: str) -> Item:
    return Item(report, place, texts)


def settling_rate(stimulus: Stimulus, _phase: Phase, number: int) -> Fraction:
    """With a single I/O outstanding the latency follows the shares, otherwise the rate."""
    share = Fraction(OF_ROUNDS.get(number, "1"))
    return 10_000 / share if stimulus.toio == 1 else 10_000 * share


def climbing_rate(_stimulus: Stimulus, _phase: Phase, number: int) -> float:
    return 1_000.0 * number


def with_facts(run: Run) -> Run:
    """A host of which all is known that headers and set-up tables show."""
    manifest = run.manifest
    software = {"test_software": "openpts 9.8", "kernel": "Linux 6.1"}
    engine = {"engine": "native", "build": "build 7"}
    facts = [{key: Fact(text, "made up") for key, text in room.items()} for room in (software, engine)]
    host = {**manifest.host, "pcie": Fact("Gen 4", "made up")}
    return replace(run, manifest=replace(manifest, software=facts[0], engine=facts[1], host=host))


@cache
def report_of(name: str) -> Report:
    """That of a test by its name, behind it how its rate goes; ``short`` is of all tests."""
    test, _, course = name.partition(" ")
    if name == "short":
        return short_report([part_of(with_facts(telling_run(test)), DATE) for test in PTS], DATE)
    if name == "wsat and hir":
        return build_combined([telling_run("wsat"), telling_run("hir")], DATE)
    rates: dict[str, Trajectory] = {
        "settling": settling_rate,
        "restless": restless_rate,
        "climbing": climbing_rate,
    }
    return build_report(
        with_facts(made_up_run(test, rate=rates[course]) if course else telling_run(test)), DATE
    )


def parts_of(report: Report, place: str) -> Iterator[str]:
    if place == "order":
        yield " > ".join(re.findall(r"^# \S+ \(mandatory\): (.*)$", transcript_of(report), re.MULTILINE))
        return
    if not place.startswith("header"):
        yield transcript_of(report, place)
        return
    test = place.removeprefix("header").strip()
    for section, text in zip(report.sections, transcript_of(report).split("\n=== ")[1:], strict=True):
        if test in ("", section.test):
            yield text.partition("\n# ")[0]


def texts_found(one: Item) -> Iterator[dict[str, int]]:
    """How often each text is in the parts of the place, one after the other."""
    parts = tuple(parts_of(report_of(one.report), one.place))
    assert parts, f"{one.report} has no {one.place}"
    for part in parts:
        # rows that follow one another share the break between them
        doubled = part.replace("\n", "\n\n")
        yield {text: doubled.count(text.replace("\n", "\n\n")) for text in one.texts}
