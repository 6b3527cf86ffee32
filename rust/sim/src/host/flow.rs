//! What one of the workload's threads issues in a step, and when it may.

use openpts_core::workload::{Arrivals, Carried, Io, Operation, Step, Stimulus, Stream};

use crate::drive::Drive;
use crate::time::{NEVER, PS_PER_NS, Ps};

/// I/Os that are drawn ahead for all threads together: enough to bridge a fetch from memory.
const AHEAD_IOS: usize = 64;
/// And for one thread, at most.
const MOST_AHEAD_IOS: usize = 32;

/// One thread of the workload in one step.
pub(super) struct Flow<'a> {
    stream: Stream<'a>,
    ahead: Ahead,
    arrivals: Option<Planned>,
    /// Slots without an I/O, where arrivals decide on the next one.
    pub(super) free: Vec<u32>,
    /// Nothing is issued from here on: all is, and it was long enough.
    pub(super) ends_ps: Ps,
}

struct Planned {
    arrivals: Arrivals,
    next_ns: u64,
}

impl<'a> Flow<'a> {
    /// What is in a slot before its first I/O.
    pub(super) const NOTHING: Io = Io::new(Operation::Read, 0, 0);

    pub(super) fn new(
        step: &Step,
        stimulus: &Stimulus,
        sector_bytes: u32,
        thread: u32,
        carried: &'a mut Carried,
    ) -> Self {
        let mut stream = Stream::new(step, stimulus, sector_bytes, thread, carried);
        let arrivals = Arrivals::new(stimulus.pacing, stimulus.tc, thread).map(|mut arrivals| {
            let next_ns = arrivals.next_ns(stream.random());
            Planned { arrivals, next_ns }
        });
        let ahead = Ahead::new(step, stimulus);
        Self { stream, ahead, arrivals, free: Vec::with_capacity(stimulus.qd as usize), ends_ps: NEVER }
    }

    /// The next I/O; there is one as long as [`Self::is_spent`] does not hold.
    #[inline]
    pub(super) fn next(&mut self, drive: &dyn Drive) -> Io {
        if self.ahead.depth == 0 {
            return self.stream.next().expect("the caller asked whether all is issued");
        }
        self.ahead.next(&mut self.stream, drive)
    }

    /// Whether the thread's share of the stop rule's amounts is issued.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.ahead.drawn == 0 && self.stream.is_spent()
    }

    /// The amount was reached too early: go on without it.
    pub(super) fn go_on(&mut self) {
        self.stream.go_on();
    }

    /// The ramp-up is over: amounts count from here.
    pub(super) fn count_from_here(&mut self) {
        self.stream.count_from_here();
    }

    /// When the next I/O is planned, since the step's start; [`NEVER`] if it never is.
    #[inline]
    pub(super) fn planned_ps(&self) -> Ps {
        self.arrivals.as_ref().map_or(NEVER, |planned| planned.next_ns.saturating_mul(PS_PER_NS))
    }

    /// The planned I/O was issued.
    #[inline]
    pub(super) fn advance(&mut self) {
        if let Some(planned) = &mut self.arrivals {
            planned.next_ns = planned.arrivals.next_ns(self.stream.random());
        }
    }

    /// Whether the thread never issues anything: it has no share of the bursts.
    pub(super) fn is_never(&self) -> bool {
        self.arrivals.as_ref().is_some_and(|planned| planned.next_ns == u64::MAX)
    }

    /// I/Os that were planned for a time before this one, since the step's start, and not issued.
    pub(super) fn backlog(&mut self, since_start_ps: Ps) -> u64 {
        let since_start_ns = since_start_ps.div_ceil(PS_PER_NS);
        match &self.arrivals {
            Some(planned) if planned.next_ns < since_start_ns => {
                planned.arrivals.count_until(planned.next_ns, since_start_ns, self.stream.random())
            }
            _ => 0,
        }
    }
}

/// I/Os that are drawn before they are issued, so that the drive can fetch what it needs for them.
///
/// Only where all places are random. There a stream is a sequence of independent draws, and what a thread
/// carries to the next step is the state of its random function alone: leaving the last few draws unused
/// at the end of a step skips numbers, the same in every equal run, and neither repeats an offset nor
/// leaves one out. A sequential stream would skip a piece of its range, and an amount that begins to count
/// within the step would not count what was drawn before; they are drawn one by one.
struct Ahead {
    ios: [Io; MOST_AHEAD_IOS],
    /// 0: draw nothing ahead.
    depth: usize,
    first: usize,
    drawn: usize,
}

impl Ahead {
    fn new(step: &Step, stimulus: &Stimulus) -> Self {
        let is_counted = step.stop.amount_bytes.is_some() || step.stop.ios.is_some();
        let may = stimulus.random_pct == 100 && !(is_counted && step.ramp_ns > 0);
        let depth = (AHEAD_IOS / stimulus.tc as usize).clamp(1, MOST_AHEAD_IOS);
        Self { ios: [Flow::NOTHING; MOST_AHEAD_IOS], depth: if may { depth } else { 0 }, first: 0, drawn: 0 }
    }

    #[inline]
    fn next(&mut self, stream: &mut Stream<'_>, drive: &dyn Drive) -> Io {
        if self.drawn < self.depth {
            self.fill(stream, drive);
        }
        let io = self.ios[self.first % MOST_AHEAD_IOS];
        self.first += 1;
        self.drawn -= 1;
        // One for one: what is fetched now is needed a whole depth later.
        self.draw(stream, drive);
        io
    }

    #[inline]
    fn draw(&mut self, stream: &mut Stream<'_>, drive: &dyn Drive) {
        if let Some(io) = stream.next() {
            drive.prefetch(&io);
            self.ios[(self.first + self.drawn) % MOST_AHEAD_IOS] = io;
            self.drawn += 1;
        }
    }

    /// At the beginning, and when little is left to be drawn.
    #[cold]
    fn fill(&mut self, stream: &mut Stream<'_>, drive: &dyn Drive) {
        while self.drawn < self.depth && !stream.is_spent() {
            self.draw(stream, drive);
        }
    }
}
