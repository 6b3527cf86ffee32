//! One thread: keeps QD I/Os outstanding for the length of a step, and times every one of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use super::gate::{ActiveStep, Gate};
use super::progress::ThreadProgress;
use super::shard::{Failure, Shard, StepState};
use crate::clock::Clock;
use crate::ring::{Completion, Ring, Waker};
use crate::workload::{Carried, Direction, Io, Payload, Step, StopRule, Stream};

/// Submit when this much is prepared, so that filling many large buffers does not keep the device idle.
const BATCH_BYTES: u32 = 128 * 1024;
/// And not more I/Os than this at once: completions arrive in bursts, and answering each burst with one
/// of the same size keeps queue and device taking turns. Eight cost hardly more than 32 in system calls.
const BATCH_IOS: usize = 8;
/// After a stop, how long to wait for outstanding I/Os before leaving them behind.
const GRACE_NS: u64 = 500_000_000;
const GRACE: Duration = Duration::from_nanos(GRACE_NS);

/// Why the threads should stop; whoever gives a reason wakes them.
#[derive(Debug)]
pub(super) struct Signals {
    stop: AtomicBool,
    failed: AtomicBool,
    pub(super) waker: Waker,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { stop: AtomicBool::new(false), failed: AtomicBool::new(false), waker: Waker::new()? })
    }

    /// The operator stops the run.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// An I/O has failed: nothing after it counts.
    fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    pub(super) fn is_raised(&self) -> bool {
        self.halted().is_some()
    }

    fn halted(&self) -> Option<StepState> {
        if self.failed.load(Ordering::Relaxed) {
            Some(StepState::Failed)
        } else if self.stop.load(Ordering::Relaxed) {
            Some(StepState::Interrupted)
        } else {
            None
        }
    }
}

/// A message to the collector: the thread's part of a step.
pub(super) struct Delivery {
    pub(super) step: Arc<ActiveStep>,
    pub(super) thread: u32,
    pub(super) shard: Box<Shard>,
}

pub(super) struct Worker {
    pub(super) thread: u32,
    pub(super) sector_bytes: u32,
    pub(super) interval_ns: u64,
    pub(super) clock: Clock,
    pub(super) ring: Ring,
    pub(super) carried: Carried,
    pub(super) payload: Payload,
    pub(super) signals: Arc<Signals>,
    pub(super) progress: Arc<ThreadProgress>,
}

impl Worker {
    /// Run steps until the gate closes. `spare` brings back the shards that `deliver` took away.
    pub(super) fn run(mut self, gate: &Gate, deliver: &Sender<Delivery>, spare: &Receiver<Box<Shard>>) {
        let mut index = 0;
        while let Some(step) = gate.arrive(index) {
            let Ok(mut shard) = spare.recv() else { return };
            shard.reset(step.start_ns, self.interval_ns);
            if self.thread < step.step.stimulus.tc {
                self.run_step(&step.step, &mut shard);
            }
            if shard.state != StepState::Complete {
                // What follows a failure or a stop counts for nothing: let no other step begin.
                gate.close();
            }
            if deliver.send(Delivery { step, thread: self.thread, shard }).is_err() {
                return;
            }
            index += 1;
        }
    }

    fn run_step(&mut self, step: &Step, shard: &mut Shard) {
        let duration_ns = match step.stop {
            StopRule::DurationNs(duration_ns) => duration_ns,
            StopRule::AmountBytes(_) => u64::MAX,
        };
        let stream = Stream::new(step, self.sector_bytes, self.thread, &mut self.carried);
        let mut pass = StepPass {
            ring: &mut self.ring,
            payload: &mut self.payload,
            signals: &self.signals,
            progress: &self.progress,
            clock: self.clock,
            slots: Slots::new(step.stimulus.qd as usize),
            stream,
            shard,
        };
        pass.run(duration_ns);
    }
}

/// The slots of the queue: which are free, and what is in flight in the others.
struct Slots {
    free: Vec<usize>,
    in_flight: Vec<InFlight>,
    prepared: Vec<usize>,
}

#[derive(Clone, Copy)]
struct InFlight {
    io: Io,
    submitted_ns: u64,
}

impl Slots {
    fn new(count: usize) -> Self {
        let idle = Io { direction: Direction::Read, offset_bytes: 0, length_bytes: 0 };
        Self {
            free: (0..count).collect(),
            in_flight: vec![InFlight { io: idle, submitted_ns: 0 }; count],
            prepared: Vec::with_capacity(count),
        }
    }
}

/// One step as one thread runs it.
struct StepPass<'a> {
    ring: &'a mut Ring,
    payload: &'a mut Payload,
    signals: &'a Signals,
    progress: &'a ThreadProgress,
    clock: Clock,
    slots: Slots,
    stream: Stream<'a>,
    shard: &'a mut Shard,
}

impl StepPass<'_> {
    /// Issue for `duration_ns` from the first submission on, or until the stream ends; then drain.
    fn run(&mut self, duration_ns: u64) {
        let mut issuing = true;
        let mut halted_ns = None;
        loop {
            let now_ns = self.clock.now_ns();
            self.reap(now_ns);
            if let Some(state) = self.signals.halted().filter(|_| self.shard.state == StepState::Complete) {
                self.shard.state = state;
                issuing = false;
                halted_ns = Some(now_ns);
            }
            let elapsed_ns = self.shard.first_submission_ns.map_or(0, |first| now_ns - first);
            issuing = issuing && elapsed_ns < duration_ns && self.prepare();
            if self.ring.in_flight() == 0 && !issuing {
                return;
            }
            let patience = match halted_ns {
                None => None,
                // The device does not answer; the ring keeps the buffers for whenever it does.
                Some(since_ns) if now_ns - since_ns >= GRACE_NS => return,
                Some(_) => Some(GRACE),
            };
            self.submit(issuing, patience);
        }
    }

    /// Take every finished I/O; all that are there now were seen at the same moment.
    fn reap(&mut self, now_ns: u64) {
        let Self { ring, slots, shard, signals, progress, .. } = self;
        let (mut ios, mut bytes) = (0, 0);
        ring.reap(|completion| {
            let InFlight { io, submitted_ns } = slots.in_flight[completion.slot];
            slots.free.push(completion.slot);
            match failure_of(completion, &io) {
                None => {
                    shard.completed(&io, submitted_ns, now_ns);
                    ios += 1;
                    bytes += u64::from(io.length_bytes);
                }
                Some(reason) => {
                    signals.fail();
                    shard.failure.get_or_insert(Failure { at_ns: now_ns, io, reason });
                }
            }
        });
        if ios > 0 {
            progress.advance(ios, bytes);
        }
    }

    /// Fill free slots with the next I/Os, up to a batch; false when the stream is used up.
    fn prepare(&mut self) -> bool {
        let mut batch_bytes = 0;
        while batch_bytes < BATCH_BYTES && self.slots.prepared.len() < BATCH_IOS {
            let Some(&slot) = self.slots.free.last() else { return true };
            let Some(io) = self.stream.next() else { return false };
            self.slots.free.pop();
            if io.direction == Direction::Write {
                self.payload.fill(self.ring.buffer_mut(slot, io.length_bytes as usize));
            }
            self.ring.push(slot, &io);
            self.slots.in_flight[slot].io = io;
            self.slots.prepared.push(slot);
            batch_bytes += io.length_bytes;
        }
        true
    }

    /// Hand the prepared I/Os to the kernel. Their latency begins here: making their data is our own
    /// time, not the device's.
    fn submit(&mut self, issuing: bool, patience: Option<Duration>) {
        let now_ns = self.clock.now_ns();
        if !self.slots.prepared.is_empty() {
            self.shard.first_submission_ns.get_or_insert(now_ns);
            for slot in self.slots.prepared.drain(..) {
                self.slots.in_flight[slot].submitted_ns = now_ns;
            }
        }
        let room = issuing && !self.slots.free.is_empty();
        let completions = usize::from(!room);
        let entered = match patience {
            None => self.ring.enter(completions),
            Some(patience) => self.ring.enter_for(completions, patience),
        };
        if let Err(error) = entered {
            self.signals.fail();
            let io = self.slots.in_flight[0].io;
            self.shard.failure.get_or_insert(Failure { at_ns: now_ns, io, reason: error.to_string() });
        }
    }
}

/// Why a completion is no success. A short transfer is a failure: a drive that was removed answers
/// reads with 0 bytes and no error.
fn failure_of(completion: Completion, io: &Io) -> Option<String> {
    match u32::try_from(completion.result) {
        Ok(bytes) if bytes == io.length_bytes => None,
        Ok(bytes) => Some(format!("short transfer: {bytes} of {} B", io.length_bytes)),
        Err(_) => Some(io::Error::from_raw_os_error(-completion.result).to_string()),
    }
}
