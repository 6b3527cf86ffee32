//! Service times that lose nothing: what does not fill a picosecond is carried to the next I/O.

use crate::time::{PS_PER_S, Ps};

/// Rates are whole millionths of an I/O, or of a byte, per second.
const MILLIONTHS: u64 = 1_000_000;
/// Picoseconds in a second, in the millionths of a rate.
const SECOND: u64 = PS_PER_S * MILLIONTHS;

fn in_millionths(per_second: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
    let millionths = (per_second * MILLIONTHS as f64).round() as u64;
    millionths
}

/// A time of `whole + rest / of` picoseconds, over and over.
#[derive(Clone, Copy, Debug)]
struct Fraction {
    whole_ps: Ps,
    rest: u64,
    of: u64,
}

impl Fraction {
    fn is_longer_than(&self, other: &Self) -> bool {
        if self.whole_ps != other.whole_ps {
            return self.whole_ps > other.whole_ps;
        }
        u128::from(self.rest) * u128::from(other.of) > u128::from(other.rest) * u128::from(self.of)
    }

    /// The next of these times in whole picoseconds, such that the sum of all is exact but for the carry.
    #[inline]
    const fn next_ps(&self, carry: &mut u64) -> Ps {
        *carry += self.rest;
        if *carry >= self.of {
            *carry -= self.of;
            self.whole_ps + 1
        } else {
            self.whole_ps
        }
    }
}

/// So many I/Os per second.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    time: Fraction,
    carry: u64,
}

impl Pace {
    /// Infinity means no time at all.
    pub(super) fn of_iops(iops: f64) -> Self {
        let time = if iops == f64::INFINITY {
            Fraction { whole_ps: 0, rest: 0, of: 1 }
        } else {
            let of = in_millionths(iops);
            Fraction { whole_ps: SECOND / of, rest: SECOND % of, of }
        };
        Self { time, carry: 0 }
    }

    #[inline]
    pub(super) const fn next_ps(&mut self) -> Ps {
        self.time.next_ps(&mut self.carry)
    }
}

/// So many bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    /// The time of an I/O of the last length.
    time: Fraction,
    length_bytes: u32,
    carry: u64,
}

impl Bandwidth {
    pub(super) fn new(bytes_per_s: f64) -> Self {
        let time = Fraction { whole_ps: 0, rest: 0, of: in_millionths(bytes_per_s) };
        Self { time, length_bytes: 0, carry: 0 }
    }

    #[inline]
    fn set_length(&mut self, length_bytes: u32) {
        if length_bytes != self.length_bytes {
            let (all, of) = (u128::from(length_bytes) * u128::from(SECOND), u128::from(self.time.of));
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a length has 32 bits, a rate at least 1000 bytes/s"
            )]
            let (whole_ps, rest) = ((all / of) as u64, (all % of) as u64);
            self.time = Fraction { whole_ps, rest, ..self.time };
            self.length_bytes = length_bytes;
        }
    }

    #[inline]
    pub(super) fn next_ps(&mut self, length_bytes: u32) -> Ps {
        self.set_length(length_bytes);
        self.time.next_ps(&mut self.carry)
    }

    /// Whether such an I/O takes longer than at that pace.
    #[inline]
    pub(super) fn is_slower_than(&mut self, pace: &Pace, length_bytes: u32) -> bool {
        self.set_length(length_bytes);
        self.time.is_longer_than(&pace.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_over_a_billion_ios() {
        // 3 000 000 007 mIOPS: neither a second nor a picosecond is a multiple.
        let mut pace = Pace::of_iops(3_000_000.007);
        let total = (0..1_000_000_000_u64).map(|_| pace.next_ps()).sum::<Ps>();
        let exact = 1_000_000_000_u128 * 1_000_000_000_000_000 / 3_000_000_007_u128;
        assert_eq!(u128::from(total), exact);
    }

    #[test]
    fn bytes_add_up_whatever_their_order() {
        let bytes_per_s = 987_654_321.123_456;
        let mut bandwidth = Bandwidth::new(bytes_per_s);
        let lengths = [512_u32, 4096, 4096, 1 << 20, 1536, 131_072, 512];
        let (mut total, mut bytes) = (0, 0);
        for k in 0..1_000_000 {
            let length = lengths[k * k % lengths.len()];
            total += bandwidth.next_ps(length);
            bytes += u128::from(length);
        }
        assert_eq!(u128::from(total), bytes * 1_000_000_000_000_000_000 / 987_654_321_123_456);
    }

    #[test]
    fn the_slower_of_two_is_found_where_they_are_equal_too() {
        let pace = Pace::of_iops(1000.0);
        let mut bandwidth = Bandwidth::new(4_096_000.0);
        assert!(!bandwidth.is_slower_than(&pace, 4096));
        assert!(bandwidth.is_slower_than(&pace, 4097));
        assert!(!bandwidth.is_slower_than(&pace, 512));
        let mut slower = Bandwidth::new(4_095_999.999_999);
        assert!(slower.is_slower_than(&pace, 4096));
        assert!(bandwidth.is_slower_than(&Pace::of_iops(f64::INFINITY), 1));
    }
}
