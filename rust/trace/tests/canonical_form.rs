//! The canonical form: what is written is read again, in few bytes.

use std::fs::File;
use std::path::{Path, PathBuf};

use openpts_trace::{
    CanonicalWriter, Counts, FidelityClass, Flags, Level, OpenOptions, Quality, Status, TraceHeader,
    TracedDevice, TracedIo, TracedOperation, open_trace,
};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn header() -> TraceHeader {
    TraceHeader {
        format: "test".into(),
        level: Level::Queue,
        class: FidelityClass::A,
        resolution_ns: 1,
        origin_utc_ns: Some(1_700_000_000_000_000_000),
        has_completions: true,
        has_issue_times: true,
        devices: (0..4)
            .map(|number| TracedDevice { name: format!("sd{number}"), ..Default::default() })
            .collect(),
        commands: (0..4).map(|number| format!("program {number}")).collect(),
        sources: Vec::new(),
        records: Counts::default(),
        changes: Vec::new(),
    }
}

fn write(path: &Path, ios: &[TracedIo]) {
    let mut writer = CanonicalWriter::new(File::create(path).unwrap()).unwrap();
    writer.write(ios).unwrap();
    writer.finish(&header()).unwrap();
}

fn read(path: PathBuf) -> (Vec<TracedIo>, TraceHeader) {
    let mut trace = open_trace(&[path], &OpenOptions::default()).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while trace.read(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    assert!(trace.tally().is_conserved());
    (all, trace.header().unwrap())
}

fn any_io() -> impl Strategy<Value = TracedIo> {
    let place =
        (0..1_i64 << 50, prop::option::of(0..1_i64 << 40), 0..8_usize, 0..1_u64 << 62, 1..1_u64 << 40);
    let rest =
        (any::<u16>(), 0..4_u16, 0..9_u16, -1..i32::MAX, 0..4_u16, -1..i16::MAX, 0..3_u8, any::<u16>());
    (place, rest, any::<u8>(), any::<u64>()).prop_map(|(place, rest, quality, source_position)| TracedIo {
        issued_ns: place.0,
        completed_ns: place.1.map(|latency_ns| place.0 + latency_ns),
        operation: TracedOperation::ALL[place.2],
        offset_bytes: place.3,
        length_bytes: place.4,
        flags: Flags(rest.0),
        device: rest.1,
        domain: rest.2,
        pid: rest.3,
        command: rest.4,
        cpu: rest.5,
        status: [Status::Done, Status::Failed(rest.7.max(1)), Status::NoCompletionSeen][usize::from(rest.6)],
        quality: Quality(quality),
        source_position,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_written_is_read_again(mut ios in prop::collection::vec(any_io(), 1..400)) {
        ios.sort_by_key(|io| io.issued_ns);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        write(&path, &ios);
        let (again, header_again) = read(path);
        prop_assert_eq!(again, ios);
        prop_assert_eq!(header_again, header());
    }
}

/// I/Os of a database: Poisson arrivals at 100,000 IOPS from 32 processes on 16 processors, pages of 8 KiB of which a
/// tenth takes nine tenths of the load, 70 % reads, latencies to the nanosecond, a log.
fn oltp(count: usize) -> Vec<TracedIo> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20);
    let mut unit = move || ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (mut now_ns, mut log_bytes, mut line) = (0, 0, 1);
    let pages = (100_u64 << 30) / 8192;
    (0..count)
        .map(|_| {
            now_ns += (-unit().ln() * 10_000.0) as i64;
            line += 1 + u64::from(unit() < 0.5) + u64::from(unit() < 0.1);
            let is_log = unit() < 0.05;
            let share = if unit() < 0.9 { 0.1 } else { 1.0 };
            let page = (unit() * share * pages as f64) as u64;
            let operation =
                if is_log || unit() > 0.74 { TracedOperation::Write } else { TracedOperation::Read };
            let mut io = TracedIo::new(now_ns, operation, page * 8192, 8192, line);
            if is_log {
                io.length_bytes = 4096 * (1 + (unit() * 4.0) as u64);
                io.offset_bytes = (200 << 30) + log_bytes;
                io.flags = Flags::SYNC.with(Flags::FUA);
                log_bytes += io.length_bytes;
            }
            let middle_ns = if operation == TracedOperation::Read { 85_000.0 } else { 18_000.0 };
            let normal = (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
            io.completed_ns = Some(now_ns + (middle_ns * (0.25 * normal).exp()) as i64);
            let process = (unit() * 32.0) as i32;
            io.pid = 4000 + process;
            io.command = 1;
            io.cpu = (process % 16) as i16;
            io
        })
        .collect()
}

fn bytes_per_io(ios: &[TracedIo]) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    write(&path, ios);
    let bytes = std::fs::metadata(&path).unwrap().len() as f64 / ios.len() as f64;
    println!("{bytes:.2} bytes for an I/O");
    assert_eq!(read(path).0, ios);
    bytes
}

#[test]
fn an_io_of_a_database_takes_eight_bytes_with_its_issuer() {
    let bytes = bytes_per_io(&oltp(400_000));
    assert!(bytes <= 8.0, "{bytes:.2}");
}
