//! A capture while it goes on holds what a reader makes of the same records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use openpts_trace::{
    Level, LiveCapture, LiveDevice, LiveEnd, LiveOrder, LiveSummary, Loss, OpenOptions, ReadOptions,
    TracedIo, TracedOperation, Way, open_trace,
};

const DISK: u32 = 259 << 20;
const GIB: u64 = 1 << 30;

fn recorded(cpu: usize) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/blktrace");
    folder.join(format!("nvme.blktrace.{cpu}"))
}

/// Times are those since the first of them.
fn read_all(paths: &[PathBuf], level: Option<Level>) -> Vec<TracedIo> {
    let read = ReadOptions { from: level, ..ReadOptions::default() };
    let mut trace = open_trace(paths, &OpenOptions { read, ..OpenOptions::default() }).expect("a trace");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while trace.read(&mut batch).expect("it can be read") {
        all.append(&mut batch);
    }
    all
}

/// Without what a capture knows otherwise: names, and places in the source.
fn plain(ios: &[TracedIo], origin_ns: i64) -> Vec<TracedIo> {
    let plain = |io: &TracedIo| TracedIo {
        issued_ns: io.issued_ns - origin_ns,
        completed_ns: io.completed_ns.map(|time_ns| time_ns - origin_ns),
        command: 0,
        source_position: 0,
        ..*io
    };
    ios.iter().map(plain).collect()
}

fn device(first_sector: u64, capacity_bytes: u64) -> LiveDevice {
    LiveDevice {
        name: "/dev/nvme0n1".into(),
        capacity_bytes,
        sector_bytes: 512,
        numbers: vec![DISK],
        first_sector,
    }
}

fn first_time_ns(cpu: usize) -> i64 {
    let bytes = std::fs::read(recorded(cpu)).expect("it is there");
    i64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"))
}

fn captured(file: &Path, level: Level, devices: Vec<LiveDevice>) -> LiveSummary {
    let start_ns = first_time_ns(0).min(first_time_ns(1));
    let order =
        LiveOrder { way: Way::Blktrace, level, devices, start_ns, file: file.into(), with_names: false };
    let mut capture = LiveCapture::new(order).expect("a file");
    let all = [0, 1].map(|cpu| std::fs::read(recorded(cpu)).expect("it is there"));
    // pieces that end within records, the processors in turns; nothing is final before all is there
    for at in (0..6000).step_by(37) {
        for (cpu, bytes) in all.iter().enumerate() {
            let piece = &bytes[at.min(bytes.len())..(at + 37).min(bytes.len())];
            capture.feed(cpu, piece).expect("records of one version");
        }
        capture.advance(start_ns).expect("room");
    }
    capture.lose(Loss { cpu: 1, from_ns: start_ns, to_ns: start_ns + 1, records: 3 });
    let end = LiveEnd {
        start_utc_ns: 1_700_000_000_000_000_000,
        commands: capture.commands(),
        notes: BTreeMap::new(),
    };
    capture.finish(end).expect("room")
}

#[test]
fn a_capture_holds_what_a_reader_makes_of_the_same_records() {
    let folder = tempfile::tempdir().expect("a folder");
    for level in [Level::Issue, Level::Queue] {
        let file = folder.path().join(level.name());
        let summary = captured(&file, level, vec![device(0, GIB)]);
        let live = read_all(std::slice::from_ref(&file), None);
        let read = read_all(&[recorded(0), recorded(1)], Some(level));
        assert_eq!(plain(&live, live[0].issued_ns), plain(&read, 0));
        let transferred: u64 =
            read.iter().filter(|io| io.operation.transfers()).map(|io| io.length_bytes).sum();
        assert_eq!((summary.ios, summary.bytes, summary.lost), (read.len() as u64, transferred, 3));
        let open = read.iter().filter(|io| io.completed_ns.is_none()).count();
        assert_eq!(summary.in_flight, open as u64);
        assert_eq!(summary.file_bytes, std::fs::metadata(&file).expect("it is there").len());
    }
}

#[test]
fn a_partition_has_its_own_part_of_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    captured(&whole, Level::Issue, vec![device(0, GIB)]);
    let part = folder.path().join("part");
    captured(&part, Level::Issue, vec![device(2048, 1 << 20)]);
    let (from, to) = (2048 * 512, 2048 * 512 + (1 << 20));
    let within =
        |io: &TracedIo| io.operation == TracedOperation::Flush || (from..to).contains(&io.offset_bytes);
    let moved = |io: TracedIo| TracedIo { offset_bytes: io.offset_bytes.saturating_sub(from), ..io };
    let expected: Vec<TracedIo> = read_all(&[whole], None).into_iter().filter(within).map(moved).collect();
    assert!(expected.len() > 5);
    assert_eq!(plain(&read_all(&[part], None), 0), plain(&expected, 0));
}
