//! Gaps between I/Os.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::values::{Distribution, ratio};
use crate::steps::Kind;

const LAGS: usize = 100;
const SHORT_NS: [u64; 3] = [1_000, 10_000, 100_000];

/// Sums for the autocorrelation of a series, shifted by its first value.
#[derive(Clone, Debug, Default)]
struct Autocorrelation {
    first: Option<f64>,
    count: u64,
    sum: f64,
    squares: f64,
    head: Vec<f64>,
    last: VecDeque<f64>,
    products: Vec<f64>,
}

impl Autocorrelation {
    fn push(&mut self, value: f64) {
        let shifted = value - *self.first.get_or_insert(value);
        self.products.resize(LAGS, 0.0);
        for (product, before) in self.products.iter_mut().zip(&self.last) {
            *product += shifted * before;
        }
        if self.head.len() < LAGS {
            self.head.push(shifted);
        }
        if self.last.len() == LAGS {
            self.last.pop_back();
        }
        self.last.push_front(shifted);
        self.count += 1;
        self.sum += shifted;
        self.squares += shifted * shifted;
    }

    /// At each lag, as long as it is less than a quarter of the series; nothing if all values are equal.
    fn coefficients(&self) -> Vec<f64> {
        let n = self.count as f64;
        let mean = self.sum / n;
        let variance = self.squares - n * mean * mean;
        if variance <= self.squares * 1e-12 {
            return Vec::new();
        }
        let (mut head, mut tail) = (0.0, 0.0);
        let mut coefficients = Vec::new();
        for lag in 1..=LAGS.min(usize::try_from(self.count / 4).unwrap_or(LAGS)) {
            head += self.head[lag - 1];
            tail += self.last[lag - 1];
            // sum of (x[i] - mean) * (x[i + lag] - mean) over all pairs
            let pairs = n - lag as f64;
            let product =
                self.products[lag - 1] - mean * ((self.sum - tail) + (self.sum - head)) + pairs * mean * mean;
            coefficients.push(product / variance);
        }
        coefficients
    }
}

/// Gaps between all I/Os of a kind.
#[derive(Clone, Debug, Default)]
struct Gaps {
    last_ns: Option<i64>,
    distribution: Distribution,
    short: [u64; SHORT_NS.len()],
    equal: u64,
}

impl Gaps {
    fn push(&mut self, at_ns: i64) -> Option<u64> {
        let gap_ns = self.last_ns.replace(at_ns).map(|last_ns| last_ns.abs_diff(at_ns))?;
        self.distribution.record(gap_ns);
        self.equal += u64::from(gap_ns == 0);
        for (count, limit_ns) in self.short.iter_mut().zip(SHORT_NS) {
            *count += u64::from(gap_ns < limit_ns);
        }
        Some(gap_ns)
    }

    fn to_json(&self) -> Value {
        let count = self.distribution.count();
        let [below_1us, below_10us, below_100us] = self.short.map(|n| ratio(n, count));
        json!({
            "gap_ns": self.distribution.to_json(), "share_equal": ratio(self.equal, count),
            "share_below_1us": below_1us, "share_below_10us": below_10us, "share_below_100us": below_100us,
        })
    }
}

/// All, and those of reads and writes by themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    all: Gaps,
    operations: [Gaps; Kind::ALL.len()],
    autocorrelation: Autocorrelation,
}

impl Arrivals {
    pub(super) fn push(&mut self, kind: Kind, at_ns: i64) {
        self.operations[kind as usize].push(at_ns);
        if let Some(gap_ns) = self.all.push(at_ns) {
            self.autocorrelation.push(gap_ns as f64);
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let operations: serde_json::Map<_, _> = Kind::ALL
            .iter()
            .zip(&self.operations)
            .filter(|(_, gaps)| gaps.distribution.count() > 0)
            .map(|(kind, gaps)| (kind.name().to_owned(), gaps.to_json()))
            .collect();
        json!({
            "all": self.all.to_json(), "by_operation": operations,
            "autocorrelation": self.autocorrelation.coefficients(),
        })
    }
}
