//! The engine's clock: monotonic nanoseconds since the engine was made.

use std::time::Instant;

/// Copies of a clock agree with each other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock {
    /// Nanoseconds since the clock was made.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        // 2^64 ns are 584 years.
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
