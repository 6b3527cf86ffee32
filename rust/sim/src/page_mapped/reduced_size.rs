//! What data reduction leaves of a page.

use crate::preset::Reduction;

/// Eighths of a page: what the map counts in.
const EIGHTHS: f64 = 8.0;
const ONE: u32 = 1 << 16;

/// Sizes in whole eighths whose mean is exact to 2^-16: of 1.12, each 8.3th is 2 and all others are 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReducedSize {
    law: Option<Reduction>,
    whole: u8,
    fraction: u32,
    carried: u32,
}

impl ReducedSize {
    /// Of random bytes.
    pub(super) fn new(law: Option<Reduction>) -> Self {
        let mut this = Self { law, whole: 8, fraction: 0, carried: 0 };
        this.begin(1.0);
        this
    }

    /// From now on the host's data have this share of random bytes.
    pub(super) fn begin(&mut self, entropy: f64) {
        let Some(law) = self.law else { return };
        let share = (law.floor + law.slope * entropy.clamp(0.0, 1.0)).min(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 8 * 2^16")]
        let eighths = (share * EIGHTHS * f64::from(ONE)).round() as u32;
        (self.whole, self.fraction) = ((eighths / ONE) as u8, eighths % ONE);
    }

    /// The next page's.
    #[inline]
    pub(super) fn next(&mut self) -> u8 {
        self.carried += self.fraction;
        let more = self.carried / ONE;
        self.carried %= ONE;
        self.whole + more as u8
    }

    /// The size of all pages of random bytes, rounded.
    pub(super) fn of_random_bytes(&self) -> u8 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 8")]
        self.law.map_or(8, |law| ((law.floor + law.slope) * EIGHTHS).round() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_law() {
        let law = Some(Reduction { floor: 0.14, slope: 0.86 });
        for (entropy, share) in [(0.0, 0.14), (0.46, 0.5356), (1.0, 1.0)] {
            let mut size = ReducedSize::new(law);
            size.begin(entropy);
            let sum: u32 = (0..100_000).map(|_| u32::from(size.next())).sum();
            assert!((f64::from(sum) / 800_000.0 / share - 1.0).abs() < 1e-4, "{entropy}: {sum}");
        }
    }

    #[test]
    fn without_a_law_pages_stay_whole() {
        let mut size = ReducedSize::new(None);
        size.begin(0.0);
        assert!((0..100).all(|_| size.next() == 8));
    }
}
