//! How a step ended, for one thread or for all of them, and what went wrong in it.

use super::slots::Outstanding;
use super::slow::SlowIo;
use crate::workload::{Carried, Io, Played};

/// How a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepState {
    /// By its stop rule.
    #[default]
    Complete,
    /// The operator stopped the run.
    Interrupted,
    /// Too many I/Os failed, here or in another thread.
    Failed,
}

impl StepState {
    /// The word for records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// The rule that ended a complete step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndedBy {
    /// Its bytes or I/Os were used up.
    Amount,
    /// The tracked figure was steady.
    SteadyState,
    /// Its time was over.
    Duration,
}

impl EndedBy {
    /// The word for records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amount => "amount",
            Self::SteadyState => "steady_state",
            Self::Duration => "duration",
        }
    }
}

/// The first I/O that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When it was noticed, on the engine's clock.
    pub at_ns: u64,
    /// The I/O.
    pub io: Io,
    /// What went wrong, in words.
    pub reason: String,
}

/// Places that are kept of I/Os that failed alike.
const FIRST_OFFSETS: usize = 16;

/// I/Os of one operation that failed alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorTally {
    /// The operation's word.
    pub operation: &'static str,
    /// What went wrong, in words.
    pub reason: String,
    /// How many there were.
    pub count: u64,
    /// Where the first of them were.
    pub first_offsets_bytes: Vec<u64>,
}

/// How a step went, apart from what was counted. Times are on the engine's clock.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How the step ended.
    pub state: StepState,
    /// The rule that ended it.
    pub ended_by: Option<EndedBy>,
    /// When measuring began: the first submission, or the end of the ramp-up.
    pub started_ns: Option<u64>,
    /// The first submission, that of the ramp-up included.
    pub first_submission_ns: Option<u64>,
    /// The last answer to a measured I/O.
    pub last_completion_ns: Option<u64>,
    /// The last answer at all, that of the ramp-up included.
    pub last_answer_ns: Option<u64>,
    /// When the step's time was over.
    pub nominal_end_ns: Option<u64>,
    /// I/Os whose planned moment passed and that found no room until the end.
    pub unissued: u64,
    /// The first I/O that failed.
    pub failure: Option<Failure>,
    /// All that failed.
    pub errors: Vec<ErrorTally>,
    /// How true each replay was.
    pub played: Vec<Played>,
    /// I/Os that took long, where that was asked for.
    pub slow_ios: Vec<SlowIo>,
    /// Where the streams of the threads that took part stand at the end.
    pub(super) carried: Vec<(u32, Carried)>,
}

impl Outcome {
    /// That of a step without I/O, which ended when its time was over, or before that if it was stopped.
    #[must_use]
    pub fn of_idle(state: StepState, started_ns: u64, ended_ns: u64) -> Self {
        Self {
            state,
            ended_by: (state == StepState::Complete).then_some(EndedBy::Duration),
            started_ns: Some(started_ns),
            last_completion_ns: Some(ended_ns),
            last_answer_ns: Some(ended_ns),
            ..Self::default()
        }
    }

    /// When measuring began, of a step that began at `start_ns`, and how long it took from there. The time that
    /// was given counts, also where its last part was a planned pause.
    #[must_use]
    pub fn started_and_elapsed_ns(&self, start_ns: u64) -> (u64, u64) {
        let started_ns = self.started_ns.unwrap_or(start_ns);
        let ended_ns = self.last_completion_ns.max(self.nominal_end_ns);
        (started_ns, ended_ns.map_or(0, |ended_ns| ended_ns.saturating_sub(started_ns)))
    }

    /// Note an I/O that failed.
    pub fn fail(&mut self, at_ns: u64, io: &Io, reason: String) {
        self.fail_like(at_ns, io, &reason.clone(), reason);
    }

    /// Note an I/O that failed like others whose `reason` has details of its own.
    pub(super) fn fail_like(&mut self, at_ns: u64, io: &Io, alike: &str, reason: String) {
        let offset = io.offset_bytes;
        match self.errors.iter_mut().find(|error| error.is(io.operation.name(), alike)) {
            Some(error) => error.add(1, &[offset]),
            None => self.errors.push(ErrorTally {
                operation: io.operation.name(),
                reason: alike.to_owned(),
                count: 1,
                first_offsets_bytes: vec![offset],
            }),
        }
        self.failure.get_or_insert(Failure { at_ns, io: *io, reason });
    }

    /// Note an I/O that the device has not answered: that is all that can be said of it.
    pub(super) fn leave(&mut self, now_ns: u64, outstanding: &Outstanding) {
        let waited_s = now_ns.saturating_sub(outstanding.submitted_ns) / 1_000_000_000;
        self.fail(now_ns, &outstanding.io, format!("no answer within {waited_s} s"));
    }

    /// Add another thread's outcome of the same step.
    pub fn add(&mut self, other: Self) {
        self.state = self.state.max(other.state);
        self.ended_by = self.ended_by.max(other.ended_by);
        self.started_ns = earlier(self.started_ns, other.started_ns);
        self.first_submission_ns = earlier(self.first_submission_ns, other.first_submission_ns);
        self.last_completion_ns = self.last_completion_ns.max(other.last_completion_ns);
        self.last_answer_ns = self.last_answer_ns.max(other.last_answer_ns);
        self.nominal_end_ns = self.nominal_end_ns.max(other.nominal_end_ns);
        self.unissued += other.unissued;
        self.failure =
            [self.failure.take(), other.failure].into_iter().flatten().min_by_key(|failure| failure.at_ns);
        self.carried.extend(other.carried);
        self.played.extend(other.played);
        self.slow_ios.extend(other.slow_ios);
        for error in other.errors {
            match self.errors.iter_mut().find(|mine| mine.is(error.operation, &error.reason)) {
                Some(mine) => mine.add(error.count, &error.first_offsets_bytes),
                None => self.errors.push(error),
            }
        }
    }
}

impl ErrorTally {
    fn is(&self, operation: &str, reason: &str) -> bool {
        self.operation == operation && self.reason == reason
    }

    fn add(&mut self, count: u64, offsets_bytes: &[u64]) {
        self.count += count;
        let room = FIRST_OFFSETS - self.first_offsets_bytes.len();
        self.first_offsets_bytes.extend(offsets_bytes.iter().take(room));
    }
}

fn earlier(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    [left, right].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Operation;

    fn write_at(offset_bytes: u64) -> Io {
        Io::new(Operation::Write, offset_bytes, 512)
    }

    #[test]
    fn errors_that_are_alike_are_counted_together_and_their_first_places_kept() {
        let (mut here, mut there) = (Outcome::default(), Outcome::default());
        for index in 0..10 {
            here.fail(100 + index, &write_at(index * 512), "EIO".into());
            there.fail(50 + index, &write_at(1 << 20 | index), "EIO".into());
        }
        there.fail(70, &write_at(7), "ENOSPC".into());
        here.add(there);
        assert_eq!(here.errors.len(), 2);
        assert_eq!(here.errors[0].count, 20);
        assert_eq!(here.errors[0].first_offsets_bytes.len(), FIRST_OFFSETS);
        assert_eq!(here.errors[1].first_offsets_bytes, [7]);
        assert_eq!(here.failure.unwrap().at_ns, 50);
    }

    #[test]
    fn the_whole_step_lasts_from_the_first_thread_to_the_last() {
        let mut whole = Outcome { started_ns: Some(5), last_completion_ns: Some(9), ..Outcome::default() };
        whole.add(Outcome {
            started_ns: Some(3),
            last_completion_ns: Some(20),
            state: StepState::Failed,
            ..Outcome::default()
        });
        assert_eq!((whole.started_ns, whole.last_completion_ns), (Some(3), Some(20)));
        assert_eq!(whole.state, StepState::Failed);
    }
}
