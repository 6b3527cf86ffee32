//! Small programs and a place to run them on.
#![allow(dead_code, reason = "each test program uses its part")]

pub mod counting;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

use openpts_core::engine::{CompletionWait, Configuration, IntervalResult, Report, Session, StepResult};
use openpts_core::machine::{IoPath, Target};
use openpts_core::workload::{Limits, OperationWeights, Step, Stimulus, Stop};

pub const CAPACITY: u64 = 4 << 20;

pub fn scratch() -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(CAPACITY).unwrap();
    file
}

pub fn configuration(path: IoPath, tc: u32, qd: u32) -> Configuration {
    Configuration {
        limits: Limits { capacity_bytes: CAPACITY, sector_bytes: 512, tc, qd, block_size_bytes: 1 << 20 },
        seed: 1,
        interval_ns: 10_000_000,
        interval_histograms: true,
        path,
        completion_wait: CompletionWait::Each,
        slow_io_ns: None,
        cpus: Vec::new(),
        most_errors: 0,
        over_read_errors: false,
        capture: None,
        resumed: None,
    }
}

pub fn on_path(file: &File, path: IoPath, tc: u32, qd: u32) -> Session {
    Session::open(Target::duplicate(file.as_raw_fd()).unwrap(), configuration(path, tc, qd)).unwrap()
}

pub fn open(file: &File, tc: u32, qd: u32) -> Session {
    on_path(file, IoPath::Uring, tc, qd)
}

pub fn random(block_size_bytes: u32, read_pct: u32, tc: u32, qd: u32, stop: Stop) -> Step {
    let stimulus = Stimulus::random(OperationWeights::reads_pct(read_pct), block_size_bytes, 0..CAPACITY);
    Step::new(Some(Stimulus { tc, qd, ..stimulus }), stop)
}

pub fn sequential_write(block_size_bytes: u32, tc: u32, amount_bytes: u64) -> Step {
    let mut step = random(block_size_bytes, 0, tc, 4, amount(amount_bytes));
    step.streams[0].stimulus.random_pct = 0;
    step
}

pub fn milliseconds(milliseconds: u64) -> Stop {
    Stop { duration_ns: Some(milliseconds * 1_000_000), ..Stop::default() }
}

pub fn amount(bytes: u64) -> Stop {
    Stop { amount_bytes: Some(bytes), ..Stop::default() }
}

/// The next step, and its intervals.
pub fn next(session: &Session) -> (StepResult, Vec<IntervalResult>) {
    let mut intervals = Vec::new();
    loop {
        match session.poll(Duration::from_secs(20)).unwrap().expect("a result within the time") {
            Report::Step(step) => return (step, intervals),
            Report::Interval(interval) => intervals.push(interval),
        }
    }
}
