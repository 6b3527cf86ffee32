//! A drive whose answers can be told beforehand, and small programs for it.

#[path = "../../../core/tests/support/counting.rs"]
pub(super) mod counting;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use openpts_core::engine::{EngineError, IntervalResult, OperationResult, Report, StepResult};
use openpts_core::workload::{
    Io, Operation, OperationWeights, Pacing, Program, Step, Stimulus, Stop, Uniform,
};

use super::{SharedDrive, VirtualConfiguration, VirtualSession};
use crate::drive::{Answer, Completion, Drive, Refusal};
use crate::scale::Scale;
use crate::smart::{Sensed, Smart};
use crate::time::{NEVER, Ps};

pub(super) const CAPACITY: u64 = 4 << 20;
pub(super) const MS: u64 = 1_000_000;
pub(super) const US_PS: Ps = 1_000_000;
/// Service time of the plain drive.
pub(super) const SERVICE_NS: u64 = 100_000;

/// What happened to a drive.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Log {
    pub(super) ios: Vec<(Ps, Io)>,
    pub(super) entropies: Vec<f64>,
    pub(super) prefetched: usize,
    /// Time in which the drive was told that nothing comes.
    pub(super) idle_ps: Ps,
    latest_ps: Ps,
}

impl Log {
    fn at(&mut self, now_ps: Ps) {
        assert!(now_ps >= self.latest_ps, "time went back from {} to {now_ps}", self.latest_ps);
        self.latest_ps = now_ps;
    }
}

/// Equal servers with one queue, first come first served.
pub(super) struct Servers {
    pub(super) capacity_bytes: u64,
    pub(super) busy_until_ps: Vec<Ps>,
    pub(super) service_ps: Ps,
    /// Service times are exponential with that mean, instead of equal to it.
    pub(super) random: Option<Uniform>,
    /// Each place belongs to one of the servers, instead of going to the first that is free.
    pub(super) by_place: bool,
    /// I/Os at these places fail.
    pub(super) bad_offsets: Vec<u64>,
    /// Writes are answered in groups of so many, or this long after the first of a group.
    pub(super) group: Option<(usize, Ps)>,
    pub(super) waiting: Vec<(u32, Ps)>,
    /// What the sensor says at which moment.
    pub(super) sensor: Option<fn(Ps) -> Sensed>,
    pub(super) log: Arc<Mutex<Log>>,
}

impl Servers {
    pub(super) fn new(servers: usize) -> Self {
        Self {
            capacity_bytes: CAPACITY,
            busy_until_ps: vec![0; servers],
            service_ps: SERVICE_NS * 1000,
            random: None,
            by_place: false,
            bad_offsets: Vec::new(),
            group: None,
            waiting: Vec::new(),
            sensor: None,
            log: Arc::default(),
        }
    }

    fn serve(&mut self, io: &Io, now_ps: Ps) -> Ps {
        let service_ps = match &mut self.random {
            Some(random) => {
                let share = (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
                (-share.ln() * self.service_ps as f64) as Ps
            }
            None => self.service_ps,
        };
        let servers = self.busy_until_ps.len() as u64;
        let free = if self.by_place {
            &mut self.busy_until_ps[(io.offset_bytes / 4096 % servers) as usize]
        } else {
            self.busy_until_ps.iter_mut().min().expect("there is a server")
        };
        *free = now_ps.max(*free) + service_ps;
        *free
    }

    fn group_ends_ps(&self) -> Ps {
        let Some((size, patience_ps)) = self.group else { return NEVER };
        match self.waiting.first() {
            Some((_, since_ps)) if self.waiting.len() < size => since_ps.saturating_add(patience_ps),
            Some(_) => self.waiting.last().expect("not empty").1,
            None => NEVER,
        }
    }
}

impl Drive for Servers {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        512
    }

    fn begin_step(&mut self, entropy: f64, now_ps: Ps) {
        let mut log = self.log.lock().unwrap();
        log.at(now_ps);
        log.entropies.push(entropy);
    }

    fn submit(&mut self, io: &Io, tag: u32, now_ps: Ps) -> Answer {
        assert!(io.offset_bytes + u64::from(io.length_bytes) <= self.capacity_bytes, "{io:?}");
        {
            let mut log = self.log.lock().unwrap();
            log.at(now_ps);
            log.ios.push((now_ps, *io));
        }
        if self.group.is_some() && io.operation == Operation::Write {
            self.waiting.push((tag, now_ps));
            return Answer::Deferred;
        }
        let bad = io.operation.is_addressed() && self.bad_offsets.contains(&io.offset_bytes);
        Answer::Known(Completion { at_ps: self.serve(io, now_ps), error: bad.then_some("unreadable") })
    }

    fn next_answer_ps(&self) -> Ps {
        self.group_ends_ps()
    }

    fn answer_until(&mut self, now_ps: Ps, answered: &mut Vec<(u32, Completion)>) {
        self.log.lock().unwrap().at(now_ps);
        if self.group_ends_ps() <= now_ps {
            let at_ps = self.serve(&Io::new(Operation::Write, 0, 4096), now_ps);
            answered.extend(self.waiting.drain(..).map(|(tag, _)| (tag, Completion { at_ps, error: None })));
        }
    }

    fn idle_until(&mut self, until_ps: Ps) {
        let mut log = self.log.lock().unwrap();
        let since_ps = self.busy_until_ps.iter().copied().max().unwrap_or(0).max(log.latest_ps);
        log.at(until_ps);
        log.idle_ps += until_ps.saturating_sub(since_ps);
    }

    fn prefetch(&self, _io: &Io) {
        self.log.lock().unwrap().prefetched += 1;
    }

    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        self.log.lock().unwrap().at(now_ps);
        Ok(now_ps + 3 * MS * 1000)
    }

    fn write_cache(&self) -> Option<bool> {
        None
    }

    fn set_write_cache(&mut self, _enabled: bool, _now_ps: Ps) -> Result<(), Refusal> {
        Err(Refusal("there is no cache to switch".into()))
    }

    fn flush_caches(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        Ok(now_ps)
    }

    fn jump_start(&mut self) -> Result<(), Refusal> {
        Err(Refusal("there is no steady state".into()))
    }

    fn smart(&self) -> Smart {
        let log = self.log.lock().unwrap();
        let of = |operation| log.ios.iter().map(|(_, io)| *io).filter(move |io| io.operation == operation);
        Smart {
            host_writes: of(Operation::Write).count() as u64,
            host_write_bytes: of(Operation::Write).map(|io| u64::from(io.length_bytes)).sum(),
            ..Smart::default()
        }
    }

    fn sensed(&self, now_ps: Ps) -> Option<Sensed> {
        self.sensor.map(|sensor| sensor(now_ps))
    }
}

/// A session, its drive and what happened to it.
pub(super) struct Setup {
    pub(super) session: VirtualSession,
    pub(super) drive: Arc<SharedDrive>,
    pub(super) log: Arc<Mutex<Log>>,
}

pub(super) fn configuration() -> VirtualConfiguration {
    VirtualConfiguration {
        tc: 16,
        qd: 256,
        block_size_bytes: 1 << 20,
        seed: 1,
        interval_ns: 10 * MS,
        interval_histograms: false,
        most_errors: 0,
        over_read_errors: false,
        capture: None,
    }
}

pub(super) fn open(servers: Servers) -> Setup {
    open_scaled(servers, 1, &configuration())
}

pub(super) fn open_scaled(servers: Servers, scale: u32, configuration: &VirtualConfiguration) -> Setup {
    let log = Arc::clone(&servers.log);
    let drive = Arc::new(SharedDrive::new(Box::new(servers), Scale::new(scale).unwrap()));
    let session = VirtualSession::open(Arc::clone(&drive), configuration).unwrap();
    Setup { session, drive, log }
}

impl Setup {
    /// Run a program to its end; all steps, and the intervals of each.
    pub(super) fn run(&self, program: Program) -> Vec<(StepResult, Vec<IntervalResult>)> {
        let steps = program.len();
        self.session.submit(&program).unwrap();
        (0..steps).map(|_| self.next_step()).collect()
    }

    pub(super) fn run_one(&self, step: Step) -> StepResult {
        self.run(vec![step]).remove(0).0
    }

    pub(super) fn next_step(&self) -> (StepResult, Vec<IntervalResult>) {
        let mut intervals = Vec::new();
        loop {
            match self.session.poll(Duration::from_secs(20)).expect("runs").expect("not that long") {
                Report::Interval(interval) => intervals.push(interval),
                Report::Step(step) => return (step, intervals),
            }
        }
    }

    pub(super) fn refusal(&self, step: Step) -> String {
        match self.session.submit(&vec![step]) {
            Err(EngineError::Unsupported { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// When I/Os were submitted, in ns.
    pub(super) fn submissions_ns(&self) -> Vec<u64> {
        self.log.lock().unwrap().ios.iter().map(|(at_ps, _)| at_ps / 1000).collect()
    }
}

pub(super) fn random(tc: u32, qd: u32, operation: Operation) -> Stimulus {
    let mut operations = OperationWeights::default();
    match operation {
        Operation::Read => operations.read = 1,
        Operation::Write => operations.write = 1,
        Operation::Trim => operations.trim = 1,
        Operation::Flush => operations.flush = 1,
        Operation::Fsync => operations.fsync = 1,
    }
    Stimulus { tc, qd, ..Stimulus::random(operations, 4096, 0..CAPACITY) }
}

pub(super) fn reads(tc: u32, qd: u32) -> Stimulus {
    random(tc, qd, Operation::Read)
}

pub(super) fn paced(tc: u32, qd: u32, pacing: Pacing) -> Stimulus {
    Stimulus { pacing, ..reads(tc, qd) }
}

pub(super) fn lasting(duration_ns: u64) -> Stop {
    Stop { duration_ns: Some(duration_ns), ..Stop::default() }
}

pub(super) fn step(stimulus: Stimulus, stop: Stop) -> Step {
    Step::new(Some(stimulus), stop)
}

pub(super) fn idle(duration_ns: u64) -> Step {
    Step::new(None, lasting(duration_ns))
}

/// All operations of a step together.
pub(super) fn total(step: &StepResult) -> OperationResult {
    let mut total = OperationResult::default();
    for (_, result) in step.operations.iter() {
        total.ios += result.ios;
        total.bytes += result.bytes;
        total.latency_sum_ns += result.latency_sum_ns;
        total.latency_min_ns = [total.latency_min_ns, result.latency_min_ns].into_iter().flatten().min();
        total.latency_max_ns = total.latency_max_ns.max(result.latency_max_ns);
    }
    total
}
