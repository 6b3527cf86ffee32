//! Simulated I/Os per second of processor time: the virtual host alone, with a drive that answers all I/Os
//! after the same time. IoStream, events, histogram and everything else of the host are included. The best of
//! several repeats counts: other programs on the machine only make it slower.
//!
//!     cargo bench --bench virtual_host

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use openpts_core::engine::Report;
use openpts_core::workload::{
    Bounds, Conflicts, Io, Mode, Operation, OperationWeights, Pacing, Replay, ScheduleWriter, ScheduledIo,
    Step, Stimulus, Stop, Stream, Uniform,
};
use openpts_sim::{
    Answer, Completion, Drive, NEVER, Ps, Refusal, Scale, SharedDrive, Smart, VirtualConfiguration,
    VirtualSession,
};
use rustix::time::{ClockId, clock_gettime};

const CAPACITY_BYTES: u64 = 24_000_000_000 / 4096 * 4096;
const SERVICE_PS: Ps = 80_000_000;
const IOS: u64 = 4_000_000;
const REPEATS: usize = 9;

/// Answers after the same time, whatever it is.
struct Instantly;

impl Drive for Instantly {
    fn capacity_bytes(&self) -> u64 {
        CAPACITY_BYTES
    }

    fn sector_bytes(&self) -> u32 {
        512
    }

    fn begin_step(&mut self, _entropy: f64, _now_ps: Ps) {}

    fn submit(&mut self, _io: &Io, _tag: u32, now_ps: Ps) -> Answer {
        Answer::Known(Completion { at_ps: now_ps + SERVICE_PS, error: None })
    }

    fn next_answer_ps(&self) -> Ps {
        NEVER
    }

    fn answer_until(&mut self, _now_ps: Ps, _answered: &mut Vec<(u32, Completion)>) {}

    fn idle_until(&mut self, _until_ps: Ps) {}

    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        Ok(now_ps)
    }

    fn write_cache(&self) -> Option<bool> {
        None
    }

    fn set_write_cache(&mut self, _enabled: bool, _now_ps: Ps) -> Result<(), Refusal> {
        Err(Refusal("none".into()))
    }

    fn flush_caches(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        Ok(now_ps)
    }

    fn jump_start(&mut self) -> Result<(), Refusal> {
        Err(Refusal("none".into()))
    }

    fn smart(&self) -> Smart {
        Smart::default()
    }
}

fn stimulus(tc: u32, qd: u32, read_pct: u32, random_pct: u8, pacing: Pacing) -> Stimulus {
    let plain = Stimulus::random(OperationWeights::reads_pct(read_pct), 4096, 0..CAPACITY_BYTES);
    Stimulus { random_pct, tc, qd, pacing, ..plain }
}

/// A stream that replays a schedule in this file, of I/Os that are due every `gap_ns`, with half of them writes.
fn replay(path: &Path, qd: u32, gap_ns: u64, mode: Mode) -> Stream {
    let file = File::create(path).expect("the folder is there");
    let mut writer = ScheduleWriter::new(file, 4096, false, (1, 1)).expect("there is space");
    let mut random = Uniform::for_thread(1, 0);
    for number in 0..IOS {
        let operation = if random.below(2) == 0 { Operation::Read } else { Operation::Write };
        let offset_bytes = random.below(CAPACITY_BYTES / 4096) * 4096;
        let io = ScheduledIo::new(number * gap_ns, operation, offset_bytes, 4096);
        writer.push(&io).expect("there is space");
    }
    writer.finish().expect("there is space");
    let stimulus = stimulus(1, qd, 50, 100, Pacing::ClosedLoop);
    let bounds = Bounds { ios: Some(IOS), ..Bounds::NONE };
    let replay = Replay { path: path.to_owned(), mode, conflicts: Conflicts::Strict };
    Stream { bounds, replay: Some(replay), ..Stream::new(stimulus) }
}

/// I/Os per second, in millions, of a step with intervals of this length.
fn speed_of(stream: &Stream, interval_ns: u64) -> f64 {
    let stimulus = &stream.stimulus;
    let drive = Arc::new(SharedDrive::new(Box::new(Instantly), Scale::ONE));
    let configuration = VirtualConfiguration {
        tc: stimulus.tc,
        qd: stimulus.qd,
        block_size_bytes: 4096,
        seed: 1,
        interval_ns,
        interval_histograms: false,
        most_errors: 0,
        over_read_errors: false,
        capture: None,
    };
    let session = VirtualSession::open(drive, &configuration).expect("threads are there");
    let stop = if stream.replay.is_some() { None } else { Some(IOS) };
    let step = Step::new(None, Stop { ios: stop, ..Stop::default() });
    let program = vec![Step { streams: vec![stream.clone()], ..step }];
    let mut best = 0.0_f64;
    for _ in 0..REPEATS {
        let began_s = processor_s();
        session.submit(&program).expect("the program is in order");
        while !matches!(session.poll(Duration::from_secs(60)), Ok(Some(Report::Step(_)))) {}
        best = best.max(IOS as f64 / (processor_s() - began_s) / 1e6);
    }
    best
}

/// Processor time of all threads, in seconds.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    println!("{:44} {:>16}", "stimulus, 4 KiB", "million I/Os/s");
    let closed = Pacing::ClosedLoop;
    let second_ns = 1_000_000_000;
    for (name, stimulus, interval_ns) in [
        ("random write, TC 1, QD 1", stimulus(1, 1, 0, 100, closed), second_ns),
        ("random write, TC 1, QD 32", stimulus(1, 32, 0, 100, closed), second_ns),
        ("random write, TC 4, QD 64", stimulus(4, 64, 0, 100, closed), second_ns),
        ("random 65/35, TC 4, QD 64", stimulus(4, 64, 65, 100, closed), second_ns),
        ("random write, TC 16, QD 64", stimulus(16, 64, 0, 100, closed), second_ns),
        ("sequential write, TC 4, QD 64", stimulus(4, 64, 0, 0, closed), second_ns),
        ("random write, TC 4, QD 64, intervals 1 ms", stimulus(4, 64, 0, 100, closed), 1_000_000),
        (
            "Poisson 1 M/s, TC 4, QD 64",
            stimulus(4, 64, 0, 100, Pacing::Poisson { ios_per_s: 1e6 }),
            second_ns,
        ),
    ] {
        println!("{name:44} {:16.1}", speed_of(&Stream::new(stimulus), interval_ns));
    }
    let folder = tempfile::tempdir().expect("a folder for schedules");
    for (name, qd, gap_ns, mode) in [
        ("replay 50/50, 1 M/s, 80 in flight", 256, 1_000, Mode::Timed),
        ("replay 50/50, 100 k/s, 8 in flight", 256, 10_000, Mode::Timed),
        ("replay 50/50, as fast as possible, QD 64", 64, 1_000, Mode::Afap),
    ] {
        let stream = replay(&folder.path().join("schedule"), qd, gap_ns, mode);
        println!("{name:44} {:16.1}", speed_of(&stream, second_ns));
    }
}
