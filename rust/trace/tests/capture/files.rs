//! One file after the other, so that a crash costs one of them.

use super::support::{configuration, names, numbered, read, read_sorted};
use openpts_core::capture::{CaptureConfiguration, CaptureError};
use openpts_trace::capture::{Folder, open};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn a_file_ends_after_its_number_of_ios() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = CaptureConfiguration { ios_per_file: 250, ..configuration(1, 400) };
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration).unwrap();
    (0..1000).for_each(|number| taps[0].record(0, numbered(number)));
    drop(taps);
    let summary = capture.finish().unwrap();
    // Chunks hold 100: a file ends with the chunk that fills it.
    let ios: Vec<usize> = summary.files.iter().map(|file| read(file).0.len()).collect();
    assert_eq!(ios, [300, 300, 300, 100]);
    let expected: Vec<String> = (1..=4).map(|number| format!("capture-{number:04}.parquet")).collect();
    assert_eq!(names(folder.path()), expected);
    let numbers: Vec<String> =
        summary.files.iter().map(|file| read(file).1["openpts.file"].clone()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4"]);
}

#[test]
fn a_file_ends_after_its_time_though_nothing_more_comes() {
    let folder = tempfile::tempdir().unwrap();
    let file_duration = Duration::from_millis(20);
    let configuration = CaptureConfiguration { file_duration, ..configuration(1, 400) };
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration).unwrap();
    taps[0].record(0, numbered(0));
    taps[0].end_of_step();
    let patience = Instant::now();
    while capture.state().ios_written == 0 && patience.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // What a crash would leave from here on:
    assert_eq!(names(folder.path()), ["capture-0001.parquet"]);
    assert_eq!(read(&folder.path().join("capture-0001.parquet")).0, [(0, 0, numbered(0))]);
    taps[0].record(0, numbered(1));
    drop(taps);
    let summary = capture.finish().unwrap();
    assert_eq!(read_sorted(&summary.files), [(0, 0, numbered(0)), (0, 0, numbered(1))]);
}

#[test]
fn a_folder_is_made_with_the_first_io_and_not_before() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("captures");
    let (capture, mut taps) = open(Folder::new(&folder), configuration(1, 400)).unwrap();
    taps[0].end_of_step();
    assert!(names(around.path()).is_empty());
    taps[0].record(0, numbered(0));
    drop(taps);
    assert_eq!(read_sorted(&capture.finish().unwrap().files), [(0, 0, numbered(0))]);
    assert_eq!(names(&folder), ["capture-0001.parquet"]);
}

#[test]
fn a_place_for_no_folder_is_refused_before_anything_is_made() {
    let around = tempfile::tempdir().unwrap();
    fs::write(around.path().join("file"), "no folder").unwrap();
    for (place, reason) in [
        ("file", "file: not a directory"),
        ("file/captures", "ot a directory"),
        ("no/captures", "/no: No such file"),
    ] {
        let refused = open(Folder::new(around.path().join(place)), configuration(1, 400)).unwrap_err();
        assert!(matches!(refused, CaptureError::Begin(_)));
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    assert_eq!(names(around.path()), ["file"]);
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    for name in ["capture-0001.parquet", "capture-0001.parquet.partial"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "of an earlier run").unwrap();
        let refused = open(Folder::new(folder.path()), configuration(1, 400)).unwrap_err();
        assert!(matches!(refused, CaptureError::Begin(_)));
        assert!(refused.to_string().contains(name), "{refused}");
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "of an earlier run");
    }
}

#[test]
fn a_capture_that_is_not_finished_is_complete_nevertheless() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(1, 400)).unwrap();
    taps[0].record(0, numbered(0));
    drop(taps);
    drop(capture);
    assert_eq!(read(&folder.path().join("capture-0001.parquet")).0, [(0, 0, numbered(0))]);
}

#[test]
fn senseless_configurations_are_refused() {
    let sound = || configuration(1, 400);
    let senseless = [
        CaptureConfiguration { sector_bytes: 0, ..sound() },
        CaptureConfiguration { lba_bytes: 0, ..sound() },
        CaptureConfiguration { threads: 0, ..sound() },
        CaptureConfiguration { threads: 65_537, ..sound() },
        CaptureConfiguration { buffered_ios_per_thread: 3, ..sound() },
        CaptureConfiguration { ios_per_file: 0, ..sound() },
        CaptureConfiguration { file_duration: Duration::ZERO, ..sound() },
    ];
    let folder = tempfile::tempdir().unwrap();
    for configuration in senseless {
        let refused = open(Folder::new(folder.path()), configuration).unwrap_err();
        assert!(matches!(refused, CaptureError::Configuration(_)), "{refused}");
    }
    assert!(names(folder.path()).is_empty());
}
