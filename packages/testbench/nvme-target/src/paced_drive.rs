//! The simulated drive against the wall clock: a moment of virtual time is a moment of real time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use openpts_core::workload::{Io, Operation};
use openpts_sim::{
    Answer, Completion, Drive, MOST_POWER_STATES, NEVER, PS_PER_NS, Placed, PowerSetting, PowerState, Ps,
    Refusal, Scale, Sensed, Smart, Transition,
};

use super::command::{Response, Status};
use super::error_log::ErrorLog;
use super::latency_monitor::{Counted, LatencyMonitor};
use super::lock::lock;
use super::queue::Queue;

/// How often an idle drive is told that time passes: its idle work is done in doses of this length.
const IDLE_LOOK: Duration = Duration::from_millis(50);

/// An access may be as long as this: lengths have 32 bits.
const PIECE_BYTES: u64 = 1 << 30;

/// An I/O's answer, to be sent when the drive has done it.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) queue: Arc<Queue>,
    pub(super) response: Response,
    /// First sector and namespace, for the error log.
    pub(super) place: (u32, u64),
    /// What the latency monitor counts it as.
    pub(super) counted: Option<Counted>,
}

/// What a command has the drive do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) operation: Operation,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The placement handle of a write.
    pub(super) handle: Option<u16>,
}

impl Access {
    pub(super) const fn new(operation: Operation, offset: u64, length: u64) -> Self {
        Self { operation, offset, length, handle: None }
    }
}

/// A command whose accesses are not all answered.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    begun: Instant,
    left: usize,
    result: Completed,
}

/// What came of a command's accesses so far.
#[derive(Clone, Copy, Debug, Default)]
struct Completed {
    at_ps: Ps,
    /// What failed first.
    failed: Option<Operation>,
}

impl Completed {
    fn join(&mut self, completion: &Completion, operation: Operation) {
        self.at_ps = self.at_ps.max(completion.at_ps);
        if completion.error.is_some() {
            self.failed.get_or_insert(operation);
        }
    }
}

struct State {
    drive: Box<dyn Drive>,
    last_ps: Ps,
    busy_until_ps: Ps,
    waiting: Vec<Option<Waiting>>,
    free: Vec<u32>,
    answered: Vec<(u32, Completion)>,
}

/// A drive that lives in wall-clock time.
pub(super) struct PacedDrive {
    state: Mutex<State>,
    changed: Condvar,
    epoch: Instant,
    scale: Scale,
    simulated_bytes: u64,
    pub(super) errors: Mutex<ErrorLog>,
    pub(super) monitor: Mutex<LatencyMonitor>,
}

impl PacedDrive {
    pub(super) fn new(mut drive: Box<dyn Drive>, scale: Scale) -> Self {
        drive.begin_step(1.0, 0);
        let (simulated_bytes, epoch) = (drive.capacity_bytes(), Instant::now());
        Self {
            state: Mutex::new(State {
                drive,
                last_ps: 0,
                busy_until_ps: 0,
                waiting: Vec::new(),
                free: Vec::new(),
                answered: Vec::new(),
            }),
            changed: Condvar::new(),
            epoch,
            scale,
            simulated_bytes,
            errors: Mutex::default(),
            monitor: Mutex::new(LatencyMonitor::new(epoch)),
        }
    }

    /// Size of the drive that it stands for.
    pub(super) fn capacity_bytes(&self) -> u64 {
        self.simulated_bytes * u64::from(self.scale.factor())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Now in virtual time, which never goes back.
    fn now_ps(&self, state: &mut State) -> Ps {
        self.virtual_ps(state, Instant::now())
    }

    /// A moment in virtual time, or the latest one that the drive has seen.
    fn virtual_ps(&self, state: &mut State, at: Instant) -> Ps {
        let ns = u64::try_from(at.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX);
        state.last_ps = state.last_ps.max(ns.saturating_mul(PS_PER_NS));
        state.last_ps
    }

    fn moment(&self, at_ps: Ps) -> Instant {
        self.epoch + Duration::from_nanos(at_ps / PS_PER_NS)
    }

    /// Where an access lies on the simulated drive, which may be a smaller one; `None` if nothing is left.
    fn scaled(&self, operation: Operation, offset: u64, length: u64) -> Option<Io> {
        if !operation.is_addressed() {
            return Some(Io::new(operation, 0, 0));
        }
        let factor = u64::from(self.scale.factor());
        let (mut begin, mut bytes) = (offset, length);
        if factor > 1 {
            begin = offset / factor / 4096 * 4096;
            if operation == Operation::Trim {
                bytes = length / factor;
            }
            begin = begin.min(self.simulated_bytes.saturating_sub(bytes));
        }
        let bytes = u32::try_from(bytes.min(self.simulated_bytes - begin)).ok()?;
        (bytes > 0).then(|| Io::new(operation, begin, bytes))
    }

    /// Give the drive a command's accesses; its answer goes out when the
    /// last of them is done. The drive's time begins when the command has `come`: what this program did with
    /// it since makes the answer late, and the drive no slower.
    pub(super) fn submit(&self, accesses: &[Access], come: Instant, ticket: Ticket) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let now_ps = self.virtual_ps(state, come);
        if state.is_idle(now_ps) {
            state.drive.idle_until(now_ps);
        }
        let tag = state.free.pop().unwrap_or_else(|| {
            state.waiting.push(None);
            u32::try_from(state.waiting.len() - 1).unwrap_or(u32::MAX)
        });
        let mut result = Completed { at_ps: now_ps, failed: None };
        let mut left = 0;
        for Access { operation, offset, length, handle } in accesses {
            let Some(io) = self.scaled(*operation, *offset, *length) else { continue };
            match state.drive.submit(&Io { handle: *handle, ..io }, tag, now_ps) {
                Answer::Known(completion) => result.join(&completion, *operation),
                Answer::Deferred => left += 1,
            }
        }
        let waiting = Waiting { ticket, begun: self.moment(now_ps), left, result };
        if left == 0 {
            state.free.push(tag);
            self.finish(state, waiting);
        } else {
            state.waiting[tag as usize] = Some(waiting);
            self.take_answers(state, now_ps);
            self.changed.notify_all();
        }
    }

    fn finish(&self, state: &mut State, waiting: Waiting) {
        let Waiting { mut ticket, begun, result, .. } = waiting;
        state.busy_until_ps = state.busy_until_ps.max(result.at_ps);
        if let Some(operation) = result.failed {
            let status = match operation {
                Operation::Read => Status::UNRECOVERED_READ,
                _ if state.drive.is_read_only() => Status::WRITE_PROTECTED,
                _ => Status::WRITE_FAULT,
            };
            ticket.response = Response { status, data: Vec::new(), ..ticket.response };
            let (namespace, lba) = ticket.place;
            lock(&self.errors).add(ticket.queue.number(), ticket.response.command, status, lba, namespace);
        }
        let at = self.moment(result.at_ps);
        if let Some(counted) = ticket.counted {
            lock(&self.monitor).count(counted, at, at - begun);
        }
        ticket.queue.answer_at(at, begun, ticket.response);
    }

    /// Hand out what the drive had held back and knows by now.
    fn take_answers(&self, state: &mut State, now_ps: Ps) {
        if state.drive.next_answer_ps() == NEVER {
            return;
        }
        let mut answered = std::mem::take(&mut state.answered);
        state.drive.answer_until(now_ps, &mut answered);
        for (tag, completion) in answered.drain(..) {
            // What the drive wrote for itself has no entry.
            let Some(Some(waiting)) = state.waiting.get_mut(tag as usize) else { continue };
            waiting.result.join(&completion, Operation::Write);
            waiting.left -= 1;
            if waiting.left == 0
                && let Some(waiting) = state.waiting[tag as usize].take()
            {
                state.free.push(tag);
                self.finish(state, waiting);
            }
        }
        state.answered = answered;
    }

    /// Have all that was held back answered: orders come after the I/O before them.
    fn drain(&self, state: &mut State) -> Ps {
        let mut now_ps = self.now_ps(state);
        while state.has_waiting() {
            let next_ps = state.drive.next_answer_ps();
            if next_ps == NEVER {
                break;
            }
            now_ps = now_ps.max(next_ps);
            state.last_ps = now_ps;
            self.take_answers(state, now_ps);
        }
        now_ps
    }

    /// Forget all data; the moment at which that is done.
    pub(super) fn purge(&self) -> Result<Instant, Refusal> {
        let mut state = self.lock();
        let now_ps = self.drain(&mut state);
        let done_ps = state.drive.purge(now_ps)?;
        state.busy_until_ps = state.busy_until_ps.max(done_ps);
        Ok(self.moment(done_ps))
    }

    /// Write a range, as the drive itself does when it overwrites; the moment at which that is done.
    pub(super) fn overwrite(&self, offset: u64, length: u64) -> Instant {
        self.work_on(Operation::Write, offset, length)
    }

    /// Forget a range; the moment at which that is done.
    pub(super) fn trim(&self, offset: u64, length: u64) -> Instant {
        pieces(offset, length)
            .map(|(offset, length)| self.work_on(Operation::Trim, offset, length))
            .fold(Instant::now(), Ord::max)
    }

    /// Something that the drive does by itself; the moment at which that is done.
    fn work_on(&self, operation: Operation, offset: u64, length: u64) -> Instant {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut done_ps = self.drain(state);
        if let Some(io) = self.scaled(operation, offset, length) {
            match state.drive.submit(&io, u32::MAX, done_ps) {
                Answer::Known(completion) => done_ps = done_ps.max(completion.at_ps),
                Answer::Deferred => {
                    let next_ps = state.drive.next_answer_ps();
                    let mut answered = Vec::new();
                    if next_ps != NEVER {
                        state.last_ps = state.last_ps.max(next_ps);
                        state.drive.answer_until(state.last_ps, &mut answered);
                    }
                    done_ps = answered.iter().map(|(_, answer)| answer.at_ps).fold(done_ps, Ps::max);
                }
            }
        }
        state.busy_until_ps = state.busy_until_ps.max(done_ps);
        self.moment(done_ps)
    }

    pub(super) fn write_cache(&self) -> Option<bool> {
        self.lock().drive.write_cache()
    }

    pub(super) fn set_write_cache(&self, enabled: bool) -> Result<(), Refusal> {
        let mut state = self.lock();
        let now_ps = self.drain(&mut state);
        state.drive.set_write_cache(enabled, now_ps)
    }

    /// Its power states, and what is set of them; `None` where there is one.
    pub(super) fn power(&self) -> Option<(Vec<PowerState>, PowerSetting)> {
        self.lock().drive.power().map(|(states, setting)| (states.to_vec(), *setting))
    }

    pub(super) fn command_power_state(&self, power_state: u8) -> Result<(), Refusal> {
        let mut state = self.lock();
        let now_ps = self.now_ps(&mut state);
        state.drive.command_power_state(power_state, now_ps)
    }

    pub(super) fn set_autonomous(
        &self,
        autonomous: bool,
        table: &[Transition; MOST_POWER_STATES],
    ) -> Result<(), Refusal> {
        let mut state = self.lock();
        let now_ps = self.now_ps(&mut state);
        state.drive.set_autonomous(autonomous, table, now_ps)
    }

    pub(super) fn jump_start(&self) -> Result<(), Refusal> {
        self.lock().drive.jump_start()
    }

    /// Whether it has come to the end of its life.
    pub(super) fn is_read_only(&self) -> bool {
        self.lock().drive.is_read_only()
    }

    /// The drive's log of this moment.
    pub(super) fn smart(&self) -> Smart {
        let mut state = self.lock();
        self.pass(&mut state);
        let mut smart = state.drive.smart();
        if let Some(sensed) = state.drive.sensed(state.last_ps) {
            smart.temperature_c = Some(sensed.temperature_c);
        }
        smart
    }

    /// What it says of the placement of data; `None` if it takes no handles.
    pub(super) fn placed(&self) -> Option<Placed> {
        self.lock().drive.placed().map(|placed| placed.scaled(self.scale))
    }

    /// Have a placement handle go on in another reclaim unit.
    pub(super) fn update_handle(&self, handle: u16) -> Result<(), Refusal> {
        let mut state = self.lock();
        let now_ps = self.drain(&mut state);
        state.drive.update_handle(handle, now_ps)
    }

    /// What its sensor says now.
    pub(super) fn sensed(&self) -> Option<Sensed> {
        let mut state = self.lock();
        self.pass(&mut state);
        state.drive.sensed(state.last_ps)
    }

    fn pass(&self, state: &mut State) {
        let now_ps = self.now_ps(state);
        if state.is_idle(now_ps) {
            state.drive.idle_until(now_ps);
        }
    }

    /// Let time pass for what waits, and for a drive that is idle; returns after a look's time.
    pub(super) fn keep(&self) {
        let end = Instant::now() + IDLE_LOOK;
        let mut state = self.lock();
        loop {
            self.pass(&mut state);
            let now_ps = state.last_ps;
            if state.has_waiting() {
                self.take_answers(&mut state, now_ps);
            }
            let next = match state.drive.next_answer_ps() {
                NEVER => end,
                next_ps => self.moment(next_ps.saturating_add(PS_PER_NS)).min(end),
            };
            let now = Instant::now();
            if now >= end {
                return;
            }
            let wait = next.saturating_duration_since(now);
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A range in pieces that one access may have.
pub(super) fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..length.div_ceil(PIECE_BYTES)).map(move |piece| {
        let begin = piece * PIECE_BYTES;
        (offset + begin, PIECE_BYTES.min(length - begin))
    })
}

impl State {
    fn has_waiting(&self) -> bool {
        self.free.len() < self.waiting.len()
    }

    fn is_idle(&self, now_ps: Ps) -> bool {
        now_ps > self.busy_until_ps && !self.has_waiting()
    }
}

#[cfg(test)]
mod tests {
    use openpts_sim::{Preset, open};

    use super::*;

    const PRESET: &str = include_str!("../../../../packages/openpts_sim/presets/oracle.toml");

    #[test]
    fn the_drive_gets_a_command_when_it_came_and_never_before_another() {
        let preset = Preset::parse(PRESET).unwrap();
        let paced = PacedDrive::new(open(&preset, 1 << 20, Scale::ONE, 1).unwrap(), Scale::ONE);
        let mut state = paced.lock();
        let at = |ms: u64| paced.epoch + Duration::from_millis(ms);
        let ps = [5, 3, 7].map(|ms| paced.virtual_ps(&mut state, at(ms)));
        assert_eq!(ps, [5, 5, 7].map(|ms: Ps| ms * 1_000_000 * PS_PER_NS));
    }
}
