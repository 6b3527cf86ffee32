//! A writer that can't keep up slows the load down, and says so.

use super::support::{Disk, configuration, numbered, read, read_sorted, sorted};
use openpts_core::capture::{CaptureConfiguration, Waits};
use openpts_trace::capture::{Folder, open};
use std::time::{Duration, Instant};

#[test]
fn a_slow_disk_loses_nothing_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(5);
    let configuration = CaptureConfiguration { ios_per_file: 100, ..configuration(2, 200) };
    let (capture, taps) = open(Disk::slow(folder.path(), delay), configuration).unwrap();
    let began = Instant::now();
    let by_thread: Vec<Vec<Waits>> = std::thread::scope(|scope| {
        let workers: Vec<_> = taps
            .into_iter()
            .map(|mut tap| {
                scope.spawn(move || {
                    let mut waits = Vec::new();
                    for step in 0..2 {
                        (0..1000).for_each(|number| tap.record(step, numbered(number)));
                        waits.push(tap.end_of_step());
                    }
                    waits
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let elapsed = began.elapsed();
    let summary = capture.finish().unwrap();

    let threads_and_steps =
        (0..2).flat_map(|step| (0..2).flat_map(move |thread| (0..1000).map(move |n| (step, thread, n))));
    let expected = threads_and_steps.map(|(step, thread, number)| (step, thread, numbered(number)));
    assert_eq!(read_sorted(&summary.files), sorted(expected.collect()));

    // 4000 I/Os are 40 files; the buffers hold 400, so the threads sat out most of the 200 ms.
    assert!(summary.waits.blocked_times > 0);
    assert!(summary.waits.blocked_ns >= 100_000_000, "{:?}", summary.waits);
    assert!(summary.waits.blocked_ns <= 2 * elapsed.as_nanos() as u64);
    for (step, figures) in &summary.steps {
        let told = |of: fn(&Waits) -> u64| by_thread.iter().map(|waits| of(&waits[*step as usize])).sum();
        let told = Waits {
            blocked_times: told(|waits| waits.blocked_times),
            blocked_ns: told(|waits| waits.blocked_ns),
        };
        assert_eq!(figures.waits, told, "step {step}");
    }
    let in_files =
        summary.files.iter().map(|file| read(file).1["openpts.blocked_ns"].parse::<u64>().unwrap());
    assert_eq!(in_files.sum::<u64>(), summary.waits.blocked_ns);
}

#[test]
fn a_load_that_fits_the_buffers_never_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, mut taps) = open(Folder::new(folder.path()), configuration(1, 4000)).unwrap();
    (0..4000).for_each(|number| taps[0].record(0, numbered(number)));
    assert_eq!(capture.state().waits, Waits::default());
    drop(taps);
    assert_eq!(capture.finish().unwrap().waits.blocked_ns, 0);
}
