//! Decides when the next I/O of a schedule may be issued. Times are ns since the stream's start.

use super::format::{FARTHEST_PARENT, ScheduleError, ScheduledIo, UNKNOWN_LATENCY};
use super::played::{Cause, LATE_NS, Played};
use super::read_ahead::{Next, ReadAhead};
use super::{Conflicts, Mode, Replay};
use crate::workload::operation::{Io, Operation};

const RING_IOS: usize = FARTHEST_PARENT as usize + 1;
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
}

/// Plays one schedule.
#[derive(Debug)]
pub struct Player {
    ahead: ReadAhead,
    mode: Mode,
    conflicts: Conflicts,
    head: Option<ScheduledIo>,
    /// Its number in the schedule.
    index: u64,
    /// I/Os that are neither issued nor left out.
    left: u64,
    /// The head was found in conflict already.
    is_counted: bool,
    flights: Vec<Flight>,
    /// Of those, the last ones that are not submitted.
    prepared: usize,
    writes: usize,
    flushes: usize,
    /// Reads and writes that are submitted.
    executing: usize,
    busy_since_ns: u64,
    /// When each of the last I/Os was answered: parents are among them.
    answered_ns: Box<[u64]>,
    /// What the head waits for, though it is due, and since when.
    waits: Option<(Cause, u64)>,
    /// Until when the cause held last.
    until_ns: [u64; Cause::ALL.len()],
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
            head: None,
            index: 0,
            left: scheduled.min(ios),
            is_counted: false,
            flights: Vec::with_capacity(1024),
            prepared: 0,
            writes: 0,
            flushes: 0,
            executing: 0,
            busy_since_ns: 0,
            answered_ns: vec![0; ring].into(),
            waits: None,
            until_ns: [0; Cause::ALL.len()],
            last: None,
            highest: 0,
            broken: None,
            played: Played { stream, scheduled, ..Played::default() },
        }
    }

    /// Whether everything is issued or left out.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Why there is an end before the end.
    #[must_use]
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// What may be done at this moment.
    pub fn cue(&mut self, now_ns: u64) -> Cue {
        if let Some((cause, since_ns)) = self.waits.take() {
            self.until_ns[cause as usize] = now_ns;
            self.played.waited_ns[cause as usize] += now_ns.saturating_sub(since_ns);
        }
        loop {
            let head = match self.head {
                Some(head) => head,
                None => match self.fetch(now_ns) {
                    Ok(head) => head,
                    Err(cue) => return cue,
                },
            };
            let io = Io { fua: head.fua, ..Io::new(head.operation, head.offset_bytes, head.length_bytes) };
            match self.due_ns(&head) {
                Due::Answer => return Cue::Answer,
                Due::At(due_ns) if due_ns > now_ns => return Cue::At(due_ns, io),
                Due::At(_) | Due::Now => (),
            }
            if !self.must_wait(&head, &io) {
                return Cue::Issue(io);
            }
            if self.conflicts != Conflicts::Drop || !self.is_counted {
                self.waits = Some((Cause::Order, now_ns));
                return Cue::Answer;
            }
            self.played.dropped += 1;
            if let Some(answered_ns) = self.answered_ns.get_mut(self.index as usize % RING_IOS) {
                *answered_ns = now_ns;
            }
            self.advance();
            if self.left == 0 {
                return Cue::End;
            }
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
        self.broken = Some(reason);
        Cue::End
    }

    #[inline]
    fn due_ns(&self, head: &ScheduledIo) -> Due {
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

    /// Whether the head has to wait for others in flight though it is due; a conflict is counted once.
    fn must_wait(&mut self, head: &ScheduledIo, io: &Io) -> bool {
        if head.after_flush && self.flushes > 0 {
            return true;
        }
        if !io.operation.is_addressed() {
            let began_ns = head.due_ns;
            return self.writes > 0
                && self.flights.iter().any(|one| changes(&one.io) && one.traced_done_ns <= began_ns);
        }
        if self.writes == 0 && !changes(io) {
            return false;
        }
        let conflicts =
            self.flights.iter().any(|one| (changes(io) || changes(&one.io)) && overlap(io, &one.io));
        if conflicts && !self.is_counted {
            self.is_counted = true;
            self.played.conflicts += 1;
        }
        conflicts && self.conflicts != Conflicts::Allow
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
        let head = self.head.expect("a cue");
        let due_ns = match self.due_ns(&head) {
            Due::At(due_ns) => Some(due_ns),
            Due::Now | Due::Answer => None,
        };
        let io = Io { fua: head.fua, ..Io::new(head.operation, head.offset_bytes, head.length_bytes) };
        let is_traced = head.latency_ns != UNKNOWN_LATENCY;
        let (faster, slower) = self.ahead.header().speed;
        let traced_done_ns = match (is_traced, faster == slower) {
            // Before any flush: it is waited for.
            (false, _) => 0,
            (true, true) => head.due_ns.saturating_add(head.latency_ns),
            (true, false) => head.due_ns.saturating_add(scaled(head.latency_ns, slower, faster)),
        };
        if let Some(answered_ns) = self.answered_ns.get_mut(self.index as usize % RING_IOS) {
            *answered_ns = UNANSWERED;
        }
        self.writes += usize::from(changes(&io));
        self.flushes += usize::from(!io.operation.is_addressed());
        let traced = is_traced.then_some(head.in_flight);
        let index = self.index;
        self.flights.push(Flight { slot, index, io, due_ns, submitted_ns: 0, traced_done_ns, traced });
        self.prepared += 1;
        self.advance();
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
            self.highest = flight.index;
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
            slipped(now_ns.saturating_sub(due_ns.max(excused_ns)));
            if slip_ns > LATE_NS {
                played.late[cause_of(due_ns, now_ns, &self.until_ns) as usize] += 1;
            }
            if let Some((before_ns, due_before_ns)) = self.last.replace((now_ns, due_ns)) {
                let (gap_ns, due_gap_ns) = (now_ns - before_ns, due_ns.abs_diff(due_before_ns));
                played.gap_errors.record(gap_ns.abs_diff(due_gap_ns));
            }
        }
    }

    /// The submission itself took until this moment.
    pub fn submission_ended(&mut self, now_ns: u64) {
        self.until_ns[Cause::Device as usize] = now_ns;
    }

    /// The I/O in this slot was answered, well or not.
    pub fn answered(&mut self, slot: usize, now_ns: u64) {
        let Some(position) = self.flights.iter().position(|flight| flight.slot == slot) else { return };
        let flight = self.flights.swap_remove(position);
        self.writes -= usize::from(changes(&flight.io));
        self.flushes -= usize::from(!flight.io.operation.is_addressed());
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
        if self.index - flight.index < RING_IOS as u64
            && let Some(answered_ns) = self.answered_ns.get_mut(flight.index as usize % RING_IOS)
        {
            *answered_ns = now_ns;
        }
    }

    /// How true the replay was.
    #[must_use]
    pub fn take_played(&mut self) -> Played {
        std::mem::take(&mut self.played)
    }
}

/// When the head is due.
enum Due {
    /// With the submission.
    Now,
    At(u64),
    /// Not before others are answered.
    Answer,
}

/// What covers most of the time from due moment to submission, if it covers half of it.
fn cause_of(due_ns: u64, now_ns: u64, until_ns: &[u64; Cause::ALL.len()]) -> Cause {
    let covered_ns = |cause: Cause| until_ns[cause as usize].min(now_ns).saturating_sub(due_ns);
    let others = Cause::ALL.into_iter().filter(|cause| *cause != Cause::Host);
    // Of equals the first in this order: who waits for room also waits while others are submitted.
    let most = others.rev().max_by_key(|cause| covered_ns(*cause)).unwrap_or(Cause::Host);
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
