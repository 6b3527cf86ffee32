//! A session's capture against its own results: two ways to the same figures.

#[path = "../../core/tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::capture::support::{self as captures, Captured};
use openpts_core::capture::CapturedIo;
use openpts_core::engine::{CaptureOrder, OperationResult, Session, StepResult, StepState};
use openpts_core::histogram;
use openpts_core::machine::{IoPath, Target};
use openpts_core::workload::{BlockSize, Operation, OperationWeights, Placement, Step, Stop, Zone};
use openpts_trace::capture::files_in;
use support::{CAPACITY, configuration, milliseconds, next, random, scratch};

const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999];

fn capturing(file: &File, folder: &Path, path: IoPath) -> Session {
    let mut wanted = configuration(path, 2, 8);
    wanted.capture = Some(CaptureOrder { files: files_in(folder), lba_bytes: 512 });
    Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), wanted).unwrap()
}

fn captured_step(step: Step) -> Step {
    Step { capture: true, ..step }
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
        let program = [random(4096, 65, 2, 8, milliseconds(200)), random(512, 0, 1, 4, milliseconds(50))];
        let program = program.map(captured_step).to_vec();
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

/// A crash behind the report loses no I/O of the step.
#[test]
fn what_was_reported_is_in_complete_files_while_the_load_goes_on() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let (scratch, folder) = (scratch(), tempfile::tempdir().unwrap());
        let session = capturing(&scratch, folder.path(), path);
        let program = [50, 50, 2000].map(|length_ms| random(4096, 65, 2, 8, milliseconds(length_ms)));
        session.submit(program.map(captured_step).to_vec()).unwrap();
        for index in 0..2 {
            let (result, _) = next(&session);
            let counted: u64 = result.operations.iter().map(|(_, whole)| whole.ios).sum();
            let captured = captures::read_sorted(&complete_files(folder.path()));
            assert_eq!(ios_of(&captured, |step, _| step == index).len() as u64, counted);
        }
        session.finish().unwrap();
    }
}

fn complete_files(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "parquet")).collect()
}

#[test]
fn the_measured_part_of_a_step_is_what_was_answered_after_its_ramp_up() {
    let mut step = captured_step(random(4096, 100, 2, 8, milliseconds(80)));
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
    let step = random(4096, 100, 1, 1, Stop { ios: Some(5), ..Stop::default() });
    session.submit(vec![captured_step(step)]).unwrap();
    assert_eq!(next(&session).0.state, StepState::Failed);
    let captured = captures::read_sorted(&session.finish().unwrap().unwrap().files);
    assert!(!captured.is_empty());
    assert!(captured.iter().all(|(_, _, io)| io.result == rustix::io::Errno::IO.raw_os_error()));
}

/// The mix of PTS 13.2, with trims and flushes besides.
fn composite(stop: Stop) -> Step {
    const SIZES: [(u32, u32); 12] = [
        (512, 4),
        (1024, 1),
        (1536, 1),
        (2048, 1),
        (2560, 1),
        (3072, 1),
        (3584, 1),
        (4096, 67),
        (8192, 10),
        (16_384, 7),
        (32_768, 3),
        (65_536, 3),
    ];
    const ZONES: [(u32, f64); 3] = [(50, 5.0), (30, 15.0), (20, 80.0)];
    let mut step = random(512, 40, 2, 8, stop);
    let stimulus = &mut step.streams[0].stimulus;
    stimulus.block_sizes = SIZES.map(|(bytes, weight)| BlockSize::new(bytes, weight)).to_vec();
    stimulus.placement =
        Placement::Zones(ZONES.map(|(weight, range_pct)| Zone { weight, range_pct }).to_vec());
    step
}

/// Where the zones of `composite` end.
const ZONE_ENDS: [u64; 3] = [CAPACITY / 512 * 5 / 100 * 512, CAPACITY / 512 * 20 / 100 * 512, CAPACITY];

fn assert_counted_as_captured(step: &Step, result: &StepResult, ios: &[CapturedIo]) {
    let transfers: Vec<_> = ios.iter().filter(|io| io.operation.is_addressed() && io.result == 0).collect();
    let sizes = &step.streams[0].stimulus.block_sizes;
    let of_size = |bytes| transfers.iter().filter(|io| io.length_bytes == bytes).count() as u64;
    let by_size: Vec<_> = sizes.iter().map(|size| of_size(size.bytes)).collect();
    assert_eq!(result.choices.by_block_size, by_size);
    let before = |end| transfers.iter().filter(|io| io.offset_bytes < end).count() as u64;
    let [first, second, all] = ZONE_ENDS.map(before);
    assert_eq!(result.choices.by_zone, [first, second - first, all - second]);
    assert_eq!(all, transfers.len() as u64);
}

#[test]
fn sizes_and_zones_are_counted_as_the_capture_has_them() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let mut ramped = captured_step(composite(milliseconds(60)));
        ramped.ramp_ns = 20_000_000;
        let mut syncing = captured_step(composite(milliseconds(60)));
        let operations = &mut syncing.streams[0].stimulus.operations;
        (operations.trim, operations.flush) = (20, 1);
        // A sequence knows its zone by its place.
        let mut half = captured_step(composite(milliseconds(60)));
        half.streams[0].stimulus.random_pct = 50;
        half.streams[0].stimulus.block_sizes.retain(|size| size.bytes == 4096 || size.bytes == 8192);
        let program = vec![composite(milliseconds(10)), ramped, syncing, half];
        let (results, captured) = run(path, program.clone());
        assert!(!captured.iter().any(|(step, _, _)| *step == 0), "it was not asked for");
        for (index, (step, result)) in program.iter().zip(&results).enumerate() {
            let moved: u64 = result
                .operations
                .iter()
                .filter(|(operation, _)| operation.is_addressed())
                .map(|(_, whole)| whole.ios)
                .sum();
            assert_eq!(result.choices.by_block_size.iter().sum::<u64>(), moved);
            assert_eq!(result.choices.by_zone.iter().sum::<u64>(), moved);
            let measured = ios_of(&captured, |number, io| {
                number == index as u32 && io.submitted_ns + io.latency_ns >= result.started_ns
            });
            if index == 3 {
                // A pass may end with a block that is shorter than any.
                let all: Vec<_> = measured.iter().filter(|io| io.offset_bytes < ZONE_ENDS[0]).collect();
                assert_eq!(result.choices.by_zone[0], all.len() as u64);
            } else if index > 0 {
                assert_counted_as_captured(step, result, &measured);
            }
        }
    }
}

#[test]
fn with_errors_allowed_what_failed_is_in_no_count() {
    // The file ends in its last zone: what lies behind fails.
    let (scratch, folder) = (scratch(), tempfile::tempdir().unwrap());
    scratch.set_len(CAPACITY / 2).unwrap();
    let mut wanted = configuration(IoPath::Uring, 2, 8);
    wanted.most_errors = u64::MAX;
    wanted.capture = Some(CaptureOrder { files: files_in(folder.path().join("captures")), lba_bytes: 512 });
    let session = Session::open(Target::duplicate(scratch.as_raw_fd()).unwrap(), wanted).unwrap();
    let mut step = captured_step(composite(Stop { ios: Some(5000), ..Stop::default() }));
    step.streams[0].stimulus.operations = OperationWeights::reads_pct(100);
    assert!(!folder.path().join("captures").exists());
    session.submit(vec![step.clone()]).unwrap();
    let result = next(&session).0;
    let captured = captures::read_sorted(&session.finish().unwrap().unwrap().files);
    let ios = ios_of(&captured, |_, _| true);
    assert!(ios.iter().any(|io| io.result != 0) && ios.len() == 5000);
    assert_counted_as_captured(&step, &result, &ios);
}

#[test]
fn a_step_whose_ios_have_nowhere_to_go_is_refused() {
    let session = support::open(&scratch(), 1, 1);
    let step = captured_step(random(4096, 100, 1, 1, milliseconds(1)));
    let refused = session.submit(vec![random(4096, 100, 1, 1, milliseconds(1)), step.clone()]).unwrap_err();
    assert!(refused.to_string().starts_with("step 2: its I/Os are to be captured"), "{refused}");
    assert_eq!(session.check(vec![step]).unwrap_err().to_string(), refused.to_string().replace('2', "1"));
    assert!(session.poll(std::time::Duration::ZERO).unwrap().is_none());
}
