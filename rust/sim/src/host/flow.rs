//! What one of the workload's threads issues in a step, and when it may.

use openpts_core::workload::{
    Arrivals, Carried, Coupling, Cue, Io, IoStream, Operation, Pacing, Played, Player, Quota, Step, Stream,
};

use super::pacing::SlotPacing;
use super::scaled_program::{ScaledStep, StreamTimes};
use crate::drive::Drive;
use crate::time::{NEVER, PS_PER_NS, PS_PER_S, Ps};

/// I/Os that are drawn ahead for all threads together: enough to bridge a fetch from memory.
const AHEAD_IOS: usize = 64;
/// And for one thread, at most.
const MOST_AHEAD_IOS: usize = 32;

/// One thread of the workload in one step.
pub(super) struct Flow<'a> {
    ios: IoStream<'a>,
    ahead: Ahead,
    turns: Turns,
    /// Of a schedule, in place of those.
    player: Option<Box<Player>>,
    /// The I/O that it lets go now.
    cued: Io,
    /// Why the schedule can't be played.
    pub(super) broken: Option<String>,
    /// The number of its stream.
    pub(super) stream: usize,
    pub(super) pacing: SlotPacing,
    times: StreamTimes,
    /// Whether its stream has a share.
    pub(super) is_coupled: bool,
    /// Whether the others wait for it.
    takes_part: bool,
    /// It waits for others whose shares are not issued.
    pub(super) is_held: bool,
    /// The stream's start.
    pub(super) origin_ps: Ps,
    /// Slots without an I/O, where the thread decides on the next one.
    pub(super) free: Vec<u32>,
    /// Nothing is issued from here on: all is, and it was long enough, or the stream's time is over.
    pub(super) ends_ps: Ps,
}

/// Whose turn it is, where it is the thread that decides.
enum Turns {
    /// It does not.
    Free,
    Planned {
        arrivals: Arrivals,
        next_ns: u64,
    },
    /// The next batch begins at `next_ps`; that is known when this one is answered.
    Batches {
        ios: u32,
        rest_ps: Ps,
        issued: u32,
        in_flight: u32,
        next_ps: Ps,
        quota: Option<Quota>,
    },
    Capped(Quota),
}

impl Turns {
    fn new(stream: &Stream, thread: u32, ios: &mut IoStream<'_>) -> Self {
        let stimulus = &stream.stimulus;
        match stimulus.pacing {
            Pacing::Batches { ios, rest_ns, cap } => Self::Batches {
                ios,
                rest_ps: rest_ns.saturating_mul(PS_PER_NS),
                issued: 0,
                in_flight: 0,
                next_ps: 0,
                quota: cap.map(|cap| Quota::new(cap, stimulus.tc, PS_PER_S as f64)),
            },
            Pacing::Capped(cap) => Self::Capped(Quota::new(cap, stimulus.tc, PS_PER_S as f64)),
            pacing => match Arrivals::new(pacing, stimulus.tc, thread) {
                Some(mut arrivals) => {
                    let next_ns = arrivals.next_ns(ios.random());
                    Self::Planned { arrivals, next_ns }
                }
                None => Self::Free,
            },
        }
    }
}

impl<'a> Flow<'a> {
    /// What is in a slot before its first I/O.
    pub(super) const NOTHING: Io = Io::new(Operation::Read, 0, 0);

    pub(super) fn new(
        step: &ScaledStep,
        stream: usize,
        sector_bytes: u32,
        thread: u32,
        carried: &'a mut Carried,
    ) -> Self {
        let (number, times) = (stream, step.streams[stream]);
        let (step, stream) = (&step.step, &step.step.streams[stream]);
        let mut ios = IoStream::new(step, stream, sector_bytes, thread, carried);
        let ios_played = stream.bounds.ios.unwrap_or(u64::MAX);
        let player =
            stream.replay.as_ref().map(|replay| Player::open(replay, number, ios_played, true)).transpose();
        let broken = player.as_ref().err().map(ToString::to_string);
        Self {
            player: player
                .ok()
                .flatten()
                .map(|player| Box::new(player.with_handle(stream.stimulus.placement_handle))),
            cued: Self::NOTHING,
            broken,
            turns: Turns::new(stream, thread, &mut ios),
            ahead: Ahead::new(step, stream),
            stream: number,
            pacing: SlotPacing::new(stream),
            is_coupled: stream.share > 0,
            takes_part: stream.share > 0 && stream.delay_ns == 0,
            is_held: false,
            times,
            origin_ps: NEVER,
            free: Vec::with_capacity(stream.stimulus.qd as usize),
            ends_ps: NEVER,
            ios,
        }
    }

    /// The step's time begins at this moment.
    pub(super) fn begin_at(&mut self, start_ps: Ps) {
        self.origin_ps = start_ps.saturating_add(self.times.delay_ps);
    }

    /// Measuring begins at this moment: the stream's own time counts from here, or from its own start.
    pub(super) fn measure_from(&mut self, at_ps: Ps) {
        self.ends_ps = self.own_end_ps(at_ps);
    }

    /// When the stream's own time is over, measured from this moment or from its own start.
    pub(super) fn own_end_ps(&self, measured_ps: Ps) -> Ps {
        let began_ps = self.origin_ps.max(measured_ps);
        self.times.duration_ps.map_or(NEVER, |duration_ps| began_ps.saturating_add(duration_ps))
    }

    /// The time that the stream was given, as it was asked for.
    pub(super) fn duration_ns(&self) -> Option<u64> {
        self.times.duration_ns
    }

    /// The next I/O; there is one as long as [`Self::is_spent`] does not hold.
    #[inline]
    pub(super) fn next(&mut self, drive: &dyn Drive) -> Io {
        if self.player.is_some() {
            return self.cued;
        }
        if self.ahead.depth == 0 {
            return self.ios.next().expect("the caller asked whether all is issued");
        }
        self.ahead.next(&mut self.ios, drive)
    }

    /// Whether the thread's share of the stop rule's amounts is issued.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        if let Some(player) = &self.player {
            return player.is_spent();
        }
        self.ahead.drawn == 0 && self.ios.is_spent()
    }

    /// The amount was reached too early: go on without it.
    pub(super) fn go_on(&mut self) {
        self.ios.go_on();
    }

    /// The ramp-up is over: amounts count from here.
    pub(super) fn count_from_here(&mut self) {
        self.ios.count_from_here();
    }

    /// Whether it may issue its next I/O: it takes part from now on, and is not ahead of the others.
    pub(super) fn may_issue(&mut self, coupling: &Coupling) -> bool {
        if !self.takes_part {
            coupling.join(self.stream);
            self.takes_part = true;
        }
        self.is_held = !coupling.may_issue(self.stream);
        !self.is_held
    }

    /// It issues nothing more from this moment on: the others no longer wait for it.
    pub(super) fn leave_at_end(&mut self, coupling: &Coupling, at_ps: Ps) {
        if self.takes_part && (at_ps >= self.ends_ps || self.is_never()) {
            coupling.leave(self.stream);
            self.takes_part = false;
        }
    }

    /// When the thread's next I/O is due; [`NEVER`] if it never is, or not before others are answered.
    #[inline]
    pub(super) fn due_ps(&self) -> Ps {
        let since_start_ps = match &self.turns {
            Turns::Free if self.is_coupled => 0,
            Turns::Free => NEVER,
            Turns::Planned { next_ns, .. } => next_ns.saturating_mul(PS_PER_NS),
            Turns::Batches { ios, issued, .. } if issued == ios => NEVER,
            Turns::Batches { next_ps, quota, .. } => quota.as_ref().map_or(0, Quota::due).max(*next_ps),
            Turns::Capped(quota) => quota.due(),
        };
        self.origin_ps.saturating_add(since_start_ps)
    }

    /// Where the latency of an I/O begins that was due at one moment and is issued at another.
    #[inline]
    pub(super) fn begin_ps(&self, due_ps: Ps, at_ps: Ps) -> Ps {
        if matches!(self.turns, Turns::Planned { .. }) { due_ps } else { at_ps }
    }

    /// This I/O was issued.
    #[inline]
    pub(super) fn issued(&mut self, io: &Io) {
        match &mut self.turns {
            Turns::Free => (),
            Turns::Planned { arrivals, next_ns } => *next_ns = arrivals.next_ns(self.ios.random()),
            Turns::Batches { issued, in_flight, quota, .. } => {
                (*issued, *in_flight) = (*issued + 1, *in_flight + 1);
                quota.iter_mut().for_each(|quota| quota.issued(io.length_bytes));
            }
            Turns::Capped(quota) => quota.issued(io.length_bytes),
        }
    }

    /// Whether it plays a schedule.
    #[inline]
    pub(super) fn is_played(&self) -> bool {
        self.player.is_some()
    }

    /// Let the next I/O of the schedule go in a free slot, which is given; or when to look again.
    pub(super) fn play(&mut self, at_ps: Ps) -> Result<u32, Ps> {
        let now_ns = (at_ps - self.origin_ps) / PS_PER_NS;
        let Some(player) = &mut self.player else { return Err(NEVER) };
        match player.cue(now_ns) {
            Cue::Issue(io) => {
                let Some(place) = self.free.pop() else {
                    player.no_room(now_ns);
                    return Err(NEVER);
                };
                self.cued = io;
                player.issued(place as usize);
                player.submitted(now_ns, |_| ());
                Ok(place)
            }
            Cue::At(due_ns, _) => Err(self.origin_ps.saturating_add(due_ns.saturating_mul(PS_PER_NS))),
            Cue::Answer | Cue::Reader => Err(NEVER),
            Cue::End => {
                self.broken = player.broken().map(str::to_owned);
                Err(NEVER)
            }
        }
    }

    /// How true the replay was, if it is one.
    pub(super) fn take_played(&mut self) -> Option<Played> {
        self.player.as_mut().map(|player| player.take_played())
    }

    /// The one in this slot was answered; true if that makes another one due.
    #[inline]
    pub(super) fn answered(&mut self, place: usize, at_ps: Ps) -> bool {
        if let Some(player) = &mut self.player {
            player.answered(place, (at_ps - self.origin_ps) / PS_PER_NS);
            return true;
        }
        let Turns::Batches { ios, rest_ps, issued, in_flight, next_ps, .. } = &mut self.turns else {
            return false;
        };
        *in_flight -= 1;
        if *in_flight > 0 || issued != ios {
            return false;
        }
        (*issued, *next_ps) = (0, (at_ps - self.origin_ps).saturating_add(*rest_ps));
        true
    }

    /// Whether the thread never issues anything: it has no share of the bursts.
    pub(super) fn is_never(&self) -> bool {
        matches!(self.turns, Turns::Planned { next_ns: u64::MAX, .. })
    }

    /// I/Os that were planned for a time before this one and not issued.
    pub(super) fn backlog(&mut self, end_ps: Ps) -> u64 {
        let since_start_ns = end_ps.saturating_sub(self.origin_ps).div_ceil(PS_PER_NS);
        match &self.turns {
            Turns::Planned { arrivals, next_ns } if *next_ns < since_start_ns => {
                arrivals.count_until(*next_ns, since_start_ns, self.ios.random())
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
    fn new(step: &Step, stream: &Stream) -> Self {
        let (stop, bounds, stimulus) = (&step.stop, &stream.bounds, &stream.stimulus);
        let is_counted =
            [stop.amount_bytes, stop.ios, bounds.amount_bytes, bounds.ios].iter().any(Option::is_some);
        let may = stimulus.random_pct == 100 && !(is_counted && step.ramp_ns > 0);
        let depth = (AHEAD_IOS / stimulus.tc as usize).clamp(1, MOST_AHEAD_IOS);
        Self { ios: [Flow::NOTHING; MOST_AHEAD_IOS], depth: if may { depth } else { 0 }, first: 0, drawn: 0 }
    }

    #[inline]
    fn next(&mut self, ios: &mut IoStream<'_>, drive: &dyn Drive) -> Io {
        if self.drawn < self.depth {
            self.fill(ios, drive);
        }
        let io = self.ios[self.first % MOST_AHEAD_IOS];
        self.first += 1;
        self.drawn -= 1;
        // One for one: what is fetched now is needed a whole depth later.
        self.draw(ios, drive);
        io
    }

    #[inline]
    fn draw(&mut self, ios: &mut IoStream<'_>, drive: &dyn Drive) {
        if let Some(io) = ios.next() {
            drive.prefetch(&io);
            self.ios[(self.first + self.drawn) % MOST_AHEAD_IOS] = io;
            self.drawn += 1;
        }
    }

    /// At the beginning, and when little is left to be drawn.
    #[cold]
    fn fill(&mut self, ios: &mut IoStream<'_>, drive: &dyn Drive) {
        while self.drawn < self.depth && !ios.is_spent() {
            self.draw(ios, drive);
        }
    }
}
