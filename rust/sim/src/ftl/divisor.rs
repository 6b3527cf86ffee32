//! Division by a number that is known only at run time, without the processor's slow instruction.

/// Divides 32-bit numbers, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor(u64);

impl Divisor {
    /// By `divisor`, at least 1.
    pub(super) const fn new(divisor: u32) -> Self {
        Self(u64::MAX / divisor as u64)
    }

    /// The whole part. The reciprocal is at most 1 too small in 2^64, so that the quotient of `number + 1` is
    /// below the true one by less than 2^-32: what `divisor` divides falls to the number below, which is
    /// that of `number`, and all else keeps its whole part.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a quotient of 32 bits")]
    pub(super) const fn quotient(self, number: u32) -> u32 {
        (((number as u128 + 1) * self.0 as u128) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quotients_are_those_of_the_processor(number: u32, divisor in 1_u32.., small in 1_u32..5000) {
            for divisor in [divisor, small] {
                prop_assert_eq!(Divisor::new(divisor).quotient(number), number / divisor);
                let multiple = number / divisor * divisor;
                prop_assert_eq!(Divisor::new(divisor).quotient(multiple), multiple / divisor);
                prop_assert_eq!(Divisor::new(divisor).quotient(multiple.saturating_sub(1)),
                    multiple.saturating_sub(1) / divisor);
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        for divisor in [1, 2, 3, 4096, u32::MAX - 1, u32::MAX] {
            for number in [0, 1, divisor - 1, divisor, u32::MAX - 1, u32::MAX] {
                assert_eq!(Divisor::new(divisor).quotient(number), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
