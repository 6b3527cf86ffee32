//! The engine on real files through the real io_uring: what it reports against what the file shows.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use openpts_native::engine::{Configuration, Session, StepResult, StepState};
use openpts_native::histogram;
use openpts_native::ring::Target;
use openpts_native::workload::{AccessPattern, Limits, Step, Stimulus, StopRule};

const CAPACITY: u64 = 4 << 20;

fn scratch() -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(CAPACITY).unwrap();
    file
}

fn open(file: &File, tc: u32, qd: u32) -> Session {
    let limits = Limits { capacity_bytes: CAPACITY, sector_bytes: 512, tc, qd, block_size_bytes: 1 << 20 };
    let configuration = Configuration { limits, seed: 1, interval_ns: 10_000_000 };
    Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), configuration).unwrap()
}

fn random(block_size_bytes: u32, read_pct: u8, tc: u32, qd: u32, stop: StopRule) -> Step {
    let stimulus = Stimulus {
        access_pattern: AccessPattern::Random,
        block_size_bytes,
        read_pct,
        tc,
        qd,
        range_start_bytes: 0,
        range_end_bytes: CAPACITY,
    };
    Step { stimulus, stop }
}

fn sequential_write(block_size_bytes: u32, tc: u32, amount_bytes: u64) -> Step {
    let mut step = random(block_size_bytes, 0, tc, 4, StopRule::AmountBytes(amount_bytes));
    step.stimulus.access_pattern = AccessPattern::Sequential;
    step
}

fn milliseconds(milliseconds: u64) -> StopRule {
    StopRule::DurationNs(milliseconds * 1_000_000)
}

fn next(session: &Session) -> StepResult {
    session.poll(Duration::from_secs(20)).unwrap().expect("a result within the time")
}

#[test]
fn a_pass_of_several_threads_writes_every_byte_of_the_file() {
    let mut file = scratch();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&vec![0; CAPACITY as usize]).unwrap();
    let session = open(&file, 3, 4);
    session.submit(vec![sequential_write(128 * 1024, 3, CAPACITY)]).unwrap();
    let result = next(&session);
    assert_eq!((result.state, result.write.bytes, result.read.ios), (StepState::Complete, CAPACITY, 0));
    let mut contents = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut contents).unwrap();
    // Random data holds sixteen zeros in a row with a chance of 2^-128.
    assert!(contents.chunks(16).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
}

#[test]
fn the_counts_of_a_step_agree_with_each_other() {
    let file = scratch();
    let session = open(&file, 2, 8);
    session.submit(vec![random(4096, 65, 2, 8, milliseconds(100))]).unwrap();
    let result = next(&session);
    assert_eq!(result.state, StepState::Complete);
    assert!(result.elapsed_ns >= 100_000_000, "a duration is a duration: {}", result.elapsed_ns);
    for (direction, interval_ios) in [
        (&result.read, result.intervals.iter().map(|interval| interval.read.0).sum::<u64>()),
        (&result.write, result.intervals.iter().map(|interval| interval.write.0).sum::<u64>()),
    ] {
        assert!(direction.ios > 0);
        assert_eq!(direction.bytes, direction.ios * 4096);
        assert_eq!(interval_ios, direction.ios);
        let decoded = histogram::decode(&direction.histogram).unwrap();
        assert_eq!(decoded.count(), direction.ios);
        let (min, max) = (direction.latency_min_ns.unwrap(), direction.latency_max_ns.unwrap());
        let mean = direction.latency_sum_ns / u128::from(direction.ios);
        assert!(u128::from(min) <= mean && mean <= u128::from(max));
        assert!(decoded.max_ns().unwrap() >= max);
    }
    // Every hundred I/Os of a thread hold 65 reads; only the last, unfinished hundreds may differ.
    let ios = result.read.ios + result.write.ios;
    let expected = 0.65 * ios as f64;
    assert!((result.read.ios as f64 - expected).abs() <= 2.0 * 100.0, "{} of {ios}", result.read.ios);
}

#[test]
fn a_program_runs_in_order_and_reports_the_gap_before_each_step() {
    let file = scratch();
    let session = open(&file, 2, 4);
    let sizes = [4096_u32, 65536, 512, 8192];
    session.submit(sizes.iter().map(|size| random(*size, 50, 2, 4, milliseconds(30))).collect()).unwrap();
    let mut ended_ns = None;
    for (index, size) in sizes.into_iter().enumerate() {
        let result = next(&session);
        assert_eq!(result.index, index as u64);
        assert_eq!(result.read.bytes, result.read.ios * u64::from(size));
        assert_eq!(result.gap_ns, ended_ns.map(|ended: u64| result.started_ns - ended));
        ended_ns = Some(result.started_ns + result.elapsed_ns);
    }
}

#[test]
fn fewer_threads_and_a_smaller_queue_than_the_session_has_are_kept() {
    let file = scratch();
    let session = open(&file, 4, 8);
    session.submit(vec![random(4096, 100, 1, 1, milliseconds(50))]).unwrap();
    let result = next(&session);
    // With one I/O outstanding, latencies can't overlap: their sum fits into the time.
    assert!(result.read.latency_sum_ns <= u128::from(result.elapsed_ns));
    assert!(result.read.ios > 0);
}

#[test]
fn a_short_read_fails_the_step_and_everything_after_it() {
    let file = scratch();
    let session = open(&file, 2, 4);
    file.set_len(CAPACITY / 2).unwrap();
    session.submit(vec![random(4096, 100, 2, 4, milliseconds(200)); 3]).unwrap();
    let result = next(&session);
    assert_eq!(result.state, StepState::Failed);
    let failure = result.failure.unwrap();
    assert!(failure.reason.contains("short transfer: 0 of 4096 B"), "{}", failure.reason);
    assert!(failure.io.offset_bytes >= CAPACITY / 2);
    assert!(session.poll(Duration::from_secs(5)).is_err(), "no further step may run");
    assert!(session.submit(vec![random(4096, 100, 1, 1, milliseconds(1))]).is_err());
}

#[test]
fn a_write_error_names_its_reason() {
    let path = tempfile::NamedTempFile::new().unwrap();
    path.as_file().set_len(CAPACITY).unwrap();
    let session = open(&File::open(path.path()).unwrap(), 1, 1);
    session.submit(vec![random(4096, 0, 1, 1, milliseconds(200))]).unwrap();
    let failure = next(&session).failure.unwrap();
    assert!(failure.reason.contains("Bad file descriptor"), "{}", failure.reason);
    assert_eq!(failure.io.direction.name(), "write");
}

#[test]
fn a_stop_ends_a_long_step_at_once_and_keeps_what_was_counted() {
    let file = scratch();
    let session = open(&file, 2, 4);
    session.submit(vec![random(4096, 100, 2, 4, milliseconds(60_000)); 2]).unwrap();
    while session.progress().ios == 0 {
        std::thread::yield_now();
    }
    let stopped = Instant::now();
    session.stop();
    let result = next(&session);
    assert!(stopped.elapsed() < Duration::from_secs(1));
    assert_eq!(result.state, StepState::Interrupted);
    assert!(result.read.ios > 0);
    assert!(session.poll(Duration::from_secs(5)).is_err());
}

#[test]
fn progress_counts_what_the_results_count() {
    let file = scratch();
    let session = open(&file, 2, 4);
    session
        .submit(vec![sequential_write(4096, 2, CAPACITY), random(4096, 50, 2, 4, milliseconds(20))])
        .unwrap();
    let results = [next(&session), next(&session)];
    let ios: u64 = results.iter().map(|result| result.read.ios + result.write.ios).sum();
    let progress = session.progress();
    assert_eq!((progress.ios, progress.steps_begun), (ios, 2));
}

#[test]
fn one_seed_gives_one_sequence_of_accesses() {
    // Written data are a function of the seed as well: two runs leave the same file behind.
    let contents = |seed| {
        let mut file = scratch();
        let limits =
            Limits { capacity_bytes: CAPACITY, sector_bytes: 512, tc: 1, qd: 1, block_size_bytes: 4096 };
        let configuration = Configuration { limits, seed, interval_ns: 1_000_000_000 };
        let session = Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), configuration).unwrap();
        session.submit(vec![random(4096, 0, 1, 1, StopRule::AmountBytes(1 << 20))]).unwrap();
        next(&session);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert!(contents(1) == contents(1));
    assert!(contents(1) != contents(2));
}
