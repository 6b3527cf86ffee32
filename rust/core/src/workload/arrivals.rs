//! When paced I/Os are due.

use rand_distr::{Exp1, Poisson};

use super::random::Uniform;
use super::share::thread_share;
use super::stimulus::{Cap, CapUnit, Pacing};

const NS_PER_S: f64 = 1e9;

/// The planned moments of one thread's I/Os in an open loop: they do not depend on how fast the device is.
#[derive(Clone, Debug)]
pub struct Arrivals(Process);

#[derive(Clone, Debug)]
enum Process {
    /// The points `index * distance_ns`, of which this thread has each `tc`-th.
    Grid { distance_ns: f64, index: u64, tc: u64 },
    /// Gaps are exponential; the threads' processes together are Poisson with the sum of their rates.
    Poisson { mean_gap_ns: f64, planned_ns: f64 },
    /// This thread's `ios` of each burst are planned for its start.
    Burst { ios: u64, period_ns: u64, burst: u64, issued: u64 },
}

impl Arrivals {
    /// The arrivals of thread number `thread` of `tc`; none where completions pace the I/Os.
    #[must_use]
    pub fn new(pacing: Pacing, tc: u32, thread: u32) -> Option<Self> {
        let process = match pacing {
            Pacing::FixedRate { ios_per_s } => {
                Process::Grid { distance_ns: NS_PER_S / ios_per_s, index: thread.into(), tc: tc.into() }
            }
            Pacing::Poisson { ios_per_s } => {
                Process::Poisson { mean_gap_ns: NS_PER_S / ios_per_s * f64::from(tc), planned_ns: 0.0 }
            }
            Pacing::Burst { ios, period_ns } => {
                let ios = thread_share(ios.into(), thread, tc);
                Process::Burst { ios, period_ns, burst: 0, issued: 0 }
            }
            Pacing::ClosedLoop
            | Pacing::DutyCycle { .. }
            | Pacing::ThinkTime { .. }
            | Pacing::Batches { .. }
            | Pacing::Capped(_) => return None,
        };
        Some(Self(process))
    }

    /// The planned moment of the next I/O, in ns from the start of the step, never earlier than the one
    /// before; `u64::MAX` for never, which a thread without a share of a burst gets.
    #[inline]
    pub fn next_ns(&mut self, random: &mut Uniform) -> u64 {
        match &mut self.0 {
            Process::Grid { distance_ns, index, tc } => {
                // From the index, not from the moment before: nothing adds up over a long step.
                let planned_ns = *index as f64 * *distance_ns;
                *index = index.saturating_add(*tc);
                planned_ns.round() as u64
            }
            Process::Poisson { mean_gap_ns, planned_ns } => {
                *planned_ns += *mean_gap_ns * random.sample(&Exp1);
                planned_ns.round() as u64
            }
            Process::Burst { ios: 0, .. } => u64::MAX,
            Process::Burst { ios, period_ns, burst, issued } => {
                if issued == ios {
                    (*burst, *issued) = (burst.saturating_add(1), 0);
                }
                *issued += 1;
                burst.saturating_mul(*period_ns)
            }
        }
    }
}

impl Arrivals {
    /// How many moments lie in `[next_ns, end_ns)`, where `next_ns` is the one that was given last. By
    /// calculation, since there may be very many: those of a Poisson process are drawn as one number.
    #[must_use]
    pub fn count_until(&self, next_ns: u64, end_ns: u64, random: &mut Uniform) -> u64 {
        match self.0 {
            Process::Grid { distance_ns, index, tc } => {
                let points = (end_ns as f64 / distance_ns).ceil() as u64;
                points.saturating_sub(index - tc).div_ceil(tc)
            }
            Process::Poisson { mean_gap_ns, .. } => {
                let expected = end_ns.saturating_sub(next_ns) as f64 / mean_gap_ns;
                1 + Poisson::new(expected).map_or(0, |counts| random.sample(&counts) as u64)
            }
            Process::Burst { ios, period_ns, burst, issued } => {
                let bursts = end_ns.div_ceil(period_ns);
                (ios - issued + 1) + bursts.saturating_sub(burst + 1).saturating_mul(ios)
            }
        }
    }
}

/// What one thread was allowed to issue by a cap, and what it has issued.
#[derive(Clone, Debug)]
pub struct Quota {
    /// How long each unit takes.
    each: f64,
    unit: CapUnit,
    issued: u64,
}

impl Quota {
    /// That of one of `tc` threads; `second` is how long a second is in the caller's unit of time.
    #[must_use]
    pub fn new(cap: Cap, tc: u32, second: f64) -> Self {
        Self { each: second / cap.per_s * f64::from(tc), unit: cap.unit, issued: 0 }
    }

    /// When the next I/O is allowed, since the start of the stream.
    #[inline]
    #[must_use]
    pub fn due(&self) -> u64 {
        // From the sum, not from the moment before: nothing adds up over a long step.
        (self.issued as f64 * self.each) as u64
    }

    /// An I/O of this length was issued.
    #[inline]
    pub fn issued(&mut self, length_bytes: u32) {
        self.issued += match self.unit {
            CapUnit::Ios => 1,
            CapUnit::Bytes => u64::from(length_bytes),
        };
    }
}

/// A closed loop that rests once a period, the same moments for all threads.
#[derive(Clone, Copy, Debug)]
pub struct DutyCycle {
    on_ns: u64,
    period_ns: u64,
}

impl DutyCycle {
    /// The cycle of a pacing that has one.
    #[must_use]
    pub fn new(pacing: Pacing) -> Option<Self> {
        match pacing {
            Pacing::DutyCycle { on_ns, off_ns } => {
                Some(Self { on_ns, period_ns: on_ns.saturating_add(off_ns) })
            }
            _ => None,
        }
    }

    /// Whether I/Os are issued at this time from the start of the step.
    #[inline]
    #[must_use]
    pub const fn is_on(&self, since_start_ns: u64) -> bool {
        since_start_ns % self.period_ns < self.on_ns
    }

    /// The next moment, after this one, at which the loop begins or ends; `u64::MAX` for never.
    #[inline]
    #[must_use]
    pub const fn next_edge_ns(&self, since_start_ns: u64) -> u64 {
        let phase_ns = since_start_ns % self.period_ns;
        let edge_ns = if phase_ns < self.on_ns { self.on_ns } else { self.period_ns };
        since_start_ns.saturating_add(edge_ns - phase_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::exponential_ks_p;
    use proptest::prelude::*;

    fn moments(pacing: Pacing, tc: u32, each: usize) -> Vec<u64> {
        let mut all = Vec::new();
        for thread in 0..tc {
            let mut random = Uniform::for_thread(1, thread);
            let mut arrivals = Arrivals::new(pacing, tc, thread).unwrap();
            let own: Vec<_> = (0..each).map(|_| arrivals.next_ns(&mut random)).collect();
            assert!(own.is_sorted(), "planned moments never go back");
            all.extend(own);
        }
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn all_threads_together_are_due_on_an_exact_grid(rate in 1..3_000_000_u32, tc in 1..9_u32) {
            let pacing = Pacing::FixedRate { ios_per_s: f64::from(rate) };
            for (index, moment) in moments(pacing, tc, 500).into_iter().enumerate() {
                // The nearest whole nanosecond to index / rate, in whole numbers.
                let twice = 2 * index as u64 * 1_000_000_000 + u64::from(rate);
                let exact = twice / (2 * u64::from(rate));
                let ties = u64::from(twice.is_multiple_of(2 * u64::from(rate)));
                prop_assert!(moment.abs_diff(exact) <= ties, "{}: {} and not {}", index, moment, exact);
            }
        }

        #[test]
        fn a_burst_is_split_among_the_threads_without_rest(ios in 1..200_u32, tc in 1..9_u32) {
            let mut at = [0; 3];
            for thread in 0..tc {
                let mut random = Uniform::for_thread(1, thread);
                let pacing = Pacing::Burst { ios, period_ns: 1000 };
                let mut arrivals = Arrivals::new(pacing, tc, thread).unwrap();
                while let Some(count) = at.get_mut((arrivals.next_ns(&mut random) / 1000) as usize) {
                    *count += 1;
                }
            }
            prop_assert_eq!(at, [ios; 3]);
        }
    }

    #[test]
    fn a_grid_does_not_drift_in_a_week() {
        let rate = 700_000.0;
        let index = 7 * 86_400 * 700_000_u64;
        let mut arrivals = Arrivals(Process::Grid { distance_ns: NS_PER_S / rate, index, tc: 1 });
        let planned_ns = arrivals.next_ns(&mut Uniform::for_thread(1, 0));
        assert!(planned_ns.abs_diff(7 * 86_400 * 1_000_000_000) <= 1, "{planned_ns}");
    }

    #[test]
    fn poisson_gaps_are_exponential_for_any_number_of_threads() {
        for tc in [1, 3, 16] {
            let rate = 50_000.0;
            let all = moments(Pacing::Poisson { ios_per_s: rate }, tc, 8000);
            // Beyond the shortest thread's last moment the others are alone.
            let complete = &all[..all.len() * 9 / 10];
            let gaps: Vec<f64> =
                complete.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * rate / NS_PER_S).collect();
            let p = exponential_ks_p(&gaps);
            assert!(p > 1e-4, "TC {tc}: {p}");
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((mean - 1.0).abs() < 5.0 / (gaps.len() as f64).sqrt(), "TC {tc}: {mean}");
        }
    }

    #[test]
    fn completions_pace_what_is_no_open_loop() {
        for pacing in
            [Pacing::ClosedLoop, Pacing::DutyCycle { on_ns: 1, off_ns: 1 }, Pacing::ThinkTime { think_ns: 1 }]
        {
            assert!(Arrivals::new(pacing, 1, 0).is_none());
        }
        assert!(DutyCycle::new(Pacing::ClosedLoop).is_none());
    }

    #[test]
    fn a_thread_without_a_share_of_a_burst_is_never_due() {
        let mut arrivals = Arrivals::new(Pacing::Burst { ios: 1, period_ns: 5 }, 2, 1).unwrap();
        assert_eq!(arrivals.next_ns(&mut Uniform::for_thread(1, 0)), u64::MAX);
    }

    #[test]
    fn what_was_not_issued_is_counted_as_if_it_had_been_drawn() {
        for (pacing, tc, thread) in [
            (Pacing::FixedRate { ios_per_s: 777.0 }, 3, 2),
            (Pacing::FixedRate { ios_per_s: 1e9 }, 1, 0),
            (Pacing::Burst { ios: 7, period_ns: 1_000_003 }, 2, 1),
        ] {
            let mut random = Uniform::for_thread(1, thread);
            let mut arrivals = Arrivals::new(pacing, tc, thread).unwrap();
            for end_ns in [1, 1_000_003, 5_000_000, 20_000_000] {
                let mut next_ns = arrivals.next_ns(&mut random);
                let counted =
                    if next_ns < end_ns { arrivals.count_until(next_ns, end_ns, &mut random) } else { 0 };
                let mut drawn = 0;
                while next_ns < end_ns {
                    drawn += 1;
                    next_ns = arrivals.next_ns(&mut random);
                }
                assert_eq!(counted, drawn, "{pacing:?} until {end_ns}");
            }
        }
        let mut random = Uniform::for_thread(1, 0);
        let arrivals = Arrivals::new(Pacing::Poisson { ios_per_s: 1e6 }, 1, 0).unwrap();
        let counted = arrivals.count_until(0, 1_000_000_000, &mut random);
        // A million on average; five standard deviations are 5000.
        assert!(counted.abs_diff(1_000_000) < 5_000, "{counted}");
    }

    #[test]
    fn a_duty_cycle_has_its_edges_where_on_and_off_begin() {
        let cycle = DutyCycle::new(Pacing::DutyCycle { on_ns: 30, off_ns: 70 }).unwrap();
        for (since_start_ns, is_on, edge_ns) in
            [(0, true, 30), (29, true, 30), (30, false, 100), (99, false, 100), (100, true, 130)]
        {
            assert_eq!(cycle.is_on(since_start_ns), is_on, "{since_start_ns}");
            assert_eq!(cycle.next_edge_ns(since_start_ns), edge_ns, "{since_start_ns}");
        }
        let endless = DutyCycle::new(Pacing::DutyCycle { on_ns: u64::MAX - 1, off_ns: 1 }).unwrap();
        assert_eq!(endless.next_edge_ns(u64::MAX), u64::MAX);
    }
}
