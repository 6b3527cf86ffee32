//! One step as one thread runs it: keeps the queue as full as the pacing wants, times every I/O.

use std::sync::Arc;
use std::time::Duration;

use super::account::Answers;
use super::answer;
use super::barrier::ActiveStep;
use super::completion_wait::CompletionWait;
use super::context::Context;
use super::outcome::{EndedBy, Outcome, StepState};
use super::output::Output;
use super::pace::{Pace, Turn};
use super::playback::Playback;
use crate::machine::Queue;
use crate::workload::{Cue, Data, Io, IoStream, Operation, Stop, Stream};

/// Submit when this much is prepared, so that filling many large buffers does not keep the device idle.
const BATCH_BYTES: u32 = 128 * 1024;
/// And not more I/Os than this at once: completions arrive in bursts, and answering each burst with one
/// of the same size keeps queue and device taking turns.
const BATCH_IOS: usize = 8;
/// Unless the target answers within the system call: there is no other I/O to take turns with, and larger
/// batches cost less per I/O. From 32 on they gain nothing.
const INLINE_BATCH_IOS: usize = 32;
/// After a stop, how long to wait for outstanding I/Os before leaving them behind.
const GRACE_NS: u64 = 500_000_000;
/// A wait that is shorter than this is spent looking for completions: sleeping would overshoot it.
const SPIN_NS: u64 = 60_000;
/// How long a batched wait is after more than one completion, from its beginning.
const BATCH_PATIENCE: Duration = Duration::from_micros(50);
/// Completions that a batched wait is after.
const BATCH_COMPLETIONS: usize = 16;

/// How long to wait, and for what.
#[derive(Clone, Copy)]
enum Wait {
    /// There is more to issue: only look.
    Not,
    /// For completions.
    Completions,
    /// For a completion, but no longer than this.
    AtMost(Duration),
}

pub(super) struct StepPass<'a, Q> {
    context: &'a mut Context<Q>,
    output: &'a mut Output,
    ios: IoStream<'a>,
    pace: Pace,
    /// Of a schedule, in place of those two.
    playback: Option<Box<Playback>>,
    answers: Answers,
    step: &'a Arc<ActiveStep>,
    /// Of the stream.
    number: usize,
    stream: &'a Stream,
    /// The stream's start; planned moments count from it.
    origin_ns: u64,
    /// When measuring begins.
    ramp_end_ns: u64,
    /// The amount was reached too early: the step goes on without it.
    used_up: bool,
    /// When issuing stopped, if not because all was issued.
    stopped_ns: Option<u64>,
    captures: bool,
    verifies: bool,
    unverified: Vec<(usize, Io)>,
    batch_ios: usize,
    /// I/Os prepared since the last submission, and submitted with it.
    batched: usize,
    submitted: usize,
    waited: bool,
}

impl<'a, Q: Queue> StepPass<'a, Q> {
    pub(super) fn new(
        step: &'a Arc<ActiveStep>,
        number: usize,
        thread: u32,
        context: &'a mut Context<Q>,
        output: &'a mut Output,
        mut ios: IoStream<'a>,
    ) -> Self {
        let stream = &step.step.streams[number];
        let stimulus = &stream.stimulus;
        context.slots.use_only(stimulus.qd as usize);
        context.data.begin(&stimulus.data, context.sector_bytes);
        let pace = Pace::of(step, number, thread, ios.random());
        let ramp_ns = step.step.ramp_ns;
        output.begin(step.start_ns + ramp_ns);
        // What is planned is planned from the stream's start on, for all threads; a closed loop begins for
        // each thread with its own first submission.
        let origin_ns = step.start_ns + stream.delay_ns;
        let is_planned = pace.is_planned() || stream.replay.is_some();
        let started_ns = (ramp_ns == 0 && is_planned).then_some(origin_ns);
        Self {
            playback: None,
            pace,
            ios,
            answers: Answers::new(ramp_ns == 0, started_ns),
            step,
            number,
            stream,
            origin_ns,
            ramp_end_ns: step.start_ns + ramp_ns,
            used_up: false,
            stopped_ns: None,
            captures: step.step.capture,
            verifies: matches!(stimulus.data, Data::Verified { .. }),
            unverified: Vec::new(),
            batch_ios: BATCH_IOS,
            batched: 0,
            submitted: 0,
            waited: true,
            context,
            output,
        }
    }

    /// Issue until the stop rule says so, then drain.
    pub(super) fn run(mut self) -> Outcome {
        let step = Arc::clone(self.step);
        let stop = &step.step.stop;
        if let Err(error) = self.context.prioritize(self.stream.priority) {
            self.fail(step.start_ns, format!("can't set the I/O priority: {error}"));
        }
        if let Some(replay) = &self.stream.replay {
            match Playback::open(replay, self.number, self.stream) {
                Ok(playback) => self.playback = Some(playback),
                Err(error) => self.fail(step.start_ns, error.to_string()),
            }
        }
        if let Some(slow) = &mut self.context.slow {
            slow.begin(self.context.clock.now_ns());
        }
        let mut issuing = true;
        let mut halted_ns = None;
        loop {
            let now_ns = self.context.clock.now_ns();
            if let Some(slow) = &mut self.context.slow {
                slow.returned(now_ns, self.context.queue.interruptions());
            }
            self.begin_measuring(now_ns);
            // First the interval that is over: what is found now is found in the next one.
            self.output.roll_over(self.step, now_ns, self.context.queue.in_flight());
            self.reap(now_ns);
            if let Some(state) =
                self.context.signals.halted().filter(|_| self.answers.outcome.state == StepState::Complete)
            {
                self.answers.outcome.state = state;
                self.stopped_ns.get_or_insert(now_ns);
                issuing = false;
                halted_ns = Some(now_ns);
            }
            if issuing {
                issuing = self.goes_on(stop, now_ns);
            }
            if !issuing && self.context.queue.in_flight() == 0 {
                return self.end();
            }
            let wait = match halted_ns {
                // The device does not answer; the queue keeps the buffers for whenever it does.
                Some(since_ns) if now_ns - since_ns >= GRACE_NS => {
                    self.leave_behind(now_ns);
                    return self.end();
                }
                Some(_) => Wait::AtMost(Duration::from_nanos(GRACE_NS)),
                None if issuing => self.wait(stop, now_ns),
                None => Wait::Completions,
            };
            self.submit(wait);
        }
    }

    fn end(mut self) -> Outcome {
        self.count_unissued();
        if let Some(slow) = &mut self.context.slow {
            self.answers.outcome.slow_ios = slow.take();
        }
        self.answers.end()
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        if !self.answers.measuring && now_ns >= self.ramp_end_ns {
            self.answers.measuring = true;
            self.answers.outcome.started_ns = Some(self.ramp_end_ns.max(self.origin_ns));
            self.ios.count_from_here();
            self.context.restart_cpu_shares(self.step.index);
        }
    }

    /// Prepare what may be issued now; false when the step's stop rule has struck.
    fn goes_on(&mut self, stop: &Stop, now_ns: u64) -> bool {
        if self.pace.is_never() {
            self.pace.leave();
            return false;
        }
        let elapsed_ns =
            self.answers.outcome.started_ns.map_or(0, |started_ns| now_ns.saturating_sub(started_ns));
        let long_enough = elapsed_ns >= stop.at_least_ns;
        let ended_by = if self.has_begun() && now_ns >= self.end_ns(stop) {
            EndedBy::Duration
        } else if long_enough && self.context.signals.is_steady(self.step.index) {
            EndedBy::SteadyState
        } else if long_enough && self.used_up {
            EndedBy::Amount
        } else {
            self.prepare(now_ns);
            // Seen with the last I/O, not when another one would be due.
            self.used_up |= match &self.playback {
                Some(playback) => playback.player.is_spent(),
                None => self.ios.is_spent(),
            };
            if !self.used_up {
                return true;
            }
            if !long_enough {
                self.ios.go_on();
                self.prepare(now_ns);
                return true;
            }
            EndedBy::Amount
        };
        // The end of the step ends the others as well, though not at the same moment: until then they wait.
        let ends_itself = match ended_by {
            EndedBy::Amount => true,
            EndedBy::Duration => self.stream.bounds.duration_ns.is_some(),
            EndedBy::SteadyState => false,
        };
        if ends_itself {
            self.pace.leave();
        }
        self.answers.outcome.ended_by = Some(ended_by);
        self.stopped_ns = match ended_by {
            EndedBy::Amount => None,
            EndedBy::SteadyState => Some(now_ns),
            EndedBy::Duration => {
                let end_ns = self.end_ns(stop);
                self.answers.outcome.nominal_end_ns = Some(end_ns);
                Some(end_ns)
            }
        };
        false
    }

    /// What was planned for the time until the stop and found no room; after an amount, nothing was wanted.
    fn count_unissued(&mut self) {
        if let Some(playback) = &mut self.playback {
            self.answers.outcome.played.push(playback.player.take_played());
        }
        if let Some(stopped_ns) = self.stopped_ns {
            let since_start_ns = stopped_ns.saturating_sub(self.origin_ns);
            self.answers.outcome.unissued = self.pace.backlog(since_start_ns, self.ios.random());
        }
    }

    /// Fill free slots with the I/Os that are due, up to a batch.
    fn prepare(&mut self, now_ns: u64) {
        if now_ns < self.origin_ns {
            return;
        }
        let since_start_ns = now_ns.saturating_sub(self.origin_ns);
        if self.playback.is_some() {
            return self.play(now_ns, since_start_ns);
        }
        while let Some(slot) = self.pace.rested(since_start_ns) {
            self.context.slots.release(slot, now_ns);
        }
        let mut batch_bytes = 0;
        while self.has_room(batch_bytes) {
            let Some(slot) = self.context.slots.next_free() else { return };
            let planned_ns = match self.pace.turn(since_start_ns) {
                Turn::Planned(planned_ns) => Some(self.origin_ns + planned_ns),
                Turn::Wait(_) if !self.rests() => return,
                Turn::Now | Turn::Wait(_) => None,
            };
            let Some(io) = self.ios.next() else { return };
            self.pace.advance(&io, self.ios.random());
            self.fill(slot, &io);
            self.context.queue.push(slot, &io);
            self.context.slots.take(&io, planned_ns);
            self.batched += 1;
            batch_bytes += io.length_bytes;
        }
    }

    /// Whether one more I/O goes with a submission of so many bytes.
    #[inline]
    fn has_room(&self, batch_bytes: u32) -> bool {
        batch_bytes < BATCH_BYTES && self.batched < self.batch_ios
    }

    /// Make the data of a write.
    #[inline(always)]
    fn fill(&mut self, slot: usize, io: &Io) {
        match io.operation {
            Operation::Write => {
                let buffer = self.context.queue.buffer_mut(slot, io.length_bytes as usize);
                self.context.data.fill(slot, buffer, io.offset_bytes);
            }
            Operation::Read => self.context.data.buffer_was_read_into(slot),
            Operation::Trim | Operation::Flush | Operation::Fsync => (),
        }
    }

    /// With think time it is the slots that wait: those that are free may be used at once.
    fn rests(&self) -> bool {
        matches!(self.pace, Pace::ThinkTime { .. })
    }

    /// Take every finished I/O; all that are there now were seen at the same moment.
    fn reap(&mut self, now_ns: u64) {
        let mut reaped = 0;
        let Self { context, output, pace, playback, answers, unverified, .. } = self;
        let Context { queue, slots, signals, progress, tap, slow, .. } = &mut *context;
        let since_start_ns = now_ns.saturating_sub(self.origin_ns);
        let step = self.step.index as u32;
        queue.reap(|completion| {
            reaped += 1;
            let answered = slots.answered(completion.slot);
            let (io, latency_ns) = (answered.io, now_ns.saturating_sub(answered.submitted_ns));
            let failure = answer::failure_of(completion, &io);
            if self.captures
                && let Some(tap) = tap
            {
                tap.record(step, answer::captured(&answered, latency_ns, completion, failure.is_some()));
            }
            if let Some(playback) = playback {
                playback.player.answered(completion.slot, since_start_ns);
            }
            if pace.rest(completion.slot, since_start_ns) {
                slots.release(completion.slot, now_ns);
            }
            answers.answered(now_ns, true);
            if let Some(reason) = failure {
                signals.count_error(io.operation);
                answers.failed(&mut output.tally, now_ns, &io, reason);
                return;
            }
            if let Some(slow) = slow
                && slow.is_slow(latency_ns)
                && answers.measuring
            {
                slow.note(answered, latency_ns);
            }
            if self.verifies && io.operation == Operation::Read {
                unverified.push((completion.slot, io));
            }
            answers.done(&mut output.tally, &io, latency_ns, true);
        });
        if let Some(slow) = slow {
            slow.reaped(now_ns, reaped, queue.in_flight());
        }
        let (ios, bytes) = answers.take_progress();
        if ios > 0 {
            progress.advance(ios, bytes);
        }
        self.adapt_batch(reaped);
        self.verify(now_ns);
    }

    /// Larger batches where everything is answered within the system call that submits it.
    fn adapt_batch(&mut self, reaped: usize) {
        let answered_inline = !self.waited && reaped >= self.submitted && self.submitted >= self.batch_ios;
        if answered_inline {
            self.batch_ios = (self.batch_ios * 2).min(INLINE_BATCH_IOS);
        } else if self.waited {
            self.batch_ios = BATCH_IOS;
        }
    }

    /// Compare what was read with what must have been written. The buffers are still untouched: nothing
    /// is prepared between reaping and this.
    fn verify(&mut self, now_ns: u64) {
        while let Some((slot, io)) = self.unverified.pop() {
            let buffer = self.context.queue.buffer(slot, io.length_bytes as usize);
            if let Some(miscompare) = self.context.data.verify(buffer, io.offset_bytes) {
                self.context.signals.count_error(io.operation);
                self.answers.miscompared(&mut self.output.tally, now_ns, &io, &miscompare);
            }
        }
    }

    fn wait(&self, stop: &Stop, now_ns: u64) -> Wait {
        let since_start_ns = now_ns.saturating_sub(self.origin_ns);
        let turn = match &self.playback {
            Some(playback) => playback.turn(since_start_ns),
            None => self.pace.turn(since_start_ns),
        };
        let until_ns = match turn {
            _ if now_ns < self.origin_ns => self.origin_ns,
            Turn::Wait(_) if self.rests() && self.context.slots.has_free() => return Wait::Not,
            Turn::Wait(until_ns) => self.origin_ns.saturating_add(until_ns),
            Turn::Now | Turn::Planned(_) if self.context.slots.has_free() => return Wait::Not,
            Turn::Now | Turn::Planned(_) => return Wait::Completions,
        };
        // Not beyond the stream's end, and not beyond the interval's, which would be reported late.
        let end_ns = self.end_ns(stop).min(self.output.interval_end_ns());
        match until_ns.min(end_ns).saturating_sub(now_ns) {
            short_ns if short_ns < SPIN_NS => Wait::Not,
            // The rest of the wait is spent spinning.
            long_ns => Wait::AtMost(Duration::from_nanos(long_ns - SPIN_NS / 2)),
        }
    }

    /// Whether its time runs: a closed loop that begins with the step has none before its first submission.
    fn has_begun(&self) -> bool {
        self.answers.outcome.started_ns.is_some() || self.stream.delay_ns > 0
    }

    /// When the stream's time is over, or the step's; never without a duration.
    fn end_ns(&self, stop: &Stop) -> u64 {
        let started_ns = self.answers.outcome.started_ns.unwrap_or(self.ramp_end_ns.max(self.origin_ns));
        let step_began_ns = if self.stream.delay_ns > 0 { self.ramp_end_ns } else { started_ns };
        let after = |began_ns: u64, duration_ns: Option<u64>| {
            duration_ns.map_or(u64::MAX, |duration_ns| began_ns.saturating_add(duration_ns))
        };
        after(step_began_ns, stop.duration_ns).min(after(started_ns, self.stream.bounds.duration_ns))
    }

    /// Hand the prepared I/Os to the kernel. Their latency begins here, for all of them with one reading
    /// of the clock: making their data is our own time, not the device's.
    fn submit(&mut self, wait: Wait) {
        let now_ns = self.context.clock.now_ns();
        let is_played = self.playback.is_some() && self.batched > 0;
        // How long a replay's submission takes must be known, apart from the wait.
        let wait = if is_played { Wait::Not } else { wait };
        if self.batched > 0 {
            if self.answers.measuring {
                self.answers.outcome.started_ns.get_or_insert(now_ns);
            }
            self.answers.outcome.first_submission_ns.get_or_insert(now_ns);
            let Self { context, output, answers, playback, .. } = self;
            let mut slipped = |slip_ns| {
                if answers.measuring {
                    output.tally.slips.record(slip_ns);
                }
            };
            context.slots.submitted(now_ns, &mut slipped);
            if let Some(playback) = playback {
                playback.player.submitted(now_ns.saturating_sub(self.origin_ns), slipped);
            }
        }
        let (in_flight, batched) = (self.context.queue.in_flight(), self.batched);
        if let Some(slow) = self.context.slow.as_mut().filter(|_| self.context.queue.keeps_time()) {
            slow.leaves(now_ns, batched > 0 && in_flight == batched);
            if in_flight > 0
                && let Some(after) = slow.alarm(now_ns)
            {
                self.context.queue.set_alarm(after);
            }
            let until_ns = match wait {
                Wait::Not => now_ns,
                Wait::Completions => u64::MAX,
                Wait::AtMost(patience) => {
                    now_ns.saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX))
                }
            };
            slow.waits(now_ns, until_ns);
        }
        self.waited = !matches!(wait, Wait::Not);
        self.submitted = std::mem::take(&mut self.batched);
        let queue = &mut self.context.queue;
        let entered = match (wait, self.context.completion_wait) {
            (Wait::Not, _) => queue.enter(0),
            (Wait::AtMost(patience), _) => queue.enter_for(1, patience),
            (Wait::Completions, CompletionWait::Each) => queue.enter(1),
            (Wait::Completions, CompletionWait::Batched) => {
                queue.enter_batched(queue.in_flight().clamp(1, BATCH_COMPLETIONS), BATCH_PATIENCE)
            }
        };
        if is_played {
            self.submission_ended();
        }
        if let Err(error) = entered {
            self.fail(now_ns, error.to_string());
        }
        // The device works again: now there is time to hand over what the step before has left.
        self.output.deliver_held_back();
    }

    /// The way to all I/Os is broken: it is none of them in particular.
    #[cold]
    fn fail(&mut self, now_ns: u64, reason: String) {
        self.context.signals.fail();
        self.answers.outcome.fail(now_ns, &Io::new(Operation::Read, 0, 0), reason);
    }

    fn leave_behind(&mut self, now_ns: u64) {
        for outstanding in self.context.slots.outstanding() {
            self.answers.outcome.leave(now_ns, &outstanding);
        }
    }

    /// Fill free slots with the I/Os that may be issued now, up to a batch.
    fn play(&mut self, now_ns: u64, since_start_ns: u64) {
        let Some(mut playback) = self.playback.take() else { return };
        let mut batch_bytes = 0;
        loop {
            playback.cue = playback.player.cue(since_start_ns);
            match playback.cue {
                Cue::Issue(_) if !self.has_room(batch_bytes) => break,
                Cue::Issue(io) => {
                    let staged = playback.staged.take();
                    let free = staged.map(|(slot, _)| slot).or_else(|| self.context.slots.reserve());
                    let Some(slot) = free else {
                        playback.player.no_room(since_start_ns);
                        break;
                    };
                    // Another one may come first than was cued, or in its place.
                    if staged.is_none_or(|(_, staged)| staged != io) {
                        self.fill(slot, &io);
                    }
                    self.context.queue.push(slot, &io);
                    self.context.slots.take_reserved(slot, &io, None);
                    playback.player.issued(slot);
                    self.batched += 1;
                    batch_bytes += bytes_filled(&io);
                }
                Cue::At(_, io) => {
                    // What is due already goes first.
                    if self.batched == 0 && playback.staged.is_none() {
                        playback.staged = self.context.slots.reserve().map(|slot| (slot, io));
                        if let Some((slot, _)) = playback.staged {
                            self.fill(slot, &io);
                        }
                    }
                    break;
                }
                Cue::Answer | Cue::Reader | Cue::End => break,
            }
        }
        if let Some(reason) = playback.player.broken() {
            self.fail(now_ns, reason.to_owned());
        }
        self.playback = Some(playback);
    }

    /// The I/Os that were submitted last kept the thread until now.
    fn submission_ended(&mut self) {
        let since_start_ns = self.context.clock.now_ns().saturating_sub(self.origin_ns);
        if let Some(playback) = &mut self.playback {
            playback.player.submission_ended(since_start_ns);
        }
    }
}

/// Bytes whose making delays the submission.
fn bytes_filled(io: &Io) -> u32 {
    if io.operation == Operation::Write { io.length_bytes } else { 0 }
}
