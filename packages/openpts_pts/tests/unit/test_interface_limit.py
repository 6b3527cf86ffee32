"""What a link carries: transfers per second, lanes, and the bits that its line code takes."""

import pytest
from msgspec.structs import replace

from openpts.report.build import build_report
from openpts.vocabulary.facts import Fact
from openpts_pages.model import Figure, Verdict
from openpts_pts.shared.rounds.report import interface_limit
from tests.support.made_up_run import made_up_run

RUN = made_up_run("tp")


def with_facts(interface: str | None, pcie: str | None) -> dict[str, Fact]:
    return {**RUN.manifest.dut, "interface": Fact(interface, "test"), "pcie": Fact(pcie, "test")}


@pytest.mark.parametrize(
    ("interface", "pcie", "name", "mb_per_s"),
    [
        ("NVMe 1.4 over PCIe", "Gen 4 x4", "PCIe Gen 4 x4", 4 * 16e9 * 128 / 130 / 8 / 1e6),
        ("NVMe 1.4 over PCIe", "Gen 3 x2 of Gen 4 x4", "PCIe Gen 3 x2", 2 * 8e9 * 128 / 130 / 8 / 1e6),
        (
            "NVMe over PCIe",
            "Gen 4 x4 of Gen 4 x4, behind the bridge 0000:00:1d.0 at Gen 2 x4",
            "PCIe Gen 2 x4",
            2000,
        ),
        ("SATA, 6.0 Gbps", None, "SATA, 6.0 Gbit/s", 600),
        ("SATA behind SAS, 6.0 Gbit", "Gen 3 x8", "SATA behind SAS, 6.0 Gbit/s", 600),
        ("SAS, 12.0 Gbit", "Gen 3 x8", "SAS, 12.0 Gbit/s", 1200),
    ],
)
def test_the_slowest_link_in_use_is_the_limit(interface, pcie, name, mb_per_s) -> None:
    limit = interface_limit(replace(RUN.manifest, dut=with_facts(interface, pcie)))
    assert limit.name == name
    assert limit.mb_per_s == pytest.approx(mb_per_s)


@pytest.mark.parametrize(
    ("interface", "pcie"),
    [(None, None), ("simulated", "none (simulated)"), ("USB", None), ("SAS, 22.5 Gbit", None)],
)
def test_without_a_link_that_is_known_there_is_no_limit(interface, pcie) -> None:
    assert interface_limit(replace(RUN.manifest, dut=with_facts(interface, pcie))) is None


@pytest.mark.parametrize(("pcie", "drawn"), [("Gen 5 x8", True), ("Gen 6 x16", False)])
def test_the_limit_is_a_line_unless_it_would_press_the_values_flat(pcie, drawn, golden) -> None:
    manifest = replace(RUN.manifest, dut=with_facts("NVMe over PCIe", pcie))
    report = build_report(replace(RUN, manifest=manifest), "2026-02-03T04:05:06Z")
    (page,) = [page for page in report.pages() if page.id == "tp-1024-write"]
    (figure,) = [block for block in page.blocks if isinstance(block, Figure)]
    # 20,000 writes of 1 MiB in a second are 20,971.5 MB/s
    assert [rule.label for rule in figure.rules] == (["PCIe Gen 5 x8"] if drawn else [])
    assert [block.text for block in page.blocks if isinstance(block, Verdict)] == golden
