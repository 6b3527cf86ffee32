//! One step on a simulated drive: keeps the slots as full as the pacing wants, moves time on from one
//! event to the next.

use openpts_core::capture::{CapturedIo, Tap};
use openpts_core::engine::{Answers, Outcome, Report, StepState, StreamResult, Tally};
use openpts_core::workload::{Carried, Coupling, Io, Pacing, Stream};

use super::context::Context;
use super::ending::Ending;
use super::events::Events;
use super::flow::Flow;
use super::intervals::{DriveReading, Intervals};
use super::pacing::{SlotPacing, next_on_ps};
use super::scaled_program::ScaledStep;
use crate::drive::{Answer, Completion, Drive};
use crate::scale::Scale;
use crate::time::{NEVER, PS_PER_NS, Ps};

/// Events from one look at the outside world to the next.
const LOOK_EVENTS: u32 = 1000;
/// How often each slot is answered before a scaled drive's step begins to count.
const LEAD_IN_GENERATIONS: u64 = 4;
/// What a capture says of an I/O that failed.
const ERRNO_IO: i32 = 5;

/// One of the I/Os that may be outstanding.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Where the latency begins: the submission, or the planned moment.
    begin_ps: Ps,
    io: Io,
    error: Option<&'static str>,
    thread: u32,
    in_flight: bool,
}

/// What comes out of a step.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    pub(super) whole: Box<Tally>,
    /// Of each stream, where there are several.
    pub(super) streams: Vec<StreamResult>,
    /// When the next step may begin.
    pub(super) ended_ps: Ps,
    /// How long what was outstanding at the end of its time took beyond that, where it counts for nothing.
    pub(super) drained_ps: Ps,
    /// How long the lead-in took.
    pub(super) lead_in_ps: Ps,
}

/// A step that runs.
pub(super) struct StepRun<'a> {
    context: &'a Context,
    index: u64,
    step: &'a ScaledStep,
    taps: &'a mut [Tap],
    drive: &'a mut dyn Drive,
    flows: Vec<Flow<'a>>,
    /// Of streams with shares.
    coupling: Option<Coupling>,
    slots: Vec<Slot>,
    /// When each slot's I/O is answered, or the slot woken; behind them, when each thread's next I/O is due.
    events: Events,
    intervals: Intervals<'a>,
    ending: Ending,
    answers: Answers,
    /// Each stream's last answer to an I/O that counts.
    last_completions: Vec<Option<Ps>>,
    /// After the lead-in.
    start_ps: Ps,
    /// Answers until then, and its length.
    lead_in_ios: u64,
    lead_in_ps: Ps,
    now_ps: Ps,
    /// When the ramp-up or the running interval is over.
    edge_ps: Ps,
    /// What is answered after the step's time counts, with the time that it took.
    ///
    /// On a drive in its own size always. A simulated request stands for many, but as many are outstanding
    /// on either drive: counted as all others are, its drain would be that many times as long.
    counts_drain: bool,
    in_flight: u64,
    deferred: u64,
    answered: Vec<(u32, Completion)>,
    until_look: u32,
}

impl<'a> StepRun<'a> {
    #[expect(clippy::too_many_arguments, reason = "what lasts longer than the step, piece by piece")]
    pub(super) fn new(
        context: &'a Context,
        index: u64,
        step: &'a ScaledStep,
        carried: &'a mut [Carried],
        taps: &'a mut [Tap],
        drive: &'a mut dyn Drive,
        start_ps: Ps,
        follows_load: bool,
        report: &'a mut dyn FnMut(Report),
    ) -> Self {
        let streams = &step.step.streams;
        let flow = |(carried, thread)| {
            let (stream, thread) = step.step.part_of(thread).expect("no more than there are");
            Flow::new(step, stream, context.sector_bytes, thread, carried)
        };
        let flows: Vec<_> = carried.iter_mut().zip(0..step.step.tc()).map(flow).collect();
        let slot = |thread| Slot { begin_ps: 0, io: Flow::NOTHING, error: None, thread, in_flight: false };
        let qds = streams.iter().flat_map(|stream| (0..stream.stimulus.tc).map(|_| stream.stimulus.qd));
        let slots: Vec<_> =
            (0..).zip(qds).flat_map(|(thread, qd)| (0..qd).map(move |_| slot(thread))).collect();
        let lead_in_ios = if follows_load { lead_in_ios(context.wishes.scale, step) } else { 0 };
        let (steady, reading) = (step.step.stop.steady, DriveReading::by(drive, start_ps));
        let intervals = Intervals::new(context.wishes, index, steady, streams.len(), reading, report);
        Self {
            events: Events::new(slots.len() + flows.len()),
            ending: Ending::new(step, NEVER),
            edge_ps: NEVER,
            answers: Answers::default(),
            last_completions: vec![None; streams.len()],
            in_flight: 0,
            deferred: 0,
            answered: Vec::with_capacity(slots.len()),
            until_look: LOOK_EVENTS,
            counts_drain: context.wishes.scale == Scale::ONE,
            now_ps: start_ps,
            coupling: Coupling::of(&step.step),
            context,
            index,
            step,
            taps,
            drive,
            flows,
            slots,
            intervals,
            start_ps,
            lead_in_ios,
            lead_in_ps: 0,
        }
    }

    /// Issue until the stop rule says so, then drain.
    pub(super) fn run(mut self) -> Ran {
        self.begin();
        loop {
            let (at_ps, place) = self.events.first();
            if self.deferred > 0 && self.take_answers(at_ps) {
                continue;
            }
            if at_ps == NEVER {
                return self.end();
            }
            self.until_look -= 1;
            if self.until_look == 0 {
                self.look();
            }
            if place >= self.slots.len() {
                self.arrive(place - self.slots.len(), at_ps);
            } else if self.slots[place].in_flight {
                let counts = self.counts(place, at_ps);
                self.pass(if counts { at_ps } else { self.ending.end_ps() });
                self.now_ps = at_ps;
                self.complete(place, at_ps, counts);
                if self.lead_in_ios > 0 {
                    self.lead_in(at_ps);
                }
                self.go_on(place, at_ps);
            } else if self.wake(self.slots[place].thread as usize, at_ps) {
                self.issue(place, at_ps, at_ps);
            } else {
                self.events.set(place, NEVER);
            }
        }
    }

    /// All slots may issue at once, or as soon as their threads' arrivals are due.
    fn begin(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.begin_at(self.start_ps));
        if self.lead_in_ios == 0 {
            self.begin_time(self.start_ps);
        }
        self.halt_if_told();
        for place in (0..self.slots.len()).rev() {
            let flow = &mut self.flows[self.slots[place].thread as usize];
            if let SlotPacing::ByThread = flow.pacing {
                flow.free.push(u32::try_from(place).expect("a slot's number"));
            } else {
                self.events.set(place, flow.origin_ps);
            }
        }
        for thread in 0..self.flows.len() {
            self.fail_if_broken(thread);
            if let SlotPacing::ByThread = self.flows[thread].pacing {
                self.set_arrival(thread, self.flows[thread].origin_ps);
            }
        }
    }

    /// The step's time begins at this moment.
    #[cold]
    fn begin_time(&mut self, at_ps: Ps) {
        self.lead_in_ps = at_ps - self.start_ps;
        self.start_ps = at_ps;
        let origin_ps = at_ps + self.step.ramp_ps;
        self.intervals.begin_at(origin_ps, DriveReading::by(self.drive, at_ps));
        self.ending = Ending::new(self.step, origin_ps);
        for flow in &mut self.flows {
            flow.begin_at(at_ps);
            flow.measure_from(origin_ps);
        }
        self.answers.measuring = self.step.ramp_ps == 0;
        self.edge_ps = if self.answers.measuring { self.intervals.end_ps() } else { origin_ps };
    }

    /// When the nominal drive would have come to this moment, without the lead-in.
    fn nominal_ns(&self, at_ps: Ps) -> u64 {
        self.context.nominal_ns(at_ps).saturating_sub(self.context.wishes.scale.nominal_ns(self.lead_in_ps))
    }

    /// See to what happens outside of virtual time.
    #[cold]
    fn look(&mut self) {
        self.until_look = LOOK_EVENTS;
        self.context.progress.advance(self.answers.take_progress(), self.now_ps);
        self.context.drive.tell(self.drive, self.now_ps);
        self.halt_if_told();
    }

    fn halt_if_told(&mut self) {
        if let Some(state) = self.context.halt.halted() {
            self.answers.outcome.state = state;
            self.ending.halt(self.now_ps);
        }
    }

    /// Take the answers that the drive had held back, if the next of them comes before this moment.
    fn take_answers(&mut self, before_ps: Ps) -> bool {
        let next_ps = self.drive.next_answer_ps();
        if next_ps > before_ps || next_ps == NEVER {
            return false;
        }
        self.drive.answer_until(next_ps.max(self.now_ps), &mut self.answered);
        self.deferred -= self.answered.len() as u64;
        let any = !self.answered.is_empty();
        for (place, completion) in self.answered.drain(..) {
            let place = place as usize;
            self.slots[place].error = completion.error;
            self.events.set(place, completion.at_ps.max(self.now_ps));
        }
        any
    }

    /// Whether what is answered at this moment is part of the result.
    #[inline]
    fn counts(&mut self, place: usize, at_ps: Ps) -> bool {
        at_ps <= self.ending.end_ps() || self.counts_drain || self.counts_late(place)
    }

    /// Of what an amount asked for everything counts, and of a step that was stopped, or too short for any
    /// answer, all that it has.
    #[cold]
    fn counts_late(&mut self, place: usize) -> bool {
        self.counts_drain =
            self.answers.last_completion().is_none() || self.answers.outcome.state != StepState::Complete;
        let flow = &self.flows[self.slots[place].thread as usize];
        self.counts_drain || !self.ending.ends_by_time(flow)
    }

    /// Time goes on: intervals that end before this moment are over.
    #[inline]
    fn pass(&mut self, at_ps: Ps) {
        while self.edge_ps < at_ps {
            self.pass_edge();
        }
    }

    /// Time goes on to a moment at which a thread may issue something; false if the step has ended for it
    /// before that, and time does not go on for its sake.
    fn wake(&mut self, thread: usize, at_ps: Ps) -> bool {
        let ends_ps = self.flows[thread].ends_ps;
        while self.edge_ps < at_ps.min(ends_ps).min(self.ending.end_ps()) {
            self.pass_edge();
        }
        if at_ps >= ends_ps.min(self.ending.end_ps()) {
            return false;
        }
        if self.in_flight == 0 && at_ps > self.now_ps {
            self.drive.idle_until(at_ps);
        }
        self.now_ps = at_ps;
        true
    }

    #[cold]
    fn pass_edge(&mut self) {
        if !self.answers.measuring {
            self.answers.measuring = true;
            self.flows.iter_mut().for_each(Flow::count_from_here);
        } else if self.intervals.roll_over(self.in_flight, DriveReading::by(self.drive, self.edge_ps)) {
            self.ending.steady(self.edge_ps);
        }
        self.edge_ps = self.intervals.end_ps();
    }

    /// A slot's I/O is answered.
    #[inline]
    fn complete(&mut self, place: usize, at_ps: Ps, counts: bool) {
        let slot = &mut self.slots[place];
        slot.in_flight = false;
        self.in_flight -= 1;
        self.answers.answered(at_ps, counts);
        let stream = self.flows[slot.thread as usize].stream;
        if self.answers.measuring && counts {
            self.last_completions[stream] = Some(at_ps);
        }
        // To the nearest nanosecond.
        let latency_ns = (at_ps - slot.begin_ps + PS_PER_NS / 2) / PS_PER_NS;
        let slot = *slot;
        if counts && self.lead_in_ios == 0 && !self.taps.is_empty() {
            self.capture(&slot, latency_ns);
        }
        if let Some(reason) = slot.error {
            return self.fail(stream, &slot.io, reason);
        }
        self.answers.done(self.intervals.counts_mut(stream), &slot.io, latency_ns, counts);
    }

    /// An I/O of the lead-in was answered: the step's time begins with the last of them.
    #[cold]
    fn lead_in(&mut self, at_ps: Ps) {
        self.lead_in_ios -= 1;
        if self.lead_in_ios == 0 {
            self.begin_time(at_ps);
        }
    }

    #[cold]
    fn fail(&mut self, stream: usize, io: &Io, reason: &str) {
        self.context.halt.count_error(io.operation);
        let at_ns = self.nominal_ns(self.now_ps);
        self.answers.failed(self.intervals.counts_mut(stream), at_ns, io, reason.to_owned());
        self.halt_if_told();
    }

    #[cold]
    fn capture(&mut self, slot: &Slot, latency_ns: u64) {
        let step = u32::try_from(self.index).expect("a step's number");
        self.taps[slot.thread as usize].record(
            step,
            CapturedIo {
                submitted_ns: self.nominal_ns(slot.begin_ps),
                latency_ns,
                offset_bytes: slot.io.offset_bytes * u64::from(self.context.wishes.scale.factor()),
                length_bytes: slot.io.length_bytes,
                operation: slot.io.operation,
                result: if slot.error.is_some() { ERRNO_IO } else { 0 },
            },
        );
    }

    /// A slot is free again.
    #[inline]
    fn go_on(&mut self, place: usize, at_ps: Ps) {
        let thread = self.slots[place].thread as usize;
        let flow = &mut self.flows[thread];
        match flow.pacing {
            SlotPacing::ClosedLoop => self.issue(place, at_ps, at_ps),
            SlotPacing::DutyCycle(cycle) => {
                let on_ps = flow.origin_ps + next_on_ps(cycle, at_ps - flow.origin_ps);
                if on_ps > at_ps { self.events.set(place, on_ps) } else { self.issue(place, at_ps, at_ps) }
            }
            SlotPacing::ThinkTime(think_ps) => self.events.set(place, at_ps.saturating_add(think_ps)),
            SlotPacing::ByThread => {
                self.events.set(place, NEVER);
                flow.free.push(u32::try_from(place).expect("a slot's number"));
                // With another free slot, the thread is to be woken for its next I/O already.
                if flow.answered(place, at_ps) || flow.free.len() == 1 {
                    self.serve(thread, at_ps);
                }
            }
        }
    }

    /// Issue what is due in a thread.
    fn arrive(&mut self, thread: usize, at_ps: Ps) {
        if self.wake(thread, at_ps) {
            self.serve(thread, at_ps);
        } else {
            self.set_arrival(thread, NEVER);
        }
    }

    /// Issue what is due in the thread now, as far as slots are free; be woken for what is due later.
    fn serve(&mut self, thread: usize, at_ps: Ps) {
        if self.flows[thread].is_played() {
            return self.play(thread, at_ps);
        }
        loop {
            let flow = &mut self.flows[thread];
            let due_ps = flow.due_ps();
            if due_ps > at_ps && !flow.free.is_empty() {
                return self.set_arrival(thread, due_ps);
            }
            let is_coupled = flow.is_coupled;
            if is_coupled && at_ps < flow.ends_ps && !flow.free.is_empty() && self.is_held(thread, at_ps) {
                return;
            }
            let flow = &mut self.flows[thread];
            let slot = if at_ps < flow.ends_ps.min(self.ending.end_ps()) { flow.free.pop() } else { None };
            let Some(place) = slot else { return self.set_arrival(thread, NEVER) };
            let begin_ps = flow.begin_ps(due_ps, at_ps);
            self.issue(place as usize, at_ps, begin_ps);
            if is_coupled {
                self.issued_of_share(thread, at_ps);
            }
        }
    }

    /// Issue what a schedule lets go now.
    fn play(&mut self, thread: usize, at_ps: Ps) {
        let ends_ps = self.ending.end_ps();
        loop {
            let flow = &mut self.flows[thread];
            let look_ps = if at_ps < flow.ends_ps.min(ends_ps) { flow.play(at_ps) } else { Err(NEVER) };
            match look_ps {
                Ok(place) => self.issue(place as usize, at_ps, at_ps),
                Err(look_ps) => {
                    self.set_arrival(thread, look_ps);
                    return self.fail_if_broken(thread);
                }
            }
        }
    }

    fn fail_if_broken(&mut self, thread: usize) {
        if let Some(reason) = self.flows[thread].broken.take() {
            self.context.halt.fail();
            self.fail(self.flows[thread].stream, &Flow::NOTHING, &reason);
        }
    }

    /// Whether a thread of a stream with a share has to wait for others. It is woken when one of them has
    /// issued its share or is at its end.
    fn is_held(&mut self, thread: usize, at_ps: Ps) -> bool {
        let Some(coupling) = &self.coupling else { return false };
        self.flows.iter_mut().for_each(|flow| flow.leave_at_end(coupling, at_ps));
        if self.flows[thread].may_issue(coupling) {
            return false;
        }
        let ends = self.flows.iter().filter(|flow| flow.is_coupled && flow.ends_ps > at_ps);
        let next_end_ps = ends.map(|flow| flow.ends_ps).min().unwrap_or(NEVER);
        self.set_arrival(thread, next_end_ps);
        true
    }

    /// A thread of a stream with a share has issued an I/O: with a whole round, others may go on.
    fn issued_of_share(&mut self, thread: usize, at_ps: Ps) {
        let Some(coupling) = &self.coupling else { return };
        let flow = &mut self.flows[thread];
        let is_round = coupling.issued(flow.stream);
        flow.leave_at_end(coupling, at_ps);
        if is_round || at_ps >= flow.ends_ps {
            for held in 0..self.flows.len() {
                if std::mem::take(&mut self.flows[held].is_held) {
                    self.set_arrival(held, at_ps);
                }
            }
        }
    }

    fn set_arrival(&mut self, thread: usize, at_ps: Ps) {
        self.events.set(self.slots.len() + thread, at_ps);
    }

    /// Issue the thread's next I/O in this slot, unless the step has ended for it.
    #[inline]
    fn issue(&mut self, place: usize, at_ps: Ps, begin_ps: Ps) {
        let slot = &mut self.slots[place];
        let flow = &mut self.flows[slot.thread as usize];
        if at_ps >= flow.ends_ps.min(self.ending.end_ps()) {
            return self.events.set(place, NEVER);
        }
        let io = flow.next(self.drive);
        flow.issued(&io);
        *slot = Slot { begin_ps, io, in_flight: true, ..*slot };
        self.in_flight += 1;
        #[expect(clippy::cast_possible_truncation, reason = "a slot's number")]
        let answer = self.drive.submit(&io, place as u32, at_ps);
        match answer {
            Answer::Known(completion) => {
                slot.error = completion.error;
                self.events.set(place, completion.at_ps.max(at_ps));
            }
            Answer::Deferred => {
                self.deferred += 1;
                self.events.set(place, NEVER);
            }
        }
        if self.answers.outcome.first_submission_ns.is_none() {
            self.answers.outcome.first_submission_ns = Some(self.context.nominal_ns(at_ps));
        }
        if flow.is_spent() {
            flow.ends_ps = at_ps.max(self.ending.long_enough_ps()).min(flow.ends_ps);
            if at_ps < flow.ends_ps {
                flow.go_on();
            }
        }
    }

    /// Nothing is outstanding, and nothing more will be issued.
    fn end(mut self) -> Ran {
        self.give_up_unanswered();
        if let Some(end_ps) = self.flows.iter().filter_map(|flow| self.ending.time_ends_ps(flow)).max() {
            while self.edge_ps < end_ps {
                self.pass_edge();
            }
            if end_ps > self.now_ps {
                self.drive.idle_until(end_ps);
                self.now_ps = end_ps;
            }
        }
        let in_time_ps = if self.counts_drain { self.now_ps } else { self.now_ps.min(self.ending.end_ps()) };
        let counted_ps = in_time_ps.max(self.answers.last_completion().unwrap_or(0));
        let drained_ps = self.now_ps - counted_ps;
        while self.answers.measuring && self.intervals.end_ps() <= counted_ps {
            let reading = DriveReading::by(self.drive, self.intervals.end_ps());
            self.intervals.roll_over(0, reading);
        }
        self.context.progress.advance(self.answers.take_progress(), self.now_ps);
        self.answers.outcome.started_ns =
            self.answers.measuring.then(|| self.nominal_ns(self.ending.origin_ps()));
        self.answers.outcome.last_completion_ns =
            self.answers.last_completion().map(|at_ps| self.nominal_ns(at_ps));
        // As many as on the nominal drive were outstanding, and they took as long.
        let last_answer_ps = self.answers.last_answer().map(|last_ps| last_ps.min(counted_ps));
        self.answers.outcome.last_answer_ns = last_answer_ps
            .map(|at_ps| self.nominal_ns(at_ps))
            .map(|last_ns| last_ns + drained_ps / PS_PER_NS);
        self.answers.outcome.played = self.flows.iter_mut().filter_map(Flow::take_played).collect();
        let outcomes = self.stream_outcomes();
        for one in &outcomes {
            let outcome = &mut self.answers.outcome;
            outcome.ended_by = outcome.ended_by.max(one.ended_by);
            outcome.nominal_end_ns = outcome.nominal_end_ns.max(one.nominal_end_ns);
            outcome.unissued += one.unissued;
        }
        let reading = DriveReading::by(self.drive, self.now_ps);
        let (whole, counts) = self.intervals.end(self.answers.last_completion(), counted_ps, reading);
        let started_ns = self.answers.outcome.started_ns.unwrap_or(0);
        Ran {
            outcome: self.answers.outcome,
            whole,
            streams: StreamResult::all(&self.step.step, started_ns, &counts, &outcomes),
            ended_ps: self.now_ps,
            drained_ps,
            lead_in_ps: self.lead_in_ps,
        }
    }

    /// How each stream went; the step's own outcome is known but for what ended it.
    fn stream_outcomes(&mut self) -> Vec<Outcome> {
        let origin_ps = self.ending.origin_ps();
        let mut outcomes = vec![Outcome::default(); self.last_completions.len()];
        for flow in &self.flows {
            let outcome = &mut outcomes[flow.stream];
            let started_ps = origin_ps.max(flow.origin_ps);
            outcome.state = self.answers.outcome.state;
            outcome.started_ns = self.answers.measuring.then(|| self.nominal_ns(started_ps));
            outcome.last_completion_ns =
                self.last_completions[flow.stream].map(|at_ps| self.nominal_ns(at_ps));
        }
        self.ending.note(&mut outcomes, &mut self.flows, self.answers.outcome.started_ns);
        outcomes
    }

    /// A drive that never answers what it has deferred ends the session.
    fn give_up_unanswered(&mut self) {
        for place in 0..self.slots.len() {
            if self.slots[place].in_flight {
                let Slot { io, thread, .. } = self.slots[place];
                self.context.halt.fail();
                self.fail(self.flows[thread as usize].stream, &io, "the drive never answers");
            }
        }
    }
}

/// How many I/Os of a step are answered before its time begins: none on a drive in its own size.
///
/// A queue that begins empty is served faster than it is ever after, until each slot was answered a few
/// times. That takes as long on the small drive as on the large one, but is so many times as large a share of
/// the step that is simulated. An amount is to be counted from its first byte, and what is paced is not
/// limited by the queue.
fn lead_in_ios(scale: Scale, step: &ScaledStep) -> u64 {
    let (stop, streams) = (&step.step.stop, &step.step.streams);
    let is_counted = stop.amount_bytes.is_some() || stop.ios.is_some();
    let is_limited = |stream: &Stream| {
        stream.delay_ns > 0
            || stream.share > 0
            || stream.bounds.any()
            || stream.stimulus.pacing != Pacing::ClosedLoop
    };
    if scale == Scale::ONE || is_counted || streams.iter().any(is_limited) {
        return 0;
    }
    let outstanding = |stream: &Stream| u64::from(stream.stimulus.tc) * u64::from(stream.stimulus.qd);
    LEAD_IN_GENERATIONS * streams.iter().map(outstanding).sum::<u64>()
}
