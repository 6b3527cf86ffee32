"""The set-up page: all that PTS 5.1 to 5.4 require, a simulated drive, an imported run, the purpose."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

from openpts.fields.conditions import Conditions
from openpts.fields.field import Field, fields_of
from openpts.procedures.kit.header import NO_REFERENCE_PLATFORM, date_and_time, of_cycle, target_kind
from openpts.procedures.shared.data_checks_table import data_checks_table
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.units import format_capacity, format_duration, format_significant
from openpts.vocabulary.facts import Facts, Purpose, SimulationFacts, declared_rows
from openpts.vocabulary.workload import condition_text
from openpts_pages.facts_table import remaining, sourced, sourced_table
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Page, Table
from openpts_pages.texts import NOT_STATED, brief, fact_text, value_text

_GEOMETRY: Final = "geometry_"
_LINE: Final = 200
_PRESET: Final = "preset"


def condition_rows(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    """Name, label and value of each field, in the order of the conditions."""
    for name, field in fields_of(type(conditions)).items():
        value = getattr(conditions, name)
        if field.label and value is not None and name not in conditions.meaningless:
            yield name, field.label, _text(name, field, value)


def _text(name: str, field: Field, value: object) -> str:
    if field.is_rest and field.kind is not None:
        return field.kind.show(value)
    return value if isinstance(value, str) else condition_text(name, value)


def simulated_time(run: Run) -> str:
    """Time that passed for the drive, whose clock stands still between steps; empty for one that exists."""
    if run.manifest.target.simulation is None:
        return ""
    samples = [step.sample for step in run.steps]
    simulated_ns = samples[-1].started_ns + samples[-1].elapsed_ns - samples[0].started_ns if samples else 0
    return f"{format_duration(simulated_ns)}, from the first step to the last"


def _simulation(manifest: Manifest) -> Table | None:
    """The table of the set-up page; None for a drive that exists."""
    simulation = manifest.target.simulation
    if simulation is None:
        return None
    scale = f"1:{simulation.scale}: one simulated page represents {simulation.scale:,}"
    engine = ((name.removeprefix(_GEOMETRY), fact) for name, fact in _geometry(manifest.engine).items())
    return sourced_table(
        "setup-simulation",
        "Simulated drive",
        [
            ("Preset", simulation.preset, _PRESET),
            ("Represents", simulation.summary, _PRESET),
            ("Model", simulation.model, _PRESET),
            ("Simulated part", size_text(simulation), "scale"),
            ("Scale", "1:1: each page is simulated" if simulation.scale == 1 else scale, "target"),
            ("Seed of the drive", str(simulation.seed), "target"),
            *(
                (f"Geometry: {name.replace('_', ' ')}", value_text(fact), fact.source)
                for name, fact in engine
            ),
            *_assumed_rows(simulation),
        ],
        note="Times and counts of steps are those of the whole drive: simulated values times the scale. "
        "Response times are as simulated; percentiles are of the simulated I/Os only.",
    )


def _geometry(engine: Facts) -> Facts:
    """Facts of the engine that the table of the simulated drive has."""
    return {name: fact for name, fact in engine.items() if name.startswith(_GEOMETRY)}


def size_text(simulation: SimulationFacts) -> str:
    """How much of the drive is simulated."""
    return f"{format_capacity(simulation.simulated_bytes)} ({simulation.simulated_bytes:,} bytes) simulated"


def _assumed_rows(simulation: SimulationFacts) -> Iterator[tuple[str, str, str]]:
    """A row for each part of the model: a list of dozens of dotted names could not be read."""
    if not simulation.assumed:
        yield "Assumed parameters", "none", _PRESET
    parts: dict[str, list[str]] = defaultdict(list)
    for name in simulation.assumed:
        part, _, last = name.rpartition(".")
        parts[part].append(last)
    for part, names in parts.items():
        of_part = brief(part.partition(".")[2] or part or "drive")
        for line in wrap(", ".join(names), _LINE):
            yield f"Assumed: {of_part}", line, "assumed: nothing published supports it"


def import_table(manifest: Manifest) -> Table | None:
    """The table of the set-up page; None for a run that openpts measured."""
    imported = manifest.imported
    if imported is None:
        return None
    return sourced_table(
        "setup-imported",
        "Imported results",
        [
            ("Program", imported.tool, imported.file),
            ("Form", imported.form, imported.file),
            ("SHA-256 of the file", imported.sha256, f"input/{imported.kept_as} in the run folder"),
            *(("Not stated", text, imported.file) for text in imported.missing),
            *((name, text, "as the file states it") for name, text in imported.stated),
        ],
        note="Nothing in this run was measured by openpts. What the source does not state is n/a.",
    )


_HOST = (
    ("Manufacturer and model", "system"),
    ("Motherboard", "motherboard"),
    ("BIOS", "bios"),
    ("CPU", "cpu"),
    ("Memory (DRAM)", "memory"),
    ("Device interposer", "interposer"),
    ("Primary storage", "primary_storage"),
    ("Peripherals", "peripherals"),
)
# Facts of the path to the drive, which the drive's own description may hold.
_PATH = (("Host bus adapter", "hba"), ("PCIe", "pcie"))
_DUT = (
    ("Manufacturer", "manufacturer"),
    ("Model number", "model"),
    ("Serial number", "serial"),
    ("Firmware revision", "firmware"),
    ("Interface and speed", "interface"),
    ("Form factor", "form_factor"),
    ("Media", "media"),
    ("Media type", "nand_type"),
    ("Other features", "features"),
)
_PLATFORM_KEY = "reference_test_platform"


def setup_page(run: Run, report_date: str) -> Page:
    """Set-up, once per report."""
    manifest = run.manifest
    tables = (
        _general(manifest, report_date),
        _hardware(manifest),
        _software(manifest),
        _device(manifest),
        _simulation(manifest),
        import_table(manifest),
        _parameters(manifest),
        data_checks_table(manifest.data_checks, "setup-data-checks"),
    )
    return Page("setup", "Set-up", tuple(table for table in tables if table is not None), mandatory=True)


def _general(manifest: Manifest, report_date: str) -> Table:
    people, imported = manifest.people, manifest.imported
    clock = "clock at the {} of the run" if imported is None else f"{imported.file}, or when that was written"
    stated = "stated by the operator"
    norm = "SNIA SSS " if manifest.conditions.of_specification else "none: methodology of openpts, "
    return sourced_table(
        "setup-general",
        "General [5.1]",
        (
            ("Test date", date_and_time(manifest.started_at), clock.format("start")),
            ("Test ended", date_and_time(manifest.ended_at), clock.format("end")),
            ("Report date", date_and_time(report_date), "option of the report, otherwise the end of the run"),
            ("Test operator", people.operator or NOT_STATED, stated),
            ("Auditor", people.auditor or NOT_STATED, stated),
            ("Test sponsor", people.sponsor or NOT_STATED, stated),
            *((f"Label {name}", value, stated) for name, value in people.labels.items()),
            ("Specification", f"{norm}{manifest.conditions.class_text}", "chosen test and class"),
            ("Test ID No.", manifest.test_id, "run record"),
        ),
    )


def _hardware(manifest: Manifest) -> Table:
    shown = [key for _, key in _HOST]
    return sourced_table(
        "setup-hardware",
        "Test system hardware [5.2]",
        [
            sourced("Reference test platform", manifest.host, _PLATFORM_KEY, NO_REFERENCE_PLATFORM),
            *(sourced(label, manifest.host, key) for label, key in _HOST),
            *(_of_either(label, manifest, key) for label, key in _PATH),
            *remaining(manifest.host, [*shown, _PLATFORM_KEY, "operating_system"]),
        ],
    )


def _software(manifest: Manifest) -> Table:
    engine = manifest.engine
    return sourced_table(
        "setup-software",
        "Test system software [5.3]",
        [
            sourced("Operating system", manifest.host, "operating_system"),
            _of_either("File system", manifest, "file_system"),
            sourced("Test software", manifest.software, "test_software"),
            *remaining(manifest.software, ["test_software"]),
            *(
                (f"Engine: {label}", value, source)
                for label, value, source in remaining(engine, _geometry(engine))
            ),
            ("Command line", " ".join(manifest.command_line) or "not recorded", "run record"),
        ],
    )


def _device(manifest: Manifest) -> Table:
    target = manifest.target
    shown = [*(key for _, key in (*_DUT, *_PATH)), "file_system", "capacity", "sector"]
    return sourced_table(
        "setup-device",
        "Device under test [5.4]",
        [
            ("Target", f"{target.path}: {target_kind(manifest)}", "opened by the engine"),
            *(sourced(label, manifest.dut, key) for label, key in _DUT),
            (
                "User capacity",
                f"{format_capacity(target.user_capacity_bytes)} ({target.user_capacity_bytes:,} bytes)",
                "size of the opened target",
            ),
            sourced("Sector size", manifest.dut, "sector", f"{target.sector_bytes:,} bytes"),
            *remaining(manifest.dut, shown),
        ],
    )


def _parameters(manifest: Manifest) -> Table:
    conditions, cache = manifest.conditions, of_cycle(manifest.write_caches, 1)
    asked = "conditions of the run"
    return sourced_table(
        "setup-parameters",
        "Test parameters",
        (
            ("Test and class", f"{conditions.test}, {conditions.class_text}", asked),
            (
                "Write cache",
                f"{cache.actual} (required {cache.required})" if cache else "unknown",
                cache.source if cache else "-",
            ),
            *((label, value, asked) for _, label, value in condition_rows(conditions)),
        ),
    )


def _of_either(label: str, manifest: Manifest, key: str) -> tuple[str, str, str]:
    return sourced(label, manifest.dut if key in manifest.dut else manifest.host, key)


PurposeRow = tuple[str, str, Cell]  # label, what was declared, and what the run shows of it
_TB: Final = 10**12


def purpose_rows(run: Run) -> tuple[PurposeRow, ...]:
    """A row for everything declared; none if nothing was."""
    purpose = run.manifest.purpose
    return tuple(
        (label, text, _IN_RUN[key](run, purpose) if key in _IN_RUN else Cell(""))
        for key, label, text in declared_rows(purpose)
    )


def purpose_tables(named: Iterable[tuple[str, Sequence[PurposeRow]]]) -> tuple[Table, ...]:
    """One box of the runs of a report, by their names; none if nothing was declared."""
    rows: dict[tuple[str, str], list[tuple[str, Cell]]] = {}
    for name, of_run in named:
        for label, text, shown in of_run:
            rows.setdefault((label, text), []).append((name, shown))
    if not rows:
        return ()
    return (
        rows_table(
            "cover-purpose",
            "Purpose, as declared by the operator",
            "Item:< | Declared:<1.9 | Measured:<1.3",
            ((label, text, _joined(of)) for (label, text), of in rows.items()),
        ),
    )


def _joined(shown: Sequence[tuple[str, Cell]]) -> Cell:
    if len(shown) == 1:
        return shown[0][1]
    texts = [f"{name}: {cell.text}" for name, cell in shown if cell.text]
    return Cell("; ".join(texts), tone=max((cell.tone for _, cell in shown), key=bool))


def _load(run: Run, _purpose: Purpose) -> Cell:
    samples = [step.sample for step in run.steps]
    if not samples:
        return Cell("")
    under_load_ns = sum(sample.elapsed_ns for sample in samples if not sample.step.is_idle)
    whole_ns = samples[-1].started_ns + samples[-1].elapsed_ns - samples[0].started_ns
    return Cell(f"{100 * under_load_ns / whole_ns:.0f} % of the run" if whole_ns > 0 else "")


def _temperatures(run: Run, purpose: Purpose) -> Cell:
    series = run.telemetry_series.get("temperature_c")
    if series is None:
        return Cell("no temperature was sampled", tone="missing")
    lowest, highest = min(series.values), max(series.values)
    low, high = sorted(purpose.declared["temperature_c"])
    text = f"{lowest:g} to {highest:g} °C"
    is_inside = low <= lowest and highest <= high
    return Cell(text) if is_inside else Cell(f"{text}: outside of it", tone="fail")


def _written_bytes(run: Run) -> int:
    return sum(step.sample.write.bytes for step in run.steps)


def _writes(run: Run, purpose: Purpose) -> Cell:
    written_tb = _written_bytes(run) / _TB
    share_pct = format_significant(100 * written_tb / purpose.declared["rated_tbw"])
    return Cell(f"{written_tb:,.3f} TB written = {share_pct} % of them")


def _drive_writes(run: Run, _purpose: Purpose) -> Cell:
    fills = _written_bytes(run) / run.manifest.target.user_capacity_bytes
    return Cell(f"{fills:.2f} drive writes in this run")


def _firmware(run: Run, purpose: Purpose) -> Cell:
    own, latest = fact_text(run.manifest.dut, "firmware", ""), purpose.declared["firmware"].version
    if not own:
        return Cell("the drive reports no firmware version", tone="missing")
    return Cell("the drive has it") if own == latest else Cell(f"the drive has {own}", tone="fail")


_IN_RUN: Final[Mapping[str, Callable[[Run, Purpose], Cell]]] = {
    "duty_pct": _load,
    "temperature_c": _temperatures,
    "rated_tbw": _writes,
    "rated_dwpd": _drive_writes,
    "firmware": _firmware,
}
