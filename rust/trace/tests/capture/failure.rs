//! Files that can't be written: the load goes on, and every I/O is accounted for.

use super::support::{Captured, Disk, configuration, names, numbered, read, read_sorted};
use openpts_core::capture::{CaptureConfiguration, CaptureError, CaptureSummary, CapturedIo};
use openpts_trace::capture::{Destination, Folder, PartFile, open};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Record so many I/Os in one thread; the capture must fail.
fn fail(
    destination: impl Destination + 'static,
    configuration: CaptureConfiguration,
    ios: u64,
) -> (String, CaptureSummary) {
    let (capture, mut taps) = open(destination, configuration).unwrap();
    (0..ios).for_each(|number| taps[0].record(0, numbered(number)));
    drop(taps);
    match capture.finish() {
        Err(CaptureError::Write { reason, summary }) => (reason, *summary),
        other => panic!("{other:?}"),
    }
}

fn first(ios: u64) -> Vec<Captured> {
    (0..ios).map(|number| (0, 0, numbered(number))).collect()
}

#[test]
fn a_full_disk_keeps_the_complete_files_and_counts_the_rest() {
    for room_bytes in [3000, 20_000, 50_000, 123_457] {
        let folder = tempfile::tempdir().unwrap();
        let configuration = CaptureConfiguration { ios_per_file: 500, ..configuration(1, 400) };
        let disk = Disk::full_after(folder.path(), room_bytes);
        let (reason, summary) = fail(disk, configuration, 20_050);

        assert_eq!(reason, io::Error::from(io::ErrorKind::StorageFull).to_string());
        assert_eq!(summary.ios_recorded, 20_050);
        assert_eq!(summary.ios_written + summary.ios_discarded, 20_050);
        // One thread and one chunk after the other: what is missing is the end.
        assert_eq!(read_sorted(&summary.files), first(summary.ios_written));
        assert!(summary.bytes_written <= room_bytes);
        assert_eq!(summary.bytes_written, on_disk(&summary));
        assert_eq!(summary.steps[&0].ios, 20_050);
    }
}

fn on_disk(summary: &CaptureSummary) -> u64 {
    summary.files.iter().map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn a_file_that_does_not_fit_keeps_its_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let ios = 1_000_000;
    // Room for one row group of about 6 MiB and half of the next.
    let disk = Disk::full_after(folder.path(), 10 << 20);
    let (_, summary) = fail(disk, configuration(1, 1 << 16), ios);
    assert!(summary.ios_written >= 200_000, "{summary:?}");
    assert_eq!(summary.ios_written + summary.ios_discarded, ios);
    let (rows, words) = read(&summary.files[0]);
    assert!(rows == first(summary.ios_written));
    assert_eq!(words["openpts.ios"], summary.ios_written.to_string());
    assert_ne!(words["openpts.ios_discarded"], "0");
}

/// Where the second file can't even be begun, one way or the other.
struct OneFileOnly {
    folder: Folder,
    panics: bool,
}

impl OneFileOnly {
    fn new(folder: &Path, panics: bool) -> Self {
        Self { folder: Folder::new(folder), panics }
    }
}

impl Destination for OneFileOnly {
    fn begin(&self, number: u32) -> io::Result<Box<dyn PartFile>> {
        assert!(number == 1 || !self.panics, "a bug in the writer thread");
        if number == 1 { self.folder.begin(1) } else { Err(io::ErrorKind::ReadOnlyFilesystem.into()) }
    }
}

#[test]
fn a_file_that_cannot_be_begun_ends_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = CaptureConfiguration { ios_per_file: 200, ..configuration(1, 400) };
    let (reason, summary) = fail(OneFileOnly::new(folder.path(), false), configuration, 1000);
    assert_eq!(reason, io::Error::from(io::ErrorKind::ReadOnlyFilesystem).to_string());
    assert_eq!((summary.ios_written, summary.ios_discarded), (200, 800));
    assert_eq!(read_sorted(&summary.files), first(200));
}

#[test]
fn a_writer_that_dies_neither_hangs_the_load_nor_hides() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = CaptureConfiguration { ios_per_file: 200, ..configuration(1, 400) };
    let (reason, summary) = fail(OneFileOnly::new(folder.path(), true), configuration, 1000);
    assert_eq!(reason, "the writer thread panicked");
    assert_eq!((summary.ios_written, summary.ios_discarded), (200, 800));
}

#[test]
fn the_state_tells_of_a_failure_while_the_load_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = CaptureConfiguration { ios_per_file: 200, ..configuration(1, 400) };
    let (capture, mut taps) = open(OneFileOnly::new(folder.path(), false), configuration).unwrap();
    (0..1000).for_each(|number| taps[0].record(0, numbered(number)));
    taps[0].end_of_step();
    let patience = Instant::now();
    while capture.state().ios_discarded < 800 && patience.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let state = capture.state();
    assert_eq!((state.ios_recorded, state.ios_written, state.ios_discarded), (1000, 200, 800));
    assert!(state.error.is_some());
}

#[test]
fn an_offset_that_would_not_come_back_ends_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(1, 400)).unwrap();
    (0..100).for_each(|number| taps[0].record(0, numbered(number)));
    taps[0].record(0, CapturedIo { offset_bytes: 511, ..numbered(100) });
    drop(taps);
    let Err(CaptureError::Write { reason, summary }) = capture.finish() else { panic!("accepted") };
    assert_eq!(reason, "an I/O's offset is not a multiple of 512 bytes");
    assert_eq!((summary.ios_written, summary.ios_discarded), (100, 1));
    assert_eq!(read_sorted(&summary.files), first(100));
}

#[test]
fn a_thread_that_hangs_does_not_hang_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(2, 400)).unwrap();
    taps[0].record(0, numbered(0));
    taps[0].end_of_step();
    taps[1].record(0, numbered(1));
    taps.remove(0);
    let summary = capture.finish().unwrap();
    assert_eq!((summary.ios_recorded, summary.unfinished_threads), (1, 1));
    // It comes back to life much later, and may go on as it likes.
    (0..5000).for_each(|number| taps[0].record(1, numbered(number)));
    drop(taps);
    assert_eq!(names(folder.path()), ["capture-0001.parquet"]);
}
