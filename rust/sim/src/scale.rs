//! A small drive that stands for a large one: fewer rows in each superblock, as many superblocks.

use super::time::Ps;

/// One simulated page stands for so many. Times of the flash, of commands and of buffers stay as they are
/// (micro times); times that fill and empty the drive are shortened (macro times).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(u32);

impl Scale {
    /// A drive in its own size.
    pub const ONE: Self = Self(1);

    /// One stands for `factor`; at least 1.
    #[must_use]
    pub const fn new(factor: u32) -> Option<Self> {
        if factor == 0 { None } else { Some(Self(factor)) }
    }

    /// How many one stands for.
    #[must_use]
    pub const fn factor(self) -> u32 {
        self.0
    }

    /// A nominal macro time in nanoseconds, as virtual time.
    #[must_use]
    pub const fn virtual_ps(self, nominal_ns: u64) -> Ps {
        let ps = nominal_ns as u128 * 1000 / self.0 as u128;
        if ps > u64::MAX as u128 { u64::MAX } else { ps as u64 }
    }

    /// A virtual time as nominal nanoseconds, to the nearest: what [`Self::virtual_ps`] rounded comes back
    /// as it was, up to a factor of 500.
    #[must_use]
    pub const fn nominal_ns(self, virtual_ps: Ps) -> u64 {
        ((virtual_ps as u128 * self.0 as u128 + 500) / 1000) as u64
    }
}
