//! How the rate of I/Os varies with the scale of time.

use serde_json::{Value, json};

use super::hurst;

/// Peaks over mean are printed for these.
const PEAK_NS: [u64; 5] = [10_000_000, 1_000_000_000, 10_000_000_000, 60_000_000_000, 300_000_000_000];
/// Scales of dispersion that are printed, each twice the one before, and bins that the coarsest has at least.
const OCTAVES: usize = 12;
const LEAST_BINS: usize = 32;
/// Width of bins at first, as a power of 2 in ns, and how many there may be.
const FIRST_WIDTH_LOG2: u32 = 10;
const MOST_BINS: usize = 1 << 17;

/// The I/Os in the busiest bin of one width.
#[derive(Clone, Debug)]
struct Peak {
    width_ns: u64,
    bin: u64,
    ios: u64,
    most: u64,
}

/// Counts of I/Os over time, in bins that double in width when there are too many.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    width_log2: u32,
    bins: Vec<u32>,
    peaks: [Peak; PEAK_NS.len()],
    ios: u64,
    last_ns: u64,
}

impl Default for Rates {
    fn default() -> Self {
        let peaks = PEAK_NS.map(|width_ns| Peak { width_ns, bin: 0, ios: 0, most: 0 });
        Self { width_log2: FIRST_WIDTH_LOG2, bins: Vec::new(), peaks, ios: 0, last_ns: 0 }
    }
}

impl Rates {
    /// An I/O so many ns after the trace's begin.
    pub(super) fn push(&mut self, since_ns: u64) {
        self.ios += 1;
        self.last_ns = since_ns;
        for peak in &mut self.peaks {
            let bin = since_ns / peak.width_ns;
            if bin != peak.bin {
                (peak.bin, peak.ios) = (bin, 0);
            }
            peak.ios += 1;
            peak.most = peak.most.max(peak.ios);
        }
        while since_ns >> self.width_log2 >= MOST_BINS as u64 {
            self.bins = folded(&self.bins);
            self.width_log2 += 1;
        }
        let bin = (since_ns >> self.width_log2) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] = self.bins[bin].saturating_add(1);
    }

    /// `by_operation` are those of reads and of writes alone.
    pub(super) fn to_json(&self, by_operation: &[Self; 2]) -> Value {
        let [reads, writes] = by_operation.each_ref().map(Self::dispersion);
        json!({
            "peak_over_mean": self.peaks(), "dispersion": self.dispersion(),
            "dispersion_by_operation": {"read": reads, "write": writes}, "hurst": self.hurst(),
        })
    }

    /// The mean is that of the whole trace; a scale that is longer than the trace has none.
    fn peaks(&self) -> Value {
        let peaks = self.peaks.iter().map(|peak| {
            let width_ns = peak.width_ns;
            let mean = self.ios as f64 * width_ns as f64 / self.last_ns as f64;
            let is_known = self.last_ns >= width_ns;
            (width_ns as f64 / 1e9, is_known.then(|| peak.most as f64 / mean))
        });
        json!(peaks.collect::<Vec<_>>())
    }

    /// Variance over mean of the counts in whole bins, from the coarsest scale of enough bins downwards.
    fn dispersion(&self) -> Vec<(f64, f64)> {
        let mut scales = Vec::new();
        let mut bins = self.whole_bins();
        let mut width_log2 = self.width_log2;
        while bins.len() >= LEAST_BINS {
            let n = bins.len() as f64;
            let mean = bins.iter().map(|count| f64::from(*count)).sum::<f64>() / n;
            let variance = bins.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / n;
            if mean > 0.0 {
                scales.push((2f64.powi(width_log2 as i32) / 1e9, variance / mean));
            }
            bins = folded(&bins[..bins.len() / 2 * 2]);
            width_log2 += 1;
        }
        let first = scales.len().saturating_sub(OCTAVES);
        scales.split_off(first)
    }

    /// Without the last bin, in which the trace ends.
    fn whole_bins(&self) -> Vec<u32> {
        self.bins[..self.bins.len().saturating_sub(1)].to_vec()
    }

    /// Of the counts in bins that have one I/O each on average, or more.
    fn hurst(&self) -> Value {
        let mut bins = self.whole_bins();
        let mut width_log2 = self.width_log2;
        while !bins.is_empty() && self.ios < bins.len() as u64 {
            bins = folded(&bins[..bins.len() / 2 * 2]);
            width_log2 += 1;
        }
        if bins.len() < hurst::LEAST_BINS {
            return json!({
                "reason": format!(
                    "not estimable: {} bins with an I/O on average, and {} are needed", bins.len(), hurst::LEAST_BINS
                )
            });
        }
        let series: Vec<f64> = bins.iter().map(|count| f64::from(*count)).collect();
        let width_s = 2f64.powi(width_log2 as i32) / 1e9;
        hurst::estimates(&series, width_s)
    }
}

fn folded(bins: &[u32]) -> Vec<u32> {
    bins.chunks(2).map(|pair| pair.iter().fold(0, |sum: u32, count| sum.saturating_add(*count))).collect()
}
