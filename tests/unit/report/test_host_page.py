"""Host audit: what is known is judged, what is not is said to be so."""

import pytest
from msgspec.structs import replace

from openpts.advice.table import ADVICE
from openpts.pages.model import Cell, Verdict
from openpts.record.reader import Run, in_visible_texts
from openpts.report.host_page import host_page
from openpts.report.run_conditions_page import run_conditions_page
from openpts.vocabulary.facts import Fact, SimulationFacts
from openpts.vocabulary.tuning import ChangeReport, Scenario
from tests.support.page_blocks import NO_SETTINGS, SIMULATED, rows, tables, texts, verdicts, with_host

HOSTILE = "<b>\"'; #import \x1b[31m \u202e 漢" + "x" * 500


def test_a_record_without_settings_says_so(bare) -> None:
    assert verdicts(host_page(bare)) == [NO_SETTINGS]


def test_nothing_of_a_host_bears_on_a_simulated_drive(bare) -> None:
    simulation = SimulationFacts("tlc", "a drive", "page-mapped", 1, 10**9, 1, ())
    target = replace(bare.manifest.target, simulation=simulation)
    run = replace(bare, manifest=replace(bare.manifest, target=target))
    page = host_page(run)
    assert not tables(page)
    assert verdicts(page) == [SIMULATED]
    # the audit has no page then, and another one says why
    assert verdicts(run_conditions_page(run))[0] == SIMULATED


def test_each_item_stands_in_the_audit_also_where_nothing_is_known(bare) -> None:
    audit = rows(tables(host_page(with_host(bare, {"turbo": "on"}, {"turbo": "on"})))["host-audit"])
    assert list(audit) == [advice.title for advice in ADVICE]
    assert texts(audit["Turbo"]) == ["on", "unchanged", "on", "on", "both"]
    assert texts(audit["Swap"])[:2] == ["not reported", "not reported"]
    assert texts(audit["Swap"])[-1] == "n/a"
    assert not any(text in {"", "0"} for row in audit.values() for text in texts(row)[:2])


@pytest.mark.parametrize(
    ("key", "value", "right_for"),
    [
        ("governor", "performance", "synthetic"),
        ("governor", "performance (3 of 4), powersave (1 of 4)", "real-world"),
        ("turbo", "off", "neither"),
        ("smt", "on", "both"),
        ("c_states", "down to C1, 1 us to wake, deeper states are off", "synthetic"),
        ("c_states", "down to C1, 1 us to wake (1 of 2), down to C6, 133 us to wake (1 of 2)", "real-world"),
        ("mitigations", "off (0 mitigated, 9 vulnerable)", "synthetic"),
        ("numa_node", "the machine has one node", "both"),
        ("numa_node", "node 1 of 2", "not judged"),
        ("numa_node", "node 1 of 2, processors 2-3,6-7", "real-world"),
        ("scheduler", "mq-deadline", "real-world"),
        ("max_sectors_kb", "1024 KiB of 2048 KiB", "both"),
        ("max_sectors_kb", "512 KiB of 2048 KiB", "neither"),
        ("link", "Gen 4 x4 of Gen 4 x4", "both"),
        ("link", "Gen 3 x4 of Gen 3 x4, behind the bridge 0000:00:03.1 at Gen 3 x2", "neither"),
        ("aspm", "policy default; on: L1", "real-world"),
        ("apst", "on, up to 100000 us", "real-world"),
        ("iommu", "translates (DMA-FQ)", "real-world"),
        ("aer", "correctable 2, nonfatal 0, fatal 0", "neither"),
        ("load", "1.00 0.00 0.00", "neither"),
        ("pressure", "cpu 0.99 %, io 0.00 %", "both"),
        ("pressure", "cpu 0.00 %, io 1.00 %", "neither"),
        ("swap", "0.0 GB in use of 2.0 GB", "real-world"),
        ("swap", "1.0 GB in use of 2.0 GB", "neither"),
        ("virtualization", "virtual machine (KVM)", "neither"),
        ("clock_source", "hpet", "neither"),
        ("clock_sync", "not synchronized", "not judged"),
    ],
)
def test_what_a_value_is_right_for(key, value, right_for, bare) -> None:
    page = host_page(with_host(bare, {key: value}, {key: value}))
    (title,) = (advice.title for advice in ADVICE if advice.key == key)
    assert texts(rows(tables(page)["host-audit"])[title])[-1] == right_for
    assert any(title in text for text in verdicts(page)) == (right_for == "neither")


def test_a_setting_that_changes_during_the_run_is_told_a_state_may(bare, golden) -> None:
    before = {"governor": "performance", "load": "0.10 0.10 0.10"}
    page = host_page(with_host(bare, before, {"governor": "powersave", "load": "0.90 0.90 0.90"}))
    audit = rows(tables(page)["host-audit"])
    assert audit["Frequency governor"].cells[1] == Cell("powersave", note="changed", tone="fail")
    assert audit["Load average"].cells[1] == Cell("0.90 0.90 0.90")
    assert verdicts(page) == golden


@pytest.mark.parametrize(
    ("processors", "right_for"), [("2, 3, 6", "both"), ("2, 4", "neither"), ("not pinned", "real-world")]
)
def test_threads_belong_on_the_node_of_the_drive(processors, right_for, bare) -> None:
    manifest = replace(bare.manifest, engine={"processors": Fact(processors, "an engine")})
    node = {"numa_node": "node 1 of 2, processors 2-3,6-7"}
    page = host_page(with_host(replace(bare, manifest=manifest), node, node))
    told = texts(rows(tables(page)["host-audit"])["NUMA node of the drive"])
    assert told[0] == f"node 1 of 2, processors 2-3,6-7; threads: {processors}"
    assert told[-1] == right_for


def test_no_text_from_a_machine_breaks_the_audit(bare) -> None:
    hostile = {advice.key: HOSTILE for advice in ADVICE}
    page = host_page(in_visible_texts(with_host(bare, hostile, hostile)))
    shown = [cell.text for row in tables(page)["host-audit"].rows for cell in row.cells]
    assert not any("\x1b" in text or "\u202e" in text or len(text) > 300 for text in shown)


def declared(run: Run, scenario: Scenario | None, *tuning: ChangeReport) -> Run:
    return replace(run, manifest=replace(run.manifest, scenario=scenario, tuning=tuning))


@pytest.mark.proves("SOL-GEN-02")
def test_the_set_up_is_judged_by_what_the_run_was_declared_to_show(bare) -> None:
    run = with_host(
        bare, {"governor": "powersave", "turbo": "on", "nomerges": "0", "scheduler": "mq-deadline"}
    )
    synthetic = host_page(declared(run, Scenario.SYNTHETIC)).blocks[0]
    assert isinstance(synthetic, Verdict)
    assert synthetic.tone == "fail"
    # merging moves results by little
    assert synthetic.text == (
        "Scenario: synthetic, which tests the drive. Contradicted by: Frequency governor, I/O scheduler."
    )
    real_world = host_page(declared(run, Scenario.REAL_WORLD)).blocks[0]
    assert isinstance(real_world, Verdict)
    assert (real_world.text, real_world.tone) == (
        "Scenario: real-world, which tests the platform. No known setting contradicts it.",
        "pass",
    )


def test_a_record_from_before_scenarios_declares_none(bare) -> None:
    run = declared(with_host(bare, {"governor": "powersave"}), None)
    assert not any("Scenario" in text for text in verdicts(host_page(run)))


def test_what_was_set_for_the_run_is_told_and_what_could_not_be(bare) -> None:
    refused = "the kernel refuses this value here"
    tuning = (
        ChangeReport("scheduler", "/sys/block/sda/queue/scheduler", "mq-deadline", "none"),
        ChangeReport("governor", "/sys/x/scaling_governor", "powersave", "performance", refused),
        ChangeReport("c_states", "/dev/cpu_dma_latency", None, "2 us to wake at most"),
        ChangeReport(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),
    )
    run = in_visible_texts(declared(with_host(bare, {"scheduler": "none"}), Scenario.SYNTHETIC, *tuning))
    told = rows(tables(host_page(run))["host-audit-tuning"])
    assert texts(told["I/O scheduler"])[:3] == ["mq-deadline", "none", "set"]
    assert texts(told["Frequency governor"])[2] == f"not set: {refused}"
    assert texts(told["Sleep states (C-states)"])[0] == "-"
    assert all(text.isprintable() for row in told.values() for text in (row.head.text, *texts(row)))
