//! What was written, and what of it was acknowledged, in the order in which the host saw it.

use std::time::{Duration, Instant};

use crate::workload::Uniform;

/// A drive that answers after a silence of so long, once its power is being cut, may have been off meanwhile:
/// the kernel sends again what was outstanding, and what is acknowledged then was not before the cut.
const SILENCE: Duration = Duration::from_millis(500);

/// What the writers do.
#[derive(Clone, Debug)]
pub struct Load {
    /// Size of a logical block.
    pub sector_bytes: u32,
    /// Logical blocks that are written to, from the first of the drive on.
    pub sectors: u64,
    /// Lengths of writes, in sectors; each is as likely as any other.
    pub write_sectors: Vec<u32>,
    /// I/Os that are outstanding at the same time.
    pub writers: u32,
    /// Writes from one flush to the next, on average.
    pub writes_per_flush: u32,
    /// Share of the writes with Force Unit Access.
    pub fua_pct: u32,
    /// Seed of places, lengths and kinds.
    pub seed: u64,
}

impl Load {
    /// The longest write, in sectors.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.write_sectors.iter().copied().max().unwrap_or(1)
    }
}

/// A write. Ticks count what the host saw: each submission and each acknowledgment is one later.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub(super) first: u64,
    pub(super) sectors: u32,
    pub(super) through: bool,
    pub(super) submitted: u64,
    pub(super) acknowledged: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) submitted: u64,
    pub(super) acknowledged: Option<u64>,
}

/// What to do next.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Stamp and write sectors.
    Write {
        /// Its number in the run.
        sequence: u64,
        /// The first sector.
        first: u64,
        /// How many.
        sectors: u32,
        /// With Force Unit Access.
        through: bool,
    },
    /// Flush the drive's cache: the number is that of the flush in the journal.
    Flush(usize),
}

/// The journal of the time from one cut to the next. No two writes that are outstanding at the same time
/// touch the same sector, so that the writes of a sector are in one order, which is that of their numbers.
#[derive(Debug)]
pub struct Journal {
    load: Load,
    /// Number of the first write.
    pub(super) base: u64,
    pub(super) writes: Vec<Write>,
    pub(super) flushes: Vec<Flush>,
    tick: u64,
    outstanding: Vec<(u64, u32)>,
    random: Uniform,
    last_answer: Instant,
    is_cutting: bool,
    is_closed: bool,
    failure: Option<String>,
}

impl Journal {
    /// An empty one, of the run's writes from number `base` on.
    #[must_use]
    pub fn new(load: Load, base: u64) -> Self {
        let random = Uniform::for_thread(load.seed ^ base.rotate_left(32), 0);
        let last_answer = Instant::now();
        let (writes, flushes, outstanding) = (Vec::new(), Vec::new(), Vec::new());
        let (is_cutting, is_closed, failure) = (false, false, None);
        Self {
            load,
            base,
            writes,
            flushes,
            tick: 0,
            outstanding,
            random,
            last_answer,
            is_cutting,
            is_closed,
            failure,
        }
    }

    /// What to do next, noted as submitted; None once the journal is closed.
    pub fn deal(&mut self) -> Option<Action> {
        if self.is_closed {
            return None;
        }
        self.tick += 1;
        let submitted = self.tick;
        if self.random.below(u64::from(self.load.writes_per_flush) + 1) == 0 {
            self.flushes.push(Flush { submitted, acknowledged: None });
            return Some(Action::Flush(self.flushes.len() - 1));
        }
        let lengths = &self.load.write_sectors;
        #[expect(clippy::cast_possible_truncation, reason = "below the length of a list")]
        let sectors = lengths[self.random.below(lengths.len() as u64) as usize];
        let first = loop {
            // Aligned to its length, as file systems and databases write.
            let first = self.random.below(self.load.sectors / u64::from(sectors)) * u64::from(sectors);
            if !self.outstanding.iter().any(|(at, length)| overlap((*at, *length), (first, sectors))) {
                break first;
            }
        };
        let through = self.random.below(100) < u64::from(self.load.fua_pct);
        let sequence = self.base + self.writes.len() as u64;
        self.outstanding.push((first, sectors));
        self.writes.push(Write { first, sectors, through, submitted, acknowledged: None });
        Some(Action::Write { sequence, first, sectors, through })
    }

    /// The drive has answered that this is done.
    pub fn acknowledge(&mut self, action: &Action) {
        let now = Instant::now();
        self.is_closed |= self.is_cutting && now.duration_since(self.last_answer) >= SILENCE;
        self.last_answer = now;
        if self.is_closed {
            return;
        }
        self.tick += 1;
        match *action {
            Action::Flush(number) => self.flushes[number].acknowledged = Some(self.tick),
            Action::Write { sequence, first, .. } => {
                #[expect(clippy::cast_possible_truncation, reason = "an index of the list")]
                let write = &mut self.writes[(sequence - self.base) as usize];
                write.acknowledged = Some(self.tick);
                self.outstanding.retain(|(at, _)| *at != first);
            }
        }
    }

    /// The drive has answered that this failed, or is gone. It stays outstanding: some of it may be written.
    pub fn fail(&mut self, reason: &str) {
        if !self.is_cutting && !self.is_closed {
            self.failure.get_or_insert_with(|| reason.to_owned());
        }
    }

    /// From now on an I/O that fails is none of the drive's faults, and a silence is that of the cut.
    pub fn cut(&mut self) {
        self.is_cutting = true;
    }

    /// Nothing that is acknowledged from now on counts, and nothing is dealt any more.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Whether an answer came after a silence, or the journal was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// What failed before the power was cut.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The number that the next journal begins with.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base + self.writes.len() as u64
    }

    /// Writes and flushes that were acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> (u64, u64) {
        let writes = self.writes.iter().filter(|write| write.acknowledged.is_some()).count();
        let flushes = self.flushes.iter().filter(|flush| flush.acknowledged.is_some()).count();
        (writes as u64, flushes as u64)
    }
}

fn overlap((at, length): (u64, u32), (other, others_length): (u64, u32)) -> bool {
    at < other + u64::from(others_length) && other < at + u64::from(length)
}
