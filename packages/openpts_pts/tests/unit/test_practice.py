"""The requirements of the four guides: all of them, each with an answer, none in a report of the PTS."""

from collections import Counter

import pytest
from msgspec.structs import replace

from openpts.vocabulary.facts import Fact, Scenario
from openpts.vocabulary.verdict import Deviation
from openpts_host.advice.table import ADVICE
from openpts_pts.conformance.catalogue import GUIDES, by_id
from openpts_pts.conformance.conformance import CHECKS, conformance_of, proofs
from openpts_pts.conformance.requirements import GuideStatus, all_practices, answer_of, findings, practices
from openpts_pts.evidence.finding import Status
from tests.support.made_up_run import made_up_run

# Counted in the lists made from the papers.
EXPECTED = {
    "solidigm": {"GEN": 11, "STAT": 9, "DEV": 4, "SYS": 5, "BIOS": 6, "OS": 18, "PWR": 16, "BMK": 11},
    "tkperf": {"SET": 4, "GEN": 1, "SS": 4, "IOPS": 8, "TP": 4, "LAT": 4, "WSAT": 3},
    "lsi": {"GEN": 4, "MIX": 1, "ENT": 2, "PRE": 5, "PROC": 6, "RPT": 1},
    "hyperstone": {"SUS": 5, "FILL": 2, "BG": 1, "TMP": 2, "LIFE": 4, "USE": 1},
}


@pytest.mark.parametrize("guide", GUIDES)
def test_each_guide_has_its_requirements_numbered_from_one(guide) -> None:
    counts = Counter(id_.split("-")[1] for id_ in practices(guide))
    assert counts == EXPECTED[guide]
    prefix = next(iter(practices(guide))).split("-")[0]
    wanted = [f"{prefix}-{group}-{n:02}" for group, count in counts.items() for n in range(1, count + 1)]
    assert list(practices(guide)) == wanted


def test_each_has_one_answer_that_is_true() -> None:
    for id_, practice in all_practices().items():
        answer = answer_of(id_, proofs())
        reasons = [practice.operator, practice.outside, practice.missing]
        assert 4 < len(practice.text) <= 110, id_
        assert sum(map(bool, reasons)) <= 1, id_
        if answer in {GuideStatus.CHECKED, GuideStatus.BUILT_IN}:
            assert not any(reasons), id_
        else:
            assert practice.note, f"{id_}: mark a test with @pytest.mark.proves, or give the reason"
            assert not practice.partly, id_
            # what is said to be missing is not proven by a test at the same time
            assert id_ not in proofs(), id_
        assert set(practice.like) <= set(CHECKS), id_


def test_the_audits_requirements_are_those_of_the_guide() -> None:
    assert {id_ for advice in ADVICE for id_ in advice.requirements} <= set(practices("solidigm"))


def test_no_row_of_a_guide_is_in_the_catalogue_of_the_specification() -> None:
    assert not set(all_practices()) & set(by_id())
    assert {each.requirement.id for each in conformance_of(made_up_run("iops"))} == set(by_id())


def test_what_asks_the_same_has_the_check_of_the_specification() -> None:
    run = made_up_run("iops")
    found = findings(run, "tkperf")
    assert found["TKP-IOPS-02"].status is Status.MET
    assert found["TKP-SS-02"].status is Status.MET
    steps = tuple(step for step in run.steps if step.place.number != 5)
    assert findings(replace(run, steps=steps), "tkperf")["TKP-IOPS-02"].status is not Status.NOT_APPLICABLE
    assert findings(made_up_run("xsr"), "tkperf")["TKP-IOPS-02"].status is Status.NOT_APPLICABLE


def test_settings_of_the_host_are_judged_by_the_scenario_of_the_run() -> None:
    run = made_up_run("iops")
    facts = {"turbo": Fact("on", "sysfs"), "governor": Fact("powersave", "sysfs")}
    manifest = replace(run.manifest, host_before=facts, scenario=Scenario.SYNTHETIC)
    found = findings(replace(run, manifest=manifest), "solidigm")
    assert found["SOL-BIOS-03"].status is Status.MET
    assert found["SOL-PWR-03"].status is Status.DEVIATED
    assert found["SOL-PWR-03"].used == "powersave"
    assert found["SOL-BIOS-01"].status is Status.UNVERIFIED
    assert findings(run, "solidigm")["SOL-BIOS-03"].status is Status.NOT_APPLICABLE


def test_a_ledger_changes_no_row_of_a_guide() -> None:
    entry = Deviation("PTS-IOPS-14", "7.2", "1 min per step", "2 s per step", "caches weigh more")
    run = made_up_run("iops")
    assert findings(replace(run, ledger=(entry,)), "tkperf") == findings(run, "tkperf")
