"""Every reader of files and words that others wrote, with inputs that it takes: what mutations begin from."""

import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import msgspec

from openpts._native import Histogram
from openpts.analysis.latency import encode_counts
from openpts.cli.main import cli
from openpts.device.security import Level0
from openpts.parameters.description_file import read_description
from openpts.parameters.plan_file import read_plan
from openpts.procedures.registry import PROCEDURES
from openpts.record.batch import BATCH_NAME, Batch, BatchEntry, read_batch
from openpts.record.reader import read_run
from openpts.record.writer import BASELINE_NAME, DATABASE_NAME, INPUT_FOLDER
from openpts.report.record_files import RecordFile, record_files
from openpts.report.redaction import redacted_run
from openpts.report.sources import ReportSource, read_for_report
from openpts.report.write import ReportOptions, make_report
from openpts.units import TB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.run_request import RunRequest
from openpts.vocabulary.stimulus import Step
from openpts_batch.chosen_drives import read_drives
from openpts_batch.fleet.configuration import read_fleet
from openpts_compare import verification as rederive
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import compare_runs, read_entries
from openpts_compare.compare.figures import comparison_document
from openpts_compare.gate.documents import power_of
from openpts_compare.limits.judge import judge, judge_finished
from openpts_compare.limits.limits_file import (
    judged_figures,
    kept_baseline,
    limit_line,
    parse_limits,
    read_limits,
    stored_baseline,
)
from openpts_compare.runs.flat_rows import csv_text, flat_row
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_compare.verification import file_faults, read_report
from openpts_export.export import junit_of, tables_of
from openpts_fio.engine.results import NoResultError, parse_result
from openpts_fio.fio_output import fio_files
from openpts_fio.imports.fio_import import fio_results
from openpts_fio.imports.imported_run import ImportSettings, Source
from openpts_fio.imports.tkperf_import import tkperf_results
from openpts_fio.jobs.job_file import read_jobs
from openpts_fio.jobs.translation import translate
from openpts_fio.tests.unit.engine.steps import SECOND, stimulus
from openpts_pages.plots.worker_processes import worker_processes
from openpts_practice.rows import CATALOGUE
from openpts_practice.rows.profiles import read_benchmark
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive
from openpts_sim.simulated_target import parse_simulated_target
from openpts_traces.treatment import Input, check, write
from tests import DATA
from tests.mutations.damaged_records import LooseRecord
from tests.mutations.mutator import damaged
from tests.mutations.seeds import Seeds
from tests.support.batches import suite_entry, suite_of
from tests.support.level0_answers import LEVEL0_ANSWERS
from tests.support.made_traces import reads_and_writes

Inputs = Callable[[int], bytes]
MIB = 2**20
SHORT_REPORT, SHORT_SUMS = "report-short.json", "report-short.SHA256SUMS"
RECORDINGS = DATA / "fio"
RESULTS_OF_FIO = tuple(
    (RECORDINGS / f"{name}.stdout").read_bytes()
    for name in ("fsyncs", "interrupted", "mixed-two-threads", "read-errors", "short-reads")
)
IMPORTED = RECORDINGS.parent / "imported"
OUTPUTS_OF_FIO = tuple(
    (IMPORTED / f"fio-{name}.json").read_bytes() for name in ("3-bins", "3-plain", "2-bins", "3-server")
)
FILES_OF_TKPERF = ((IMPORTED / "tkperf.xml").read_bytes(),)


@dataclass(frozen=True)
class Reader:
    """``of`` gives the input of a seed, which is written to a file called ``name`` and given to ``read``.

    ``beside`` is a folder with what has to lie beside it; ``refuses`` are other errors than ours, which
    who calls it turns into ours. ``exit_codes`` are those of the errors that it may end with.
    """

    name: str
    of: Inputs
    read: Callable[[Path], object]
    beside: Path | None = None
    refuses: tuple[type[Exception], ...] = ()
    exit_codes: frozenset[int] = frozenset({2, 8})


def from_texts(*texts: bytes) -> Inputs:
    """Damage to one of some inputs that are taken."""
    return lambda seed: damaged(texts[seed % len(texts)], seed)


def from_records(*records: LooseRecord) -> Inputs:
    """A change of a value, a row, a column or a table in one of some records."""
    return lambda seed: records[seed % len(records)].damaged(seed)


PLANS_TOML = (
    b"""class = "client"
seed = 7
purge = "none"
operator = "A"
[common]
time_scale = "1/60"
active_range = "0:75"
[iops]
read_pcts = [100, 0]
block_sizes = ["4KiB", "64KiB"]
tracking = ["RND 4KiB RW0"]
max_rounds = 7
""",
    b"""[wsat]
workloads = ["oltp", {name = "x", random_pct = 50, block_sizes = {"4KiB" = 2, "8KiB" = 1}, read_pct = 30}]
longest_seconds = 3600.5
drive_fills = 1.5
nines = 4
[hir]
wait_states = [1, 2]
cycles = 4
""",
    b"""[thermal]
look_seconds = 5
load_seconds = 60
[lifetime]
write_limit = "1TB"
wear_limit_pct = 3.5
[cbw]
tcs = [32, 1]
qds = [32, 1]
mid_points = 1
[xsr]
group_seconds = [60, 60.5, 1]
""",
)
PLANS_YAML = (
    b"""class: enterprise
seed: 1
common:
  time_scale: 1/60
iops:
  read_pcts: [100, 65, 0]
  block_sizes: [4KiB, 64KiB, 1MiB]
  max_rounds: 0b111
  tc: 0x10
""",
    b""""class": "client"
wsat:
  workloads:
    - oltp
    - RND 16KiB RW30
  stop_when_steady: true
hir: {cycles: 4, wait_states: [1, 2], workload: oltp}
fill:
  idle_times_seconds: [0, 1.5e2]
""",
)
DESCRIPTIONS = (
    b"""serial = "S3R1"
manufacturer = "A"
sold_as = '''
B
'''
price = "9 EUR"
nand_type = 'TLC'
""",
)
LIMITS = (
    b"""require = ["conformant", "steady", "no media errors", "no throttling", "same firmware"]
allow = ["deviations", "not steady"]
limits = [
  "tp.seq-128k.write >= 180 MB/s",
  "SEQ 128K RW0.p99.9 <= 1.5 ms",
  "tp.seq_128_kib.read >= 3.2 GB/s",
  {measure = "tp.seq-128k.read", at_least = "-3 %", at_most = "1.1 x", note = "x"},
]
""",
    b"""allow = ["deviations", "not steady"]
limits = ["tp.seq-128k.write >= -3 %", "tp.seq-128k.rw0.4 nines <= 1.1 x", "tp.seq-1024k.write <= +10 %"]
[statistics]
false_alarm_pct = 0.5
miss_pct = 5
most_runs = 7
""",
)
FLEETS = (
    b"""runs = "/srv/openpts"
program = "/opt/openpts/bin/openpts"
[hosts.h1]
[hosts.h1.slots]
s00 = "/dev/disk/by-path/pci-0000:01:00.0-nvme-1"
s01 = { target = "/dev/nvme1n1", model = "PM9A3" }
""",
    b"""[hosts]
h2 = { runs = "/data/runs", slots = { a = "sim:mlc?capacity=4GB", b = "file:/data/f?size=1GiB" } }
""",
)
JOBS = (
    b"""[global]
ioengine=libaio
direct=1
rw=randrw
rwmixread=70
bssplit=4k/60:64k/40
random_distribution=zoned_abs:50/1g:50/2g
[first]
time_based
runtime=10
iodepth=32
numjobs=4
rate_iops=1000
; a comment
[second]
stonewall
rw=write
bs=128ki
runtime=1h
time_based
thinktime=10ms
""",
    b"""[${NAME}]
bsrange=4k-64k
rw=randread
randseed=0x7
verify=crc32c
io_size=1g
write_bw_log=x
buffer_compress_percentage=50
""",
)
DRIVES = (
    b"""[[drives]]
target = "sim:mlc?seed=1"
serial = "SIM0001"
model = "ML*"
slot = "5"
[[drives]]
slot = "0000:01:00.0"
""",
)
REQUEST = RunRequest(
    run_id=str(UUID(int=1)), test_words=("iops", "--seed=1"), target="sim:mlc?seed=1", serial="SIM0001"
)
BATCHES = (
    msgspec.json.encode(
        Batch(
            batch_id=str(UUID(int=7)),
            started_at="2026-11-24T08:00:00+00:00",
            at_most=2,
            entries=(BatchEntry(request=REQUEST, folder="1", cpus="0-1", exit_code=7, reason="x", slot="3"),),
        )
    ),
    msgspec.json.encode(suite_of(suite_entry("iops", "1-iops"), suite_entry("tp", "2", reason="x"))),
)
URLS = (
    *(
        b"sim:enterprise-tlc?capacity=64GB&scale=3&seed=7&state=new",
        b"sim:./drive.toml?capacity=1.5TB",
        b"sim:mlc",
    ),
    b"sim:client-qlc?seed=1",
)


def histograms() -> tuple[bytes, ...]:
    """Of one latency, of a thousand, and of some that lie far apart."""
    return (
        encode_counts([(80_000, 5)]),
        encode_counts([(50_000 + 97 * number, 1 + number % 7) for number in range(1000)]),
        encode_counts([(1, 1), (10**6, 10**15), (2**44, 3)]),
    )


def of_level0(path: Path) -> object:
    return str(Level0.parse(path.read_bytes()))


def of_words(path: Path) -> object:
    return parse_simulated_target(path.read_bytes().decode("utf-8", "surrogateescape"))


def plan_of(path: Path) -> object:
    """As `openpts plan` and `openpts run` read one, up to the steps."""
    plan = read_plan(path)
    for name in PROCEDURES:
        plan.overrides(name)
    return plan


def decode(path: Path) -> object:
    histogram = Histogram.decode(path.read_bytes())
    return histogram.bounds(), histogram.value_at_percentile(99.9), histogram.count


def preset(path: Path) -> object:
    """As `openpts plan` reads one, and a run makes a drive of it."""
    with redirect_stdout(StringIO()):
        cli.main(["plan", "tp", f"sim:{path}"], standalone_mode=False)
    drive = load_preset(str(path))
    return SimulatedDrive(drive, path="sim:drive.toml", capacity_bytes=64 * MIB, scale=1, seed=1)


def record(path: Path) -> object:
    return read_run(path.parent, interval_histograms=True)


def everything_beside(other: Path) -> Callable[[Path], object]:
    """All that is made of a record: report with its conformance, and a comparison with another one."""
    entries = read_entries([other])

    def read(path: Path) -> object:
        folder = path.parent
        with worker_processes() as workers:
            make_report(ReportSource((folder,), folder), ReportOptions(), workers)
        comparison = compare_runs([*entries, *read_entries([folder])], "")
        return build_comparison(comparison), comparison_document(comparison, ())

    return read


def exported(path: Path) -> object:
    run = redacted_run(read_for_report(path.parent))
    row = csv_text([flat_row(run)], header=True)
    return (
        row,
        junit_of([path.parent], redact=True),
        [list(rows) for _, rows in tables_of(run)],
        *fio_files(run),
    )


def report(path: Path) -> object:
    return file_faults(path, read_report(path))


def rederived(run: Path) -> Callable[[Path], object]:
    """The record is the same for all inputs: a report is derived of it once for all that ask for the same."""

    @lru_cache(maxsize=16)
    def derived(source: ReportSource, options: ReportOptions) -> object:
        with worker_processes() as workers:
            return make_report(source, options, workers)

    def read(path: Path) -> object:
        with patch.object(rederive, "make_report", lambda source, options, _, **__: derived(source, options)):
            return rederive.differences(read_report(path), ReportSource((run,), run))

    return read


def checksums_of(folder: Path) -> Callable[[Path], object]:
    """The list alone is another: the files that it has to name are looked at once."""
    stored, record = read_report(folder / SHORT_REPORT), lru_cache(record_files_of)
    return lambda path: file_faults(path.with_name(SHORT_REPORT), stored, record(path.parent))


def changed_capture(seeds: Seeds) -> Callable[[Path], object]:
    """openpts decodes no capture: it finds by its checksum that it is another."""
    stored, whole = read_report(seeds.captured / SHORT_REPORT), seeds.capture.read_bytes()

    def read(path: Path) -> object:
        folder = path.parents[1]
        faults = file_faults(folder / SHORT_REPORT, stored, record_files_of(folder))
        assert bool(faults) == (path.read_bytes() != whole), faults
        return faults

    return read


def record_files_of(folder: Path) -> list[RecordFile]:
    return record_files([folder])


def of_fio(path: Path) -> object:
    return parse_result(path.read_bytes().decode(errors="replace"), "", Step.of(stimulus(), SECOND))


def imported(results: Callable[[Source, ImportSettings], object]) -> Callable[[Path], object]:
    """As `openpts import` reads one, before it writes a run."""
    wanted = ImportSettings(2 * TB, DriveClass.ENTERPRISE, {}, ())
    return lambda path: results(Source.read(path), wanted)


def limits(run: MeasuredRun) -> Callable[[Path], object]:
    """As `openpts gate` and a run take a file: what it limits, in words and as figures."""

    def read(path: Path) -> object:
        found = read_limits(path)
        kept = judge_finished(found, run, (run, run)).judged
        judged = judge(found, [run], [run]).judged
        return judged_figures(kept), [limit_line(one) for one in judged], power_of(found, [run], [run])

    return read


def baselines(run: MeasuredRun) -> bytes:
    """Three runs of a baseline, as a record keeps them; a simulated drive had other seeds in each."""
    kept = json.loads(kept_baseline(parse_limits(LIMITS[1], ""), [run] * 3))
    for number, one in enumerate(kept):
        one["seeds"] = [1, number]
        for figure in one["figures"].values():
            figure["value"] *= 1 + number / 100
    return json.dumps(kept).encode()


def baseline(run: MeasuredRun) -> Callable[[Path], object]:
    """As a report on a run reads it, and judges by it."""
    held = parse_limits(LIMITS[1], "")

    def read(path: Path) -> object:
        place = path.parent / INPUT_FOLDER
        place.mkdir(exist_ok=True)
        path.rename(place / BASELINE_NAME)
        judged = judge_finished(held, run, stored_baseline(path.parent)).judged
        return json.dumps(judged_figures(judged), allow_nan=False), [limit_line(one) for one in judged]

    return read


def jobs(path: Path) -> object:
    """As `openpts io --fio-job --print` reads a file: the steps that it asks for on a drive."""
    return translate(read_jobs(path, {"NAME": "x"}), TargetFacts(TargetKind.BLOCK, "x", "/dev/x", TB, 512))


def traces(seeds: Seeds) -> tuple[bytes, ...]:
    """Binary ones of each kind: as they come, in each form that is written, and a capture."""
    folder = seeds.run.parent
    raw = folder / "raw"
    raw.write_bytes(reads_and_writes(60))
    written = []
    for to in ("openpts", "blktrace"):
        write(Input((str(raw),)), to, folder / f"trace-{to}", lambda _: None)
        written.append((folder / f"trace-{to}").read_bytes())
    return raw.read_bytes(), *written, seeds.capture.read_bytes()


def trace(path: Path) -> object:
    """As `openpts trace check` reads one, and `convert` writes it."""
    found = check(Input((str(path),)), lambda _: None)
    write(Input((str(path),)), "openpts", path.with_name("converted"), lambda _: None)
    return found


def readers(seeds: Seeds, presets: tuple[bytes, ...]) -> Mapping[str, Reader]:
    """Each by the name of what it reads. What is large comes less often than what is small."""
    run, cut = seeds.run, seeds.cut
    databases = [(folder / DATABASE_NAME).read_bytes() for folder in (cut, cut, seeds.streams, run)]
    reports = [(run / name).read_bytes() for name in (*[SHORT_REPORT] * 7, "report.json")]
    gated = MeasuredRun.of(read_for_report(run))
    values = from_records(*[LooseRecord(cut)] * 3, LooseRecord(run))
    with_streams = from_records(LooseRecord(cut), LooseRecord(seeds.streams))
    return {
        "histogram": Reader("histogram", from_texts(*histograms()), decode, refuses=(ValueError,)),
        "record file": Reader(DATABASE_NAME, from_texts(*databases), record),
        "record value": Reader(DATABASE_NAME, with_streams, record),
        "record evaluated": Reader(DATABASE_NAME, values, everything_beside(run)),
        "record exported": Reader(DATABASE_NAME, values, exported),
        "report": Reader("report.json", from_texts(*reports), report),
        "report rederived": Reader("report.json", from_texts(*reports), rederived(run)),
        "checksums": Reader(
            SHORT_SUMS,
            from_texts((seeds.captured / SHORT_SUMS).read_bytes()),
            checksums_of(seeds.captured),
            beside=seeds.captured,
        ),
        "capture": Reader(
            f"capture/{seeds.capture.name}",
            from_texts(seeds.capture.read_bytes()),
            changed_capture(seeds),
            beside=seeds.captured,
        ),
        "trace": Reader("trace", from_texts(*traces(seeds)), trace, exit_codes=frozenset({12})),
        "fio's result": Reader("fio.json", from_texts(*RESULTS_OF_FIO), of_fio, refuses=(NoResultError,)),
        "fio's output": Reader("fio.json", from_texts(*OUTPUTS_OF_FIO), imported(fio_results)),
        "TKperf's file": Reader("tkperf.xml", from_texts(*FILES_OF_TKPERF), imported(tkperf_results)),
        "TOML plan": Reader("plan.toml", from_texts(*PLANS_TOML), plan_of),
        "YAML plan": Reader("plan.yaml", from_texts(*PLANS_YAML), plan_of),
        "description": Reader("drive.toml", from_texts(*DESCRIPTIONS), read_description),
        "fleet file": Reader("fleet.toml", from_texts(*FLEETS), read_fleet),
        "fio's job file": Reader("job.fio", from_texts(*JOBS), jobs),
        "list of drives": Reader("drives.toml", from_texts(*DRIVES), read_drives),
        "batch": Reader(BATCH_NAME, from_texts(*BATCHES), lambda path: read_batch(path.parent)),
        "benchmark": Reader(
            "mine.toml",
            from_texts(
                *((CATALOGUE / f"{name}.toml").read_bytes() for name in ("short", "iometer-database"))
            ),
            read_benchmark,
        ),
        "limits": Reader("limits.toml", from_texts(*LIMITS), limits(gated)),
        "baseline": Reader(BASELINE_NAME, from_texts(baselines(gated)), baseline(gated)),
        "simulated drive's name": Reader("name", from_texts(*URLS), of_words),
        "level 0 discovery": Reader("level0", from_texts(*LEVEL0_ANSWERS), of_level0, refuses=(ValueError,)),
        # 3: a drive that is too small for the test
        "preset": Reader("drive.toml", from_texts(*presets), preset, exit_codes=frozenset({2, 3, 8})),
    }
