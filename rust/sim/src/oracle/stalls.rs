//! Times without service.

use crate::preset::Stall;
use crate::scale::Scale;
use crate::time::{NEVER, Ps};

#[derive(Clone, Copy, Debug)]
struct Interval {
    from_ps: Ps,
    to_ps: Ps,
}

/// All stalls of a script. Work that a stall interrupts goes on after it.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    /// With the time after which each comes again, if it does.
    all: Vec<(Interval, Option<Ps>)>,
    /// The first stall that ends behind the last start of work that was asked about.
    next: Interval,
}

impl Stalls {
    pub(super) fn new(stalls: &[Stall], scale: Scale) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
        let ps_of_ms = |ms: f64| scale.virtual_ps((ms * 1e6).round() as u64);
        let interval =
            |stall: &Stall| Interval { from_ps: ps_of_ms(stall.from_ms), to_ps: ps_of_ms(stall.to_ms) };
        let all: Vec<_> =
            stalls.iter().map(|stall| (interval(stall), stall.every_ms.map(ps_of_ms))).collect();
        let mut stalls = Self { all, next: Interval { from_ps: NEVER, to_ps: NEVER } };
        stalls.next = stalls.first_ending_behind(0);
        stalls
    }

    /// When work of this length ends. Starts never go back in time.
    #[inline]
    pub(super) fn end_of_work(&mut self, start_ps: Ps, work_ps: Ps) -> Ps {
        let end_ps = start_ps + work_ps;
        // Without work there is nothing to interrupt, but nothing begins during a stall either.
        if end_ps <= self.next.from_ps && start_ps < self.next.from_ps {
            return end_ps;
        }
        self.next = self.first_ending_behind(start_ps);
        self.interrupted(start_ps, work_ps)
    }

    /// The same for starts in any order.
    pub(super) fn interrupted(&self, start_ps: Ps, work_ps: Ps) -> Ps {
        let (mut at_ps, mut left_ps) = (start_ps, work_ps);
        loop {
            let Interval { from_ps, to_ps } = self.first_ending_behind(at_ps);
            if at_ps < from_ps {
                if left_ps <= from_ps - at_ps {
                    return at_ps + left_ps;
                }
                left_ps -= from_ps - at_ps;
            }
            at_ps = to_ps;
        }
    }

    fn first_ending_behind(&self, at_ps: Ps) -> Interval {
        let ending_behind = |(first, every_ps): &(Interval, Option<Ps>)| {
            let shift_ps = match every_ps {
                Some(every_ps) if first.to_ps <= at_ps => ((at_ps - first.to_ps) / every_ps + 1) * every_ps,
                _ => 0,
            };
            let shifted = Interval { from_ps: first.from_ps + shift_ps, to_ps: first.to_ps + shift_ps };
            (shifted.to_ps > at_ps).then_some(shifted)
        };
        let stalls = self.all.iter().filter_map(ending_behind);
        stalls.min_by_key(|stall| stall.from_ps).unwrap_or(Interval { from_ps: NEVER, to_ps: NEVER })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ps = 1_000_000_000;

    fn stalls(stalls: &[(f64, f64, Option<f64>)]) -> Stalls {
        let of = |&(from_ms, to_ms, every_ms)| Stall { from_ms, to_ms, every_ms };
        Stalls::new(&stalls.iter().map(of).collect::<Vec<_>>(), Scale::ONE)
    }

    #[test]
    fn work_is_interrupted_and_goes_on() {
        let mut stalls = stalls(&[(10.0, 20.0, None), (25.0, 26.0, Some(5.0))]);
        let mut end_ms = |start_ms, work_ms| stalls.end_of_work(start_ms * MS, work_ms * MS) / MS;
        assert_eq!(end_ms(0, 10), 10, "done as the stall begins");
        assert_eq!(end_ms(0, 11), 21);
        assert_eq!(end_ms(10, 1), 21);
        assert_eq!(end_ms(10, 0), 20, "nothing begins in a stall");
        assert_eq!(end_ms(12, 5), 25);
        assert_eq!(end_ms(12, 6), 27);
        // Each five milliseconds one is lost.
        assert_eq!(end_ms(26, 4 * 1000), 26 + 5 * 1000 - 1);
        assert_eq!(end_ms(5030, 1), 5032);
    }

    #[test]
    fn stalls_may_overlap_and_touch() {
        let mut stalls = stalls(&[(10.0, 20.0, None), (15.0, 30.0, None), (30.0, 31.0, None)]);
        assert_eq!(stalls.end_of_work(9 * MS, 2 * MS), 32 * MS);
        assert_eq!(stalls.end_of_work(31 * MS, 2 * MS), 33 * MS);
    }

    #[test]
    fn the_scale_shortens_stalls() {
        let stall = Stall { from_ms: 10.0, to_ms: 20.0, every_ms: Some(100.0) };
        let mut stalls = Stalls::new(&[stall], Scale::new(10).unwrap());
        assert_eq!(stalls.end_of_work(0, 2 * MS), 3 * MS);
        assert_eq!(stalls.end_of_work(11 * MS, MS), 13 * MS);
    }
}
