"""Results of fio and TKperf as runs. The oracle of every figure is what the file itself states."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from openpts.analysis.latency import LatencyDistribution
from openpts.cli.main import cli
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.report.run_part import summarize
from openpts.report.setup_page import import_table
from openpts.units import KIB, NS_PER_MS, TB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.run_request import IMPORTED
from openpts.vocabulary.sample import Phase
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_compare.limits.judge import judge
from openpts_compare.limits.limits_file import parse_limits
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_fio.imports.fio_import import fio_results, parse_output
from openpts_fio.imports.imported_run import ImportSettings, Source, write_imported
from openpts_fio.imports.tkperf_import import tkperf_results
from openpts_pts.conformance.conformance import conformance_of, standing_of
from openpts_pts.evidence.finding import Status
from tests import DATA
from tests.support.refusals import refusal
from tests.support.shortened_runs import shortened_run

DATA = DATA / "imported"
FIO = sorted(DATA.glob("fio-*.json"))
WANTED = ImportSettings(2 * TB, DriveClass.ENTERPRISE, {"model": "X"}, ("import",))


def import_fio(path: Path, folder: Path, job: Path | None = None) -> None:
    source = Source.read(path)
    write_imported(folder, source, fio_results(source, WANTED, job), WANTED)


def fio_run(name: str, folder: Path, job: Path | None = None) -> Run:
    import_fio(DATA / name, folder, job)
    return read_run(folder)


def tkperf_runs(folder: Path) -> dict[str, Run]:
    source = Source.read(DATA / "tkperf.xml")
    found = {one.conditions.test: one for one in tkperf_results(source, WANTED)}
    for test, one in found.items():
        write_imported(folder / test, source, one, WANTED)
    return {test: read_run(folder / test) for test in found}


def stated_jobs(path: Path) -> list[dict[str, Any]]:
    text = path.read_text()
    content = json.loads(text[text.index("{\n") :])
    return content.get("jobs") or [job for job in content["client_stats"] if job["jobname"] != "All clients"]


def measures(run: Run) -> dict[str, Any]:
    return {one.label: one.value for one in procedure_of(run.manifest.conditions.test).report(run).measures}


@pytest.mark.parametrize("path", FIO, ids=lambda path: path.stem)
def test_the_figures_of_fio_are_those_that_it_states(path, tmp_path) -> None:
    run, jobs = fio_run(path.name, tmp_path / "run"), stated_jobs(path)
    found = {(one["stream"], one["operation"]): one for one in summarize(run)["streams"]}
    unit = 1 if "3" in path.stem else 1000
    for name in {job["jobname"] for job in jobs}:
        for operation in ("read", "write"):
            of_job = [
                job[operation] for job in jobs if job["jobname"] == name and job[operation]["total_ios"]
            ]
            if not of_job:
                continue
            one = found[name, operation]
            lats = [each.get("lat_ns") or each["lat"] for each in of_job]
            ios = [each["total_ios"] for each in of_job]
            assert one["ios"] == sum(ios)
            # threads of a job end within a millisecond or two of each other, of a thousand
            assert one["iops"] == pytest.approx(sum(each["iops"] for each in of_job), rel=0.01)
            assert one["bytes"] / KIB == pytest.approx(
                sum(each.get("io_kbytes", each["io_bytes"]) for each in of_job), abs=len(of_job)
            )
            mean_ns = sum(lat["mean"] * n for lat, n in zip(lats, ios, strict=True)) / sum(ios) * unit
            assert one["art_ms"] == pytest.approx(mean_ns / NS_PER_MS, rel=1e-6)
            assert one["mrt_ms"] == pytest.approx(max(lat["max"] for lat in lats) * unit / NS_PER_MS)


def test_percentiles_of_bins_are_those_that_fio_states(tmp_path) -> None:
    run = fio_run("fio-3-lat-bins.json", tmp_path / "run")
    (reader,) = (
        job["read"] for job in stated_jobs(DATA / "fio-3-lat-bins.json") if job["jobname"] == "reader"
    )
    part = next(
        part for step in run.steps for part in step.sample.streams if part.read.ios and not part.write.ios
    )
    found = LatencyDistribution.merged([part.read.histogram])
    assert found.count == reader["total_ios"]
    for level, value_ns in reader["lat_ns"]["percentile"].items():
        # a bin of fio is 1/64 of an octave wide
        assert found.percentile_ns(float(level)) == pytest.approx(value_ns, rel=1 / 64)


def test_bins_of_fio_2_are_numbered(tmp_path) -> None:
    run = fio_run("fio-2-bins.json", tmp_path / "run")
    (step,) = run.steps
    found = LatencyDistribution.merged([step.sample.read.histogram]).buckets()
    # stat.c: bin 100 is 100 us; 200 is 128 + 8.5 * 2 doubled ..., the middle of its range
    middles_us = [100, 2**8 + (200 % 64) * 4 + 2, 2**15 + (640 % 64) * 2**9 + 2**8]
    assert [(low / 1000, ios) for low, _, ios in found] == [
        (pytest.approx(middle, rel=0.001), ios)
        for middle, ios in zip(middles_us, [step.sample.read.ios - 20, 15, 5], strict=True)
    ]


def test_without_bins_there_is_no_distribution(tmp_path) -> None:
    run = fio_run("fio-3-plain.json", tmp_path / "run")
    values = measures(run)
    assert values["reader, read, IOPS"] > 0
    assert values["reader, read, 99 %"] is None
    imported = run.manifest.imported
    stated = dict(imported.stated)["Percentiles of reader, read"]
    (reader,) = (job["read"] for job in stated_jobs(DATA / "fio-3-plain.json") if job["jobname"] == "reader")
    assert f"99 %: {reader['clat_ns']['percentile']['99.000000']:,}" in stated


def test_the_job_file_gives_the_same_load_as_the_stated_options(tmp_path) -> None:
    stated = fio_run("fio-3-bins.json", tmp_path / "stated")
    given = fio_run("fio-3-bins.json", tmp_path / "given", DATA / "jobs.fio")
    assert [step.sample for step in given.steps] == [step.sample for step in stated.steps]
    mixed, together = (step.sample.step for step in stated.steps)
    assert [stream.name for stream in (*mixed.streams, *together.streams)] == ["mixed", "seq", "reader"]
    assert (mixed.stimuli[0].tc, mixed.stimuli[0].qd, mixed.stimuli[0].read_pct) == (2, 4, 70)


def test_an_imported_run_is_marked_and_never_conformant(tmp_path, golden) -> None:
    runs = {"fio": fio_run("fio-3-bins.json", tmp_path / "fio"), **tkperf_runs(tmp_path)}
    for name, run in runs.items():
        imported = run.manifest.imported
        kept = (run.folder / "input" / imported.kept_as).read_bytes()
        assert kept == (DATA / imported.file).read_bytes()
        assert hashlib.sha256(kept).hexdigest() == imported.sha256
        assert run.manifest.state is RunState.COMPLETE
        assert run.ledger[0].rule_id == IMPORTED
        assert run.ledger[0].used == golden
        standing = standing_of(run)
        assert not standing.conformant
        assert standing.red_line == golden
        if name != "fio":
            states = {each.status for each in conformance_of(run)}
            assert not states & {Status.MET, Status.BUILT_IN}


def test_rounds_of_tkperf_are_rounds(tmp_path) -> None:
    """Its own summary is the mean of the last five rounds."""
    runs = tkperf_runs(tmp_path)
    root = ElementTree.parse(DATA / "tkperf.xml").getroot()
    matrices = {
        test: json.loads(root.findtext(f"{tag}/roundmat") or "")
        for test, tag in (("iops", "iops"), ("lat", "lat"), ("tp", "tp"), ("wsat", "writesat"))
    }
    iops = summarize(runs["iops"])
    cells = {(one["block_size_bytes"], one["read_pct"]): one for one in iops["iops"]}
    sizes = [1024, 128, 64, 32, 16, 8, 4, 0.5]
    for row, read_pct in enumerate((100, 95, 65, 50, 35, 5, 0)):
        for column, size in enumerate(sizes):
            mean = sum(matrix[row][column] for matrix in matrices["iops"]) / 5
            cell = cells[size * KIB, read_pct]
            assert cell["iops"] == pytest.approx(mean)
            assert (cell["art_ms"], cell["mrt_ms"], cell["p99_999_ms"]) == (None, None, None)
    assert iops["steady_state"]["window"] == [1, 2, 3, 4, 5]
    assert iops["steady_state"]["reached"]
    (variable,) = iops["steady_state"]["variables"]
    assert variable["average"] == pytest.approx(json.loads(root.findtext("iops/stdyavg") or ""))
    lat = measures(runs["lat"])
    means_us = [matrix[2][1][2] for matrix in matrices["lat"]]
    assert lat["RND 4 KiB RW0, ART"] == pytest.approx(sum(means_us) / 5 / 1000)
    assert lat["RND 4 KiB RW65, 5 9s"] is None
    tp = measures(runs["tp"])
    reads, writes = matrices["tp"][0]
    assert tp["SEQ 1024 KiB W"] == pytest.approx(sum(writes) / 5 * KIB / 1e6)
    assert tp["SEQ 1024 KiB R"] == pytest.approx(sum(reads) / 5 * KIB / 1e6)
    minutes = [step.sample for step in runs["wsat"].steps]
    assert [minute.iops for minute in minutes] == pytest.approx(matrices["wsat"][0])
    assert [(minute.mean_latency_ns or 0) / 1000 for minute in minutes] == pytest.approx(
        [lats[2] for lats in matrices["wsat"][1]], rel=1e-6
    )


def test_the_command_says_what_the_file_lacks(tmp_path, snapshot) -> None:
    path = DATA / "untimed-fio-3.json"
    words = ["--capacity", "2TB", "--out", str(tmp_path / "run")]
    run = CliRunner().invoke(cli, ["import", "fio", str(path), *words])
    assert run.stderr.replace(str(DATA), "DATA") == snapshot


def test_imported_runs_are_compared_with_others(tmp_path) -> None:
    one, other = (fio_run(f"fio-3-{name}.json", tmp_path / name) for name in ("bins", "plain"))
    comparison = compare_runs([NamedRun(one, "before"), NamedRun(other, "after")])
    assert comparison.names == ("before", "after")


SMALL = """{"fio version": "fio-3.33", "timestamp": 1, "global options": {"rw": "randread", "bs": "4k"},
"jobs": [{"jobname": "a", "groupid": 0, "error": 0, "read":
{"total_ios": 10, "io_bytes": 40960, "bw": 40, "runtime": 1000,
"lat_ns": {"min": 1, "max": 5, "mean": 2.5}}}]}"""


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_what_is_no_output_of_fio_is_refused(tmp_path, golden) -> None:
    cases = (
        "",
        "fio: failed parsing\n",
        "3;fio-3.33;a;0;0;1;1;1",
        "a: (groupid=0, jobs=1): err= 0: pid=1\n",
        SMALL[:-40],
        SMALL.replace('"min": 1', '"min": x'),
        '{"a": 1}',
        '{"jobs": []}',
        '{"jobs": 5}',
        SMALL.replace("10,", "0,"),
        SMALL.replace('"error": 0', '"error": 5'),
        SMALL.replace('"bw": 40', '"bw": 4000'),
        SMALL.replace('"mean": 2.5', '"mean": NaN'),
        SMALL.replace('"mean": 2.5', '"mean": 1e300'),
        SMALL.replace('"mean": 2.5', '"mean": 1e999'),
        SMALL.replace('"mean": 2.5', '"mean": 50'),
        SMALL.replace('"runtime": 1000', '"runtime": 0'),
        SMALL.replace('"rw": "randread", ', ""),
        SMALL.replace("randread", "randwrite"),
        '{"jobs": ' + "[" * 100_000,
        '{"jobs": ' + "[" * 100_000 + "]" * 100_000 + "}",
    )
    assert [
        refusal(import_fio, written(tmp_path / "fio.json", content), tmp_path / "run") for content in cases
    ] == golden
    assert not (tmp_path / "run").exists()


def test_the_last_of_several_reports_counts(tmp_path, golden) -> None:
    path = tmp_path / "fio.json"
    report = SMALL.replace("{", "{\n", 1)
    path.write_text(f"note: x {{\n{report.replace('10,', '7,')}\nnote: y\n{report}\n")
    (job,) = parse_output(Source.read(path)).jobs
    assert job.operations["read"].ios == 10
    run = CliRunner().invoke(
        cli, ["import", "fio", str(path), "--capacity", "2TB", "--out", str(tmp_path / "run")]
    )
    assert run.stderr == golden


def test_tkperf_before_2_1_has_steps_of_a_minute(tmp_path, golden) -> None:
    """Both files are of the same figures; the one of 2.2 states what that of 1.3 leaves out."""
    files = [
        shutil.copy(DATA.parent / f"cases/tkperf-without-runtime/{name}.xml", tmp_path)
        for name in ("v13", "v22")
    ]
    old, new = (tkperf_results(Source.read(Path(path)), WANTED) for path in files)
    assert [one.conditions for one in old] == [one.conditions for one in new]
    assert [one.steps for one in old] == [one.steps for one in new]
    assert [one.missing for one in old] == golden
    text = Path(files[0]).read_text()
    alone = text[: text.index("<iops>")] + text[text.index("<writesat>") :]
    for content in (text.replace('"1.3"', '"2.1"'), text.replace('"1.3"', '"x"'), alone):
        assert refusal(tkperf_results, Source.read(written(tmp_path / "tk.xml", content)), WANTED) == golden


def test_what_is_no_file_of_tkperf_is_refused(tmp_path, golden) -> None:
    whole = (DATA / "tkperf.xml").read_text()
    cases = (
        ("<iops>", "<iop>"),
        ("<p4610>", '<!DOCTYPE a [<!ENTITY b "c">]><p4610>'),
        ("<numjobs>4</numjobs>", ""),
        ("<roundmat>[[[", "<roundmat>[[[NaN, "),
        ("<roundmat>[[[", "<roundmat>[[[1e400, "),
        ("<roundmat>[[[", "<roundmat>[[[1, 2, "),
        ("<roundmat>[[[", "<roundmat>[[[1]], [["),
    )
    assert [
        refusal(tkperf_results, Source.read(written(tmp_path / "tk.xml", whole.replace(*change, 1))), WANTED)
        for change in cases
    ] == golden


def test_the_commands_write_a_run_for_each_result(tmp_path) -> None:
    files = [str(DATA / name) for name in ("fio-3-bins.json", "fio-2-bins.json")]
    words = ["--capacity", "2TB", "--serial", "S1", "--out", str(tmp_path / "fio")]
    run = CliRunner().invoke(cli, ["import", "fio", *files, *words])
    assert run.exit_code == 0, run.output
    folders = sorted(path.name for path in (tmp_path / "fio").iterdir())
    assert folders == ["1-fio-3-bins", "2-fio-2-bins"]
    assert read_run(tmp_path / "fio/1-fio-3-bins").manifest.dut["serial"].value == "S1"
    words = ["--capacity", "2TB", "--out", str(tmp_path / "tk")]
    tkperf = CliRunner().invoke(cli, ["import", "tkperf", str(DATA / "tkperf.xml"), *words])
    assert tkperf.exit_code == 0, tkperf.output
    assert sorted(path.name for path in (tmp_path / "tk").iterdir()) == ["iops", "lat", "tp", "wsat"]


def gated(runs: list[Run], *limits: str, baseline: list[Run] | None = None) -> list[JudgedLimit]:
    head = 'require = ["conformant", "steady", "no media errors", "no throttling", "same firmware"]\n'
    held = parse_limits(f'{head}allow = ["deviations", "not steady"]'.encode(), "limits", limits)
    sides = [[MeasuredRun.of(run) for run in side] for side in (runs, baseline or [])]
    return list(judge(held, *sides).judged)


def test_a_gate_takes_what_fio_states_and_knows_no_more(tmp_path) -> None:
    run, bare = (fio_run(f"fio-3-{name}.json", tmp_path / name) for name in ("bins", "plain"))
    (writes,) = (one["write"] for one in stated_jobs(DATA / "fio-3-bins.json") if one["jobname"] == "seq")
    iops, name = writes["iops"], "workload.seq_write"
    conformant, steady, *unknown, least, most, rare = gated(
        [run], f"{name}.iops >= {0.99 * iops}", f"{name}.p99 <= 1 us", f"{name}.p99.9999 <= 1 h"
    )
    assert (conformant.judgement, conformant.reason) == (
        Judgement.FAIL,
        f"IMPORTED from {run.manifest.imported and run.manifest.imported.tool} - not measured by openpts",
    )
    assert (steady.judgement, steady.reason) == (
        Judgement.NO_VERDICT,
        "1 round of fio-3.33, steady state takes 5",
    )
    assert [one.judgement for one in unknown] == [Judgement.NO_VERDICT] * 3
    assert (least.judgement, most.judgement) == (Judgement.PASS, Judgement.FAIL)
    assert rare.reason.startswith("too few I/Os: ")
    (*_, without) = gated([bare], f"{name}.p99.9 <= 1 h")
    assert (without.judgement, without.reason) == (
        Judgement.NO_VERDICT,
        "not measured: no distribution of response times",
    )


def test_a_gate_takes_rounds_of_tkperf(tmp_path) -> None:
    runs = tkperf_runs(tmp_path)
    (least,) = gated([runs["iops"]], "iops.rnd-4k-rw0 >= 1 k")[5:]
    stated = json.loads(ElementTree.parse(DATA / "tkperf.xml").findtext("iops/stdyvalues") or "")
    assert least.value == pytest.approx(sum(stated) / len(stated))
    assert [gated([runs[test]])[1].judgement for test in ("iops", "wsat")] == [
        Judgement.PASS,
        Judgement.FAIL,  # after seven tracking rounds, which would do
    ]
    (no_times,) = gated([runs["iops"]], "iops.rnd-4k-rw0.p99.9 <= 1 ms")[5:]
    assert no_times.judgement is Judgement.NO_VERDICT


def test_imported_runs_are_a_baseline_each_file_once(tmp_path) -> None:
    text = (DATA / "fio-3-bins.json").read_text()
    runs = []
    for number in range(3):
        path = tmp_path / f"{number}.json"
        path.write_text(text + "\n" * number)
        import_fio(path, tmp_path / str(number))
        runs.append(read_run(tmp_path / str(number)))
    limit = "workload.seq_write.iops >= -3 %"
    assert gated(runs[:1], limit, baseline=runs[1:])[-1].judgement is Judgement.PASS
    import_fio(tmp_path / "0.json", tmp_path / "again")
    again = read_run(tmp_path / "again")
    for candidates, baseline in ((runs[:1], [runs[1], again]), ([runs[2]], [runs[0], again])):
        found = gated(candidates, limit, baseline=baseline)[-1]
        assert (found.judgement, found.reason) == (
            Judgement.NO_VERDICT,
            "the same results were imported twice: they are one run",
        )


def test_what_was_exported_for_fio_comes_back(tmp_path) -> None:
    """Counts and extremes as they were; fio states times in ms, and bins come back as fio's."""
    run = shortened_run("lat", tmp_path / "run", target="sim:enterprise-tlc?capacity=1GB", scale=0.005)
    CliRunner().invoke(cli, ["export", str(run.folder), "--fio-json", str(tmp_path / "fio")])
    last = max(step.place.number for step in run.phase(Phase.ROUND))
    wanted = [step.sample for step in run.phase(Phase.ROUND) if step.place.number == last]
    files = sorted((tmp_path / "fio").glob(f"*/1-round-{last}/*/*.json"))
    assert len(files) == len(wanted)
    for path in files:
        source = Source.read(path)
        ((_, found),) = fio_results(source, WANTED).steps
        (sample,) = (one for one in wanted if load_of(one) == load_of(found))
        assert found.elapsed_ns == pytest.approx(sample.elapsed_ns, abs=NS_PER_MS)
        for name in ("read", "write"):
            back, one = found.operations[name], sample.operations[name]
            assert (back.ios, back.bytes) == (one.ios, one.bytes)
            assert (back.latency_min_ns, back.latency_max_ns) == (one.latency_min_ns, one.latency_max_ns)
            assert back.latency_sum_ns == pytest.approx(one.latency_sum_ns, rel=1e-6)
            if not one.ios:
                continue
            times = [LatencyDistribution.merged([each.histogram]) for each in (back, one)]
            assert times[0].count == times[1].count
            for level in (50, 99):
                assert times[0].percentile_ns(level) == pytest.approx(
                    times[1].percentile_ns(level), rel=1 / 64
                )


def exported(run: Run, folder: Path) -> list[dict[str, Any]]:
    """The jobs of all files that the run is written as for readers of fio's output."""
    CliRunner().invoke(cli, ["export", str(run.folder), "--fio-json", str(folder)])
    files = sorted(folder.glob("*/*/*/*.json"))
    assert files
    return [job for path in files for job in json.loads(path.read_text())["jobs"]]


def test_what_fio_did_not_time_is_exported_as_unknown_and_not_as_0(tmp_path) -> None:
    (job,) = exported(fio_run("untimed-fio-3.json", tmp_path / "run"), tmp_path / "fio")
    (stated,) = stated_jobs(DATA / "untimed-fio-3.json")
    assert stated["read"]["lat_ns"]["N"] == 0
    assert job["read"]["total_ios"] == stated["read"]["total_ios"] > 0
    assert job["read"]["lat_ns"] == {"N": 0}
    assert "latency_us" not in job


@pytest.mark.parametrize("name", ["fio-2-plain", "fio-3-plain"])
def test_percentiles_without_a_distribution_are_exported_as_fio_states_them(name, tmp_path) -> None:
    run = fio_run(f"{name}.json", tmp_path / "run")
    jobs = {job["jobname"]: job for job in exported(run, tmp_path / "fio")}
    reader = next(job["read"] for job in stated_jobs(DATA / f"{name}.json") if job["jobname"] == "reader")
    key, unit_ns = ("clat_ns", 1) if "3" in name else ("clat", 1000)
    wanted = {
        float(level): value * unit_ns for level, value in reader[key]["percentile"].items() if float(level)
    }
    found = jobs["reader"]["read"]["clat_ns"]["percentile"]
    assert {float(level): value for level, value in found.items()} == wanted
    assert "percentile" not in jobs["reader"]["read"]["lat_ns"]


def load_of(sample: Any) -> tuple[Any, ...]:
    return tuple((one.read_pct, one.block_sizes) for one in sample.step.stimuli)


def test_the_set_up_page_says_which_counts_are_derived(tmp_path, golden) -> None:
    for run in tkperf_runs(tmp_path).values():
        table = import_table(run.manifest)
        assert table is not None
        stated = [str(row.cells[0].text) for row in table.rows if row.head.text == "Not stated"]
        assert stated == golden
