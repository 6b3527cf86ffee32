//! How fast one thread replays a schedule, and how late its I/Os are, on requests that do nothing and on
//! /dev/zero. The best of several repeats counts: other programs on the machine only make it slower.
//!
//!     cargo bench --bench replay_rate

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use openpts_core::engine::{CompletionWait, Configuration, Report, Session, StepResult, StepState};
use openpts_core::machine::{IoPath, Target};
use openpts_core::workload::{
    Bounds, Conflicts, Limits, Mode, Operation, OperationWeights, Played, Replay, ScheduleWriter,
    ScheduledIo, Step, Stimulus, Stop, Stream,
};

const BLOCKS: u64 = 1 << 16;
const CAPACITY: u64 = BLOCKS * 4096;
const QD: u32 = 256;
const IOS: u64 = 2_000_000;
const REPEATS: usize = 5;

fn write_schedule(path: &Path, gap_ns: u64) {
    let mut writer =
        ScheduleWriter::new(File::create(path).expect("a file"), 512, false, (1, 1)).expect("space");
    for number in 0..IOS {
        let io = ScheduledIo::new(number * gap_ns, Operation::Read, number % BLOCKS * 4096, 4096);
        writer.push(&io).expect("space");
    }
    writer.finish().expect("space");
}

fn replayed(io_path: IoPath, schedule: &Path, mode: Mode) -> StepResult {
    let zero = File::open("/dev/zero").expect("every Linux has it");
    let configuration = Configuration {
        limits: Limits { capacity_bytes: CAPACITY, sector_bytes: 512, tc: 1, qd: QD, block_size_bytes: 4096 },
        seed: 1,
        interval_ns: 1_000_000_000,
        interval_histograms: true,
        path: io_path,
        completion_wait: CompletionWait::Each,
        slow_io_ns: None,
        cpus: Vec::new(),
        most_errors: 0,
        over_read_errors: false,
        capture: None,
        resumed: None,
    };
    let target = Target::duplicate(zero.as_raw_fd()).expect("it is open");
    let session = Session::open(target, configuration).expect("the path suits /dev/zero");
    let stimulus =
        Stimulus { qd: QD, ..Stimulus::random(OperationWeights::reads_pct(100), 4096, 0..CAPACITY) };
    let stream = Stream {
        bounds: Bounds { ios: Some(IOS), ..Bounds::NONE },
        delay_ns: 200_000_000,
        replay: Some(Replay { path: schedule.to_owned(), mode, conflicts: Conflicts::Strict }),
        ..Stream::new(stimulus)
    };
    session
        .submit(vec![Step { streams: vec![stream], ..Step::new(None, Stop::default()) }])
        .expect("in order");
    loop {
        if let Some(Report::Step(result)) = session.poll(Duration::from_secs(60)).expect("it runs") {
            assert_eq!(result.state, StepState::Complete, "{:?}", result.failure);
            return result;
        }
    }
}

/// None where no moment was due.
fn percentile_ns(played: &Played, percentile: f64) -> Option<u64> {
    (played.slips.count() > 0).then(|| played.slips.value_at_percentile(percentile))
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder for schedules");
    let schedule = folder.path().join("schedule");
    println!(
        "{:26} {:>14} {:>12} {:>12} {:>12}",
        "replay of reads, 4 KiB", "million I/Os/s", "slip p50 us", "p99 us", "last us"
    );
    for (name, mode, gap_ns) in [
        ("as fast as possible", Mode::Afap, 0),
        ("1 M/s", Mode::Timed, 1_000),
        ("100 k/s", Mode::Timed, 10_000),
    ] {
        write_schedule(&schedule, gap_ns);
        for path in [IoPath::NoOp, IoPath::Uring] {
            let results = (0..REPEATS).map(|_| replayed(path, &schedule, mode));
            let best = results.min_by_key(|result| {
                let played = &result.played[0];
                (percentile_ns(played, 99.0), played.last_answer_ns)
            });
            let played = &best.expect("repeats").played[0];
            let took_ns = played.last_answer_ns - played.first_submission_ns.unwrap_or(0);
            let us = |value_ns: Option<u64>| {
                value_ns.map_or_else(|| "n/a".into(), |ns| format!("{:.1}", ns as f64 / 1e3))
            };
            println!(
                "{:26} {:14.2} {:>12} {:>12} {:>12}",
                format!("{name}, {path}"),
                IOS as f64 * 1e3 / took_ns as f64,
                us(percentile_ns(played, 50.0)),
                us(percentile_ns(played, 99.0)),
                us(Some(played.last_slip_ns)),
            );
        }
    }
}
