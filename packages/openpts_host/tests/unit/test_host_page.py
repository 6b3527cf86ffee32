"""Host audit: what is known is judged, what is not is said to be so."""

import pytest
from msgspec.structs import replace

from openpts.procedures.kit.standing import host_limit_deviations
from openpts.record.reader import Run, in_visible_texts
from openpts.report.run_conditions_page import host_limit_blocks, run_conditions_page
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import ChangeReport, Fact, Scenario, SimulationFacts
from openpts.vocabulary.sample import NOTHING, Interval, Phase
from openpts_host.advice.table import ADVICE
from openpts_host.host_page import host_page
from openpts_pages.model import Block, Cell, Table, Verdict
from tests.support.busy_host import SAMPLED, end_s, on_a_host
from tests.support.made_up_run import made_up_run
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


@pytest.fixture(scope="module")
def measured() -> Run:
    """Preconditioning, rounds and histograms on a drive, whose record has nothing of its surroundings."""
    return made_up_run("lat")


def told_in(blocks: tuple[Block, ...]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Verdict)]


def burdened(run: Run) -> Run:
    """A full link in the first half of the run, and a processor that is taken from the last step."""
    end, last = end_s(run), run.steps[-1].sample
    last_s = (last.started_ns - run.steps[0].sample.started_ns) / NS_PER_S
    return on_a_host(
        run,
        SAMPLED,
        path_0_use_pct=[(0, 0), (end / 2, 97), (end, 20)],
        engine_wait_pct=[(0, 0), (last_s, 1), (end, 60)],
    )


def test_the_page_names_what_was_the_limit_how_long_and_where(measured, snapshot) -> None:
    blocks = host_limit_blocks(burdened(measured))
    (table,) = (block for block in blocks if isinstance(block, Table))
    shown = {what: [cell.text for cell in row.cells] for what, row in rows(table).items()}
    assert (told_in(blocks), shown) == snapshot


def test_the_times_are_those_of_the_steps(measured) -> None:
    run = burdened(measured)
    last = run.host_marks[-1]
    assert last.marked_ns() == last.judged_ns == run.steps[-1].sample.elapsed_ns
    assert run.host_marks[0].marked_ns() == run.steps[0].sample.elapsed_ns


def test_the_ledger_has_one_entry_for_each_part_of_the_host(measured, snapshot) -> None:
    entries = host_limit_deviations(burdened(measured))
    assert [entry.used.partition(":")[0] for entry in entries] == ["processor", "link"]
    assert [entry.used for entry in entries] == snapshot


def test_preconditioning_alone_makes_no_entry(measured, golden) -> None:
    results = [step for step in measured.steps if step.place.phase is not Phase.WIPC]
    begin_s = (results[0].sample.started_ns - measured.steps[0].sample.started_ns) / NS_PER_S
    run = on_a_host(measured, SAMPLED, engine_wait_pct=[(0, 0), (begin_s, 60), (end_s(measured), 0)])
    assert host_limit_deviations(run) == ()
    assert told_in(host_limit_blocks(run))[0] == golden


@pytest.mark.parametrize(
    ("sampled", "values"),
    [
        (SAMPLED, {"engine_wait_pct": [(0.0, 1.0), (10.0**6, 1.0)]}),
        (SAMPLED, {}),
        ({}, {"engine_wait_pct": [(0.0, 99.0)]}),
    ],
    ids=["quiet", "not sampled", "an older record"],
)
def test_a_quiet_host_and_one_that_was_not_watched_are_told_apart(
    sampled, values, measured, snapshot
) -> None:
    ends = {name: [(min(at_s, end_s(measured)), value) for at_s, value in of] for name, of in values.items()}
    run = on_a_host(measured, sampled, **ends)
    assert host_limit_deviations(run) == ()
    assert told_in(host_limit_blocks(run)) == snapshot


def test_the_table_of_intervals_names_the_limits(measured) -> None:
    last = measured.steps[-1].sample
    seconds = last.elapsed_ns // NS_PER_S
    intervals = tuple(
        Interval(read=NOTHING, write=NOTHING, elapsed_ns=NS_PER_S, cpu=None, index=n, in_flight=0, errors=0)
        for n in range(seconds)
    )
    step = replace(measured.steps[-1], sample=replace(last, intervals=intervals, interval_ns=NS_PER_S))
    run = burdened(replace(measured, steps=(*measured.steps[:-1], step)))
    assert run.frame("intervals")["host_limited"] == ["processor"] * seconds
    quiet = on_a_host(run, SAMPLED, engine_wait_pct=[(0, 0), (end_s(run), 0)])
    assert set(quiet.frame("intervals")["host_limited"]) == {""}
    assert set(replace(run, sampled=()).frame("intervals")["host_limited"]) == {None}
