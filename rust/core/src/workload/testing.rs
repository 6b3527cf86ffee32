//! What the tests of this module share: a plain stimulus, and goodness of fit for what is random. The
//! distributions are those of `statrs`.

use std::ops::Range;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::stimulus::{OperationWeights, Step, Stimulus, Stop};

pub(super) const SECTOR: u32 = 512;

/// Random writes of one thread, to be changed as the test needs them.
pub(crate) fn random_writes(block_size_bytes: u32, range: Range<u64>) -> Stimulus {
    Stimulus::random(OperationWeights::reads_pct(0), block_size_bytes, range)
}

/// A step without an end.
pub(crate) fn endless(stimulus: Stimulus) -> Step {
    Step::new(Some(stimulus), Stop { duration_ns: Some(u64::MAX), ..Stop::default() })
}

/// The probability of a worse fit by chance (Pearson).
pub(super) fn chi_square_p(counts: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(counts.len(), expected.len());
    assert!(expected.iter().all(|expected| *expected >= 5.0), "too few for Pearson's test");
    let statistic: f64 = counts
        .iter()
        .zip(expected)
        .map(|(count, expected)| (*count as f64 - expected).powi(2) / expected)
        .sum();
    ChiSquared::new(counts.len() as f64 - 1.0).unwrap().sf(statistic)
}

/// The probability of a larger distance from a distribution by chance (Kolmogorov and Smirnov, with
/// Stephens' correction for finite samples).
pub(super) fn ks_p(values: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let p = cdf(*value);
            (p - index as f64 / n).abs().max(((index + 1) as f64 / n - p).abs())
        })
        .fold(0.0, f64::max);
    let scaled = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    let term = |k: f64| (-1.0_f64).powf(k - 1.0) * (-2.0 * (k * scaled).powi(2)).exp();
    (2.0 * (1..=100).map(|k| term(f64::from(k))).sum::<f64>()).clamp(0.0, 1.0)
}

/// Whether values are exponential with a mean of 1.
pub(super) fn exponential_ks_p(values: &[f64]) -> f64 {
    ks_p(values, |value| 1.0 - (-value).exp())
}
