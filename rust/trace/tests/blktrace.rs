//! Binary records of blktrace become I/Os. Layouts are written out by hand; recorded ones are held against what
//! blkparse and btt say of the same files.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

use openpts_trace::{
    FORMATS, Flags, Format, Level, Loss, ReadOptions, Source, SourceFacts, Status, Tally, TraceError,
    TracedIo, TracedOperation,
};
use proptest::prelude::*;

const READ: u64 = 1 << 16;
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const SYNC: u64 = 1 << 19;
const QUEUE: u64 = (1 << 20) | 1;
const BACK_MERGE: u64 = (1 << 20) | 2;
const ISSUE: u64 = (1 << 22) | 7;
const COMPLETE: u64 = (1 << 23) | 8;
const PASS_THROUGH: u64 = 1 << 25;
const NOTE: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;
const FUA: u64 = 1 << 31;
const REMAP: u64 = (1 << 20) | 15;
const CGROUP: u64 = 1 << 8;

fn blktrace() -> &'static Format {
    FORMATS.iter().copied().flatten().find(|format| format.name == "blktrace").expect("it is listed")
}

#[derive(Clone)]
struct Written {
    version: u8,
    is_big_endian: bool,
    sequence: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
    cpu: u32,
    error: i16,
    payload: Vec<u8>,
}

fn record(sequence: u32, time_ns: u64, action: u64, sector: u64, bytes: u32) -> Written {
    Written {
        version: 7,
        is_big_endian: false,
        sequence,
        time_ns,
        sector,
        bytes,
        action,
        device: 8 << 20,
        cpu: 0,
        error: 0,
        payload: Vec::new(),
    }
}

impl Written {
    fn bytes(&self) -> Vec<u8> {
        let mut to = Vec::new();
        let mut put = |number: u64, length: usize| {
            let big = number.to_be_bytes();
            let mut bytes = big[8 - length..].to_vec();
            if !self.is_big_endian {
                bytes.reverse();
            }
            to.extend(bytes);
        };
        put(0x6561_7400 | u64::from(self.version), 4);
        put(u64::from(self.sequence), 4);
        put(self.time_ns, 8);
        put(self.sector, 8);
        put(u64::from(self.bytes), 4);
        if self.version == 8 {
            put(4711, 4);
            put(self.action, 8);
        } else {
            put(self.action, 4);
            put(4711, 4);
        }
        put(u64::from(self.device), 4);
        put(u64::from(self.cpu), 4);
        put(u64::from(self.error.cast_unsigned()), 2);
        put(self.payload.len() as u64, 2);
        if self.version == 8 {
            put(0, 8);
            put(0, 4);
        }
        to.extend(&self.payload);
        to
    }
}

fn file_of(records: &[Written]) -> Vec<u8> {
    records.iter().flat_map(Written::bytes).collect()
}

fn source(bytes: Vec<u8>) -> Source {
    Source { path: PathBuf::from("made"), bytes: Box::new(Cursor::new(bytes)) }
}

type Outcome = (Vec<TracedIo>, Tally, SourceFacts);

fn read_sources(sources: Vec<Source>, options: &ReadOptions) -> Result<Outcome, TraceError> {
    let mut reader = (blktrace().open)(sources, options)?;
    let (mut ios, mut tally) = (Vec::new(), Tally::default());
    while reader.read(&mut ios, &mut tally)? {}
    assert!(tally.is_conserved());
    Ok((ios, tally, reader.facts()))
}

fn read(files: Vec<Vec<u8>>, from: Option<Level>) -> Outcome {
    let options = ReadOptions { from, ..ReadOptions::default() };
    read_sources(files.into_iter().map(source).collect(), &options).expect("it can be read")
}

fn spans(ios: &[TracedIo]) -> Vec<(i64, Option<i64>, u64, u64)> {
    ios.iter().map(|io| (io.issued_ns, io.completed_ns, io.offset_bytes, io.length_bytes)).collect()
}

#[test]
fn a_record_of_version_7_byte_by_byte() {
    #[rustfmt::skip]
    let issue = [
        0x07, 0x74, 0x61, 0x65, // magic and version
        0x01, 0, 0, 0, // sequence
        0x00, 0x10, 0, 0, 0, 0, 0, 0, // time: 4096 ns
        0x00, 0x08, 0, 0, 0, 0, 0, 0, // sector 2048
        0x00, 0x10, 0, 0, // 4096 bytes
        0x07, 0x00, 0x4a, 0x80, // issue, of a write (2) with sync (8), FUA on top
        0x2a, 0, 0, 0, // process 42
        0x01, 0x00, 0x80, 0x00, // device 8,1
        0x03, 0, 0, 0, // processor 3
        0, 0, 0, 0, // no error, no payload
    ];
    let (ios, tally, facts) = read(vec![issue.to_vec()], None);
    let [io] = ios[..] else { panic!("{ios:?}") };
    assert_eq!(spans(&ios), [(4096, None, 2048 * 512, 4096)]);
    assert_eq!((io.operation, io.flags), (TracedOperation::Write, Flags::SYNC.with(Flags::FUA)));
    assert_eq!((io.pid, io.cpu, io.source_position), (42, 3, 0));
    assert_eq!((facts.devices[0].name.as_str(), facts.level), ("8,1", Level::Issue));
    assert_eq!(tally.accepted, 1);
}

#[test]
fn a_record_of_version_8_byte_by_byte() {
    #[rustfmt::skip]
    let queue = [
        0x65, 0x61, 0x74, 0x08, // magic and version, big-endian
        0, 0, 0, 0x01, // sequence
        0, 0, 0, 0, 0, 0, 0x10, 0x00, // time: 4096 ns
        0, 0, 0, 0, 0, 0, 0x08, 0x00, // sector 2048
        0, 0, 0x10, 0x00, // 4096 bytes
        0, 0, 0, 0x2a, // process 42
        0, 0, 0, 0x40, 0x00, 0x12, 0x00, 0x01, // arrival, of a write of zeroes (bit 22 of the upper)
        0x10, 0x30, 0, 0x05, // device 259,5
        0, 0, 0, 0x03, // processor 3
        0, 0, 0, 0, // no error, no payload
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    let (ios, _, facts) = read(vec![queue.to_vec()], None);
    assert_eq!(spans(&ios), [(4096, None, 2048 * 512, 4096)]);
    assert_eq!((ios[0].operation, ios[0].pid, ios[0].cpu), (TracedOperation::WriteZeroes, 42, 3));
    assert_eq!((facts.devices[0].name.as_str(), facts.level), ("259,5", Level::Queue));
}

#[test]
fn both_versions_and_orders_with_and_without_a_control_group_are_the_same() {
    let plain = [
        record(1, 10, ISSUE | READ, 8, 4096),
        record(2, 20, REMAP | WRITE, 64, 4096),
        record(3, 30, COMPLETE | READ, 8, 4096),
    ];
    let remap: Vec<u8> = [&9_u32.to_be_bytes()[..], &9_u32.to_be_bytes(), &7_u64.to_be_bytes()].concat();
    let outcomes: Vec<Outcome> = [(7, false), (7, true), (8, false), (8, true)]
        .into_iter()
        .flat_map(|(version, is_big_endian)| {
            [(version, is_big_endian, false), (version, is_big_endian, true)]
        })
        .map(|(version, is_big_endian, in_group)| {
            let mut records = plain.clone();
            for written in &mut records {
                (written.version, written.is_big_endian) = (version, is_big_endian);
                if in_group {
                    written.action |= CGROUP;
                    written.payload = vec![0xee; 8];
                }
            }
            records[1].payload.extend(&remap);
            read(vec![file_of(&records)], None)
        })
        .collect();
    for (ios, tally, _) in &outcomes {
        assert_eq!(spans(ios), [(10, Some(30), 4096, 4096)]);
        assert_eq!((tally.accepted, tally.damaged_total()), (3, 0));
    }
}

#[test]
fn files_of_processors_are_merged_by_time_then_processor() {
    let on = |cpu, written: Written| Written { cpu, ..written };
    let first = [on(0, record(1, 10, ISSUE | READ, 0, 512)), on(0, record(2, 30, COMPLETE | READ, 8, 512))];
    let second = [
        on(1, record(1, 20, ISSUE | READ, 8, 512)),
        on(1, record(2, 30, ISSUE | READ, 16, 512)),
        on(1, record(3, 40, COMPLETE | READ, 0, 512)),
    ];
    let (ios, tally, _) = read(vec![file_of(&second), file_of(&first), Vec::new()], None);
    assert_eq!(spans(&ios), [(10, Some(40), 0, 512), (20, Some(30), 4096, 512), (30, None, 8192, 512)]);
    assert_eq!(ios[2].status, Status::NoCompletionSeen);
    assert_eq!(tally.lost, 0);
}

#[test]
fn a_write_with_a_flush_keeps_both_and_its_fua() {
    let fwfs = QUEUE | WRITE | FLUSH | FUA | SYNC;
    let (ios, ..) = read(
        vec![file_of(&[record(1, 10, fwfs, 64, 4096), record(2, 20, QUEUE | READ | FLUSH | SYNC, 0, 0)])],
        None,
    );
    assert_eq!(spans(&ios), [(10, None, 32768, 4096), (20, None, 0, 0)]);
    assert_eq!(ios[0].operation, TracedOperation::Write);
    assert_eq!(ios[0].flags, Flags::PREFLUSH.with(Flags::FUA).with(Flags::SYNC));
    assert_eq!((ios[1].operation, ios[1].flags), (TracedOperation::Flush, Flags::SYNC));
}

#[test]
fn operations_of_both_versions() {
    let cases = [
        (7, READ, TracedOperation::Read),
        (7, WRITE, TracedOperation::Write),
        (7, WRITE | DISCARD, TracedOperation::Trim),
        (8, WRITE | 1 << 32, TracedOperation::ZoneAppend),
        (8, WRITE | 1 << 33, TracedOperation::ZoneReset),
        (8, WRITE | 1 << 34, TracedOperation::ZoneReset),
        (8, 1 << 35, TracedOperation::Other),
        (8, 1 << 36, TracedOperation::Other),
        (8, 1 << 37, TracedOperation::Other),
        (8, WRITE | 1 << 38, TracedOperation::WriteZeroes),
        (8, WRITE | 1 << 50, TracedOperation::Other),
    ];
    for (version, category, operation) in cases {
        let written = Written { version, ..record(1, 10, QUEUE | category, 8, 4096) };
        let (ios, ..) = read(vec![written.bytes()], None);
        assert_eq!(ios[0].operation, operation, "{category:#x}");
    }
}

#[test]
fn actions_that_are_no_io_are_skipped_by_name() {
    let zoned = |action| Written { version: 8, ..record(1, 10, action, 8, 4096) };
    let cases = [
        (record(1, 10, ISSUE | READ | PASS_THROUGH, 0, 96), "command passed through to the device"),
        (record(1, 10, NOTE | 2, 0, 0), "message"),
        (record(1, 10, (1 << 30) | 17, 0, 0), "data of a driver"),
        (record(1, 10, (1 << 20) | 9, 0, 0), "action between arrival and completion"),
        (zoned((1 << 20) | 18), "action between arrival and completion"),
        (zoned((1 << 20) | 19), "action between arrival and completion"),
        (zoned((1 << 32) | WRITE | 8), "place of a zone append"),
    ];
    for (written, reason) in cases {
        let (ios, tally, _) = read(vec![written.bytes()], None);
        assert!(ios.is_empty());
        assert_eq!(tally.skipped.keys().copied().collect::<Vec<_>>(), [reason]);
    }
}

#[test]
fn the_level_can_be_chosen_and_merges_are_seen() {
    let file = file_of(&[
        record(1, 10, QUEUE | WRITE, 0, 4096),
        record(2, 11, QUEUE | WRITE, 8, 4096),
        record(3, 12, BACK_MERGE | WRITE, 8, 4096),
        record(4, 13, ISSUE | WRITE, 0, 8192),
        record(5, 20, COMPLETE | WRITE, 0, 8192),
    ]);
    let (ios, _, facts) = read(vec![file.clone()], Some(Level::Queue));
    assert_eq!(spans(&ios), [(10, Some(20), 0, 4096), (11, Some(20), 4096, 4096)]);
    assert_eq!(facts.level, Level::Queue);
    let (ios, ..) = read(vec![file], None);
    assert_eq!(spans(&ios), [(13, Some(20), 0, 8192)]);
}

#[test]
fn gaps_of_a_sequence_are_losses_with_their_time() {
    let (_, tally, _) = read(
        vec![file_of(&[
            record(u32::MAX, 10, QUEUE | READ, 0, 512),
            record(0, 20, QUEUE | READ, 8, 512),
            record(4, 50, QUEUE | READ, 16, 512),
            // late, but there
            record(2, 60, QUEUE | READ, 24, 512),
            record(5, 70, QUEUE | READ, 32, 512),
        ])],
        None,
    );
    assert_eq!(tally.lost, 2);
    assert_eq!(tally.first_losses, [Loss { cpu: 0, from_ns: 20, to_ns: 50, records: 3 }]);
}

#[test]
fn names_of_processes_and_the_wall_clock_are_read() {
    let note = |time_ns, action, payload: &[u8]| Written {
        payload: payload.to_vec(),
        ..record(0, time_ns, NOTE | action, 0, 0)
    };
    let wall = [1_700_000_000_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat();
    let event = record(1, 110, QUEUE | READ, 0, 512);
    let name = b"kworker/u8:3\0\0\0\0";
    let (ios, tally, facts) =
        read(vec![file_of(&[note(100, 1, &wall), note(105, 0, name), event.clone()])], None);
    assert_eq!(facts.commands, ["", "kworker/u8:3"]);
    assert_eq!(ios[0].command, 1);
    assert_eq!(facts.epoch_ns, Some(1_700_000_000_000_000_005 - 100));
    assert_eq!((tally.read, tally.skipped_total(), tally.lost), (3, 2, 0));

    // a merged file begins at 0, but for its notes
    let (.., facts) = read(vec![file_of(&[note(100, 1, &wall), Written { time_ns: 0, ..event }])], None);
    assert_eq!(facts.epoch_ns, Some(1_700_000_000_000_000_005));
}

#[test]
fn errors_are_positive_numbers() {
    let ended = Written { error: -5, ..record(2, 20, COMPLETE | READ, 0, 512) };
    let (ios, ..) = read(vec![file_of(&[record(1, 10, ISSUE | READ, 0, 512), ended])], None);
    assert_eq!(ios[0].status, Status::Failed(5));
}

#[test]
fn each_damage_is_counted_at_its_byte() {
    let sound = record(1, 10, QUEUE | READ, 0, 512).bytes();
    let with_payload = Written { payload: vec![0; 8], ..record(1, 10, NOTE, 0, 0) }.bytes();
    let bytes = |written: Written| written.bytes();
    let cases = [
        ("no record where one should be", [&b"junk"[..], &sound].concat(), 0),
        ("record cut off", [&sound[..], &sound[..20]].concat(), 48),
        ("payload cut off", with_payload[..52].to_vec(), 0),
        ("unknown action", bytes(record(1, 10, QUEUE | READ | 0x40, 0, 512)), 0),
        ("split without a place", bytes(record(1, 10, 13 | READ, 0, 512)), 0),
        ("remap without a place", bytes(record(1, 10, REMAP | READ, 0, 512)), 0),
        ("time out of range", bytes(record(1, u64::MAX, QUEUE | READ, 0, 512)), 0),
        ("place out of range", bytes(record(1, 10, QUEUE | READ, 1 << 60, 512)), 0),
    ];
    for (class, file, position) in cases {
        let (_, tally, _) = read(vec![file], None);
        assert_eq!(tally.damaged_total(), 1, "{class}");
        assert_eq!(tally.first_damages[0].class, class);
        assert_eq!(tally.first_damages[0].place.to_string(), format!("byte {position}"));
    }
}

#[test]
fn other_versions_and_mixed_ones_are_refused_by_name() {
    let of = |version| Written { version, ..record(1, 10, QUEUE | READ, 0, 512) }.bytes();
    let refusal = |files: Vec<Vec<u8>>| {
        let sources = files.into_iter().map(source).collect();
        read_sources(sources, &ReadOptions::default()).expect_err("it is refused").to_string()
    };
    assert_eq!(refusal(vec![of(9)]), "can't read made: blktrace version 9; versions 7 and 8 can be read");
    let mixed = "can't read made: records of blktrace versions 7 and 8 in one trace; \
                 read the files of each recording by themselves";
    assert_eq!(refusal(vec![of(7), of(8)]), mixed);
    assert_eq!(refusal(vec![[of(7), of(8)].concat()]), mixed);
}

#[test]
fn it_is_recognized_by_its_magic_number() {
    let is_at_head = blktrace().is_at_head;
    assert!(is_at_head(&record(1, 10, QUEUE, 0, 512).bytes()));
    assert!(is_at_head(&Written { is_big_endian: true, ..record(1, 10, QUEUE, 0, 512) }.bytes()));
    assert!(!is_at_head(b"eat more"));
    assert!(!is_at_head(b"eat"));
}

fn recorded(names: &[&str], from: Level) -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/blktrace");
    let open = |name: &&str| {
        let path = folder.join(name);
        let file = File::open(&path).expect("it is there");
        Source { path, bytes: Box::new(BufReader::new(file)) }
    };
    let options = ReadOptions { from: Some(from), ..ReadOptions::default() };
    read_sources(names.iter().map(open).collect(), &options).expect("it can be read")
}

/// Least, mean and greatest latency, and their number, of I/Os with data.
fn latencies(ios: &[TracedIo]) -> (u64, u64, u64, usize) {
    let with_data = ios.iter().filter(|io| io.length_bytes > 0);
    let mut latencies: Vec<u64> = with_data.filter_map(TracedIo::latency_ns).collect();
    latencies.sort_unstable();
    let sum: u64 = latencies.iter().sum();
    let number = latencies.len();
    (latencies[0], sum / number as u64, latencies[number - 1], number)
}

/// 201 events of fio and udev on an NVMe drive under Linux 6.1: random reads and writes with flushes.
#[test]
fn a_recording_says_what_btt_says_of_it() {
    let files = ["nvme.blktrace.0", "nvme.blktrace.1"];
    let (ios, tally, facts) = recorded(&files, Level::Issue);
    assert_eq!(latencies(&ios), (51_519, 631_924, 2_542_965, 38));
    assert_eq!((tally.damaged_total(), tally.lost), (0, 0));
    assert_eq!(facts.devices[0].name, "259,0");
    assert!(facts.commands.iter().any(|name| name == "fio"));

    let (ios, ..) = recorded(&files, Level::Queue);
    assert_eq!(latencies(&ios), (66_217, 650_029, 2_564_695, 38));
    let count = |operation| ios.iter().filter(|io| io.operation == operation).count();
    assert_eq!(count(TracedOperation::Read), 28);
    assert_eq!(count(TracedOperation::Write) + count(TracedOperation::Flush), 14);
}

#[test]
fn a_merged_file_is_the_files_of_the_processors_from_zero_on() {
    let (apart, ..) = recorded(&["nvme.blktrace.0", "nvme.blktrace.1"], Level::Issue);
    let (merged, ..) = recorded(&["nvme.merged"], Level::Issue);
    let origin_ns = apart[0].issued_ns - merged[0].issued_ns;
    assert!(origin_ns > 0);
    let moved = |io: &TracedIo| TracedIo {
        issued_ns: io.issued_ns - origin_ns,
        completed_ns: io.completed_ns.map(|time_ns| time_ns - origin_ns),
        command: 0,
        source_position: 0,
        ..*io
    };
    let still = |io: &TracedIo| TracedIo { command: 0, source_position: 0, ..*io };
    assert_eq!(apart.iter().map(moved).collect::<Vec<_>>(), merged.iter().map(still).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn damaged_files_are_read_to_their_end(
        flips in prop::collection::vec((0_usize..10_216, any::<u8>()), 1..200),
        cut in 0_usize..10_216,
    ) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/blktrace/nvme.merged");
        let mut bytes = std::fs::read(path).expect("it is there");
        for (at, value) in flips {
            bytes[at] = value;
        }
        bytes.truncate(cut);
        match read_sources(vec![source(bytes)], &ReadOptions::default()) {
            Ok((ios, tally, _)) => prop_assert!(ios.len() as u64 <= tally.accepted),
            Err(error) => prop_assert!(error.to_string().contains("version")),
        }
    }
}
