//! Decides when the next I/O of a schedule may be issued. Times are ns since the stream's start.

use super::format::{FARTHEST_PARENT, ScheduleError, ScheduledIo, UNKNOWN_LATENCY};
use super::played::{Cause, LATE_NS, Played};
use super::read_ahead::{Next, ReadAhead};
use super::{Conflicts, Mode, Replay};
use crate::workload::operation::{Io, Operation};

const RING_IOS: usize = FARTHEST_PARENT as usize + 1;
/// Most I/Os that are pushed back; while there are so many, those behind them wait for the next one as well.
const MOST_HELD: usize = 256;
/// In the ring of answers: there is none yet.
const UNANSWERED: u64 = u64::MAX;

/// What a player may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    /// Issue this I/O.
    Issue(Io),
    /// Issue this I/O, but not before this moment.
    At(u64, Io),
    /// Look again when one of those in flight is answered.
    Answer,
    /// Look again soon: the schedule's reader is behind.
    Reader,
    /// There is nothing more to issue.
    End,
}

/// An I/O that was issued and not answered.
#[derive(Clone, Copy, Debug)]
struct Flight {
    slot: usize,
    index: u64,
    io: Io,
    due_ns: Option<u64>,
    submitted_ns: u64,
    /// When it was complete in the trace, on the schedule's axis.
    traced_done_ns: u64,
    traced: Option<u16>,
    /// Until when it was pushed back; 0 for never.
    held_until_ns: u64,
}

/// An I/O that is due and pushed back: it waits for one in flight, or for one before it that waits.
#[derive(Clone, Copy, Debug)]
struct Held {
    head: ScheduledIo,
    index: u64,
    due_ns: Option<u64>,
}

/// What the last cue was about.
#[derive(Clone, Copy, Debug, Default)]
enum Chosen {
    #[default]
    Head,
    /// This one of those that are pushed back, free at this moment.
    Held(usize, u64),
}

/// Plays one schedule.
#[derive(Debug)]
pub struct Player {
    ahead: ReadAhead,
    mode: Mode,
    conflicts: Conflicts,
    /// The placement handle of its writes.
    handle: Option<u16>,
    head: Option<ScheduledIo>,
    /// Its number in the schedule.
    index: u64,
    /// I/Os that are neither issued nor left out.
    left: u64,
    /// The head was found in conflict already.
    is_counted: bool,
    /// In the order of the schedule.
    held: Vec<Held>,
    /// Since when there are any.
    held_since_ns: u64,
    /// One was answered since they were looked at: one of them may be free.
    is_freed: bool,
    chosen: Chosen,
    flights: Vec<Flight>,
    /// Of those, the last ones that are not submitted.
    prepared: usize,
    writes: usize,
    /// Reads and writes that are submitted.
    executing: usize,
    busy_since_ns: u64,
    /// When each of the last I/Os was answered: parents are among them.
    answered_ns: Box<[u64]>,
    /// What the head waits for, though it is due, and since when.
    waits: Option<(Cause, u64)>,
    /// Until when the cause held last.
    until_ns: [u64; Cause::ALL.len()],
    /// When the thread was last seen here.
    seen_ns: u64,
    last: Option<(u64, u64)>,
    highest: u64,
    broken: Option<String>,
    played: Played,
}

impl Player {
    /// Begin to read; `ios` of them are played. A patient one waits for its reader.
    ///
    /// # Errors
    /// If it is no schedule.
    pub fn open(replay: &Replay, stream: usize, ios: u64, is_patient: bool) -> Result<Self, ScheduleError> {
        Ok(Self::on(ReadAhead::open(&replay.path, is_patient)?, replay, stream, ios))
    }

    pub(super) fn on(ahead: ReadAhead, replay: &Replay, stream: usize, ios: u64) -> Self {
        let scheduled = ahead.header().ios;
        let ring = if replay.mode == Mode::Dependent { RING_IOS } else { 0 };
        Self {
            ahead,
            mode: replay.mode,
            conflicts: replay.conflicts,
            handle: None,
            head: None,
            index: 0,
            left: scheduled.min(ios),
            is_counted: false,
            held: Vec::new(),
            held_since_ns: 0,
            is_freed: false,
            chosen: Chosen::Head,
            flights: Vec::with_capacity(1024),
            prepared: 0,
            writes: 0,
            executing: 0,
            busy_since_ns: 0,
            answered_ns: vec![0; ring].into(),
            waits: None,
            until_ns: [0; Cause::ALL.len()],
            seen_ns: 0,
            last: None,
            highest: 0,
            broken: None,
            played: Played { stream, scheduled, ..Played::default() },
        }
    }

    /// Its writes name this placement handle.
    #[must_use]
    pub fn with_handle(self, handle: Option<u16>) -> Self {
        Self { handle, ..self }
    }

    /// What is issued for a record of the schedule.
    fn io(&self, scheduled: &ScheduledIo) -> Io {
        let handle = if scheduled.operation == Operation::Write { self.handle } else { None };
        Io { handle, ..scheduled.io() }
    }

    /// Whether everything is issued or left out.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.left == 0 && self.held.is_empty()
    }

    /// Why there is an end before the end.
    #[must_use]
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// What may be done at this moment.
    pub fn cue(&mut self, now_ns: u64) -> Cue {
        let seen_ns = std::mem::replace(&mut self.seen_ns, now_ns);
        if let Some((cause, since_ns)) = self.waits.take() {
            self.until_ns[cause as usize] = now_ns;
            self.played.waited_ns[cause as usize] += now_ns.saturating_sub(since_ns);
        } else if now_ns.saturating_sub(seen_ns) > LATE_NS {
            // It had nothing else to wait for: what was due meanwhile is late because it was not there.
            self.until_ns[Cause::Host as usize] = now_ns;
        }
        if let Some(io) = self.freed(now_ns) {
            return Cue::Issue(io);
        }
        self.chosen = Chosen::Head;
        loop {
            let head = match self.head {
                Some(head) => head,
                None => match self.fetch(now_ns) {
                    Ok(head) => head,
                    Err(Cue::End) if !self.held.is_empty() => return Cue::Answer,
                    Err(cue) => return cue,
                },
            };
            let io = self.io(&head);
            let due = self.due(&head);
            match due {
                Due::Answer => return Cue::Answer,
                Due::At(due_ns) if due_ns > now_ns => return Cue::At(due_ns, io),
                Due::At(_) | Due::Now => (),
            }
            if !self.must_wait(&head, &io) {
                return Cue::Issue(io);
            }
            if self.conflicts == Conflicts::PushBack && self.held.len() < MOST_HELD {
                self.push_back(head, due, now_ns);
                continue;
            }
            if self.conflicts != Conflicts::Drop || !self.is_counted {
                self.waits = Some((Cause::Order, now_ns));
                return Cue::Answer;
            }
            self.played.dropped += 1;
            self.mark(self.index, now_ns);
            self.advance();
            if self.left == 0 {
                return Cue::End;
            }
        }
    }

    /// The first of those that are pushed back which nothing is in the way of.
    fn freed(&mut self, now_ns: u64) -> Option<Io> {
        if !self.is_freed || self.held.is_empty() {
            return None;
        }
        let free = (0..self.held.len()).find(|place| {
            let Held { head, index, .. } = &self.held[*place];
            let (io, before) = (head.io(), &self.held[..*place]);
            !self.follows_flush(head, *index, before) && !self.is_in_conflict(&io, before)
        });
        self.is_freed = free.is_some();
        free.map(|place| {
            self.chosen = Chosen::Held(place, now_ns);
            self.io(&self.held[place].head)
        })
    }

    fn push_back(&mut self, head: ScheduledIo, due: Due, now_ns: u64) {
        self.mark(self.index, UNANSWERED);
        if self.held.is_empty() {
            self.held_since_ns = now_ns;
        }
        self.held.push(Held { head, index: self.index, due_ns: due.moment_ns() });
        self.advance();
    }

    fn mark(&mut self, index: u64, answered_ns: u64) {
        if let Some(place) = self.answered_ns.get_mut(index as usize % RING_IOS) {
            *place = answered_ns;
        }
    }

    fn fetch(&mut self, now_ns: u64) -> Result<ScheduledIo, Cue> {
        if self.left == 0 {
            return Err(Cue::End);
        }
        match self.ahead.next() {
            Next::Io(head) => Ok(*self.head.insert(head)),
            Next::NotYet => {
                self.waits = Some((Cause::Reader, now_ns));
                Err(Cue::Reader)
            }
            Next::End => Err(self.end("it has fewer I/Os than its header says".into())),
            Next::Broken(reason) => Err(self.end(reason)),
        }
    }

    #[cold]
    fn end(&mut self, reason: String) -> Cue {
        self.left = 0;
        self.held.clear();
        self.broken = Some(reason);
        Cue::End
    }

    #[inline]
    fn due(&self, head: &ScheduledIo) -> Due {
        match self.mode {
            Mode::Timed => Due::At(head.due_ns),
            Mode::Afap => Due::Now,
            Mode::Load if self.flights.len() > usize::from(head.in_flight) => Due::Answer,
            Mode::Load => Due::Now,
            Mode::Dependent => {
                let parents = head.parents.iter().filter(|back| **back > 0);
                let answers = parents.map(|back| {
                    let index = self.index.saturating_sub(u64::from(*back));
                    self.answered_ns[index as usize % RING_IOS]
                });
                match answers.max() {
                    None => Due::At(head.due_ns),
                    Some(UNANSWERED) => Due::Answer,
                    Some(answered_ns) => Due::At(answered_ns.saturating_add(head.slack_ns)),
                }
            }
        }
    }

    /// Whether the head has to wait for others though it is due; a conflict is counted once.
    fn must_wait(&mut self, head: &ScheduledIo, io: &Io) -> bool {
        if self.follows_flush(head, self.index, &self.held) {
            return true;
        }
        let conflicts = self.is_in_conflict(io, &self.held);
        if conflicts && !self.is_counted {
            self.is_counted = true;
            self.played.conflicts += 1;
        }
        conflicts && self.conflicts != Conflicts::Allow
    }

    /// Whether it is a flush that waits for writes before it, or a write that waits for a flush before it; in
    /// flight, or pushed back.
    fn follows_flush(&self, head: &ScheduledIo, index: u64, before: &[Held]) -> bool {
        let is_write = head.operation.is_addressed();
        if (is_write && !head.after_flush) || (!is_write && self.writes == 0 && before.is_empty()) {
            return false;
        }
        let precedes = |other: &Io, done_ns: u64| match is_write {
            true => !other.operation.is_addressed(),
            false => changes(other) && done_ns <= head.due_ns,
        };
        self.flights.iter().any(|one| one.index < index && precedes(&one.io, one.traced_done_ns))
            || before.iter().any(|one| precedes(&one.head.io(), self.traced_done_ns(&one.head)))
    }

    /// Whether it overlaps one in flight, or one that is pushed back before it, and one of the two changes data.
    fn is_in_conflict(&self, io: &Io, before: &[Held]) -> bool {
        let meets = |other: &Io| (changes(io) || changes(other)) && overlap(io, other);
        if !io.operation.is_addressed() {
            return false;
        }
        ((self.writes > 0 || changes(io)) && self.flights.iter().any(|one| meets(&one.io)))
            || before.iter().any(|one| meets(&one.head.io()))
    }

    /// When it was complete in the trace, on the schedule's axis; 0 if that is not known, so that it is before
    /// any flush.
    fn traced_done_ns(&self, head: &ScheduledIo) -> u64 {
        let (faster, slower) = self.ahead.header().speed;
        match (head.latency_ns, faster == slower) {
            (UNKNOWN_LATENCY, _) => 0,
            (latency_ns, true) => head.due_ns.saturating_add(latency_ns),
            (latency_ns, false) => head.due_ns.saturating_add(scaled(latency_ns, slower, faster)),
        }
    }

    fn advance(&mut self) {
        self.head = None;
        self.is_counted = false;
        self.index += 1;
        self.left -= 1;
    }

    /// The I/O of the cue finds no room.
    pub fn no_room(&mut self, now_ns: u64) {
        self.waits = Some((Cause::Depth, now_ns));
    }

    /// The I/O of the cue is in this slot, and is submitted with the next submission.
    pub fn issued(&mut self, slot: usize) {
        let (head, index, due_ns, held_until_ns) = match std::mem::take(&mut self.chosen) {
            Chosen::Head => {
                let head = self.head.expect("a cue");
                let (index, due_ns) = (self.index, self.due(&head).moment_ns());
                self.mark(index, UNANSWERED);
                self.advance();
                (head, index, due_ns, 0)
            }
            Chosen::Held(place, now_ns) => {
                let Held { head, index, due_ns } = self.held.remove(place);
                if self.held.is_empty() {
                    self.played.waited_ns[Cause::Order as usize] += now_ns.saturating_sub(self.held_since_ns);
                }
                (head, index, due_ns, now_ns)
            }
        };
        let (io, traced_done_ns) = (head.io(), self.traced_done_ns(&head));
        self.writes += usize::from(changes(&io));
        let traced = (head.latency_ns != UNKNOWN_LATENCY).then_some(head.in_flight);
        self.flights.push(Flight {
            slot,
            index,
            io,
            due_ns,
            submitted_ns: 0,
            traced_done_ns,
            traced,
            held_until_ns,
        });
        self.prepared += 1;
    }

    /// All that were issued since the last submission are submitted now. `slipped` gets what each of them is
    /// late for the host's own sake.
    pub fn submitted(&mut self, now_ns: u64, mut slipped: impl FnMut(u64)) {
        let first = self.flights.len() - std::mem::take(&mut self.prepared);
        let played = &mut self.played;
        let excused_ns = self.until_ns[1..].iter().copied().max().unwrap_or(0);
        for position in first..self.flights.len() {
            let flight = &mut self.flights[position];
            flight.submitted_ns = now_ns;
            played.issued += 1;
            played.first_submission_ns.get_or_insert(now_ns);
            if flight.index < self.highest {
                played.reordered += 1;
            }
            self.highest = self.highest.max(flight.index);
            if matches!(flight.io.operation, Operation::Read | Operation::Write) {
                if self.executing == 0 {
                    self.busy_since_ns = now_ns;
                }
                self.executing += 1;
            }
            if let Some(traced) = flight.traced {
                played.in_flight.add(traced, position);
            }
            let Some(due_ns) = flight.due_ns else { continue };
            if now_ns < due_ns {
                played.early += 1;
            }
            let slip_ns = now_ns.saturating_sub(due_ns);
            played.slips.record(slip_ns);
            played.last_slip_ns = slip_ns;
            slipped(now_ns.saturating_sub(due_ns.max(excused_ns).max(flight.held_until_ns)));
            if slip_ns > LATE_NS {
                let was_held = flight.held_until_ns.saturating_sub(due_ns) > slip_ns / 2;
                let cause = if was_held { Cause::Order } else { cause_of(due_ns, now_ns, &self.until_ns) };
                played.late[cause as usize] += 1;
            }
            if let Some((before_ns, due_before_ns)) = self.last.replace((now_ns, due_ns)) {
                let (gap_ns, due_gap_ns) = (now_ns - before_ns, due_ns.abs_diff(due_before_ns));
                played.gap_errors.record(gap_ns.abs_diff(due_gap_ns));
            }
        }
    }

    /// The submission itself took until this moment.
    pub fn submission_ended(&mut self, now_ns: u64) {
        self.seen_ns = now_ns;
        self.until_ns[Cause::Device as usize] = now_ns;
    }

    /// The I/O in this slot was answered, well or not.
    pub fn answered(&mut self, slot: usize, now_ns: u64) {
        let Some(position) = self.flights.iter().position(|flight| flight.slot == slot) else { return };
        let flight = self.flights.swap_remove(position);
        self.writes -= usize::from(changes(&flight.io));
        if matches!(flight.io.operation, Operation::Read | Operation::Write) {
            self.executing -= 1;
            if self.executing == 0 {
                self.played.busy_ns += now_ns.saturating_sub(self.busy_since_ns);
            }
        }
        self.played.last_answer_ns = now_ns;
        if let Some(due_ns) = flight.due_ns {
            self.played.due_latencies.of_mut(flight.io.operation).record(now_ns.saturating_sub(due_ns));
        }
        // One that is as far back as the ring is long has lost its place in it.
        if self.index - flight.index < RING_IOS as u64 {
            self.mark(flight.index, now_ns);
        }
        self.is_freed = true;
    }

    /// How true the replay was.
    #[must_use]
    pub fn take_played(&mut self) -> Played {
        std::mem::take(&mut self.played)
    }
}

/// When the head is due.
#[derive(Clone, Copy)]
enum Due {
    /// With the submission.
    Now,
    At(u64),
    /// Not before others are answered.
    Answer,
}

impl Due {
    const fn moment_ns(self) -> Option<u64> {
        match self {
            Self::At(due_ns) => Some(due_ns),
            Self::Now | Self::Answer => None,
        }
    }
}

/// What covers most of the time from due moment to submission, if it covers half of it.
fn cause_of(due_ns: u64, now_ns: u64, until_ns: &[u64; Cause::ALL.len()]) -> Cause {
    // What the thread was not there for is no other cause's, though one may hold once it is back.
    let back_ns = until_ns[Cause::Host as usize].clamp(due_ns, now_ns);
    let covered_ns = |cause: Cause| match cause {
        Cause::Host => back_ns - due_ns,
        other => until_ns[other as usize].min(now_ns).saturating_sub(back_ns),
    };
    // Of equals the first in this order: who waits for room also waits while others are submitted.
    let most = Cause::ALL.into_iter().rev().max_by_key(|cause| covered_ns(*cause)).unwrap_or(Cause::Host);
    if covered_ns(most) >= (now_ns - due_ns) / 2 { most } else { Cause::Host }
}

#[inline]
fn changes(io: &Io) -> bool {
    matches!(io.operation, Operation::Write | Operation::Trim)
}

#[inline]
fn overlap(left: &Io, right: &Io) -> bool {
    left.offset_bytes < right.offset_bytes + u64::from(right.length_bytes)
        && right.offset_bytes < left.offset_bytes + u64::from(left.length_bytes)
}

/// `time_ns * part / whole`, rounded.
fn scaled(time_ns: u64, part: u32, whole: u32) -> u64 {
    let product = u128::from(time_ns) * u128::from(part) + u128::from(whole) / 2;
    u64::try_from(product / u128::from(whole)).unwrap_or(u64::MAX)
}
