//! What goes in comes out, to the last nanosecond and sector.

use super::support::{SECTOR_BYTES, configuration, numbered, read, read_sorted, sorted};
use openpts_core::capture::{CaptureConfiguration, CapturedIo};
use openpts_core::workload::Operation;
use openpts_trace::capture::{Folder, open};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

prop_compose! {
    fn io()(
        submitted_ns in any::<u64>(),
        latency_ns in any::<u64>(),
        sector in 0..=u64::MAX / u64::from(SECTOR_BYTES),
        length_bytes in any::<u32>(),
        operation in 0..Operation::ALL.len(),
        result in 0..1 << 28,
    ) -> CapturedIo {
        let (offset_bytes, operation) = (sector * u64::from(SECTOR_BYTES), Operation::ALL[operation]);
        CapturedIo { submitted_ns, latency_ns, offset_bytes, length_bytes, operation, result }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arbitrary_ios_come_back(
        runs in vec((any::<u32>(), 0..2_u16, vec(io(), 0..300)), 0..6),
        buffered_ios in 4_usize..600,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (capture, mut taps) =
            open(Folder::new(folder.path()), configuration(2, buffered_ios)).unwrap();
        let mut expected = Vec::new();
        for (step, thread, ios) in runs {
            for io in ios {
                taps[usize::from(thread)].record(step, io);
                expected.push((step, thread, io));
            }
        }
        drop(taps);
        let summary = capture.finish().unwrap();
        prop_assert_eq!(summary.ios_written, expected.len() as u64);
        prop_assert_eq!(read_sorted(&summary.files), sorted(expected));
    }
}

#[test]
fn threads_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, taps) = open(Folder::new(folder.path()), configuration(4, 4096)).unwrap();
    let ios = 20_000;
    std::thread::scope(|scope| {
        for mut tap in taps {
            scope.spawn(move || (0..ios).for_each(|number| tap.record(1, numbered(number))));
        }
    });
    let summary = capture.finish().unwrap();
    let expected = (0..4).flat_map(|thread| (0..ios).map(move |number| (1, thread, numbered(number))));
    assert_eq!(read_sorted(&summary.files), sorted(expected.collect()));
    assert_eq!(summary.unfinished_threads, 0);
}

#[test]
fn steps_are_kept_apart_and_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(1, 400)).unwrap();
    let tap = &mut taps[0];
    (0..250).for_each(|number| tap.record(7, numbered(number)));
    tap.end_of_step();
    tap.end_of_step();
    (250..255).for_each(|number| tap.record(3, numbered(number)));
    (255..256).for_each(|number| tap.record(9, numbered(number)));
    drop(taps);
    let summary = capture.finish().unwrap();

    let ios: Vec<(u32, u64)> = summary.steps.iter().map(|(step, figures)| (*step, figures.ios)).collect();
    assert_eq!(ios, [(3, 5), (7, 250), (9, 1)]);
    let steps: Vec<u32> = read(&summary.files[0]).0.iter().map(|(step, ..)| *step).collect();
    assert_eq!(steps, [vec![7; 250], vec![3; 5], vec![9; 1]].concat());
}

#[test]
fn rows_of_a_chunk_are_in_the_order_of_submission() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(1, 4000)).unwrap();
    (0..1000).rev().for_each(|number| taps[0].record(0, numbered(number)));
    drop(taps);
    let rows = read(&capture.finish().unwrap().files[0]).0;
    assert_eq!(rows, (0..1000).map(|number| (0, 0, numbered(number))).collect::<Vec<_>>());
}

#[test]
fn a_larger_unit_of_the_lba_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = CaptureConfiguration { lba_bytes: 4096, ..configuration(1, 400) };
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration).unwrap();
    taps[0].record(0, CapturedIo { offset_bytes: 3 * 4096, ..numbered(0) });
    drop(taps);
    let (rows, words) = read(&capture.finish().unwrap().files[0]);
    assert_eq!(
        (words["openpts.sector_bytes"].as_str(), words["openpts.lba_bytes"].as_str()),
        ("512", "4096")
    );
    // The reader multiplies by the sector.
    assert_eq!(rows[0].2.offset_bytes, 3 * 512);
}

#[test]
fn a_capture_of_nothing_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, taps) = open(Folder::new(folder.path()), configuration(3, 100)).unwrap();
    drop(taps);
    let summary = capture.finish().unwrap();
    assert_eq!((summary.files.len(), summary.bytes_written, summary.steps.len()), (0, 0, 0));
    assert!(super::support::names(folder.path()).is_empty());
}

#[test]
fn a_file_says_what_its_columns_mean() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(3, 100)).unwrap();
    taps[0].record(0, numbered(0));
    drop(taps);
    let (_, words) = read(&capture.finish().unwrap().files[0]);
    assert_eq!(words["openpts.ios"], "1");
    assert_eq!(words["openpts.sector_bytes"], "512");
    assert_eq!(words["openpts.capture"], "1");
    assert_eq!(words["openpts.clock"], "monotonic, ns since the engine began");
}

/// I/Os of the sample files; the Python tests know the same rule.
fn of_the_sample(number: u64) -> CapturedIo {
    let operation = Operation::ALL[(number % 5) as usize];
    let (offset_bytes, length_bytes) =
        if operation.is_addressed() { (number * 7919 * 512, 4096) } else { (0, 0) };
    let result = if number % 100 == 99 { 5 } else { 0 };
    let (submitted_ns, latency_ns) = (number * 1000, 80_000 + number * number);
    CapturedIo { submitted_ns, latency_ns, offset_bytes, length_bytes, operation, result }
}

#[test]
fn files_of_all_versions_can_be_read() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/captures/format-1.parquet");
    let (rows, words) = read(&sample);
    let expected = (0..1000_u64).map(|n| ((n / 500) as u32, (n % 2) as u16, of_the_sample(n)));
    assert_eq!(sorted(rows), sorted(expected.collect()));
    assert_eq!(words["openpts.capture"], "1");
    assert_eq!(words["openpts.ios"], "1000");
}
