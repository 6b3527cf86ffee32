//! Where the rate script is, and the pace that it has there.

use super::pace::Pace;
use crate::preset::{Rate, RateBy};
use crate::scale::Scale;
use crate::time::{NEVER, Ps};

/// The rate script at work.
#[derive(Clone, Debug)]
pub(super) struct RateScript {
    rate: Rate,
    scale: Scale,
    begin_ps: Ps,
    part: u64,
    pace: Pace,
    /// Where the next part begins: the one that the script follows, the other never comes.
    next_bytes: u64,
    next_ps: Ps,
}

impl RateScript {
    /// A script that begins at moment 0.
    pub(super) fn new(rate: &Rate, scale: Scale) -> Self {
        let pace = Pace::of_iops(rate.iops_of_part(0));
        let rate = rate.clone();
        let mut script = Self { rate, scale, begin_ps: 0, part: 0, pace, next_bytes: NEVER, next_ps: NEVER };
        script.begin(0);
        script
    }

    /// Begin anew at this moment.
    pub(super) fn begin(&mut self, at_ps: Ps) {
        self.begin_ps = at_ps;
        self.enter(0);
    }

    /// A step with I/O begins; `number` counts from 0.
    pub(super) fn step(&mut self, number: u64) {
        if self.rate.by == RateBy::Steps {
            self.enter(self.part_of(number));
        }
    }

    /// The pace of an I/O that is served from a moment on, after so many bytes were written.
    #[inline]
    pub(super) fn pace(&mut self, written_bytes: u64, start_ps: Ps) -> &mut Pace {
        if written_bytes >= self.next_bytes {
            self.enter(self.part_of(written_bytes * u64::from(self.scale.factor())));
        } else if start_ps >= self.next_ps {
            let nominal_ns = u128::from(start_ps - self.begin_ps) * u128::from(self.scale.factor()) / 1000;
            self.enter(self.part_of((nominal_ns / 1_000_000_000) as u64).max(self.part + 1));
        }
        &mut self.pace
    }

    const fn part_of(&self, position: u64) -> u64 {
        position.saturating_sub(self.rate.skip) / self.rate.every
    }

    fn enter(&mut self, part: u64) {
        if part != self.part {
            self.pace = Pace::of_iops(self.rate.iops_of_part(part));
            self.part = part;
        }
        let end = (part + 1).saturating_mul(self.rate.every).saturating_add(self.rate.skip);
        match self.rate.by {
            RateBy::Steps => {}
            RateBy::BytesWritten => self.next_bytes = end.div_ceil(self.scale.factor().into()),
            RateBy::Seconds => {
                let length_ps = self.scale.virtual_ps(end.saturating_mul(1_000_000_000));
                self.next_ps = self.begin_ps.saturating_add(length_ps);
            }
        }
    }
}
