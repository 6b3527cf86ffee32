//! When a thread may issue its next I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use super::barrier::ActiveStep;
use crate::workload::{Arrivals, Coupling, DutyCycle, Io, Pacing, Quota, Stimulus, Stream, Uniform};

const NS_PER_S: f64 = 1e9;
/// After this time a thread that is ahead of others looks again where they are.
const LOOK_AGAIN_NS: u64 = 100_000;

/// What a thread may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Issue an I/O whose latency begins with its submission.
    Now,
    /// Issue an I/O that was planned for this moment, since the step's start.
    Planned(u64),
    /// Issue nothing before this moment, since the step's start.
    Wait(u64),
}

/// The pacing of one thread in one step. Times are ns since the step's start.
pub(super) enum Pace {
    ClosedLoop,
    Planned {
        arrivals: Arrivals,
        next_ns: u64,
    },
    DutyCycle(DutyCycle),
    ThinkTime {
        think_ns: u64,
        resting: VecDeque<(u64, usize)>,
    },
    /// The next batch begins at `next_ns`; that is known when this one is answered.
    Batches {
        ios: u32,
        rest_ns: u64,
        issued: u32,
        in_flight: u32,
        next_ns: u64,
        quota: Option<Quota>,
    },
    /// This thread's share of the cap.
    Capped(Quota),
    Coupled(Box<Coupled>),
}

/// Of a stream with a share: a pacing of its own, held back while the stream is ahead of others.
pub(super) struct Coupled {
    own: Pace,
    step: Arc<ActiveStep>,
    stream: usize,
    /// Whether the others wait for this thread.
    takes_part: bool,
}

impl Coupled {
    fn coupling(&self) -> &Coupling {
        self.step.coupling.as_ref().expect("a step with shares has one")
    }

    // Apart from the pacings that most streams have: a function that calls itself is not compiled into its caller.
    #[inline(never)]
    fn turn(&self, since_start_ns: u64) -> Turn {
        if self.coupling().may_issue(self.stream) {
            self.own.turn(since_start_ns)
        } else {
            Turn::Wait(since_start_ns.saturating_add(LOOK_AGAIN_NS))
        }
    }

    #[inline(never)]
    fn advance(&mut self, io: &Io, random: &mut Uniform) {
        self.coupling().issued(self.stream);
        self.own.advance(io, random);
    }

    #[inline(never)]
    fn rest(&mut self, slot: usize, since_start_ns: u64) -> bool {
        self.own.rest(slot, since_start_ns)
    }
}

impl Pace {
    /// The pacing of a thread that has this number among those of its stream.
    pub(super) fn of(step: &Arc<ActiveStep>, stream: usize, thread: u32, random: &mut Uniform) -> Self {
        let Stream { stimulus, delay_ns, share, .. } = &step.step.streams[stream];
        let own = Self::new(stimulus, thread, random);
        if *share == 0 {
            return own;
        }
        let step = Arc::clone(step);
        Self::Coupled(Box::new(Coupled { own, step, stream, takes_part: *delay_ns == 0 }))
    }

    fn new(stimulus: &Stimulus, thread: u32, random: &mut Uniform) -> Self {
        if let Some(mut arrivals) = Arrivals::new(stimulus.pacing, stimulus.tc, thread) {
            let next_ns = arrivals.next_ns(random);
            return Self::Planned { arrivals, next_ns };
        }
        if let Some(cycle) = DutyCycle::new(stimulus.pacing) {
            return Self::DutyCycle(cycle);
        }
        match stimulus.pacing {
            Pacing::ThinkTime { think_ns } => Self::ThinkTime { think_ns, resting: VecDeque::new() },
            Pacing::Batches { ios, rest_ns, cap } => {
                let quota = cap.map(|cap| Quota::new(cap, stimulus.tc, NS_PER_S));
                Self::Batches { ios, rest_ns, issued: 0, in_flight: 0, next_ns: 0, quota }
            }
            Pacing::Capped(cap) => Self::Capped(Quota::new(cap, stimulus.tc, NS_PER_S)),
            _ => Self::ClosedLoop,
        }
    }

    /// Whether moments since the step's start decide, rather than completions.
    pub(super) fn is_planned(&self) -> bool {
        match self {
            Self::Planned { .. } | Self::DutyCycle(_) | Self::Capped(_) => true,
            Self::Coupled(coupled) => coupled.own.is_planned(),
            _ => false,
        }
    }

    #[inline]
    pub(super) fn turn(&self, since_start_ns: u64) -> Turn {
        match self {
            Self::ClosedLoop => Turn::Now,
            Self::Planned { next_ns, .. } if *next_ns <= since_start_ns => Turn::Planned(*next_ns),
            Self::Planned { next_ns, .. } => Turn::Wait(*next_ns),
            Self::DutyCycle(cycle) if cycle.is_on(since_start_ns) => Turn::Now,
            Self::DutyCycle(cycle) => Turn::Wait(cycle.next_edge_ns(since_start_ns)),
            Self::ThinkTime { resting, .. } => match resting.front() {
                Some((ready_ns, _)) => Turn::Wait(*ready_ns),
                None => Turn::Now,
            },
            // With the answer to the last of the batch, its rest is known.
            Self::Batches { ios, issued, .. } if issued == ios => Turn::Wait(u64::MAX),
            Self::Batches { next_ns, quota, .. } => {
                let allowed_ns = quota.as_ref().map_or(0, Quota::due);
                Self::from(allowed_ns.max(*next_ns), since_start_ns)
            }
            Self::Capped(quota) => Self::from(quota.due(), since_start_ns),
            Self::Coupled(coupled) => coupled.turn(since_start_ns),
        }
    }

    fn from(next_ns: u64, since_start_ns: u64) -> Turn {
        if next_ns <= since_start_ns { Turn::Now } else { Turn::Wait(next_ns) }
    }

    /// This I/O was issued.
    #[inline]
    pub(super) fn advance(&mut self, io: &Io, random: &mut Uniform) {
        match self {
            Self::ClosedLoop | Self::DutyCycle(_) | Self::ThinkTime { .. } => (),
            Self::Planned { arrivals, next_ns } => *next_ns = arrivals.next_ns(random),
            Self::Batches { issued, in_flight, quota, .. } => {
                (*issued, *in_flight) = (*issued + 1, *in_flight + 1);
                quota.iter_mut().for_each(|quota| quota.issued(io.length_bytes));
            }
            Self::Capped(quota) => quota.issued(io.length_bytes),
            Self::Coupled(coupled) => coupled.advance(io, random),
        }
    }

    /// It will issue nothing more.
    pub(super) fn leave(&mut self) {
        if let Self::Coupled(coupled) = self
            && coupled.takes_part
        {
            coupled.coupling().leave(coupled.stream);
            coupled.takes_part = false;
        }
    }

    /// An I/O was answered: may its slot be used again at once?
    #[inline]
    pub(super) fn rest(&mut self, slot: usize, since_start_ns: u64) -> bool {
        match self {
            Self::ThinkTime { think_ns, resting } => {
                resting.push_back((since_start_ns.saturating_add(*think_ns), slot));
                false
            }
            Self::Batches { ios, rest_ns, issued, in_flight, next_ns, .. } => {
                *in_flight -= 1;
                if *in_flight == 0 && issued == ios {
                    (*issued, *next_ns) = (0, since_start_ns.saturating_add(*rest_ns));
                }
                true
            }
            Self::Coupled(coupled) => coupled.rest(slot, since_start_ns),
            _ => true,
        }
    }

    /// A slot that has rested long enough, of a stream that has begun.
    #[inline]
    pub(super) fn rested(&mut self, since_start_ns: u64) -> Option<usize> {
        match self {
            Self::ThinkTime { resting, .. } => {
                resting.front().filter(|(ready_ns, _)| *ready_ns <= since_start_ns)?;
                resting.pop_front().map(|(_, slot)| slot)
            }
            Self::Coupled(coupled) if !coupled.takes_part => {
                coupled.coupling().join(coupled.stream);
                coupled.takes_part = true;
                None
            }
            _ => None,
        }
    }

    /// Whether this thread will never issue anything: it has no share of the bursts.
    pub(super) fn is_never(&self) -> bool {
        match self {
            Self::Planned { next_ns, .. } => *next_ns == u64::MAX,
            Self::Coupled(coupled) => coupled.own.is_never(),
            _ => false,
        }
    }

    /// I/Os that were planned for a time before this one and not issued.
    pub(super) fn backlog(&self, since_start_ns: u64, random: &mut Uniform) -> u64 {
        match self {
            Self::Planned { arrivals, next_ns } if *next_ns < since_start_ns => {
                arrivals.count_until(*next_ns, since_start_ns, random)
            }
            Self::Coupled(coupled) => coupled.own.backlog(since_start_ns, random),
            _ => 0,
        }
    }
}
