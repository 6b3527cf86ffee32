//! Single I/Os with a latency of their own.

use crate::preset::Outlier;
use crate::scale::Scale;
use crate::time::{PS_PER_NS, Ps};

/// The outliers, and the numbers that I/Os and steps have now.
#[derive(Clone, Debug)]
pub(super) struct Outliers {
    all: Vec<Outlier>,
    /// Number of the next I/O since the last purge, and the one that the step began with.
    io: u64,
    step_from_io: u64,
    step: u64,
    /// Number of the next I/O that is one, as far as is known before the next step.
    next_io: u64,
}

impl Outliers {
    pub(super) fn new(outliers: &[Outlier], scale: Scale) -> Self {
        let scaled = |outlier: &Outlier| Outlier { io: outlier.io / u64::from(scale.factor()), ..*outlier };
        let all = outliers.iter().map(scaled).collect();
        let mut outliers = Self { all, io: 0, step_from_io: 0, step: 0, next_io: u64::MAX };
        outliers.begin();
        outliers
    }

    /// Count anew.
    pub(super) fn begin(&mut self) {
        (self.io, self.step_from_io, self.step) = (0, 0, 0);
        self.find_next();
    }

    /// A step with I/O begins; `number` counts from 0.
    pub(super) fn step(&mut self, number: u64) {
        (self.step, self.step_from_io) = (number, self.io);
        self.find_next();
    }

    /// Count an I/O; gives its latency if it has one of its own.
    #[inline]
    pub(super) fn next_ps(&mut self) -> Option<Ps> {
        let io = self.io;
        self.io += 1;
        if io != self.next_io {
            return None;
        }
        let here = self.all.iter().find(|outlier| self.number_of(outlier) == Some(io));
        let ps = here.map(|outlier| outlier.ns * PS_PER_NS);
        self.find_next();
        ps
    }

    /// The number of the I/O since the last purge; `None` if it belongs to another step.
    fn number_of(&self, outlier: &Outlier) -> Option<u64> {
        match outlier.step {
            None => Some(outlier.io),
            Some(step) if step == self.step => Some(self.step_from_io + outlier.io),
            Some(_) => None,
        }
    }

    fn find_next(&mut self) {
        let numbers = self.all.iter().filter_map(|outlier| self.number_of(outlier));
        self.next_io = numbers.filter(|number| *number >= self.io).min().unwrap_or(u64::MAX);
    }
}
