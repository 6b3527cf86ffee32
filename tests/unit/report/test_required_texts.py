"""Items that the specification and TKperf's guide want on pages: each requirement by itself.

Every text is found exactly once in its place, so that a page that lost it fails here by its requirement's ID.
Figures follow from the rates of the made-up drives.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pytest
from docs.conformance_marks import requirement_ids

from openpts.procedures.registry import PTS
from tests.support.required_texts import Item, item, texts_found
from tests.support.verification_record import (
    WINDOWS,
    allowed,
    average,
    correlation,
    determination,
    measured,
    milliseconds,
    of_windows,
    rate,
    record,
    rounds,
    slope,
)

SIZES: Final = (0.5, 4, 8, 16, 32, 64, 128, 1024)
MIXES: Final = (0, 5, 35, 50, 65, 95, 100)


# ---- tables of the rates that were made up


def made_up_iops(kib: float, read_pct: int) -> float:
    """Those of the telling run, in whole I/Os a minute."""
    return round(60 * 2e9 * (1 + read_pct / 100) / (kib * 1024 + 96_000)) / 60


def lat_row(name: str, read_pct: int, figure: Callable[[float], str]) -> str:
    cells = (figure(made_up_iops(kib, read_pct)) for kib in (0.5, 4, 8))
    return f"\n  {name if read_pct == 0 else ''}: RW {read_pct}, {', '.join(cells)}\n"


def lat_blocks() -> Iterator[str]:
    """IOPS by their rows; ART, 99.999 % and MRT are the same, as each I/O takes as long as any other."""
    yield "\n  DP=RND: RW mix, 0.5 KiB, 4 KiB, 8 KiB\n"
    for read_pct in (0, 65, 100):
        yield lat_row("IOPS", read_pct, rate)
    for name in ("ART (ms)", "99.999 % (ms)", "MRT (ms)"):
        three = (lat_row(name, pct, lambda iops: milliseconds(1_000 / iops)) for pct in (0, 65, 100))
        yield "".join(three).replace("\n\n", "\n")


# ---- the table


def purge_pages(test: str, *pages: str) -> tuple[Item, ...]:
    return tuple(
        item(test, page, "\n  Purge Method: NVMe Format\n") for page in pages or (f"{test}-preparation",)
    )


def described(
    section: str, first: str, demand: str, second: str, duration: str = "2.00 x User Capacity"
) -> Item:
    """WIPC and WDPC in a header."""
    test = section.partition("-")[0]
    return item(
        test,
        f"header {section}",
        f"Pre Condition 1 = {first}; TOIO - TC/QD = {demand}; Duration = {duration}; ",
        f"Pre Condition 2 = {second}; ",
    )


WIPC_AND_WDPC: Final = {
    "iops": (described("iops", "SEQ 128 KiB W", "TC 4 / QD 32", "IOPS Loop; TOIO - TC/QD = TC 4 / QD 32"),),
    "tp": tuple(
        described(
            f"tp-{kib}",
            f"SEQ {kib} KiB W",
            "TC 1 / QD 32",
            f"SEQ {kib} KiB loop; TOIO - TC/QD = TC 1 / QD 32",
        )
        for kib in (1024, 128)
    ),
    "lat": (described("lat", "SEQ 128 KiB W", "TC 1 / QD 1", "LAT Loop; TOIO - TC/QD = TC 1 / QD 1"),),
    "wsat": (described("wsat", "none (purged, FOB)", "N/A", "none", "N/A"),),
    "hir": (described("hir", "RND 4 KiB RW0 until steady", "TC 4 / QD 32", "none", "2 h 1 min"),),
    "xsr": (described("xsr", "none (purge only)", "-", "none", "-"),),
}
BY_DEMAND: Final = (("cbw", "Composite", "40/60"), ("dirth", "RND 8 KiB", "65/35"))
BANDWIDTH: Final = (("time", "Time"), ("tgbw", "TGBW"), ("fills", "Total Drive Writes/Fills"))
CONVERGENCE: Final = (
    *(("iops", f"iops-a1-rw{mix}") for mix in (0, 65, 100)),
    *(("tp", f"tp-{kib}-write") for kib in (1024, 128)),
    *(("lat", f"lat-convergence-rw{mix}") for mix in (0, 65, 100)),
)
LOOP: Final = "TOIO - TC/QD = TC 4 / QD 32; "

ITEMS: Final[dict[str, tuple[Item, ...]]] = {
    "PTS-GEN-11": (
        item(
            "iops",
            "header",
            "Ref Test Platform = not SNIA RTP; Motherboard = motherboard; CPU = cpu; Memory = memory; ",
            "Operating System = operating_system; Test SW = openpts 9.8; ",
        ),
    ),
    "PTS-SSV-01": of_windows(rounds),
    "PTS-SSV-02": of_windows(average),
    "PTS-SSV-03": of_windows(allowed),
    "PTS-SSV-04": (
        *of_windows(measured),
        item("iops restless", "iops-a3", "Measured range (min to max), 20,000.0 to 40,000.0, fail [fail]"),
    ),
    "PTS-SSV-05": (
        *of_windows(slope),
        item("iops climbing", "iops-a3", "Measured maximum slope excursion, 4,000.0 (17.4 %), fail [fail]"),
    ),
    "PTS-SSV-06": of_windows(correlation),
    "PTS-SSV-07": of_windows(determination),
    "PTS-PRG-04": tuple(item(test, "header", "Purge Method = NVMe Format; ") for test in PTS),
    "PTS-PRE-04": tuple(
        item(
            test,
            page,
            f"(WIPC)\n  Item: Value\n  Workload: SEQ {kib} KiB 0/100\n  TOIO - TC/QD: {demand}\n",
            "\n  Data pattern: RND: incompressible, fresh for each write\n",
            "\n  Active range: (0,100) % of MaxUserLBA\n",
            "\n  Amount written: 550 GB = 2.00 x User Capacity\n",
        )
        for test, page, kib, demand in (
            ("iops", "iops-preparation", 128, "128 - TC 4 / QD 32"),
            ("tp", "tp-1024-preparation", 1024, "32 - TC 1 / QD 32"),
            ("tp", "tp-128-preparation", 128, "32 - TC 1 / QD 32"),
            ("lat", "lat-preparation", 128, "1 - TC 1 / QD 1"),
        )
    ),
    "PTS-FLOW-04": (
        *(
            item(f"{test} settling", page, "Round, linear 0.5 to 7.5 / ", ": R1, R2, R3, R4, R5, R6, R7\n")
            for test, page in CONVERGENCE
        ),
        *(
            item(report, page, "Round, linear 2.75 to 7.25 / ", "\n  Round: 3, 4, 5, 6, 7\n")
            for report, page, _, _ in WINDOWS
        ),
        item("iops settling", "iops-a6", "average IOPS: mean of the five Rounds 3 - 7\n"),
    ),
    "PTS-HDR-03": (
        item(
            "iops",
            "header",
            "Ref Test Platform = not SNIA RTP; Motherboard = motherboard; CPU = cpu; Memory = memory; ",
            "Operating System = operating_system; Test SW = openpts 9.8; Test SW Info = native, build 7; ",
            "Test ID No. = MADE-UP; HBA = hba; PCIe = Gen 4\n",
        ),
    ),
    "PTS-HDR-04": (
        item(
            "iops",
            "header",
            "Mfgr = manufacturer; Model No. = model; S/N = serial; Firmware ver = firmware; ",
            "; Capacity = 275 GB; ",
            "Interface = interface; NAND Type = nand_type; PCIe NVM = form_factor; ",
            "Purge Method = NVMe Format; Write Cache = WCD\n",
        ),
    ),
    "PTS-HDR-05": (
        item(
            "iops settling",
            "header",
            "Data Pattern = RND; AR = 100 %; AR Segments = N/A; ",
            f"Pre Condition 1 = SEQ 128 KiB W; {LOOP}Duration = 2.00 x User Capacity; ",
            f"Pre Condition 2 = IOPS Loop; {LOOP}SS Rounds = 3 - 7; Note = -\n",
        ),
    ),
    "PTS-HDR-06": (
        item(
            "iops settling",
            "header",
            "Data Pattern = RND; AR & Amount = 100 %, 275 GB; Test Stimulus 1 = IOPS Loop; ",
            f"RW Mix = Outer Loop; Block Sizes = Inner Loop; {LOOP}Steady State = 3 - 7; ",
        ),
        item("wsat", "header", f"Test Stimulus 2 = RND 4 KiB RW0, 20 min 0 s; {LOOP}Steady State = N/A\n"),
    ),
    "PTS-HDR-07": tuple(
        item(
            test,
            "header",
            f"Pre Condition 1 = {stimulus}; R/W % = 0/100; TOIO - TC/QD = TC 32 / QD 32; SS Rounds = 1 - 5; ",
            "Pre Condition 2 = Inter Rnd Pre Write; R/W % = 0/100; TOIO - TC/QD = TC 32 / QD 32; ",
            "; Duration = 30 min 0 s or 10 % Cap.\n",
            f"Test Stimulus 1 = {stimulus}; R/W % = {mix}; TC / QD = TC 1-32, QD 1-32; ",
            "TC & QD Loops = High to Low TOIO; ",
            "Min IOPS Point = TC 1 / QD 1; Mid IOPS Point = TC 8 / QD 1; Max IOPS Point = TC 16 / QD 1; ",
        )
        for test, stimulus, mix in BY_DEMAND
    ),
    "PTS-HDR-08": (
        *(one for items in WIPC_AND_WDPC.values() for one in items),
        *(
            item(test, "header", f"Pre Condition 1 = {stimulus}; ", "Pre Condition 2 = Inter Rnd Pre Write; ")
            for test, stimulus, _ in BY_DEMAND
        ),
    ),
    "PTS-IOPS-26": purge_pages("iops"),
    "PTS-IOPS-27": WIPC_AND_WDPC["iops"],
    "PTS-IOPS-29": (
        *(
            item(
                "iops settling",
                f"iops-a{n}",
                "ActiveRange = (0,100); OIO/Thread = 32; Thread Count = 4; Data Pattern = RND ",
            )
            for n in (3, 4, 5)
        ),
        *of_windows(record, "iops"),
    ),
    "PTS-IOPS-31": (
        item(
            "iops",
            "iops-a6",
            "Plot A.6 - average IOPS: mean of the five Rounds 1 - 5\n",
            "\n  Block size (KiB): 0/100, 5/95, 35/65, 50/50, 65/35, 95/5, 100/0\n",
            *(f"\n  {kib}: {', '.join(rate(made_up_iops(kib, mix)) for mix in MIXES)}\n" for kib in SIZES),
        ),
    ),
    "PTS-IOPS-37": (
        item(
            "iops",
            "order",
            " > IOPS Steady State Convergence Plot - All Block Sizes > ",
            " > IOPS Steady State Convergence Plot - All Block Sizes - RW 100/0"
            " > IOPS Steady State Measurement Window"
            " > IOPS Steady State Measurement Window - RND/4KiB RW0"
            " > IOPS Steady State Measurement Window - RND/64KiB RW65"
            " > IOPS Steady State Measurement Window - RND/1024KiB RW100"
            " > IOPS - ALL RW Mix & BS - Tabular Data > IOPS - All RW Mix & BS - 2D Plot"
            " > IOPS - All RW Mix & BS - 3D Columns",
        ),
    ),
    "PTS-TP-22": purge_pages("tp", "tp-1024-preparation", "tp-128-preparation"),
    "PTS-TP-23": WIPC_AND_WDPC["tp"],
    "PTS-TP-26": of_windows(record, "tp"),
    "PTS-LAT-24": (
        item("lat settling", "lat-window-1", "Round, linear 2.75 to 7.25 / ", "\n  Round: 3, 4, 5, 6, 7\n"),
        item("lat settling", "lat-table", "Plot 9-3 - mean of the five Rounds 3 - 7;"),
    ),
    "PTS-LAT-27": purge_pages("lat"),
    "PTS-LAT-28": WIPC_AND_WDPC["lat"],
    "PTS-LAT-30": (
        item(
            "lat settling",
            "lat-window-1",
            "Measurement Window - RND/4KiB\nPlot 9-2 ",
            " / Average response time (ms), ",
        ),
        *of_windows(record, "lat"),
    ),
    "PTS-LAT-32": (item("lat", "lat-table", *lat_blocks()),),
    "PTS-WSAT-25": purge_pages("wsat"),
    "PTS-WSAT-29": tuple(
        item(
            "wsat",
            f"wsat-mbps-{axis}",
            f"-values: WSAT Bandwidth v {title} - RND 4KiB RW0\n",
            " / Throughput (MB/s), ",
            "from 82 to 82, first minute to last.",
        )
        for axis, title in BANDWIDTH
    ),
    "PTS-HIR-20": purge_pages("hir"),
    "PTS-HIR-28": (
        item(
            "wsat and hir",
            "cover",
            "\n  HIR: Baseline, 19,981",
            "\n  WSAT: RND 4 KiB RW0, Steady State, 19,981",
        ),
        item(
            "hir",
            "hir-x1",
            "at the 95th (%), Return: IOPS\n",
            *(
                f"\n  WS {n}: {5 * n}, "
                + f"{made_up_iops(4, 0) + 100 * n:,.0f}, " * 3
                + f"+{gain}, " * 3
                + "19,981\n"
                for n, gain in ((1, "0.5"), (2, "1.0"), (3, "1.5"), (5, "2.5"), (10, "5.0"))
            ),
        ),
    ),
    "PTS-XSR-17": purge_pages("xsr"),
    "PTS-CBW-43": purge_pages("cbw"),
    "PTS-DIRTH-35": purge_pages("dirth"),
    "PTS-DIRTH-53": tuple(
        item(
            "dirth",
            f"dirth-{n}",
            ", 5 % to 95 % (ms), 1.00 to 1.00\n",
            ", ART (ms), 1.00\n",
            ", MRT (ms), 1.00\n",
            "\n  Slower than 10 x ART: 0 I/Os = 0.0000 %,",
        )
        for n in (10, 12, 14)
    ),
    "TKP-SET-01": (
        item(
            "short",
            "short-setup",
            "\n  Tested device: manufacturer model\n  S/N, firmware: serial, firmware\n",
        ),
    ),
    "TKP-SET-03": (
        item("short", "short-setup", "\n  Test software: openpts 9.8\n  I/O generator: native, build 7\n"),
        *(
            item(
                "short",
                f"short-{test}",
                "\n  Date of the run: 2026-01-01 00:00 UTC\n",
                f"\n  Jobs (TC) and I/O depth (QD): {demand}\n",
            )
            for test, demand in (
                ("iops", "TC 4 / QD 32"),
                ("tp", "TC 1 / QD 32"),
                ("lat", "TC 1 / QD 1"),
                ("wsat", "TC 4 / QD 32"),
            )
        ),
    ),
    "TKP-SET-04": (
        item("short", "short-setup", "\n  Kernel: Linux 6.1\n  Operating system: operating_system\n"),
    ),
    "TKP-GEN-01": (
        item(
            "short",
            "short-setup",
            "\n  Workload: Share of reads and writes in per cent",
            "\n  Block size: ",
            "\n  Measurement window: The five Rounds",
            "\n  Tracking variable: ",
            "the dependent variable\n",
        ),
    ),
}


@pytest.mark.proves("PTS-GEN-11", "PTS-SSV-01..07", "PTS-PRG-04", "PTS-PRE-04", "PTS-FLOW-04")
@pytest.mark.proves("PTS-HDR-03..08", "PTS-IOPS-26..27", "PTS-IOPS-29", "PTS-IOPS-31", "PTS-IOPS-37")
@pytest.mark.proves("PTS-TP-22..23", "PTS-TP-26")
@pytest.mark.proves("PTS-LAT-24", "PTS-LAT-27..28", "PTS-LAT-30", "PTS-LAT-32", "PTS-WSAT-25", "PTS-WSAT-29")
@pytest.mark.proves("PTS-HIR-20", "PTS-HIR-28", "PTS-XSR-17", "PTS-CBW-43", "PTS-DIRTH-35", "PTS-DIRTH-53")
@pytest.mark.proves("TKP-SET-01", "TKP-SET-03..04", "TKP-GEN-01")
@pytest.mark.parametrize("requirement", ITEMS)
def test_what_a_requirement_asks_for_is_on_its_page(requirement: str) -> None:
    for one in ITEMS[requirement]:
        for found in texts_found(one):
            assert found == dict.fromkeys(one.texts, 1), f"{one.report}: {one.place}"


def test_the_marks_are_those_of_the_table() -> None:
    marks = test_what_a_requirement_asks_for_is_on_its_page.pytestmark  # type: ignore[attr-defined]
    marked = [id_ for mark in marks if mark.name == "proves" for id_ in requirement_ids(", ".join(mark.args))]
    assert sorted(marked) == sorted(ITEMS)
