//! A server that takes one after the other, in the order of booking.

use crate::time::Ps;

/// Known by the moment at which it is free again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    free_ps: Ps,
}

impl Stage {
    /// Serve somebody who arrives then; gives the end of the service.
    #[inline]
    pub fn book(&mut self, arrival_ps: Ps, service_ps: Ps) -> Ps {
        self.free_ps = self.free_ps.max(arrival_ps) + service_ps;
        self.free_ps
    }

    /// Serve no command before this moment.
    #[inline]
    pub fn block_until(&mut self, moment_ps: Ps) {
        self.free_ps = self.free_ps.max(moment_ps);
    }

    /// When it is free.
    #[inline]
    #[must_use]
    pub const fn free_ps(&self) -> Ps {
        self.free_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn time_never_goes_back_and_the_last_end_is_that_of_the_slowest_tail(
            bookings in prop::collection::vec((0..1_000_000_u64, 0..1_000_u64), 1..50),
        ) {
            let mut stage = Stage::default();
            for (arrival_ps, service_ps) in &bookings {
                let before_ps = stage.free_ps();
                let end_ps = stage.book(*arrival_ps, *service_ps);
                prop_assert!(end_ps >= before_ps + service_ps && end_ps >= arrival_ps + service_ps);
                prop_assert_eq!(end_ps, stage.free_ps());
            }
            // The end of a queue in order of booking, in closed form: the largest of all tails.
            let served = |from: usize| bookings[from..].iter().map(|(_, service_ps)| service_ps).sum::<u64>();
            let tails = bookings.iter().enumerate().map(|(from, (arrival_ps, _))| arrival_ps + served(from));
            prop_assert_eq!(Some(stage.free_ps()), tails.max());
        }
    }
}
