//! Parts of traces, traces in one, and traces in other formats.

mod support;

use std::fs::File;
use std::path::{Path, PathBuf};

use openpts_trace::{
    Filter, Filtered, IoStream, Merged, OpenOptions, OutputFormat, Part, Speed, Trace, TraceHeader, TracedIo,
    TracedOperation, Written, open_trace, write_trace,
};
use proptest::prelude::*;
use support::{read_file, vscsi};
use tempfile::TempDir;

/// A folder with a trace of reads, writes, a flush and a trim; 10 us apart but for a pause.
fn trace() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.vscsi");
    let mut bytes = Vec::new();
    for number in 0..3000 {
        let command = match number % 10 {
            7 => 0x35,
            8 => 0x42,
            even if even % 2 == 0 => 0x28,
            _ => 0x2a,
        };
        let pause_us = if number < 1500 { 0 } else { 5_000_000 };
        bytes.extend(vscsi(
            77_000_000 + pause_us + number * 10,
            command,
            8 * (number * 7919 % 3000),
            number % 300,
        ));
    }
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn open(path: &Path) -> Trace {
    open_trace(&[path.into()], &OpenOptions::default()).unwrap()
}

fn all(stream: &mut dyn IoStream) -> (Vec<TracedIo>, TraceHeader) {
    let (mut ios, mut batch) = (Vec::new(), Vec::new());
    while stream.read(&mut batch).unwrap() {
        ios.extend_from_slice(&batch);
    }
    (ios, stream.header().unwrap())
}

fn filtered(path: &Path, filter: Filter) -> (Vec<TracedIo>, TraceHeader) {
    all(&mut Filtered::new(open(path), filter, Trace::files))
}

fn convert(stream: &mut dyn IoStream, format: OutputFormat, path: &Path) -> Written {
    write_trace(stream, format, &mut File::create(path).unwrap(), &mut |_| Ok(())).unwrap()
}

#[test]
fn a_filter_and_its_opposite_are_the_whole_and_times_stay() {
    let (_folder, path) = trace();
    let whole = all(&mut open(&path)).0;
    let filters = [
        Filter { time_ns: Some(5_000..5_020_000_000), ..Filter::default() },
        Filter { operations: vec![TracedOperation::Write, TracedOperation::Flush], ..Filter::default() },
        Filter { bytes: Some(4096 * 10..4096 * 2000 + 1), ..Filter::default() },
        Filter { devices: vec!["disk".into()], pids: vec![7], ..Filter::default() },
    ];
    for filter in filters {
        let (mut both, header) = filtered(&path, filter.clone());
        assert_eq!(header.changes.len(), 1);
        assert_eq!(header.changes[0].parents[0].sha256.len(), 64);
        both.extend(filtered(&path, Filter { inverted: true, ..filter }).0);
        both.sort_by_key(|io| (io.issued_ns, io.source_position));
        assert_eq!(both, whole);
    }
}

#[test]
fn a_filtered_trace_keeps_its_times_when_it_is_read_again() {
    let (folder, path) = trace();
    let late = Filter { time_ns: Some(5_000_000_000..i64::MAX), ..Filter::default() };
    let out = folder.path().join("late");
    let expected = filtered(&path, late.clone());
    convert(&mut Filtered::new(open(&path), late, Trace::files), OutputFormat::Canonical, &out);
    let read = read_file(&out).unwrap();
    assert_eq!(read.ios, expected.0);
    assert!(read.ios[0].issued_ns > 5_000_000_000);
    assert_eq!(read.trace.header().unwrap(), expected.1);
}

fn part(path: &Path, start_ns: i64, speed: Speed, loops: u32, prefix: &str) -> Part {
    let path = path.to_owned();
    let open = Box::new(move || open_trace(std::slice::from_ref(&path), &OpenOptions::default()));
    Part { open, start_ns, speed, loops, prefix: prefix.into() }
}

#[test]
fn merged_traces_are_in_order_and_lose_nothing() {
    let (_folder, path) = trace();
    let single = all(&mut open(&path)).0;
    let twice = Speed { traced: 2, taken: 1 };
    let mut merged = Merged::new(vec![
        part(&path, 0, Speed::default(), 2, "1:"),
        part(&path, 3_000, twice, 1, "2:"),
        part(&path, 3_000, twice, 1, "3:"),
    ])
    .unwrap();
    let (ios, header) = all(&mut merged);
    assert_eq!(ios.len(), 4 * single.len());
    assert!(ios.is_sorted_by_key(|io| io.issued_ns));
    let names: Vec<_> = header.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["1:disk", "2:disk", "3:disk"]);
    let second: Vec<_> = ios.iter().filter(|io| io.device == 1).collect();
    for (ours, theirs) in second.iter().zip(&single) {
        assert_eq!(ours.issued_ns, 3_000 + theirs.issued_ns / 2);
        assert_eq!(ours.latency_ns(), theirs.latency_ns());
        assert_eq!((ours.operation, ours.offset_bytes), (theirs.operation, theirs.offset_bytes));
    }
    // Of equal times those of the earlier trace are first.
    let ties = ios.windows(2).filter(|pair| pair[0].issued_ns == pair[1].issued_ns);
    assert!(ties.clone().count() > 1000 && ties.clone().all(|pair| pair[0].device <= pair[1].device));
    let flushes = |ios: &[TracedIo]| ios.iter().filter(|io| io.operation == TracedOperation::Flush).count();
    assert_eq!(flushes(&ios), 4 * flushes(&single));
    let loops: Vec<_> = ios.iter().filter(|io| io.device == 0).map(|io| io.issued_ns).collect();
    assert_eq!(loops[3000] - loops[2999], loops[2999] / 2999);
    assert_eq!(header.changes.len(), 3);
}

proptest! {
    #[test]
    fn speeds_are_exact(ns in 0..i64::MAX / 8, traced in 1..1000_u32, taken in 1..1000_u32) {
        let there = Speed { traced, taken }.scaled(ns);
        if let Some(there) = there {
            let exact = i128::from(ns) * i128::from(taken);
            prop_assert!(i128::from(there) * i128::from(traced) <= exact);
            prop_assert!((i128::from(there) + 1) * i128::from(traced) > exact);
        }
    }
}

/// What of an I/O all formats keep.
fn kept(io: &TracedIo) -> (i64, TracedOperation, u64, u64) {
    (io.issued_ns, io.operation, io.offset_bytes, io.length_bytes)
}

#[test]
fn blktrace_has_all_but_what_is_said_to_be_lost() {
    let (folder, path) = trace();
    let out = folder.path().join("trace.blktrace.0");
    let written = convert(&mut open(&path), OutputFormat::Blktrace, &out);
    assert_eq!(written.ios, 3000);
    let losses: Vec<_> = written.losses.keys().copied().collect();
    assert_eq!(
        losses,
        [
            "names of devices: they have numbers instead",
            "that the process or processor is not known: 0 is written",
            "which of equal I/Os in flight was completed when"
        ]
    );
    let read = read_file(&out).unwrap();
    let whole = all(&mut open(&path)).0;
    assert_eq!(read.ios.len(), whole.len());
    for (ours, theirs) in read.ios.iter().zip(&whole) {
        assert_eq!(kept(ours), kept(theirs));
        // The flushes are those that are alike.
        if ours.operation != TracedOperation::Flush {
            assert_eq!(ours.latency_ns(), theirs.latency_ns());
        }
    }
}

#[test]
fn a_trim_of_eight_gib_is_cut_and_said_to_be() {
    let (folder, path) = trace();
    let mut long = vscsi(1, 0x42, 8, 1);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    std::fs::write(&path, long).unwrap();
    let out = folder.path().join("trace.blktrace.0");
    let written = convert(&mut open(&path), OutputFormat::Blktrace, &out);
    assert!(written.losses.contains_key("that I/Os of 4 GiB or more are one: they are cut"));
    let bytes: u64 = read_file(&out).unwrap().ios.iter().map(|io| io.length_bytes).sum();
    assert_eq!(bytes, 1 << 32);
}
