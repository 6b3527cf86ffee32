"""What the runs were made under, field by field, and where they differ."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.procedures.kit.header import (
    date_and_time,
    first_known,
    of_cycle,
    purge_method,
    target_kind,
    write_cache,
)
from openpts.record.health import around
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.setup_page import condition_rows
from openpts.units import format_capacity
from openpts.vocabulary.facts import Purpose, declared_rows
from openpts_compare.compare.contenders import ComparedTest, RunComparison
from openpts_compare.runs.measured_run import NO_CONDITION
from openpts_host.advice.table import ADVICE
from openpts_pages import cells
from openpts_pages.kit import rows_table
from openpts_pages.model import Block, Cell, Column, Page, Table, Verdict
from openpts_pages.texts import NOT_REPORTED, brief, fact_text


class MeasuredCondition(Struct, frozen=True):
    """One that differs where runs are farther apart than ``least``, in ``unit``."""

    label: str
    unit: str
    least: float
    read: Callable[[Run], float | None]

    def text(self, value: float | None) -> str:
        """A value with its unit."""
        return "not measured" if value is None else f"{value:,.4g} {self.unit}".rstrip()

    def differs(self, values: Sequence[float | None]) -> bool:
        """Whether those that were measured lie too far apart; what one run does not know is no difference."""
        known = [value for value in values if value is not None]
        return bool(known) and max(known) - min(known) > self.least


def _gone_pct(run: Run) -> float | None:
    purged = [one for one in run.manifest.purges if one.ran and one.samples]
    return min((100 * one.changed_samples / one.samples for one in purged), default=None)


def _temperature_c(run: Run) -> float | None:
    found = run.telemetry_series.get("temperature_c")
    return median(found.values) if found else None


def _throttled_pct(run: Run) -> float | None:
    found = run.telemetry_series.get("throttled")
    return 100 * sum(map(bool, found.values)) / len(found.values) if found else None


def _before(run: Run, key: str) -> float | None:
    before, _ = around(run.health)
    return None if before is None else before.reading.values.get(key)


def _fills(run: Run) -> float | None:
    written = _before(run, "host_write_bytes")
    return None if written is None else written / run.manifest.target.user_capacity_bytes


MEASURED: Final = (
    MeasuredCondition("Gone after the purge", "%", 1, _gone_pct),
    MeasuredCondition("Temperature of the drive, median", "°C", 3, _temperature_c),
    MeasuredCondition("Time throttled", "%", 5, _throttled_pct),
    MeasuredCondition("Endurance used before", "%", 5, lambda run: _before(run, "percentage_used_pct")),
    MeasuredCondition("Drive fills written before", "", 10, _fills),
)


_MODEL: Final = "Model"
_NOT_SET: Final = "not set"
_HOST: Final = (
    ("System", "system"),
    ("Motherboard", "motherboard"),
    ("BIOS", "bios"),
    ("CPU", "cpu"),
    ("CPU clock", "cpu_clock"),
    ("CPU package power", "cpu_package_power"),
    ("Microcode", "microcode"),
    ("Memory", "memory"),
    ("Memory modules", "memory_modules"),
    ("Operating system", "operating_system"),
)
# Of an engine's facts those that are chosen or built; the others are measured in each run.
_ENGINE: Final = ("engine", "build", "io_path", "completion_wait", "clock", "processors")


class ComparedField(Struct, frozen=True):
    """One condition: for each name the different texts that its runs have.

    ``judged`` is False for what makes a drive the drive it is, and for seeds: there a difference is none of
    the conditions. So it is for what was measured, and lies too near to bear on figures.
    """

    label: str
    values: tuple[tuple[str, ...], ...]
    judged: bool = True

    @property
    def differs(self) -> bool:
        """Whether runs that are compared were made under different conditions."""
        return self.judged and len({text for texts in self.values for text in texts}) > 1


class ComparedConditions(Struct, frozen=True):
    """The fields of a part of the comparison: ``test`` is empty for those of all tests."""

    test: str
    names: tuple[str, ...]
    fields: tuple[ComparedField, ...]

    @property
    def differing(self) -> tuple[ComparedField, ...]:
        """Fields in which the runs differ."""
        return tuple(field for field in self.fields if field.differs)


def conditions_of(comparison: RunComparison) -> tuple[ComparedConditions, ...]:
    """Conditions that all tests share, then each test's own; tests that only one set has are not compared."""
    groups = [[run.manifest for run in comparison.runs_of(name)] for name in comparison.names]
    shared = ComparedConditions("", comparison.names, tuple(_shared_fields(groups)))
    return (shared, *(_of_test(test) for test in comparison.tests if len(test.contenders) > 1))


def _measured_of(test: ComparedTest) -> Iterable[ComparedField]:
    """What any of the runs has measured of its conditions, which are those of its test alone."""
    groups = [[run.run for run in one.runs] for one in test.contenders]
    for one in MEASURED:
        read = [[one.read(run) for run in group] for group in groups]
        every = [value for group in read for value in group]
        if any(value is not None for value in every):
            texts = tuple(tuple(dict.fromkeys(map(one.text, group))) for group in read)
            yield ComparedField(one.label, texts, judged=one.differs(every))


_Read = Callable[[Manifest], str]
_Groups = Sequence[Sequence[Manifest]]


def _shared_fields(groups: _Groups) -> Iterable[ComparedField]:
    """What runs of all tests have: of each group the different texts, in a place of their own."""
    for label, read in _IDENTITY:
        yield _field(label, read, groups, judged=False)
    models = _field(_MODEL, _of("dut", "model"), groups).values
    # another model has another firmware by nature; the same model with another one is another drive
    yield _field("Firmware", _of("dut", "firmware"), groups, judged=len(set(models)) == 1)
    for label, read in _JUDGED:
        yield _field(label, read, groups)
    for label, key in _HOST:
        yield _field(f"Host: {label}", _of("host", key), groups)
    yield from _purpose(groups)
    yield from _settings(groups)
    for key in _ENGINE:
        if any(key in made.engine for group in groups for made in group):
            yield _field(f"Engine: {key.replace('_', ' ')}", _of("engine", key, _NOT_SET), groups)


# SOL-GEN-11
def _settings(groups: _Groups) -> Iterable[ComparedField]:
    """How the host was set up, without its states, which differ from minute to minute."""
    runs = [made for group in groups for made in group]
    for advice in ADVICE:
        if any(advice.key in made.host_before for made in runs):
            yield _field(
                f"Setting: {advice.title}", _of("host_before", advice.key), groups, judged=not advice.is_state
            )


def _purpose(groups: _Groups) -> Iterable[ComparedField]:
    """What the drives are for; of all that, the settings of the host's BIOS may have changed the figures."""
    runs = [made for group in groups for made in group]
    keys = {key: label for made in runs for key, label, _ in declared_rows(made.purpose)}
    for key in (key for key in Purpose.__struct_fields__ if key in keys):
        yield _field(f"Purpose: {keys[key]}", _declared(key), groups, judged=key == "bios")


def _declared(key: str) -> _Read:
    return lambda manifest: (
        "; ".join(text for declared, _, text in declared_rows(manifest.purpose) if declared == key)
        or "not declared"
    )


def _of(facts: str, key: str, missing: str = NOT_REPORTED) -> _Read:
    return lambda manifest: fact_text(getattr(manifest, facts), key, missing)


def _path(key: str) -> _Read:
    return lambda manifest: first_known(key, manifest.dut, manifest.host)


_IDENTITY: Final[tuple[tuple[str, _Read], ...]] = (
    ("Manufacturer", _of("dut", "manufacturer")),
    (_MODEL, _of("dut", "model")),
    ("Serial number", _of("dut", "serial")),
    ("User capacity", lambda manifest: format_capacity(manifest.target.user_capacity_bytes)),
    ("Interface", _of("dut", "interface")),
    ("Form factor", _of("dut", "form_factor")),
    ("NAND type", _of("dut", "nand_type")),
    ("Simulated", lambda manifest: str(manifest.target.simulation or "no")),
)
_JUDGED: Final[tuple[tuple[str, _Read], ...]] = (
    ("Class", lambda manifest: manifest.conditions.drive_class.value),
    ("Kind of target", target_kind),
    ("Sector size", lambda manifest: f"{manifest.target.sector_bytes:,} bytes"),
    ("File system", _path("file_system")),
    ("PCIe", _path("pcie")),
    ("HBA", _path("hba")),
    ("Purge method", purge_method),
    ("Write cache", lambda manifest: write_cache(of_cycle(manifest.write_caches, 1))),
    ("Imported", lambda manifest: "no" if manifest.imported is None else manifest.imported.tool),
    ("Shortened", lambda manifest: "yes" if manifest.shortened else "no"),
    ("State of the run", lambda manifest: manifest.state.value),
    ("Scenario", lambda manifest: str(manifest.scenario or "not declared")),
    ("Kernel", _of("software", "kernel")),
    ("Kernel's command line", _of("software", "kernel_command_line")),
    ("Test software", _of("software", "test_software")),
)


def _field(label: str, read: _Read, groups: _Groups, *, judged: bool = True) -> ComparedField:
    values = tuple(tuple(dict.fromkeys(read(made) for made in group)) for group in groups)
    return ComparedField(label, values, judged)


def _of_test(test: ComparedTest) -> ComparedConditions:
    """The conditions of the test's stimulus; a field that a run does not have was not set."""
    rows = [[list(condition_rows(run.manifest.conditions)) for run in one.runs] for one in test.contenders]
    values = [[{name: value for name, _, value in run} for run in runs] for runs in rows]
    labels = {name: label for runs in rows for run in runs for name, label, _ in run}
    fields = tuple(
        ComparedField(
            label,
            tuple(tuple(dict.fromkeys(run.get(name, _NOT_SET) for run in runs)) for runs in values),
            judged=name not in NO_CONDITION,
        )
        for name, label in labels.items()
    )
    names = tuple(one.name for one in test.contenders)
    return ComparedConditions(test.test, names, (*fields, *_measured_of(test)))


PAGE_ID = "conformance"  # the badge of every HTML report leads there


def red_list(comparison: RunComparison, all_conditions: Sequence[ComparedConditions]) -> tuple[Block, ...]:
    """The top of a comparison: the conditions that differ, or that none do."""
    blocks: list[Block] = [*_mixed_labels(comparison)]
    differing = [(one, field) for one in all_conditions for field in one.differing]
    if not differing:
        same = "Host, class, options, kernel and engine are the same in all runs compared."
        return (*blocks, Verdict(same, "pass"))
    count = len(differing)
    noun = "condition differs" if count == 1 else "conditions differ"
    blocks.append(
        Verdict(
            f"NOT MADE ALIKE: {count} {noun} between the runs. That may be the cause of differences in the "
            "figures. `openpts run TEST TARGET --like RUN` takes the conditions of a run.",
            "fail",
        )
    )
    blocks += [
        _table(
            f"{table.test or 'shared'}-differing", f"{_title_of(table)}: what differs", table, table.differing
        )
        for table in all_conditions
        if table.differing
    ]
    return tuple(blocks)


def _mixed_labels(comparison: RunComparison) -> list[Verdict]:
    sentences = []
    for name in comparison.names:
        drives = dict.fromkeys(
            f"{fact_text(run.manifest.dut, 'model')} {fact_text(run.manifest.dut, 'serial')} "
            f"{format_capacity(run.manifest.target.user_capacity_bytes)}"
            for run in comparison.runs_of(name)
        )
        if len(drives) > 1:
            sentences.append(
                Verdict(
                    f"{name} holds runs of {len(drives)} drives ({', '.join(drives)}): its spread is "
                    "between drives, not between repeated runs of one drive.",
                    "fail",
                )
            )
    return sentences


def conditions_page(comparison: RunComparison, all_conditions: Sequence[ComparedConditions]) -> Page:
    """All fields side by side, and the runs with their records."""
    tables = [
        _table(table.test or "shared", _title_of(table), table, table.fields) for table in all_conditions
    ]
    note = Verdict(
        "A field differs where compared runs have different values. Not judged: the identity of a drive "
        "(model, serial number, capacity; firmware if the models differ) and seeds."
    )
    return Page(PAGE_ID, "Conditions of the runs", (_runs_table(comparison), note, *tables), mandatory=True)


def _title_of(table: ComparedConditions) -> str:
    return f"Conditions of {table.test.upper()}" if table.test else "Conditions of all runs"


def _table(table_id: str, title: str, of: ComparedConditions, fields: Sequence[ComparedField]) -> Table:
    return rows_table(
        f"compare-conditions-{table_id}",
        title,
        (
            Column("Condition", align="left"),
            *(Column(name, align="left", width=1.5) for name in of.names),
            Column("", align="left", width=0.5),
        ),
        ((field.label, *(_cell(texts, field) for texts in field.values), _mark(field)) for field in fields),
    )


def _cell(texts: tuple[str, ...], field: ComparedField) -> Cell:
    return Cell(" | ".join(texts) or "-", tone="fail" if field.differs else "")


def _mark(field: ComparedField) -> Cell:
    if not field.judged:
        return Cell("not judged", tone="missing")
    return Cell("DIFFERS", tone="fail") if field.differs else Cell("same")


def _runs_table(comparison: RunComparison) -> Table:
    rows = (
        (
            test.test.upper(),
            one.name,
            brief(run.manifest.test_id),
            date_and_time(run.manifest.started_at),
            "cold" if run.cold else "warm",
            run.manifest.state.value,
            cells.count(len(run.run.ledger)),
        )
        for test in comparison.tests
        for one in test.contenders
        for run in one.runs
    )
    return rows_table(
        "compare-runs",
        "Runs compared",
        "Test:<0.5 | Drive or label:<1.3 | Test ID No.:<1.6 | Started:<1.35 | Counted as:<0.6 | "
        "State:<0.7 | Deviations:0.6",
        rows,
    )
