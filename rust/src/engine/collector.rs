//! Joins the threads' shards of a step into one result, off the threads' path.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use super::cpu::{CpuShares, CpuSnapshot};
use super::shard::{ByDirection, Counts, Failure, Shard, StepState};
use super::worker::Delivery;
use crate::histogram::{self, LatencyHistogram};
use crate::workload::Direction;

/// One direction of a step.
#[derive(Clone, Debug)]
pub struct DirectionResult {
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
    /// The distribution in HdrHistogram V2 compressed encoding.
    pub histogram: Vec<u8>,
}

/// Counts of one interval: reads and writes, each I/Os, bytes, sum and maximum of latencies in ns.
#[derive(Clone, Copy, Debug)]
pub struct IntervalResult {
    /// Reads.
    pub read: (u64, u64, u64, u64),
    /// Writes.
    pub write: (u64, u64, u64, u64),
}

/// The result of one step. Times are on the engine's clock.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// Number of the step in the session, from 0.
    pub index: u64,
    /// How it ended.
    pub state: StepState,
    /// First submission, or when the step was let through the gate if it issued nothing.
    pub started_ns: u64,
    /// From the first submission to the last completion.
    pub elapsed_ns: u64,
    /// From the last completion of the step before to the first submission of this one.
    pub gap_ns: Option<u64>,
    /// All reads.
    pub read: DirectionResult,
    /// All writes.
    pub write: DirectionResult,
    /// The step cut into intervals, in order.
    pub intervals: Vec<IntervalResult>,
    /// The host's processors during the step.
    pub cpu: Option<CpuShares>,
    /// The first I/O that failed.
    pub failure: Option<Failure>,
}

pub(super) struct Collector {
    threads: usize,
    /// Where each thread's used shards go back to.
    spare: Vec<Sender<Box<Shard>>>,
    /// The processors' counters when the step that runs now began.
    step_began: Arc<Mutex<CpuSnapshot>>,
    last_completion_ns: Option<u64>,
    pending: VecDeque<Pending>,
}

/// A step of which some threads have delivered.
struct Pending {
    index: u64,
    gate_ns: u64,
    delivered: usize,
    whole: Shard,
}

impl Collector {
    pub(super) fn new(spare: Vec<Sender<Box<Shard>>>, step_began: Arc<Mutex<CpuSnapshot>>) -> Self {
        Self { threads: spare.len(), spare, step_began, last_completion_ns: None, pending: VecDeque::new() }
    }

    /// Collect until all threads are gone.
    pub(super) fn run(mut self, deliveries: &Receiver<Delivery>, results: &Sender<StepResult>) {
        for delivery in deliveries {
            if let Some(result) = self.take(delivery)
                && results.send(result).is_err()
            {
                return;
            }
        }
    }

    fn take(&mut self, delivery: Delivery) -> Option<StepResult> {
        let index = delivery.step.index;
        let position = self.pending.iter().position(|step| step.index == index).unwrap_or_else(|| {
            let (gate_ns, whole) = (delivery.step.start_ns, Shard::default());
            self.pending.push_back(Pending { index, gate_ns, delivered: 0, whole });
            self.pending.len() - 1
        });
        let step = &mut self.pending[position];
        step.delivered += 1;
        step.whole.add(&delivery.shard);
        let complete = step.delivered == self.threads;
        // A thread that is gone needs no shard any more.
        let _ = self.spare[delivery.thread as usize].send(delivery.shard);
        let step = complete.then(|| self.pending.remove(position))??;
        Some(self.finish(step))
    }

    fn finish(&mut self, step: Pending) -> StepResult {
        let now = CpuSnapshot::now();
        let began =
            std::mem::replace(&mut *self.step_began.lock().unwrap_or_else(PoisonError::into_inner), now);
        let Pending { index, gate_ns, mut whole, .. } = step;
        let started_ns = whole.first_submission_ns.unwrap_or(gate_ns);
        let gap_ns = match (self.last_completion_ns, whole.first_submission_ns) {
            (Some(before), Some(first)) => Some(first.saturating_sub(before)),
            _ => None,
        };
        self.last_completion_ns = whole.last_completion_ns.or(self.last_completion_ns);
        StepResult {
            index,
            state: whole.state,
            started_ns,
            elapsed_ns: whole.last_completion_ns.map_or(0, |last| last.saturating_sub(started_ns)),
            gap_ns,
            read: whole.direction(Direction::Read),
            write: whole.direction(Direction::Write),
            intervals: whole.intervals.iter().map(IntervalResult::from).collect(),
            cpu: now.since(&began),
            failure: whole.failure,
        }
    }
}

impl Shard {
    /// Add another thread's shard of the same step.
    fn add(&mut self, other: &Self) {
        self.state = self.state.max(other.state);
        self.first_submission_ns = earlier(self.first_submission_ns, other.first_submission_ns);
        self.last_completion_ns = self.last_completion_ns.max(other.last_completion_ns);
        self.bytes.read += other.bytes.read;
        self.bytes.write += other.bytes.write;
        self.latencies.read.add(&other.latencies.read);
        self.latencies.write.add(&other.latencies.write);
        if self.intervals.len() < other.intervals.len() {
            self.intervals.resize_with(other.intervals.len(), ByDirection::default);
        }
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.read.add(&theirs.read);
            mine.write.add(&theirs.write);
        }
        let first = [self.failure.take(), other.failure.clone()].into_iter().flatten();
        self.failure = first.min_by_key(|failure| failure.at_ns);
        if self.failure.is_some() {
            self.state = StepState::Failed;
        }
    }

    fn direction(&mut self, direction: Direction) -> DirectionResult {
        let bytes = *self.bytes.of(direction);
        let latencies: &LatencyHistogram = self.latencies.of(direction);
        DirectionResult {
            ios: latencies.count(),
            bytes,
            latency_sum_ns: latencies.sum_ns(),
            latency_min_ns: latencies.min_ns(),
            latency_max_ns: latencies.max_ns(),
            histogram: histogram::encode(latencies),
        }
    }
}

fn earlier(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    [left, right].into_iter().flatten().min()
}

impl From<&ByDirection<Counts>> for IntervalResult {
    fn from(interval: &ByDirection<Counts>) -> Self {
        let tuple =
            |counts: &Counts| (counts.ios, counts.bytes, counts.latency_sum_ns, counts.latency_max_ns);
        Self { read: tuple(&interval.read), write: tuple(&interval.write) }
    }
}
