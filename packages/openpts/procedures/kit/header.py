"""The common header of a test's pages: ten rows in four groups (PTS 5, Annex A; design: section 3)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from openpts.fields.conditions import Conditions
from openpts.procedures.kit.content import Sections
from openpts.procedures.kit.standing import Standing
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.units import block_size_kib, format_capacity
from openpts.vocabulary.facts import Facts, TargetKind, WriteCacheReport
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import DataPattern, RandomData, RandomOnce, ReducibleData
from openpts_pages.model import Header, HeaderGroup, HeaderRow, Page, Section
from openpts_pages.texts import NOT_REPORTED, NOT_STATED, brief, fact_text, value_text

T = TypeVar("T")

ROWS: Final = 10
NOT_RUN: Final = "NOT RUN"
NO_REFERENCE_PLATFORM: Final = "not SNIA RTP"
_KINDS: Final = {
    TargetKind.BLOCK: "raw block device",
    TargetKind.DIRECTORY: "block device below a file system",
    TargetKind.FILE: "FILE (no raw device)",
    TargetKind.SIMULATED: "SIMULATED (no device)",
}
Rows = tuple[tuple[str, str], ...]


class TestSection(Struct, frozen=True, kw_only=True):
    """What a section of a report is made of: of a test, or of one ``cycle`` of it.

    ``bar`` and ``heading`` stand in its common header, with ``setup`` and ``test_rows``, ten rows each.
    ``red_lines`` say what of the test itself is wrong.
    """

    __test__ = False  # the name is the field's, not pytest's

    test: str
    title: str
    bar: str
    heading: str
    setup: Rows
    test_rows: Rows
    pages: Callable[[], Iterable[Page]]
    red_lines: Sequence[str] = ()
    cycle: int = 1
    of_specification: bool = True


def sections_of(run: Run, *parts: TestSection) -> Sections:
    """Sections of a run's report, whose pages are made when they are asked for."""
    return lambda standing, report_date: tuple(_section(run, one, standing, report_date) for one in parts)


def _section(run: Run, one: TestSection, standing: Standing, report_date: str) -> Section:
    manifest = run.manifest
    return Section(
        test=one.test,
        title=one.title,
        header=Header(
            test_run_date=date_and_time(manifest.started_at),
            report_run_date=date_and_time(report_date),
            bar=one.bar,
            title=one.heading,
            revision=manifest.conditions.drive_class.revision,
            vendor=brief(fact_text(manifest.dut, "manufacturer")),
            model=brief(fact_text(manifest.dut, "model", manifest.target.name)),
            sponsor=brief(manifest.people.sponsor or NOT_STATED),
            groups=(
                _group("Test Platform", "platform", _platform(manifest)),
                _group("Device Under Test", "dut", _device(manifest, one.cycle)),
                _group("Set Up Parameters", "setup", one.setup),
                _group("Test Parameters", "test", one.test_rows),
            ),
            of_specification=one.of_specification,
        ),
        alerts=tuple(line for line in (standing.red_line, *one.red_lines) if line),
        pages=tuple(one.pages()),
    )


def drive_name(manifest: Manifest) -> str:
    """Manufacturer and model, as far as they are known; at the least the target's name."""
    model = fact_text(manifest.dut, "model", manifest.target.name)
    return f"{fact_text(manifest.dut, 'manufacturer', '')} {model}".strip()


def date_and_time(iso: str | None) -> str:
    """``2025-01-14 08:11 UTC`` from an ISO 8601 time in UTC; another text is shown as it is."""
    if iso is None:
        return NOT_REPORTED
    date, _, time = iso.partition("T")
    utc = time.endswith(("Z", "+00:00"))
    return f"{date} {time[:5]} UTC" if utc and len(time) > 5 else iso


def of_cycle(entries: Sequence[T], cycle: int) -> T | None:
    """The entry of a cycle, counted from 1; None if it never came so far."""
    return entries[cycle - 1] if cycle <= len(entries) else None


def target_kind(manifest: Manifest) -> str:
    """What the target is, in words."""
    return _KINDS[manifest.target.kind] if manifest.imported is None else NOT_STATED


def purge_method(manifest: Manifest, cycle: int = 1) -> str:
    """The header's field Purge Method."""
    if manifest.imported is not None:
        return NOT_STATED
    purge = of_cycle(manifest.purges, cycle)
    if purge is None or not (purge.ran or purge.name):
        return NOT_RUN
    return purge.method if purge.ran else f"{NOT_RUN} ({purge.method})"


def write_cache(report: WriteCacheReport | None) -> str:
    """The header's field Write Cache: what was found, never what was asked for."""
    return report.actual if report is not None else "unknown"


def first_known(key: str, *rooms: Facts) -> str:
    """The value of a fact from the first room that has it: the link is the drive's or the host's."""
    return next((fact_text(facts, key) for facts in rooms if key in facts), NOT_REPORTED)


def _group(title: str, tint: str, rows: Rows) -> HeaderGroup:
    if len(rows) != ROWS:
        raise ValueError(f"the header group {title} has {len(rows)} rows, not {ROWS}")
    return HeaderGroup(title, tint, tuple(HeaderRow(label, brief(value)) for label, value in rows))


def _platform(manifest: Manifest) -> Rows:
    host = manifest.host
    known = [value_text(manifest.engine[key]) for key in ("engine", "build") if key in manifest.engine]
    return (
        ("Ref Test Platform", fact_text(host, "reference_test_platform", NO_REFERENCE_PLATFORM)),
        ("Motherboard", fact_text(host, "motherboard")),
        ("CPU", fact_text(host, "cpu")),
        ("Memory", fact_text(host, "memory")),
        ("Operating System", fact_text(host, "operating_system")),
        ("Test SW", fact_text(manifest.software, "test_software")),
        ("Test SW Info", ", ".join(known) or NOT_REPORTED),
        ("Test ID No.", manifest.test_id),
        ("HBA", first_known("hba", manifest.dut, host)),
        ("PCIe", first_known("pcie", manifest.dut, host)),
    )


def _device(manifest: Manifest, cycle: int) -> Rows:
    dut = manifest.dut
    return (
        ("Mfgr", fact_text(dut, "manufacturer")),
        ("Model No.", fact_text(dut, "model", manifest.target.name)),
        ("S/N", fact_text(dut, "serial")),
        ("Firmware ver", fact_text(dut, "firmware")),
        ("Capacity", format_capacity(manifest.target.user_capacity_bytes)),
        ("Interface", fact_text(dut, "interface")),
        ("NAND Type", fact_text(dut, "nand_type")),
        ("PCIe NVM", fact_text(dut, "form_factor")),
        ("Purge Method", purge_method(manifest, cycle)),
        ("Write Cache", write_cache(of_cycle(manifest.write_caches, cycle))),
    )


def setup_rows(run: Run, first: Sequence[str], second: Sequence[str], of_second: str = "SS Rounds") -> Rows:
    """The ten set-up rows: what is written where, two preconditionings, and the ledger's entries.

    Each preconditioning has its stimulus, its demand, and its duration, or of the second ``of_second``.
    """
    conditions = run.manifest.conditions
    segments = conditions.segments
    return (
        ("Data Pattern", data_text(conditions)),
        ("AR", active_range_text(conditions)),
        (
            "AR Segments",
            f"{segments.count} x {format_capacity(segments.segment_bytes)}" if segments else "N/A",
        ),
        *zip(("Pre Condition 1", "TOIO - TC/QD", "Duration"), first, strict=True),
        *zip(("Pre Condition 2", "TOIO - TC/QD", of_second), second, strict=True),
        ("Note", f"{count} deviation{'' if count == 1 else 's'}" if (count := len(run.ledger)) else "-"),
    )


def stimulus_rows(run: Run, *own: tuple[str, str]) -> Rows:
    """The ten test rows: what is written where, and eight of the test's own."""
    conditions = run.manifest.conditions
    return (("Data Pattern", data_text(conditions)), ("AR & Amount", active_range_amount_text(run)), *own)


def active_range_text(conditions: Conditions) -> str:
    """``100 %``, or from where to where."""
    covered = conditions.active_range
    if covered.start_pct == 0:
        return f"{covered.end_pct:g} %"
    return f"{covered.start_pct:g} to {covered.end_pct:g} %"


def active_range_amount_text(run: Run) -> str:
    """The range with the bytes that it holds, or those of its LBA segments: AR & Amount."""
    target, conditions = run.manifest.target, run.manifest.conditions
    start, end = conditions.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    segments = conditions.segments
    amount_bytes = end - start if segments is None else segments.count * segments.segment_bytes
    return f"{active_range_text(conditions)}, {format_capacity(amount_bytes)}"


def data_text(conditions: Conditions) -> str:
    """RND, RND_ONCE, or what other patterns were written."""
    return ", ".join(dict.fromkeys(map(_pattern_text, conditions.data_patterns)))


def _pattern_text(data: DataPattern) -> str:
    match data:
        case RandomData():
            return "RND"
        case RandomOnce():
            return "RND_ONCE"
        case ReducibleData(entropy_pct):
            return f"entropy {entropy_pct:g} %"
        case other:
            return str(other.__struct_config__.tag)


def precondition_amount(run: Run, cycle: int = 1) -> str:
    """Preconditioning as measured, in user capacities: ``2.00 x User Capacity``."""
    written = sum(sample.write.bytes for sample in precondition_samples(run, cycle))
    capacity = run.manifest.target.user_capacity_bytes
    return f"{written / capacity:.2f} x User Capacity" if capacity else "n/a (no capacity)"


def demand_text(tc: int, qd: int) -> str:
    """``TC 4 / QD 32``."""
    return f"TC {tc} / QD {qd}"


def head_line(run: Run, phase: Phase, *, demand: str = "", more: str = "") -> str:
    """The line above the tables of a test: id, class, cache, T/Q, data pattern, AR, alignment (Plot 7-5).

    ``phase`` is that of the run that the table is of, ``more`` further words of the test.
    """
    conditions = run.manifest.conditions
    return "  |  ".join(
        text
        for text in (
            brief(run.manifest.test_id),
            conditions.drive_class.revision,
            write_cache(of_cycle(run.manifest.write_caches, 1)),
            demand,
            f"DP={data_text(conditions)}",
            f"AR={active_range_text(conditions)}",
            _alignment_text(run, phase),
            more,
        )
        if text
    )


def precondition_samples(run: Run, cycle: int) -> list[Sample]:
    """Workload independent preconditioning of a cycle."""
    return [step.sample for step in run.phase(Phase.WIPC, cycle=cycle)]


# PTS AMB-41
def _alignment_text(run: Run, phase: Phase) -> str:
    """What offsets are multiples of: one size for all, or the usual one with those of other block sizes."""
    target = run.manifest.target
    sizes_by_granule: dict[int, set[int]] = {}
    for step in run.phase(phase):
        for stimulus in step.sample.step.stimuli:
            granule = stimulus.granule_bytes(target.user_capacity_bytes, target.sector_bytes)
            sizes_by_granule.setdefault(granule, set()).add(stimulus.block_size_bytes)
    if not sizes_by_granule:
        return ""
    usual, *others = sorted(sizes_by_granule, key=lambda granule: -len(sizes_by_granule[granule]))
    except_for = "".join(
        f" ({block_size_kib(size)}K: {block_size_kib(granule)}K)"
        for granule in others
        for size in sorted(sizes_by_granule[granule])
    )
    return f"Align={block_size_kib(usual)}K{except_for}"
