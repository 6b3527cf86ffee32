//! A die: programs and erases as a backlog of work, reads that go first and may suspend them.

use crate::time::{Ps, ps_of_us};

/// A whole suspension, in the unit in which a die earns them.
const SUSPENSION: u64 = 1 << 40;

/// Work of one kind that reads may interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellWork {
    /// How long it takes.
    pub length_ps: Ps,
    /// Suspensions that a picosecond of it earns.
    earns: u64,
    /// Suspensions that it allows altogether.
    most: u64,
}

impl CellWork {
    /// Work of this length that may be suspended so many times.
    #[must_use]
    pub fn new(length_us: f64, suspensions: f64) -> Self {
        let length_ps = ps_of_us(length_us);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
        let most = (suspensions * SUSPENSION as f64).round() as u64;
        Self { length_ps, earns: most / length_ps.max(1), most }
    }
}

/// What a suspension costs, and how long reads may keep all else waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// From the read's arrival to its start when it suspends something.
    pub suspend_ps: Ps,
    /// Longest time without progress of what waits.
    pub patience_ps: Ps,
}

/// One die. Calls need not come in the order of their moments: an earlier one counts as if it came with the
/// latest seen so far where that can't be told apart any more.
#[derive(Clone, Copy, Debug)]
pub struct Die {
    /// The latest moment that was looked at.
    seen_ps: Ps,
    /// Programs, erases and moved reads that are not done by then.
    backlog_ps: Ps,
    /// Until when reads are planned.
    reads_until_ps: Ps,
    /// When the backlog last became smaller or began.
    progress_ps: Ps,
    /// Suspensions in stock.
    suspensions: u64,
    /// What the backlog ends with.
    last: CellWork,
}

impl Die {
    /// Nothing to do.
    #[must_use]
    pub const fn new() -> Self {
        let last = CellWork { length_ps: 1, earns: 0, most: 0 };
        Self { seen_ps: 0, backlog_ps: 0, reads_until_ps: 0, progress_ps: 0, suspensions: 0, last }
    }

    /// Nothing to do but something that nothing else interrupts.
    #[must_use]
    pub const fn taken_until(moment_ps: Ps) -> Self {
        Self { reads_until_ps: moment_ps, ..Self::new() }
    }

    /// Let the backlog run where no read is in its way.
    #[inline]
    fn run_until(&mut self, moment_ps: Ps) {
        if moment_ps <= self.seen_ps {
            return;
        }
        let from_ps = self.seen_ps.max(self.reads_until_ps);
        if self.backlog_ps > 0 && moment_ps > from_ps {
            let done_ps = (moment_ps - from_ps).min(self.backlog_ps);
            self.progress(from_ps, done_ps);
        }
        self.seen_ps = moment_ps;
    }

    /// Work off a part of the backlog; gives the moment at which it is done.
    #[inline]
    fn progress(&mut self, from_ps: Ps, done_ps: Ps) -> Ps {
        self.backlog_ps -= done_ps;
        let earned = done_ps.min(self.last.length_ps) * self.last.earns;
        self.suspensions = (self.suspensions + earned).min(self.last.most);
        self.progress_ps = from_ps + done_ps;
        self.progress_ps
    }

    /// A read that arrives then; gives the moment at which its array time is over.
    #[inline]
    pub fn read(&mut self, arrival_ps: Ps, read_ps: Ps, manners: Manners) -> Ps {
        self.run_until(arrival_ps);
        let mut start_ps = arrival_ps.max(self.reads_until_ps);
        if self.backlog_ps > 0 {
            if start_ps.saturating_sub(self.progress_ps) > manners.patience_ps {
                start_ps = self.finish_one(start_ps);
            } else if self.reads_until_ps <= arrival_ps {
                if self.suspensions >= SUSPENSION {
                    self.suspensions -= SUSPENSION;
                    start_ps = arrival_ps + manners.suspend_ps;
                } else {
                    start_ps = self.finish_running(arrival_ps);
                }
            }
        }
        self.reads_until_ps = start_ps + read_ps;
        if self.backlog_ps > 0 && start_ps < self.seen_ps {
            // The backlog was let run further than to this read, which takes its time away from it.
            self.backlog_ps += self.reads_until_ps.min(self.seen_ps) - start_ps;
        }
        self.reads_until_ps
    }

    /// Let what runs now come to its end.
    #[inline]
    fn finish_running(&mut self, now_ps: Ps) -> Ps {
        self.progress(now_ps, self.backlog_ps % self.last.length_ps)
    }

    /// Reads have kept all else waiting for too long: one piece of work goes first.
    #[cold]
    fn finish_one(&mut self, now_ps: Ps) -> Ps {
        match self.backlog_ps % self.last.length_ps {
            0 => self.progress(now_ps, self.last.length_ps.min(self.backlog_ps)),
            rest_ps => self.progress(now_ps, rest_ps),
        }
    }

    /// The read that was planned last brings more pages, whose transfer keeps the die.
    #[inline]
    pub fn extend_read(&mut self, by_ps: Ps) {
        self.reads_until_ps += by_ps;
    }

    /// A program or erase that arrives then; gives the moment at which it is done if no read comes.
    #[inline]
    pub fn work(&mut self, arrival_ps: Ps, work: CellWork) -> Ps {
        self.add(arrival_ps, work.length_ps);
        self.last = work;
        self.done_ps(arrival_ps)
    }

    /// Reads for moving pages, in line with programs.
    #[inline]
    pub fn add(&mut self, arrival_ps: Ps, length_ps: Ps) {
        self.run_until(arrival_ps);
        if self.backlog_ps == 0 {
            self.progress_ps = self.progress_ps.max(arrival_ps);
        }
        self.backlog_ps += length_ps;
    }

    /// When the backlog is done if no read comes.
    #[inline]
    #[must_use]
    pub fn done_ps(&self, now_ps: Ps) -> Ps {
        now_ps.max(self.seen_ps.max(self.reads_until_ps) + self.backlog_ps)
    }
}

impl Default for Die {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
