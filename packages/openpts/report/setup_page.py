"""The set-up page: all that PTS 5.1 to 5.4 require, each with the place it was read from."""

from openpts.procedures.kit.header import NO_REFERENCE_PLATFORM, date_and_time, of_cycle, target_kind
from openpts.procedures.shared.data_checks_table import data_checks_table
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.condition_rows import condition_rows
from openpts.report.imported_run import import_tables
from openpts.report.simulated_drive import is_shown_as_geometry, simulation_tables
from openpts.units import format_capacity
from openpts_pages.facts_table import remaining, sourced, sourced_table
from openpts_pages.model import Page, Table
from openpts_pages.texts import NOT_STATED

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
_FILE_SYSTEM = ("File system", "file_system")
_OPERATING_SYSTEM = ("Operating system", "operating_system")
_SOFTWARE = ("Test software", "test_software")
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
    return Page(
        "setup",
        "Set-up",
        (
            _general(manifest, report_date),
            _hardware(manifest),
            _software(manifest),
            _device(manifest),
            *simulation_tables(manifest),
            *import_tables(manifest),
            _parameters(manifest),
            *([checks] if (checks := data_checks_table(manifest.data_checks, "setup-data-checks")) else []),
        ),
        mandatory=True,
    )


def _general(manifest: Manifest, report_date: str) -> Table:
    people, imported = manifest.people, manifest.imported
    clock = "clock at the {} of the run" if imported is None else f"{imported.file}, or when that was written"
    stated = "stated by the operator"
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
            ("Specification", _specification(manifest), "chosen test and class"),
            ("Test ID No.", manifest.test_id, "run record"),
        ),
    )


def _specification(manifest: Manifest) -> str:
    conditions = manifest.conditions
    if conditions.of_specification:
        return f"SNIA SSS {conditions.class_text}"
    return f"none: methodology of openpts, {conditions.class_text}"


def _hardware(manifest: Manifest) -> Table:
    shown = [key for _, key in _HOST]
    return sourced_table(
        "setup-hardware",
        "Test system hardware [5.2]",
        [
            sourced("Reference test platform", manifest.host, _PLATFORM_KEY, NO_REFERENCE_PLATFORM),
            *(sourced(label, manifest.host, key) for label, key in _HOST),
            *(_of_either(label, manifest, key) for label, key in _PATH),
            *remaining(manifest.host, [*shown, _PLATFORM_KEY, _OPERATING_SYSTEM[1]]),
        ],
    )


def _software(manifest: Manifest) -> Table:
    return sourced_table(
        "setup-software",
        "Test system software [5.3]",
        [
            sourced(_OPERATING_SYSTEM[0], manifest.host, _OPERATING_SYSTEM[1]),
            _of_either(_FILE_SYSTEM[0], manifest, _FILE_SYSTEM[1]),
            sourced(_SOFTWARE[0], manifest.software, _SOFTWARE[1]),
            *remaining(manifest.software, [_SOFTWARE[1]]),
            *(
                (f"Engine: {label}", value, source)
                for label, value, source in remaining(
                    manifest.engine, filter(is_shown_as_geometry, manifest.engine)
                )
            ),
            ("Command line", " ".join(manifest.command_line) or "not recorded", "run record"),
        ],
    )


def _device(manifest: Manifest) -> Table:
    target = manifest.target
    kind = target_kind(manifest)
    shown = [key for _, key in (*_DUT, *_PATH, _FILE_SYSTEM)] + ["capacity", "sector"]
    return sourced_table(
        "setup-device",
        "Device under test [5.4]",
        [
            ("Target", f"{target.path}: {kind}", "opened by the engine"),
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
