//! Virtual time: whole picoseconds, so that equal runs have equal results on every machine.

/// Picoseconds of virtual time, as a moment or as a length. 213 days fit.
pub type Ps = u64;

/// Picoseconds in a nanosecond.
pub const PS_PER_NS: Ps = 1_000;
/// Picoseconds in a second.
pub const PS_PER_S: Ps = 1_000_000_000_000;
/// A moment that never comes.
pub const NEVER: Ps = Ps::MAX;

/// A length of time from a preset, which has microseconds; rounded to whole picoseconds.
#[must_use]
pub fn ps_of_us(us: f64) -> Ps {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
    let ps = (us * 1e6).round() as Ps;
    ps
}

/// The time that a stage of this bandwidth needs for one byte, times 2^16, so that a product with a number
/// of bytes loses nothing: 1 GB/s are 1000 ps per byte.
#[must_use]
pub fn ps_per_byte_fixed(bytes_per_s: f64) -> u64 {
    if bytes_per_s == f64::INFINITY {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
    let fixed = (1e12 / bytes_per_s * 65_536.0).round() as u64;
    fixed
}

/// The time for so many bytes at a pace from [`ps_per_byte_fixed`].
#[inline]
#[must_use]
pub const fn transfer_ps(bytes: u64, ps_per_byte_fixed: u64) -> Ps {
    // A large transfer over a slow wire has more than 64 bits before the shift.
    ((bytes as u128 * ps_per_byte_fixed as u128) >> 16) as Ps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_transfers_over_slow_wires_take_their_time() {
        // 4 GiB at a kilobyte per second: 50 days, of which each byte is a millisecond.
        assert_eq!(transfer_ps(u32::MAX.into(), ps_per_byte_fixed(1e3)), u64::from(u32::MAX) * 1_000_000_000);
        assert_eq!(transfer_ps(u64::MAX, ps_per_byte_fixed(f64::INFINITY)), 0);
    }
}
