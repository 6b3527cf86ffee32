//! Three estimates of the Hurst parameter, each with its confidence and the scales that it was fitted over.

use serde_json::{Value, json};

/// Fewer bins give no estimate.
pub(super) const LEAST_BINS: usize = 1 << 14;
/// Half-width of the 95 % interval in standard errors.
const NORMAL_95: f64 = 1.96;

/// A straight line through points, with the standard error of its slope.
struct Line {
    slope: f64,
    error: f64,
}

/// By least squares; weights are reciprocal variances if they are known.
fn line(points: &[(f64, f64, f64)], are_variances_known: bool) -> Line {
    let weight: f64 = points.iter().map(|(_, _, weight)| weight).sum();
    let mean = |of: fn(&(f64, f64, f64)) -> f64| {
        points.iter().map(|point| of(point) * point.2).sum::<f64>() / weight
    };
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| point.2 * (point.0 - x).powi(2)).sum();
    let slope = points.iter().map(|point| point.2 * (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    if are_variances_known {
        return Line { slope, error: spread.sqrt().recip() };
    }
    let rest: f64 = points.iter().map(|point| point.2 * (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    let freedom = (points.len() as f64 - 2.0).max(1.0);
    Line { slope, error: (rest / freedom / spread).sqrt() }
}

/// Of counts in bins of one width.
pub(super) fn estimates(series: &[f64], width_s: f64) -> Value {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n as f64;
    if series.iter().all(|value| (value - mean).abs() < 1e-9) {
        return json!({"reason": "not estimable: all bins are equal"});
    }
    json!({
        "bin_s": width_s, "bins": n,
        "aggregated_variance": aggregated_variance(series, width_s),
        "rescaled_range": rescaled_range(series, width_s),
        "wavelet": wavelet(series, width_s),
    })
}

fn estimate(hurst: f64, error: f64, width_s: f64, from: usize, to: usize) -> Value {
    let (from_s, to_s) = (from as f64 * width_s, to as f64 * width_s);
    json!({
        "h": hurst, "low": hurst - NORMAL_95 * error, "high": hurst + NORMAL_95 * error,
        "from_s": from_s, "to_s": to_s,
    })
}

/// The variance of means over blocks of m bins falls as m^(2H - 2).
fn aggregated_variance(series: &[f64], width_s: f64) -> Value {
    let (from, to) = (8, series.len() / 128);
    let mut points = Vec::new();
    for m in powers(from, to) {
        let means: Vec<f64> =
            series.chunks_exact(m).map(|block| block.iter().sum::<f64>() / m as f64).collect();
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // A log variance of `count` values has a variance of about 2 / count: fine scales count for more.
        points.push(((m as f64).ln(), variance.ln(), count / 2.0));
    }
    let line = line(&points, false);
    estimate(1.0 + line.slope / 2.0, line.error / 2.0, width_s, from, to)
}

/// The range of the sums of deviations over blocks of m bins, in standard deviations, grows as m^H.
fn rescaled_range(series: &[f64], width_s: f64) -> Value {
    let (from, to) = (64, series.len() / 16);
    let mut points = Vec::new();
    for m in powers(from, to) {
        let ranges: Vec<f64> = series.chunks_exact(m).filter_map(range).collect();
        if !ranges.is_empty() {
            let mean = ranges.iter().sum::<f64>() / ranges.len() as f64;
            points.push(((m as f64).ln(), mean.ln(), 1.0));
        }
    }
    let line = line(&points, false);
    estimate(line.slope, line.error, width_s, from, to)
}

fn range(block: &[f64]) -> Option<f64> {
    let n = block.len() as f64;
    let mean = block.iter().sum::<f64>() / n;
    let deviation = (block.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
    let (mut sum, mut least, mut most) = (0.0, 0.0f64, 0.0f64);
    for value in block {
        sum += value - mean;
        least = least.min(sum);
        most = most.max(sum);
    }
    (deviation > 0.0).then(|| (most - least) / deviation)
}

/// The energy of Haar details at octave j grows as 2^(j (2H - 1)).
fn wavelet(series: &[f64], width_s: f64) -> Value {
    const FIRST_OCTAVE: u32 = 3;
    const LEAST_DETAILS: usize = 16;
    let mut sums = series.to_vec();
    let mut points = Vec::new();
    let mut octave = 0;
    while sums.len() / 2 >= LEAST_DETAILS {
        octave += 1;
        let pairs = sums.chunks_exact(2);
        let count = pairs.len() as f64;
        let energy = pairs.clone().map(|pair| (pair[0] - pair[1]).powi(2) / 2.0).sum::<f64>() / count;
        sums = pairs.map(|pair| (pair[0] + pair[1]) / std::f64::consts::SQRT_2).collect();
        if octave >= FIRST_OCTAVE && energy > 0.0 {
            // The logarithm of a mean of squares is too small by 1 / (n ln 2), with a variance of 2 / (n ln^2 2).
            let bias = -1.0 / (count * std::f64::consts::LN_2);
            let variance = 2.0 / (count * std::f64::consts::LN_2.powi(2));
            points.push((f64::from(octave), energy.log2() - bias, variance.recip()));
        }
    }
    let line = line(&points, true);
    estimate(f64::midpoint(1.0, line.slope), line.error / 2.0, width_s, 1 << FIRST_OCTAVE, 1 << octave)
}

fn powers(from: usize, to: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(from), |m| Some(m * 2)).take_while(move |m| *m <= to)
}
