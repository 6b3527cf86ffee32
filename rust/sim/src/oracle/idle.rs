//! What idle time gives back: a number of I/Os at a rate of their own.

use super::pace::Pace;
use crate::preset::IdleStair;
use crate::scale::Scale;
use crate::time::{NEVER, Ps};

#[derive(Clone, Debug)]
struct Stair {
    idle_ps: Ps,
    iops: f64,
    ios: u64,
}

/// The idle script at work.
#[derive(Clone, Debug)]
pub(super) struct IdleScript {
    stairs: Vec<Stair>,
    shortest_ps: Ps,
    pace: Pace,
    ios_left: u64,
}

impl IdleScript {
    pub(super) fn new(stairs: &[IdleStair], scale: Scale) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
        let of = |stair: &IdleStair| Stair {
            idle_ps: scale.virtual_ps((stair.idle_ms * 1e6).round() as u64),
            iops: stair.iops,
            ios: stair.ios.div_ceil(scale.factor().into()),
        };
        let stairs: Vec<_> = stairs.iter().map(of).collect();
        let shortest_ps = stairs.first().map_or(NEVER, |stair| stair.idle_ps);
        Self { stairs, shortest_ps, pace: Pace::of_iops(f64::INFINITY), ios_left: 0 }
    }

    /// Nothing is left of what idle time gave.
    pub(super) const fn begin(&mut self) {
        self.ios_left = 0;
    }

    /// The pace of an I/O before which the drive was idle for so long; `None` if the rate script has it.
    #[inline]
    pub(super) fn pace(&mut self, idle_ps: Ps) -> Option<&mut Pace> {
        if idle_ps >= self.shortest_ps {
            self.climb(idle_ps);
        }
        self.ios_left = self.ios_left.checked_sub(1)?;
        Some(&mut self.pace)
    }

    fn climb(&mut self, idle_ps: Ps) {
        if let Some(stair) = self.stairs.iter().rfind(|stair| stair.idle_ps <= idle_ps) {
            self.pace = Pace::of_iops(stair.iops);
            self.ios_left = stair.ios;
        }
    }
}
