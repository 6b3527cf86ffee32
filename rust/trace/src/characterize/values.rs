//! Distributions of whole numbers: lengths, gaps, latencies, distances.

use openpts_core::histogram::LatencyHistogram;
use serde_json::{Value, json};

/// Parts of an octave that comparisons use.
const PARTS_PER_OCTAVE: u32 = 8;
/// Percentiles that are printed.
pub(super) const PERCENTILES: [f64; 9] = [1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0, 99.9, 99.99];

/// A distribution with exact count, mean, deviation and extremes; its percentiles are within 0.1 %.
#[derive(Clone, Debug, Default)]
pub(super) struct Distribution {
    histogram: LatencyHistogram,
    /// Saturating: beyond it the deviation is a lower bound.
    squares: u128,
}

impl Distribution {
    pub(super) fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    pub(super) fn record_n(&mut self, value: u64, count: u64) {
        self.histogram.record_n(value, count);
        let square = u128::from(value) * u128::from(value);
        self.squares = self.squares.saturating_add(square.saturating_mul(u128::from(count)));
    }

    pub(super) fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// `null` if empty.
    pub(super) fn to_json(&self) -> Value {
        let count = self.count();
        if count == 0 {
            return Value::Null;
        }
        let n = count as f64;
        let mean = self.histogram.sum_ns() as f64 / n;
        // n * squares - sum^2 is exact, as long as it fits.
        let spread = u128::from(count)
            .checked_mul(self.squares)
            .and_then(|product| product.checked_sub(self.histogram.sum_ns().checked_pow(2)?))
            .map_or_else(|| (self.squares as f64 / n - mean * mean).max(0.0), |exact| exact as f64 / (n * n));
        let quantiles: Vec<_> = PERCENTILES
            .iter()
            .map(|percentile| json!([percentile, self.histogram.value_at_percentile(*percentile)]))
            .collect();
        json!({
            "count": count, "mean": mean, "deviation": spread.sqrt(),
            "cv": if mean > 0.0 { json!(spread.sqrt() / mean) } else { Value::Null },
            "min": self.histogram.min_ns(), "max": self.histogram.max_ns(),
            "percentiles": quantiles, "bins": self.bins(),
        })
    }

    /// Lowest value and count of each part of an octave that has any; each value below 8 has its own.
    fn bins(&self) -> Vec<(u64, u64)> {
        let mut bins: Vec<(u64, u64)> = Vec::new();
        for bucket in self.histogram.buckets() {
            let lowest = bin_of(bucket.lowest_ns);
            match bins.last_mut() {
                Some(last) if last.0 == lowest => last.1 += bucket.count,
                _ => bins.push((lowest, bucket.count)),
            }
        }
        bins
    }
}

/// The lowest value of the bin that a value is in.
pub(super) const fn bin_of(value: u64) -> u64 {
    if value < PARTS_PER_OCTAVE as u64 {
        return value;
    }
    let shift = value.ilog2() - PARTS_PER_OCTAVE.trailing_zeros();
    value >> shift << shift
}

/// A ratio, or `null` if there is nothing to divide by.
pub(super) fn ratio(part: u64, whole: u64) -> Value {
    if whole == 0 { Value::Null } else { json!(part as f64 / whole as f64) }
}
