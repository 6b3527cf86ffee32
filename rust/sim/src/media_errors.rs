//! Raw bit errors: how many retries a read needs, and when none helps.

use super::preset;
use super::scale::Scale;
use super::time::{NEVER, PS_PER_S, Ps, ps_of_us};

/// The law of the raw bit error rate, and what follows from it.
#[derive(Clone, Debug)]
pub struct BitErrors {
    law: preset::MediaErrors,
    age_ps: f64,
    retry_ps: Ps,
    uncorrectable_below: u64,
    seed: u64,
}

/// What the rate depends on, for one superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCondition {
    /// Erases so far.
    pub erases: u32,
    /// Time since it was closed.
    pub age_ps: Ps,
    /// Reads since it was erased.
    pub reads: u64,
}

impl BitErrors {
    /// The law of a preset. The seed decides which reads can't be corrected.
    #[must_use]
    pub fn new(preset: &preset::MediaErrors, scale: Scale, seed: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share; saturates at 1"
        )]
        let uncorrectable_below = (preset.uncorrectable_chance * 2.0_f64.powi(64)) as u64;
        Self {
            law: preset.clone(),
            age_ps: preset.age_hours * 3600.0 * PS_PER_S as f64 / f64::from(scale.factor()),
            retry_ps: ps_of_us(preset.retry_us),
            uncorrectable_below,
            seed,
        }
    }

    /// Raw bit error rate.
    #[must_use]
    pub fn rate(&self, condition: BlockCondition) -> f64 {
        let BlockCondition { erases, age_ps, reads } = condition;
        let (law, erases) = (&self.law, f64::from(erases));
        law.base
            + law.per_erase * erases.powf(law.power)
            + law.per_age * erases * (age_ps as f64 / self.age_ps).ln_1p()
            + law.per_read * erases * reads as f64
    }

    /// Retries that each read needs: as many as upper ends of tiers lie below the rate.
    #[must_use]
    pub fn tier(&self, condition: BlockCondition) -> u32 {
        let rate = self.rate(condition);
        self.law.tiers.partition_point(|end| *end < rate) as u32
    }

    /// What the retries of a tier add to an array read.
    #[must_use]
    pub const fn retries_ps(&self, tier: u32) -> Ps {
        self.retry_ps * tier as Ps
    }

    /// Whether a read can't be corrected. Only above the last tier; the same slot after the same number of
    /// reads has the same fate.
    #[must_use]
    pub fn is_uncorrectable(&self, tier: u32, slot: u32, reads: u64) -> bool {
        tier as usize == self.law.tiers.len()
            && mixed(mixed(self.seed ^ u64::from(slot)) ^ reads) < self.uncorrectable_below
    }

    /// For how long, and for how many reads, the tier is sure to stay as it is. Half of the room below the
    /// tier's end is given to either; the rate grows ever more slowly with age, so neither is too long.
    fn sure_for(&self, tier: u32, condition: BlockCondition) -> (Ps, u64) {
        let Some(end) = self.law.tiers.get(tier as usize) else { return (NEVER, u64::MAX) };
        let half = (end - self.rate(condition)) / 2.0;
        let erases = f64::from(condition.erases);
        let per_ps = self.law.per_age * erases / (self.age_ps + condition.age_ps as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates as it should")]
        let whole = |room: f64| if room.is_nan() { u64::MAX } else { room as u64 };
        (whole(half / per_ps), whole(half / (self.law.per_read * erases)))
    }
}

/// The finaliser of SplitMix64: each bit of the argument turns half of the bits of the result.
const fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The tiers of all superblocks, computed anew only when they may have changed.
#[derive(Clone, Debug)]
pub struct RetryTiers(Vec<Cached>);

#[derive(Clone, Copy, Debug)]
struct Cached {
    tier: u32,
    until_age_ps: Ps,
    until_reads: u64,
}

impl Cached {
    const NOTHING: Self = Self { tier: 0, until_age_ps: 0, until_reads: 0 };
}

impl RetryTiers {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(superblocks: usize) -> Self {
        Self(vec![Cached::NOTHING; superblocks])
    }

    /// The superblock was erased.
    pub fn forget(&mut self, superblock: usize) {
        self.0[superblock] = Cached::NOTHING;
    }

    /// The tier that [`BitErrors::tier`] gives. Between two calls of [`forget`](Self::forget), erases stay
    /// the same, and neither age nor reads fall.
    #[inline]
    pub fn of(&mut self, superblock: usize, law: &BitErrors, condition: BlockCondition) -> u32 {
        let cached = &mut self.0[superblock];
        if condition.age_ps >= cached.until_age_ps || condition.reads >= cached.until_reads {
            let tier = law.tier(condition);
            let (sure_ps, sure_reads) = law.sure_for(tier, condition);
            *cached = Cached {
                tier,
                until_age_ps: condition.age_ps.saturating_add(sure_ps.max(1)),
                until_reads: condition.reads.saturating_add(sure_reads.max(1)),
            };
        }
        cached.tier
    }
}

#[cfg(test)]
mod tests {
    use openpts_core::workload::Uniform;

    use super::*;

    const HOUR_PS: Ps = 3600 * PS_PER_S;

    fn preset() -> preset::MediaErrors {
        preset::MediaErrors {
            base: 1e-5,
            per_erase: 1e-10,
            power: 1.5,
            per_age: 2e-8,
            age_hours: 24.0,
            per_read: 1e-12,
            tiers: vec![1e-4, 2e-4, 4e-4],
            retry_us: 40.0,
            uncorrectable_chance: 0.01,
        }
    }

    fn law() -> BitErrors {
        BitErrors::new(&preset(), Scale::ONE, 7)
    }

    #[test]
    fn the_rate_adds_wear_retention_and_read_disturb() {
        let worn = BlockCondition { erases: 2_500, age_ps: 24 * HOUR_PS, reads: 10_000 };
        // 1e-5, 1e-10 x 125 000, 2e-8 x 2500 x ln 2, 1e-12 x 2500 x 10 000.
        let expected = 1e-5 + 1.25e-5 + 5e-5 * std::f64::consts::LN_2 + 2.5e-5;
        assert!((law().rate(worn) / expected - 1.0).abs() < 1e-12);
        assert_eq!(law().rate(BlockCondition::default()), 1e-5);
    }

    #[test]
    fn a_scaled_drive_ages_so_many_times_faster() {
        let scaled = BitErrors::new(&preset(), Scale::new(16).unwrap(), 7);
        let old = BlockCondition { erases: 900, age_ps: 320 * HOUR_PS, reads: 0 };
        let ratio = scaled.rate(BlockCondition { age_ps: old.age_ps / 16, ..old }) / law().rate(old);
        assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn each_tier_costs_one_more_retry() {
        let law = law();
        let tier = |reads| law.tier(BlockCondition { erases: 1000, age_ps: 0, reads });
        // The rate is 1e-5 + 3.16e-6 + 1e-9 per read.
        assert_eq!([0, 86_000, 87_000, 186_000, 187_000, 386_000, 387_000].map(tier), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(law.retries_ps(3), 120_000_000);
    }

    #[test]
    fn cached_tiers_are_those_of_the_law() {
        let law = law();
        let mut tiers = RetryTiers::new(3);
        let mut random = Uniform::for_thread(5, 0);
        let (mut age_ps, mut reads, mut seen) = (0, 0, [0; 4]);
        for _ in 0..400_000 {
            age_ps += random.below(HOUR_PS / 100);
            reads += random.below(3);
            let condition = BlockCondition { erases: 2_000, age_ps, reads };
            let tier = tiers.of(1, &law, condition);
            assert_eq!(tier, law.tier(condition), "{condition:?}");
            seen[tier as usize] += 1;
        }
        assert!(seen[..3].iter().all(|count| *count > 1000), "{seen:?}");
        tiers.forget(1);
        assert_eq!(tiers.of(1, &law, BlockCondition::default()), 0);
    }

    #[test]
    fn a_cache_that_forgot_to_look_again_would_be_found_out() {
        let law = law();
        let mut tiers = RetryTiers::new(1);
        let fresh = BlockCondition { erases: 2_000, age_ps: 0, reads: 0 };
        let before = tiers.of(0, &law, fresh);
        let disturbed = BlockCondition { reads: 1_000_000_000, ..fresh };
        assert_ne!(tiers.of(0, &law, disturbed), before);
        assert_eq!(tiers.of(0, &law, disturbed), 3);
    }

    #[test]
    fn uncorrectable_reads_are_rare_repeatable_and_only_above_the_last_tier() {
        let law = law();
        let fates = |law: &BitErrors| {
            (0..300_000)
                .filter(|n| law.is_uncorrectable(3, n % 3000, u64::from(n / 3000)))
                .collect::<Vec<_>>()
        };
        let failed = fates(&law);
        // 3000 expected, with a standard deviation of 54.5.
        assert!(failed.len().abs_diff(3000) < 250, "{}", failed.len());
        assert_eq!(failed, fates(&law));
        assert_ne!(failed, fates(&BitErrors::new(&preset(), Scale::ONE, 8)));
        assert!(failed.iter().all(|n| !law.is_uncorrectable(2, n % 3000, u64::from(n / 3000))));
        let certain = preset::MediaErrors { uncorrectable_chance: 1.0, ..preset() };
        assert!(BitErrors::new(&certain, Scale::ONE, 0).is_uncorrectable(3, 0, 0));
    }
}
