"""Write Saturation: PTS section 10."""

from collections.abc import Collection
from typing import Annotated, Any, Final

from msgspec.structs import replace

from openpts.fields import readers, usual
from openpts.fields.conditions import Conditions, Contradictions, StepCounts
from openpts.fields.field import SWITCH, WORKLOAD, Field, listed
from openpts.fields.readers import NAMES, WorkloadTable, workload_or_same, workload_word
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.stimulus import Uniform
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload
from openpts_pts.shared.continuous import histogram_steps


def _with_workloads(name: str, values: list[str | WorkloadTable], conditions: Any) -> Any:
    present = conditions.workloads[0]
    workloads = tuple(workload_or_same(name, value, present) for value in values)
    readers.without_repeats(name, tuple(workload.title for workload in workloads))
    return replace(conditions, workloads=workloads)


SHORT: Final = Field(
    "",
    "Short form: one pass leaves the state of long writing. The workload continues from there until its "
    "steady state is known within 5 per cent. From the pass on at full length where the drive doesn't behave "
    "as assumed. Untried on hardware.",
    SWITCH,
    name="short",
    field="within_pct",
    change=lambda _name, short, conditions: replace(
        conditions, within_pct=(conditions.within_pct or usual.WITHIN_PCT) if short else None
    ),
    show=lambda conditions: "yes" if conditions.within_pct else "",
)
_MOST_MINUTES: Final = 30


class WriteSaturationConditions(Conditions, frozen=True, kw_only=True, tag_field="test", tag="wsat"):
    """Write saturation (PTS 10.2): one cycle from the purge on for each of ``workloads``.

    Sequential workloads have a demand of their own. ``tracking_period_ns`` lies between the starts of the
    tracked minutes. ``impossible`` says in words which sizes the device's sectors rule out, of which
    workload.
    """

    steady_state = SteadyState.MINUTES
    parameters = ("segments", SHORT, ...)

    workloads: Annotated[
        tuple[Workload, ...],
        Field(
            "Workloads",
            f"Workloads, one after the other: {NAMES}, or order, size and mix as in RND 16KiB RW30.",
            listed(WORKLOAD),
            examples=(["write_intensive", "oltp"],),
            change=_with_workloads,
            show=lambda conditions: ",".join(map(workload_word, conditions.workloads)),
        ),
    ]
    impossible: Annotated[tuple[str, ...], usual.IMPOSSIBLE] = ()
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    sequential_tc: Annotated[int, usual.SEQUENTIAL_TC]
    sequential_qd: Annotated[int, usual.SEQUENTIAL_QD]
    drive_fills: Annotated[float, usual.DRIVE_FILLS]
    longest_ns: Annotated[int, usual.LONGEST]
    tracking_period_ns: Annotated[int, usual.TRACKING_PERIOD]
    stop_when_steady: Annotated[
        bool,
        Field(
            "Ends when steady",
            "End in steady state, if that comes first.",
            SWITCH,
            text=lambda stop: "ends in steady state" if stop else "steady state does not end it",
            free="10.2 (2.2) and 10.3.2 let steady state end the stimulus",
        ),
    ] = False
    steady_after_drive_fills: Annotated[float, usual.STEADY_AFTER] = 1
    histogram_ns: Annotated[int, usual.HISTOGRAM]
    nines: Annotated[int | None, usual.NINES] = None
    within_pct: Annotated[float | None, usual.WITHIN] = None
    known_flash: Annotated[float | None, usual.KNOWN_FLASH] = None
    only_short: Annotated[bool | None, usual.ONLY_SHORT] = None

    @property
    def after_the_pass(self) -> "WriteSaturationConditions":
        """How the stimulus continues in the state of long writing: tracked each minute, until it is known."""
        return replace(
            self,
            tracking_period_ns=self.minute_ns,
            stop_when_steady=True,
            steady_after_drive_fills=0,
            longest_ns=_MOST_MINUTES * self.minute_ns,
        )

    @property
    def demand(self) -> tuple[int, int]:
        """TC and QD."""
        return self.tc, self.qd

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """Each has a cycle of its own."""
        return self.workloads

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """What is said of steady state counts only where that ends the stimulus."""
        if "steady_after_drive_fills" in given and not self.stop_when_steady:
            yield ("steady_after_drive_fills",), "does nothing without stop_when_steady"
        yield from usual.only_in_the_short_form(given, self.within_pct)
        for workload in self.workloads if self.within_pct else ():
            if workload.random_pct < 100 or workload.placement != Uniform():
                yield (
                    ("short", "workloads"),
                    "the short form makes the state of random writes to all LBAs, and "
                    f"{workload.title} has other accesses",
                )

    def step_counts(self) -> StepCounts:
        """Steps of the histogram; those that drive fills end sooner aren't counted."""
        yield from histogram_steps(self.histogram_ns, self.minute_ns)


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=WriteSaturationConditions,
    title="Write Saturation",
    short_title="WSAT",
    question="How fast is a fresh drive, how does it slow down as it is written, and where does it settle?",
    section=10,
    purpose="""How performance falls while a fresh drive is written to, and where it settles.

    At full length, for each workload: a purge, the workload until 4 x user capacity are written or for
    6 hours. The histogram of response times takes 20 minutes.
    """,
    quick={"time_scale": "1/360", "drive_fills": 2},
    interval_histograms=True,
    trends={1: "wsat-iops-time-plot", 13: "wsat-clp-plot"},
)
