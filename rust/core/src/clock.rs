//! The engine's clock: monotonic nanoseconds since the clock was made.
//!
//! It reads the processor's time stamp counter, which costs half of a system clock's read, where the counter
//! can be relied on. Its rate is measured once in the life of a process, against `CLOCK_MONOTONIC_RAW`.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::machine::tsc;

/// Time between the two readings from which the rate follows. Each is good to some 30 ns.
const CALIBRATION: Duration = Duration::from_millis(25);
/// The tightest of so many pairs of readings counts: what else runs on the machine makes a pair wide.
const BRACKETS: usize = 64;
/// An announced rate so close to the measured one is the same rate, told more exactly. One further off is
/// another rate, and the system clock is what all other tools measure by.
const SAME_RATE_PPM: u64 = 50;
/// Digits of the scale after the binary point.
const FRACTION_BITS: u32 = 48;

/// Where the time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The time stamp counter.
    Tsc {
        /// Its rate.
        khz: u64,
    },
    /// `CLOCK_MONOTONIC_RAW`.
    MonotonicRaw,
}

impl fmt::Display for ClockSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tsc { khz } => write!(formatter, "tsc at {khz} kHz"),
            Self::MonotonicRaw => formatter.write_str("CLOCK_MONOTONIC_RAW"),
        }
    }
}

/// Copies of a clock agree with each other, in all threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds per tick; `None`: ticks are the nanoseconds of the system clock.
    scale: Option<Scale>,
    origin_ticks: u64,
}

impl Default for Clock {
    /// A clock that stands at 0. The first one of a process takes 25 ms.
    fn default() -> Self {
        static SCALE: OnceLock<Option<Scale>> = OnceLock::new();
        let mut clock = Self { scale: *SCALE.get_or_init(calibrate), origin_ticks: 0 };
        clock.origin_ticks = clock.ticks();
        clock
    }
}

impl Clock {
    /// Nanoseconds since the clock was made.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        // A thread that came here from another processor may be some ticks behind the origin.
        let ticks = self.ticks().saturating_sub(self.origin_ticks);
        self.scale.map_or(ticks, |scale| scale.to_ns(ticks))
    }

    /// Where the time comes from, for the record.
    #[must_use]
    pub fn source(&self) -> ClockSource {
        self.scale.map_or(ClockSource::MonotonicRaw, |scale| ClockSource::Tsc { khz: scale.khz() })
    }

    #[inline]
    fn ticks(&self) -> u64 {
        if self.scale.is_some() { tsc::ticks() } else { raw_ns() }
    }
}

/// Nanoseconds per tick as a binary fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale(u64);

impl Scale {
    /// `None` for a rate that is no counter's: below 100 kHz or above 100 GHz.
    fn from_hz(hz: u64) -> Option<Self> {
        let scale = (1_000_000_000_u128 << FRACTION_BITS) / u128::from(hz.max(1));
        (100_000..=100_000_000_000).contains(&hz).then(|| Self(u64::try_from(scale).expect("10^4 * 2^48")))
    }

    #[inline]
    fn to_ns(self, ticks: u64) -> u64 {
        // Fits: 2^64 ticks are centuries, and 2^64 ns as well.
        ((u128::from(ticks) * u128::from(self.0)) >> FRACTION_BITS) as u64
    }

    fn khz(self) -> u64 {
        let khz = ((1_000_000_u128 << FRACTION_BITS) + u128::from(self.0 / 2)) / u128::from(self.0);
        u64::try_from(khz).expect("at most 10^8")
    }
}

fn raw_ns() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The scale of the counter; `None` if there is none to rely on.
fn calibrate() -> Option<Scale> {
    let counter = tsc::counter()?;
    let begin = Reading::take();
    std::thread::sleep(CALIBRATION);
    let end = Reading::take();
    Scale::from_hz(settle(begin.hz_until(&end)?, counter.announced_hz))
}

/// The counter and the system clock at one moment.
#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    raw_ns: u64,
}

impl Reading {
    fn take() -> Self {
        let bracket = || {
            let before = tsc::ticks();
            let raw_ns = raw_ns();
            let width = tsc::ticks().saturating_sub(before);
            (width, Self { ticks: before + width / 2, raw_ns })
        };
        let tightest = (0..BRACKETS).map(|_| bracket()).min_by_key(|(width, _)| *width);
        tightest.expect("some brackets").1
    }

    fn hz_until(&self, end: &Self) -> Option<u64> {
        let ticks = u128::from(end.ticks.checked_sub(self.ticks)?);
        let elapsed_ns = u128::from(end.raw_ns.checked_sub(self.raw_ns)?);
        u64::try_from((ticks * 1_000_000_000).checked_div(elapsed_ns)?).ok()
    }
}

/// The rate to use.
fn settle(measured_hz: u64, announced_hz: Option<u64>) -> u64 {
    announced_hz
        .filter(|hz| {
            u128::from(hz.abs_diff(measured_hz)) * 1_000_000
                <= u128::from(measured_hz) * u128::from(SAME_RATE_PPM)
        })
        .unwrap_or(measured_hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_scale_agrees_with_exact_arithmetic(hz in 1_000_000_u64..10_000_000_000, ticks in 0_u64..1 << 58) {
            let exact_ns = u128::from(ticks) * 1_000_000_000 / u128::from(hz);
            prop_assume!(exact_ns <= u128::from(u64::MAX));
            let scaled_ns = u128::from(Scale::from_hz(hz).unwrap().to_ns(ticks));
            // The scale's last digit is worth 2^-48 ns per tick, and the result is cut to whole ns.
            prop_assert!(scaled_ns <= exact_ns);
            prop_assert!(exact_ns - scaled_ns <= 1 + (u128::from(ticks) >> FRACTION_BITS));
        }

        #[test]
        fn the_scale_knows_its_rate(khz in 100_u64..100_000_000) {
            prop_assert_eq!(Scale::from_hz(khz * 1000).unwrap().khz(), khz);
        }
    }

    #[test]
    fn a_rate_that_is_no_counters_is_refused() {
        assert_eq!([0, 99_999, 100_000_000_001].map(Scale::from_hz), [None; 3]);
    }

    #[test]
    fn an_announced_rate_counts_only_where_it_was_confirmed() {
        assert_eq!(settle(2_600_010_000, Some(2_600_000_000)), 2_600_000_000);
        assert_eq!(settle(2_600_000_000, Some(2_601_000_000)), 2_600_000_000);
        assert_eq!(settle(2_600_000_000, None), 2_600_000_000);
    }

    #[test]
    fn sources_are_named() {
        assert_eq!(ClockSource::Tsc { khz: 2_600_000 }.to_string(), "tsc at 2600000 kHz");
        assert_eq!(ClockSource::MonotonicRaw.to_string(), "CLOCK_MONOTONIC_RAW");
    }

    fn both_kinds() -> [Clock; 2] {
        [Clock::default(), Clock { scale: None, origin_ticks: raw_ns() }]
    }

    #[test]
    #[cfg_attr(miri, ignore = "system calls")]
    fn time_passes_as_the_kernel_says() {
        for clock in both_kinds() {
            // Bracketed: what runs between two readings widens the bounds instead of failing the test.
            let (outer, began_ns, inner) = (raw_ns(), clock.now_ns(), raw_ns());
            std::thread::sleep(Duration::from_millis(200));
            let (inner_end, ended_ns, outer_end) = (raw_ns(), clock.now_ns(), raw_ns());
            let elapsed_ns = ended_ns - began_ns;
            let tolerance_ns = elapsed_ns * 50 / 1_000_000;
            assert!(elapsed_ns + tolerance_ns >= inner_end - inner, "{:?}", clock.source());
            assert!(elapsed_ns <= outer_end - outer + tolerance_ns, "{:?}", clock.source());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "system calls")]
    fn what_one_thread_has_seen_is_past_for_the_next() {
        for clock in both_kinds() {
            let mut seen_ns = 0;
            for _ in 0..200 {
                let now_ns = std::thread::spawn(move || clock.now_ns()).join().unwrap();
                assert!(now_ns >= seen_ns, "{now_ns} after {seen_ns}");
                seen_ns = clock.now_ns();
                assert!(seen_ns >= now_ns);
            }
        }
    }
}
