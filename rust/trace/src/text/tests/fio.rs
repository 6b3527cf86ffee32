//! What fio itself writes, against what it says it did.

use std::path::Path;
use std::process::Command;

use super::{ReadOptions, read, read_all, source};
use crate::traced_io::TracedOperation;

/// Number and bytes of one direction, by fio's own report.
fn by_fio(report: &serde_json::Value, direction: &str) -> (u64, u64) {
    let job = &report["jobs"][0][direction];
    (job["total_ios"].as_u64().unwrap(), job["io_bytes"].as_u64().unwrap())
}

/// Runs fio in a folder; `None` without fio.
fn run(folder: &Path) -> Option<serde_json::Value> {
    let status = Command::new("fio")
        .current_dir(folder)
        .args([
            "--name=job",
            "--filename=a file",
            "--size=1m",
            "--bssplit=4k/50:8k/50",
            "--rw=randrw",
            "--fsync=16",
        ])
        .args(["--ioengine=psync", "--write_iolog=log", "--write_lat_log=lat", "--log_offset=1"])
        .args(["--output-format=json", "--output=report.json"])
        .status()
        .ok()?;
    assert!(status.success());
    let report = std::fs::read(folder.join("report.json")).unwrap();
    Some(serde_json::from_slice(&report).unwrap())
}

#[test]
fn counts_and_bytes_are_those_of_fio() {
    let folder = tempfile::tempdir().unwrap();
    let Some(report) = run(folder.path()) else {
        eprintln!("not tested: fio is not installed");
        return;
    };
    let log = std::fs::read(folder.path().join("log")).unwrap();
    let iolog = read("fio_iolog", &log);
    let latencies = read("fio_log", std::fs::read(folder.path().join("lat_lat.1.log")).unwrap());
    for outcome in [&iolog, &latencies] {
        assert_eq!(outcome.tally.damaged_total(), 0);
        for (operation, direction) in [(TracedOperation::Read, "read"), (TracedOperation::Write, "write")] {
            let of_direction = || outcome.ios.iter().filter(|io| io.operation == operation);
            let bytes = of_direction().map(|io| io.length_bytes).sum();
            assert_eq!((of_direction().count() as u64, bytes), by_fio(&report, direction));
        }
    }
    let flushes = iolog.ios.iter().filter(|io| io.operation == TracedOperation::Flush).count();
    assert_eq!(flushes as u64, report["jobs"][0]["sync"]["total_ios"].as_u64().unwrap());
    assert_eq!(iolog.facts.devices[0].name, "a file");
    // fio appends to a log that is there: a second run is another segment.
    run(folder.path()).unwrap();
    let twice = std::fs::read(folder.path().join("log")).unwrap();
    if twice.len() > log.len() {
        assert!(read_all("fio_iolog", vec![source(twice)], &ReadOptions::default()).is_err());
    }
}
