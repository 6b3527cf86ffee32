"""The report of the test of placement."""

from typing import Any, Final

from openpts.pages import cells
from openpts.pages.kit import PlotName, page, page_of, rows_table
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Page, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology, state_page
from openpts.record.reader import Run
from openpts.units import GB, format_block_size
from openpts.vocabulary.better import Better
from openpts_nvme.fdp.results import (
    FOLLOWED_FROM,
    IGNORED_BELOW,
    LEAST_COST,
    FdpRun,
    Placement,
    Written,
    fdp_run,
)

_TITLE: Final = "Flexible Data Placement"
_AMPLIFICATION: Final = Measure[Written](
    "write_amplification",
    "{name}, write amplification",
    "",
    lambda load: load.amplification,
    decimals=3,
    better=Better.LOWER,
)
# other traffic of the group that is more than rounding
_OTHERS_SHARE: Final = 0.01


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the readings in the record."""
    found = fdp_run(run)
    return ReportContent(
        verdicts=(placement_verdict(found), *others_verdicts(found)),
        measures=tuple(_measures(found)),
        sections=methodology(
            run,
            _TITLE,
            _test_rows(found),
            lambda: (amplification_page(found), state_page(run, "Preparation")),
        ),
        figures=lambda: _collect_figures(found),
    )


def _loads(found: FdpRun) -> tuple[tuple[str, Written | None], ...]:
    return ("one handle", found.together), ("a handle each", found.apart)


def _measures(found: FdpRun) -> tuple[Measured, ...]:
    return tuple(_AMPLIFICATION.of(load, Subject(name.capitalize())) for name, load in _loads(found))


def placement_verdict(found: FdpRun) -> Verdict:
    """What the drive does with placement handles, and the amplifications that say so."""
    placement = found.placement
    if placement is None or found.together is None or found.apart is None:
        return Verdict("Placement handles: n/a (the loads or the drive's counters are missing).", "fail")
    one, two = found.together.amplification, found.apart.amplification
    share = found.saved_share
    saved = "" if share is None else f"; a handle each saves {cells.fixed(100 * share, 0)} % of the excess"
    return Verdict(
        f"Placement handles: {placement.value}. Write amplification {_fixed(one)} with one handle, "
        f"{_fixed(two)} with a handle each{saved}.",
        "fail" if placement is Placement.IGNORED else "info",
    )


def _fixed(value: float | None) -> str:
    return "n/a" if value is None else cells.fixed(value, 3)


def others_verdicts(found: FdpRun) -> tuple[Verdict, ...]:
    """Traffic of the endurance group that is not this test's."""
    texts = []
    if found.namespaces is not None and found.namespaces > 1:
        texts.append(
            f"Log 22h counts for all {found.namespaces} namespaces of the endurance group: what others wrote "
            "meanwhile is in the amplification."
        )
    for name, load in _loads(found):
        if load is not None and abs(load.others_bytes) > _OTHERS_SHARE * load.streams_bytes:
            texts.append(
                f"With {name}, log 22h counts {cells.fixed(load.others_bytes / GB, 2)} GB of the host more "
                "than the streams wrote."
            )
    return tuple(Verdict(text, "fail") for text in texts)


def amplification_page(found: FdpRun) -> Page:
    """Bytes of the two loads by log 22h and by the other counters, and the amplification by each."""
    name = PlotName("fdp-amplification", "", "Write Amplification by Placement Handles")
    loads = [(label, load) for label, load in _loads(found) if load is not None]
    if not loads:
        return page_of(name, absent="no load was measured")
    rule = Verdict(
        f"Rule: followed if a handle each saves {100 * FOLLOWED_FROM:g} % or more of the amplification "
        f"beyond 1 that one handle has, ignored if less than {100 * IGNORED_BELOW:g} %; no verdict "
        f"if one handle has less than {1 + LEAST_COST:g}."
    )
    shown = rows_table(
        "fdp-amplification-values",
        "Written in the load",
        "Load:<0 | Host, log 22h (GB) | Streams (GB) | Media, log 22h (GB) | Amplification, log 22h | "
        "Amplification, media counter over streams",
        (
            (
                label,
                *(
                    cells.number(one / GB, 2)
                    for one in (load.host_bytes, load.streams_bytes, load.media_bytes)
                ),
                cells.number_or("n/a", load.amplification, 3),
                cells.number_or("no counter", load.other_amplification, 3),
            )
            for label, load in loads
        ),
    )
    return page(name, placement_verdict(found), *others_verdicts(found), rule, shown)


def _test_rows(found: FdpRun) -> Rows:
    asked = found.asked
    hot, cold = asked.handles
    size = format_block_size(asked.block_size_bytes)
    return stimulus_rows(
        found.run,
        ("Test Stimulus 1", f"SEQ {size} W, again and again over {asked.hot_pct:g} % of the range"),
        ("TOIO - TC/QD", demand_text(1, asked.qd)),
        ("Test Stimulus 2", f"SEQ {size} W over the rest, in turns with the other"),
        ("TOIO - TC/QD", demand_text(1, asked.qd)),
        ("Placement Handles", f"{hot} for both, then {hot} and {cold}"),
        ("Before the Load", f"the rest {asked.aging_passes:g} times"),
        ("Amount", f"the rest {asked.passes:g} times"),
        ("Steady State", NO_STEADY_STATE),
    )


def _collect_figures(found: FdpRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    placement = found.placement
    return {
        "placement": None if placement is None else placement.name.lower(),
        "saved_share": found.saved_share,
        "namespaces_of_group": found.namespaces,
        "loads": {
            label.replace(" ", "_"): None
            if load is None
            else {
                "host_bytes": load.host_bytes,
                "media_bytes": load.media_bytes,
                "streams_bytes": load.streams_bytes,
                "amplification": load.amplification,
                "amplification_by_media_counter": load.other_amplification,
            }
            for label, load in _loads(found)
        },
    }
