//! The controller's front end: every command passes it. Heat makes it slower, housekeeping stops it.

use super::Stage;
use crate::preset;
use crate::time::{NEVER, Ps, ps_of_us};

/// A whole, for throttle factors.
const ONE: u64 = 1 << 16;

/// One stage, with what slows it down.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    stage: Stage,
    /// Factor of all service times, in 2^-16.
    slowness: u64,
    stall_ps: Ps,
    period_ps: Ps,
    next_stall_ps: Ps,
}

impl FrontEnd {
    /// Free, cool, and a period away from its first stall.
    #[must_use]
    pub fn new(housekeeping: Option<preset::Housekeeping>) -> Self {
        let (period_ps, stall_ps) = housekeeping.map_or((NEVER, 0), |housekeeping| {
            (ps_of_us(housekeeping.period_ms * 1e3), ps_of_us(housekeeping.stall_ms * 1e3))
        });
        Self { stage: Stage::default(), slowness: ONE, stall_ps, period_ps, next_stall_ps: period_ps }
    }

    /// Serve a command; gives the end of the service.
    #[inline]
    pub fn book(&mut self, arrival_ps: Ps, service_ps: Ps) -> Ps {
        if self.stage.free_ps().max(arrival_ps) >= self.next_stall_ps {
            self.stall(arrival_ps);
        }
        let service_ps = (u128::from(service_ps) * u128::from(self.slowness)) >> 16;
        self.stage.book(arrival_ps, service_ps as Ps)
    }

    /// Take note of the stalls that began before a command that arrives then could start.
    #[cold]
    fn stall(&mut self, arrival_ps: Ps) {
        loop {
            let start_ps = self.stage.free_ps().max(arrival_ps);
            if start_ps < self.next_stall_ps {
                return;
            }
            // Of stalls in a time without commands only the last one can matter.
            let past = (start_ps - self.next_stall_ps) / self.period_ps;
            let due_ps = self.next_stall_ps + past * self.period_ps;
            // A command in service when the stall is due is finished first.
            let begin_ps = due_ps.max(self.stage.free_ps());
            self.stage.block_until(begin_ps + self.stall_ps);
            self.next_stall_ps += (past + 1) * self.period_ps;
        }
    }

    /// From now on, service takes so many times longer, in 2^-16; 2^16 when it is cool.
    pub const fn throttle(&mut self, slowness: u64) {
        self.slowness = slowness;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::PS_PER_S;

    const MS: Ps = PS_PER_S / 1000;

    fn stalling() -> FrontEnd {
        FrontEnd::new(Some(preset::Housekeeping { period_ms: 700.0, stall_ms: 1.8 }))
    }

    #[test]
    fn stalls_take_their_share_of_a_busy_front_end() {
        let mut front_end = stalling();
        let commands = 100_000_u64;
        let end_ps = (0..commands).map(|_| front_end.book(0, MS / 10)).last().expect("some");
        // Each period but the first, which has no stall at its start, has 698.2 ms left for commands.
        let stalls = end_ps / (700 * MS);
        assert_eq!(end_ps, commands * MS / 10 + stalls * 18 * MS / 10);
        assert_eq!(stalls, 14);
    }

    #[test]
    fn stalls_in_silence_are_over_when_a_command_comes() {
        let mut front_end = stalling();
        assert_eq!(front_end.book(1500 * MS, MS), 1501 * MS);
        // In the middle of the third stall.
        assert_eq!(front_end.book(2101 * MS, MS), 2102 * MS + 8 * MS / 10);
        assert_eq!(front_end.book(2799 * MS, MS), 2800 * MS);
        assert_eq!(front_end.book(2799 * MS, MS), 2802 * MS + 8 * MS / 10);
    }

    #[test]
    fn heat_makes_service_longer_and_not_stalls() {
        let mut front_end = stalling();
        front_end.throttle(ONE * 5 / 2);
        assert_eq!(front_end.book(0, 2 * MS), 5 * MS);
        assert_eq!(front_end.book(700 * MS, 2 * MS), 706 * MS + 8 * MS / 10);
        front_end.throttle(ONE);
        assert_eq!(front_end.book(900 * MS, 2 * MS), 902 * MS);
    }

    #[test]
    fn the_longest_service_is_stretched_by_the_largest_factor() {
        let mut front_end = FrontEnd::new(None);
        front_end.throttle(ONE * 1000);
        assert_eq!(front_end.book(0, 60 * PS_PER_S), 60_000 * PS_PER_S);
    }
}
