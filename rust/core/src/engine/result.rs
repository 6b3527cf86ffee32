//! What comes out of a session: intervals while a step runs, and the step when it has ended.

use super::cpu::CpuShares;
use super::outcome::{EndedBy, ErrorTally, Failure, Outcome, StepState};
use super::slow::SlowIo;
use super::standstill::Standstill;
use super::tally::{ChoiceCounts, OperationTally, Tally};
use crate::histogram;
use crate::workload::{ByOperation, Carried, Operation, Played, Step, Stimulus};

/// One operation of a step or interval.
#[derive(Clone, Debug, Default)]
pub struct OperationResult {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Exact sum of the latencies.
    pub latency_sum_ns: u128,
    /// Exact smallest latency; `None` without an I/O.
    pub latency_min_ns: Option<u64>,
    /// Exact largest latency; `None` without an I/O.
    pub latency_max_ns: Option<u64>,
    /// The distribution in HdrHistogram V2 compressed encoding; empty without an I/O, or if not asked for.
    pub histogram: Vec<u8>,
}

impl OperationResult {
    /// The results of a tally by operation.
    pub fn all(tally: &Tally, with_histograms: bool) -> ByOperation<Self> {
        let mut results = ByOperation::default();
        for operation in Operation::ALL {
            *results.of_mut(operation) = Self::new(tally.of(operation), with_histograms);
        }
        results
    }

    fn new(tally: &OperationTally, with_histogram: bool) -> Self {
        let latencies = &tally.latencies;
        if latencies.count() == 0 {
            return Self::default();
        }
        Self {
            ios: latencies.count(),
            bytes: tally.bytes,
            latency_sum_ns: latencies.sum_ns(),
            latency_min_ns: latencies.min_ns(),
            latency_max_ns: latencies.max_ns(),
            histogram: if with_histogram { histogram::encode(latencies) } else { Vec::new() },
        }
    }
}

/// How late planned I/Os were submitted, in HdrHistogram V2 compressed encoding; empty without any.
fn slips_of(tally: &Tally) -> Vec<u8> {
    if tally.slips.count() == 0 { Vec::new() } else { histogram::encode(&tally.slips) }
}

/// One of several streams of a step.
#[derive(Clone, Debug)]
pub struct StreamResult {
    /// The rule that ended it; `None` if none did.
    pub ended_by: Option<EndedBy>,
    /// First submission, or when its planned I/Os were planned from; the step's start if it did nothing.
    pub started_ns: u64,
    /// From there to its last completion, or to the end of its time.
    pub elapsed_ns: u64,
    /// What was done.
    pub operations: ByOperation<OperationResult>,
    /// Its reads, writes and trims by block size and by access range.
    pub choices: ChoiceCounts,
    /// I/Os whose planned moment passed and that found no room until the end.
    pub unissued: u64,
    /// How long after their planned moments, or after they had room, I/Os were submitted: as histograms of
    /// latencies are encoded.
    pub slips: Vec<u8>,
    /// I/Os that failed.
    pub errors: u64,
}

impl StreamResult {
    /// The results of the streams of a step that began at `start_ns`, with what each has counted; none where
    /// there is but one, which the step's own result is of.
    pub fn all(step: &Step, start_ns: u64, counts: &[Tally], outcomes: &[Outcome]) -> Vec<Self> {
        let streams = step.streams.iter().zip(counts).zip(outcomes);
        streams
            .map(|((stream, counts), outcome)| Self::new(&stream.stimulus, start_ns, counts, outcome))
            .collect()
    }

    fn new(stimulus: &Stimulus, start_ns: u64, whole: &Tally, outcome: &Outcome) -> Self {
        let (started_ns, elapsed_ns) = outcome.started_and_elapsed_ns(start_ns);
        Self {
            ended_by: outcome.ended_by.filter(|_| outcome.state == StepState::Complete),
            started_ns,
            elapsed_ns,
            operations: OperationResult::all(whole, true),
            choices: whole.choices_of(Some(stimulus)),
            unissued: outcome.unissued,
            slips: slips_of(whole),
            errors: whole.errors,
        }
    }
}

/// What the drive itself has used up, where the engine can know that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Energy drawn, in joules.
    pub energy_j: Option<f64>,
    /// Bytes written to the media, for whatever reason.
    pub media_write_bytes: Option<u64>,
    /// Bytes that the host wrote, also by I/Os that count in no step.
    pub host_write_bytes: Option<u64>,
    /// Free blocks at that moment, in per cent of all.
    pub free_blocks_pct: Option<f64>,
}

impl Spent {
    /// What was used up since an earlier moment.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            energy_j: self.energy_j.zip(before.energy_j).map(|(now, then)| (now - then).max(0.0)),
            media_write_bytes: went(self.media_write_bytes, before.media_write_bytes),
            host_write_bytes: went(self.host_write_bytes, before.host_write_bytes),
            free_blocks_pct: self.free_blocks_pct,
        }
    }
}

fn went(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now.zip(then).map(|(now, then)| now.saturating_sub(then))
}

/// One interval of a step.
#[derive(Clone, Debug)]
pub struct IntervalResult {
    /// Number of the step in the session, from 0.
    pub step: u64,
    /// Number of the interval in the step, from 0.
    pub index: u64,
    /// Its length; the last one of a step is shorter.
    pub elapsed_ns: u64,
    /// What was done in it.
    pub operations: ByOperation<OperationResult>,
    /// The same of each stream, where there are several.
    pub streams: Vec<ByOperation<OperationResult>>,
    /// I/Os outstanding at its end.
    pub in_flight: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// The host's processors; `None` where intervals are too short for the kernel's counters.
    pub cpu: Option<CpuShares>,
    /// What the drive's own sensor said at its end, in degrees Celsius; `None` where the engine can't know.
    pub temperature_c: Option<i32>,
    /// Whether heat slowed the drive down in it; likewise.
    pub throttled: Option<bool>,
    /// What the drive has used up in it; likewise.
    pub spent: Spent,
}

/// The result of one step. Times are on the engine's clock.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// Number of the step in the session, from 0.
    pub index: u64,
    /// How it ended.
    pub state: StepState,
    /// The rule that ended it; `None` if none did.
    pub ended_by: Option<EndedBy>,
    /// First submission, end of the ramp-up, or when the step was let through the barrier if it did nothing.
    pub started_ns: u64,
    /// From there to the last completion.
    pub elapsed_ns: u64,
    /// From the last completion of the step before to the first submission of this one; `None` around an
    /// idle gap.
    pub gap_ns: Option<u64>,
    /// What was done.
    pub operations: ByOperation<OperationResult>,
    /// The same of each stream, where there are several: all of it together is what they did.
    pub streams: Vec<StreamResult>,
    /// Reads, writes and trims of the only stream by block size and by access range; else each has its own.
    pub choices: ChoiceCounts,
    /// The host's processors during the step.
    pub cpu: Option<CpuShares>,
    /// I/Os whose planned moment passed and that found no room until the end.
    pub unissued: u64,
    /// How long after their planned moments, or after they had room, I/Os were submitted, encoded likewise; empty
    /// where none is planned, and in virtual time, where none is late for the host's sake.
    pub slips: Vec<u8>,
    /// The first I/O that failed.
    pub failure: Option<Box<Failure>>,
    /// All that failed.
    pub errors: Vec<ErrorTally>,
    /// When the process itself did not run, in the step or in the gap before it; never in virtual time.
    pub standstills: Vec<Standstill>,
    /// Where each thread's streams stand at its end, from which a later session can go on; empty in virtual
    /// time, where the steps can be repeated.
    pub carried: Vec<Carried>,
    /// How true each of its replays was.
    pub played: Box<[Played]>,
    /// I/Os that took long, where that was asked for, in the order of their submission; never in virtual time.
    pub slow_ios: Vec<SlowIo>,
    /// What the drive has used up in it, answers after its time included.
    pub spent: Spent,
}

impl StepResult {
    /// The result of a step that began at `start_ns`, with what was counted in it and how it went, after
    /// one whose last answer was at `before_ns`.
    pub fn new(
        index: u64,
        step: &Step,
        start_ns: u64,
        whole: &Tally,
        outcome: Outcome,
        before_ns: Option<u64>,
        cpu: Option<CpuShares>,
    ) -> Self {
        let (started_ns, elapsed_ns) = outcome.started_and_elapsed_ns(start_ns);
        let Outcome { state, ended_by, unissued, failure, errors, played, mut slow_ios, .. } = outcome;
        slow_ios.sort_by_key(|slow| slow.what.submitted_ns);
        let gap_ns = match (before_ns, outcome.first_submission_ns) {
            (Some(before), Some(first)) => Some(first.saturating_sub(before)),
            _ => None,
        };
        Self {
            index,
            state,
            ended_by: ended_by.filter(|_| state == StepState::Complete),
            started_ns,
            elapsed_ns,
            gap_ns,
            operations: OperationResult::all(whole, true),
            streams: Vec::new(),
            choices: whole.choices_of(step.only_stimulus()),
            cpu,
            unissued,
            slips: slips_of(whole),
            failure: failure.map(Box::new),
            errors,
            standstills: Vec::new(),
            carried: Vec::new(),
            played: played.into(),
            slow_ios,
            spent: Spent::default(),
        }
    }
}

/// What a session has to say.
#[derive(Clone, Debug)]
pub enum Report {
    /// An interval of the step that runs; the last one comes before the step itself.
    Interval(IntervalResult),
    /// A step that has ended.
    Step(StepResult),
}
