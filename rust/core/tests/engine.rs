//! The engine on real files: what it reports against what the file shows, on each path.

mod support;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use openpts_core::engine::{Configuration, EndedBy, EngineError, Report, Session, StepState};
use openpts_core::histogram;
use openpts_core::machine::{IoPath, Target};
use openpts_core::workload::{Operation, Step, Stop};
use support::{
    CAPACITY, amount, configuration, milliseconds, next, on_path, open, random, scratch, sequential_write,
};

#[test]
fn a_pass_of_several_threads_writes_every_byte_of_the_file() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let mut file = scratch();
        file.write_all(&vec![0; CAPACITY as usize]).unwrap();
        let session = on_path(&file, path, 3, 4);
        session.submit(vec![sequential_write(128 * 1024, 3, CAPACITY)]).unwrap();
        let (result, _) = next(&session);
        assert_eq!((result.state, result.ended_by), (StepState::Complete, Some(EndedBy::Amount)));
        assert_eq!(result.operations.of(Operation::Write).bytes, CAPACITY);
        assert_eq!(result.operations.of(Operation::Read).ios, 0);
        let mut contents = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut contents).unwrap();
        // Random data holds sixteen zeros in a row with a chance of 2^-128.
        assert!(contents.chunks(16).all(|chunk| chunk.iter().any(|byte| *byte != 0)), "{path}");
    }
}

#[test]
fn the_counts_of_a_step_agree_with_each_other_and_with_its_intervals() {
    for path in [IoPath::Uring, IoPath::Synchronous, IoPath::NoOp] {
        let file = scratch();
        let session = on_path(&file, path, 2, 4);
        session.submit(vec![random(4096, 65, 2, 4, milliseconds(100))]).unwrap();
        let (result, intervals) = next(&session);
        assert_eq!((result.state, result.ended_by), (StepState::Complete, Some(EndedBy::Duration)));
        assert!(result.elapsed_ns >= 100_000_000, "a duration is a duration: {}", result.elapsed_ns);
        assert!(intervals.iter().map(|interval| interval.index).eq(0..intervals.len() as u64));
        for operation in [Operation::Read, Operation::Write] {
            let whole = result.operations.of(operation);
            assert!(whole.ios > 0);
            assert_eq!(whole.bytes, whole.ios * 4096);
            let parts = || intervals.iter().map(|interval| interval.operations.of(operation));
            assert_eq!(parts().map(|part| part.ios).sum::<u64>(), whole.ios);
            assert_eq!(parts().map(|part| part.latency_sum_ns).sum::<u128>(), whole.latency_sum_ns);
            assert_eq!(parts().filter_map(|part| part.latency_max_ns).max(), whole.latency_max_ns);
            let decoded = histogram::decode(&whole.histogram).unwrap();
            assert_eq!(decoded.count(), whole.ios);
            let (min, max) = (whole.latency_min_ns.unwrap(), whole.latency_max_ns.unwrap());
            let mean = whole.latency_sum_ns / u128::from(whole.ios);
            assert!(u128::from(min) <= mean && mean <= u128::from(max));
        }
        // Every hundred I/Os of a thread hold 65 reads; only the last, unfinished hundreds may differ.
        let reads = result.operations.of(Operation::Read).ios as f64;
        let ios = reads + result.operations.of(Operation::Write).ios as f64;
        assert!((reads - 0.65 * ios).abs() <= 8.0 * 100.0, "{path}: {reads} of {ios}");
    }
}

#[test]
fn a_program_runs_in_order_and_reports_the_gap_before_each_step() {
    let file = scratch();
    let session = open(&file, 2, 4);
    let sizes = [4096_u32, 65536, 512, 8192];
    session.submit(sizes.iter().map(|size| random(*size, 50, 2, 4, milliseconds(30))).collect()).unwrap();
    let mut ended_ns = None;
    for (index, size) in sizes.into_iter().enumerate() {
        let (result, _) = next(&session);
        assert_eq!(result.index, index as u64);
        let reads = result.operations.of(Operation::Read);
        assert_eq!(reads.bytes, reads.ios * u64::from(size));
        assert_eq!(result.gap_ns, ended_ns.map(|ended: u64| result.started_ns - ended));
        ended_ns = Some(result.started_ns + result.elapsed_ns);
    }
}

// proves: PTS-DEF-08, 09, PTS-THR-01, PTS-TOOL-09
#[test]
fn fewer_threads_and_a_smaller_queue_than_the_session_has_are_kept() {
    let file = scratch();
    let session = open(&file, 4, 8);
    session.submit(vec![random(4096, 100, 1, 1, milliseconds(50))]).unwrap();
    let (result, _) = next(&session);
    let reads = result.operations.of(Operation::Read);
    // With one I/O outstanding, latencies can't overlap: their sum fits into the time.
    assert!(reads.latency_sum_ns <= u128::from(result.elapsed_ns));
    assert!(reads.ios > 0);
}

#[test]
fn an_io_count_is_exact_over_all_threads() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let file = scratch();
        let session = on_path(&file, path, 3, 2);
        let stop = Stop { ios: Some(1001), ..Stop::default() };
        session.submit(vec![random(4096, 50, 3, 2, stop)]).unwrap();
        let (result, _) = next(&session);
        let ios: u64 = result.operations.iter().map(|(_, operation)| operation.ios).sum();
        assert_eq!((ios, result.ended_by), (1001, Some(EndedBy::Amount)));
    }
}

#[test]
fn an_amount_that_is_reached_too_early_is_exceeded() {
    let file = scratch();
    let session = open(&file, 2, 4);
    let stop = Stop { ios: Some(10), at_least_ns: 60_000_000, ..Stop::default() };
    session.submit(vec![random(4096, 100, 2, 4, stop)]).unwrap();
    let (result, _) = next(&session);
    assert!(result.elapsed_ns >= 55_000_000 && result.operations.of(Operation::Read).ios > 10, "{result:?}");
}

#[test]
fn the_ramp_up_counts_for_nothing_and_the_stop_rule_begins_after_it() {
    let file = scratch();
    let session = open(&file, 2, 4);
    let mut step = random(4096, 100, 2, 4, Stop { ios: Some(500), ..Stop::default() });
    step.ramp_ns = 50_000_000;
    let clock = Instant::now();
    session.submit(vec![step]).unwrap();
    let (result, intervals) = next(&session);
    assert!(clock.elapsed() >= Duration::from_millis(50));
    let ios = result.operations.of(Operation::Read).ios;
    // What was in flight when the ramp-up ended completes within the measurement.
    assert!((500..=500 + 8).contains(&ios), "{ios}");
    assert_eq!(
        intervals.iter().map(|interval| interval.operations.of(Operation::Read).ios).sum::<u64>(),
        ios
    );
}

#[test]
fn an_idle_gap_lasts_as_long_as_it_should_and_leaves_no_gap_to_report() {
    let file = scratch();
    let session = open(&file, 2, 4);
    let idle = Step::new(None, milliseconds(80));
    let busy = random(4096, 100, 2, 4, milliseconds(20));
    session.submit(vec![busy.clone(), idle, busy]).unwrap();
    let (before, _) = next(&session);
    let (gap, _) = next(&session);
    let (after, _) = next(&session);
    assert!(gap.operations.iter().all(|(_, operation)| operation.ios == 0));
    assert!(gap.elapsed_ns >= 80_000_000);
    assert!(gap.started_ns >= before.started_ns + before.elapsed_ns);
    assert!(after.started_ns >= gap.started_ns + gap.elapsed_ns);
    assert_eq!((gap.gap_ns, after.gap_ns), (None, None));
}

#[test]
fn trims_punch_holes_and_flushes_are_counted() {
    let file = scratch();
    let session = open(&file, 1, 4);
    let mut step = random(4096, 0, 1, 4, Stop { ios: Some(300), ..Stop::default() });
    let operations = &mut step.streams[0].stimulus.operations;
    (operations.read, operations.write, operations.trim, operations.flush) = (0, 70, 20, 10);
    session.submit(vec![step]).unwrap();
    let (result, _) = next(&session);
    let ios = Operation::ALL.map(|operation| result.operations.of(operation).ios);
    assert_eq!(ios, [0, 210, 60, 30, 0]);
    assert_eq!(result.operations.of(Operation::Trim).bytes, 60 * 4096);
    assert_eq!(result.operations.of(Operation::Flush).bytes, 0);
}

#[test]
fn a_short_read_fails_the_step_and_everything_after_it() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let file = scratch();
        let session = on_path(&file, path, 2, 4);
        file.set_len(CAPACITY / 2).unwrap();
        session.submit(vec![random(4096, 100, 2, 4, milliseconds(200)); 3]).unwrap();
        let (result, _) = next(&session);
        assert_eq!((result.state, result.ended_by), (StepState::Failed, None));
        let failure = result.failure.unwrap();
        assert!(failure.reason.contains("short transfer: 0 of 4096 B"), "{}", failure.reason);
        assert!(failure.io.offset_bytes >= CAPACITY / 2);
        while let Ok(report) = session.poll(Duration::from_secs(5)) {
            assert!(!matches!(report, Some(Report::Step(_)) | None), "no further step may run");
        }
        assert!(matches!(
            session.submit(vec![random(4096, 100, 1, 1, milliseconds(1))]),
            Err(EngineError::Stopped)
        ));
    }
}

#[test]
fn a_run_that_goes_on_over_errors_counts_them_and_keeps_their_places() {
    let file = scratch();
    let mut wanted = configuration(IoPath::Uring, 2, 4);
    wanted.most_errors = u64::MAX;
    let session = Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), wanted).unwrap();
    file.set_len(CAPACITY / 2).unwrap();
    session.submit(vec![random(4096, 100, 2, 4, Stop { ios: Some(1000), ..Stop::default() })]).unwrap();
    let (result, intervals) = next(&session);
    assert_eq!(result.state, StepState::Complete);
    assert_eq!(result.errors.len(), 1);
    let errors = &result.errors[0];
    assert_eq!((errors.operation, errors.reason.as_str()), ("read", "short transfer: 0 of 4096 B"));
    assert_eq!(errors.count + result.operations.of(Operation::Read).ios, 1000);
    // Half of the places are gone; the chance to be this far off is below 10^-9.
    assert!(errors.count.abs_diff(500) < 100, "{}", errors.count);
    assert!(errors.first_offsets_bytes.iter().all(|offset| *offset >= CAPACITY / 2));
    assert_eq!(intervals.iter().map(|interval| interval.errors).sum::<u64>(), errors.count);
}

#[test]
fn a_stop_ends_a_step_at_once_and_still_reports_it() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let file = scratch();
        let session = on_path(&file, path, 2, 4);
        session.submit(vec![random(4096, 100, 2, 4, milliseconds(60_000))]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let stopped = Instant::now();
        session.stop();
        let (result, _) = next(&session);
        assert!(stopped.elapsed() < Duration::from_secs(1), "{path}");
        assert_eq!((result.state, result.ended_by), (StepState::Interrupted, None));
        assert!(result.operations.of(Operation::Read).ios > 0);
    }
}

#[test]
fn a_program_that_the_path_cannot_do_is_refused_before_anything_runs() {
    let file = scratch();
    let session = open(&file, 2, 4);
    let mut step = random(4096, 100, 2, 4, milliseconds(10));
    step.stop.steady = Some(openpts_core::workload::SteadyRule {
        figure: openpts_core::workload::SteadyFigure::Iops,
        window_ns: 15_000_000,
        windows: 5,
        excursion_pct: 20.0,
        slope_pct: 10.0,
    });
    let refused = session.submit(vec![step]).unwrap_err().to_string();
    assert!(refused.contains("not a multiple of the interval"), "{refused}");
    assert_eq!(session.progress().steps_begun, 0);
}

#[test]
fn a_steady_figure_ends_the_step() {
    let file = scratch();
    let session = on_path(&file, IoPath::NoOp, 1, 8);
    let mut step = random(4096, 100, 1, 8, milliseconds(20_000));
    step.stop.steady = Some(openpts_core::workload::SteadyRule {
        figure: openpts_core::workload::SteadyFigure::Iops,
        window_ns: 10_000_000,
        windows: 3,
        excursion_pct: 150.0,
        slope_pct: 150.0,
    });
    session.submit(vec![step]).unwrap();
    let (result, _) = next(&session);
    assert_eq!(result.ended_by, Some(EndedBy::SteadyState));
    // Three windows from the barrier on; the first submission is a little later.
    assert!((25_000_000..15_000_000_000).contains(&result.elapsed_ns), "{}", result.elapsed_ns);
}

#[test]
fn the_seed_decides_the_order_of_accesses() {
    // Written data are a function of the seed as well: two runs leave the same file behind.
    let contents = |seed| {
        let mut file = scratch();
        let mut wanted = configuration(IoPath::Uring, 1, 1);
        wanted.seed = seed;
        let session = Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), wanted).unwrap();
        session.submit(vec![random(4096, 0, 1, 1, amount(1 << 20))]).unwrap();
        next(&session);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert!(contents(1) == contents(1));
    assert!(contents(1) != contents(2));
}

#[test]
fn a_write_error_names_its_reason() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(CAPACITY).unwrap();
        let session = on_path(&File::open(file.path()).unwrap(), path, 1, 1);
        session.submit(vec![random(4096, 0, 1, 1, milliseconds(200))]).unwrap();
        let failure = next(&session).0.failure.unwrap();
        assert!(failure.reason.contains("Bad file descriptor"), "{}", failure.reason);
        assert_eq!(failure.io.operation, Operation::Write);
    }
}

#[test]
fn progress_counts_what_the_results_count() {
    let file = scratch();
    let session = open(&file, 2, 4);
    session
        .submit(vec![sequential_write(4096, 2, CAPACITY), random(4096, 50, 2, 4, milliseconds(20))])
        .unwrap();
    let results = [next(&session).0, next(&session).0];
    let all = results.iter().flat_map(|result| result.operations.iter());
    let ios: u64 = all.map(|(_, operation)| operation.ios).sum();
    let progress = session.progress();
    assert_eq!((progress.ios, progress.steps_begun), (ios, 2));
}

#[test]
fn an_io_that_hangs_is_seen_while_it_hangs_and_can_be_left() {
    // A pipe into which nothing is written never answers a read.
    let (reader, _writer) = std::io::pipe().unwrap();
    let mut wanted = configuration(IoPath::Uring, 1, 1);
    wanted.limits.capacity_bytes = 512;
    let session = Session::open(Target::duplicate(reader.as_raw_fd()).unwrap(), wanted).unwrap();
    let mut step = random(512, 100, 1, 1, milliseconds(60_000));
    step.streams[0].stimulus.range_end_bytes = 512;
    session.submit(vec![step]).unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let (age_ns, oldest) = session.oldest().expect("a read that waits");
    assert!(age_ns >= 30_000_000);
    assert_eq!(
        (oldest.io.operation, oldest.io.offset_bytes, oldest.io.length_bytes),
        (Operation::Read, 0, 512)
    );
    let stopped = Instant::now();
    session.stop();
    let (result, intervals) = next(&session);
    assert!(stopped.elapsed() < Duration::from_secs(3));
    assert_eq!(result.state, StepState::Interrupted);
    assert_eq!((result.errors.len(), result.errors[0].count), (1, 1));
    assert!(result.errors[0].reason.starts_with("no answer within"), "{}", result.errors[0].reason);
    assert!(
        intervals
            .iter()
            .all(|interval| interval.in_flight == 1 || interval.index + 1 == intervals.len() as u64)
    );
}

#[test]
fn reports_come_step_by_step_however_late_a_thread_tells_its_end() {
    let file = scratch();
    let short = Configuration { interval_ns: 200_000, ..configuration(IoPath::Synchronous, 32, 4) };
    let session = Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), short).unwrap();
    let steps: Vec<Step> =
        (0..80).map(|step| random(4096, 0, [32, 1, 8, 2][step % 4], 4, milliseconds(1))).collect();
    session.submit(steps).unwrap();
    let (mut step, mut interval) = (0, 0);
    while step < 80 {
        match session.poll(Duration::from_secs(20)).unwrap().expect("a report") {
            Report::Interval(result) => {
                assert_eq!((result.step, result.index), (step, interval));
                interval += 1;
            }
            Report::Step(result) => {
                assert_eq!((result.index, result.state), (step, StepState::Complete));
                (step, interval) = (step + 1, 0);
            }
        }
    }
}
