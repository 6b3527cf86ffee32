//! A session's capture against its own results: two ways to the same figures.

#[path = "capture/support.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod captures;
mod support;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use captures::Captured;
use openpts_native::capture::CapturedIo;
use openpts_native::engine::{CaptureOrder, OperationResult, Session, StepResult, StepState};
use openpts_native::histogram;
use openpts_native::machine::{IoPath, Target};
use openpts_native::workload::{Operation, Step, Stop};
use support::{configuration, milliseconds, next, random, scratch};

const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999];

fn capturing(file: &File, folder: &Path, path: IoPath) -> Session {
    let mut wanted = configuration(path, 2, 8);
    wanted.capture = Some(CaptureOrder { folder: folder.into(), lba_bytes: 512 });
    Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), wanted).unwrap()
}

/// Run the steps and read the capture.
fn run(path: IoPath, program: Vec<Step>) -> (Vec<StepResult>, Vec<Captured>) {
    let (scratch, folder) = (scratch(), tempfile::tempdir().unwrap());
    let session = capturing(&scratch, folder.path(), path);
    let steps = program.len();
    session.submit(program).unwrap();
    let results: Vec<_> = (0..steps).map(|_| next(&session).0).collect();
    assert!(results.iter().all(|result| result.state == StepState::Complete), "{results:?}");
    let summary = session.finish().unwrap().expect("a summary of the capture");
    assert_eq!((summary.ios_discarded, summary.unfinished_threads), (0, 0));
    let captured = captures::read_sorted(&summary.files);
    assert_eq!(captured.len() as u64, summary.ios_written);
    (results, captured)
}

/// The least latency that so many per cent do not exceed.
fn exact_percentile(sorted_ns: &[u64], percentile: f64) -> u64 {
    let rank = (percentile / 100.0 * sorted_ns.len() as f64).ceil() as usize;
    sorted_ns[rank.clamp(1, sorted_ns.len()) - 1]
}

fn assert_same(result: &OperationResult, ios: &[CapturedIo]) {
    let mut latencies_ns: Vec<_> = ios.iter().map(|io| io.latency_ns).collect();
    latencies_ns.sort_unstable();
    assert_eq!(ios.len() as u64, result.ios);
    assert_eq!(ios.iter().map(|io| u64::from(io.length_bytes)).sum::<u64>(), result.bytes);
    assert_eq!(latencies_ns.iter().map(|ns| u128::from(*ns)).sum::<u128>(), result.latency_sum_ns);
    assert_eq!(latencies_ns.first().copied(), result.latency_min_ns);
    assert_eq!(latencies_ns.last().copied(), result.latency_max_ns);
    let histogram = histogram::decode(&result.histogram).unwrap();
    for percentile in PERCENTILES {
        let exact_ns = exact_percentile(&latencies_ns, percentile);
        let shown_ns = histogram.value_at_percentile(percentile);
        assert!(shown_ns.abs_diff(exact_ns) * 1000 <= exact_ns, "p{percentile}: {shown_ns} of {exact_ns} ns");
    }
}

fn ios_of(captured: &[Captured], wanted: impl Fn(u32, &CapturedIo) -> bool) -> Vec<CapturedIo> {
    captured.iter().filter(|(step, _, io)| wanted(*step, io)).map(|(_, _, io)| *io).collect()
}

#[test]
fn the_capture_holds_every_io_that_the_steps_count() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let program = vec![random(4096, 65, 2, 8, milliseconds(200)), random(512, 0, 1, 4, milliseconds(50))];
        let (results, captured) = run(path, program);
        for (index, result) in results.iter().enumerate() {
            for (operation, whole) in result.operations.iter().filter(|(_, whole)| whole.ios > 0) {
                assert_same(
                    whole,
                    &ios_of(&captured, |step, io| step == index as u32 && io.operation == operation),
                );
            }
        }
        let counted = results.iter().flat_map(|result| result.operations.iter()).map(|(_, whole)| whole.ios);
        assert_eq!(captured.len() as u64, counted.sum::<u64>());
        assert!(captured.iter().all(|(_, _, io)| io.result == 0));
    }
}

#[test]
fn the_measured_part_of_a_step_is_what_was_answered_after_its_ramp_up() {
    let mut step = random(4096, 100, 2, 8, milliseconds(80));
    step.ramp_ns = 40_000_000;
    let (results, captured) = run(IoPath::Uring, vec![step]);
    let measured = ios_of(&captured, |_, io| io.submitted_ns + io.latency_ns >= results[0].started_ns);
    assert!(measured.len() < captured.len());
    assert_same(results[0].operations.of(Operation::Read), &measured);
}

#[test]
fn an_io_that_failed_is_there_with_its_error() {
    // The file is shorter than the session believes: reads behind its end transfer nothing.
    let (scratch, folder) = (scratch(), tempfile::tempdir().unwrap());
    scratch.set_len(0).unwrap();
    let session = capturing(&scratch, folder.path(), IoPath::Uring);
    session.submit(vec![random(4096, 100, 1, 1, Stop { ios: Some(5), ..Stop::default() })]).unwrap();
    assert_eq!(next(&session).0.state, StepState::Failed);
    let captured = captures::read_sorted(&session.finish().unwrap().unwrap().files);
    assert!(!captured.is_empty());
    assert!(captured.iter().all(|(_, _, io)| io.result == libc::EIO));
}
