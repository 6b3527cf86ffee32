//! Whether a tracked figure is steady: PTS 2.1.24, in windows of time instead of rounds.

use std::collections::VecDeque;

use super::tally::Tally;
use crate::workload::{Operation, SteadyFigure, SteadyRule};

/// Sums of one interval or window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Their latencies.
    pub latency_ns: u128,
}

impl Sums {
    /// The sums of what moves data; flushes have neither bytes nor a place in a rate.
    pub fn of(tally: &Tally) -> Self {
        let mut sums = Self::default();
        for operation in [Operation::Read, Operation::Write, Operation::Trim] {
            let tally = tally.of(operation);
            sums.ios += tally.latencies.count();
            sums.bytes += tally.bytes;
            sums.latency_ns += tally.latencies.sum_ns();
        }
        sums
    }
}

/// Takes the intervals of a step in order and tells when the figure is steady.
#[derive(Debug)]
pub struct SteadyWatch {
    rule: SteadyRule,
    intervals_per_window: u64,
    taken: u64,
    window: Sums,
    values: VecDeque<f64>,
}

impl SteadyWatch {
    /// The rule's window is a whole number of intervals.
    pub fn new(rule: SteadyRule, interval_ns: u64) -> Self {
        let intervals_per_window = (rule.window_ns / interval_ns).max(1);
        Self { rule, intervals_per_window, taken: 0, window: Sums::default(), values: VecDeque::new() }
    }

    /// Take the next interval; true when the figure is steady now.
    pub fn is_steady_after(&mut self, interval: Sums) -> bool {
        self.taken += 1;
        self.window.ios += interval.ios;
        self.window.bytes += interval.bytes;
        self.window.latency_ns += interval.latency_ns;
        if !self.taken.is_multiple_of(self.intervals_per_window) {
            return false;
        }
        let window = std::mem::take(&mut self.window);
        self.values.push_back(figure(self.rule.figure, window));
        if self.values.len() > self.rule.windows as usize {
            self.values.pop_front();
        }
        self.values.len() == self.rule.windows as usize && self.holds()
    }

    /// What was taken until now is not to be compared with what comes.
    pub fn restart(&mut self) {
        self.taken = 0;
        self.window = Sums::default();
        self.values.clear();
    }

    fn holds(&self) -> bool {
        let values: Vec<f64> = self.values.iter().copied().collect();
        let mean = mean(&values);
        if mean <= 0.0 {
            return false;
        }
        let (least, most) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
        let fitted_range = slope(&values).abs() * count(values.len() - 1);
        most - least <= self.rule.excursion_pct / 100.0 * mean
            && fitted_range <= self.rule.slope_pct / 100.0 * mean
    }
}

/// The figure of a window; windows are of equal length, so that sums stand for rates.
#[expect(clippy::cast_precision_loss, reason = "sums of one window")]
fn figure(figure: SteadyFigure, sums: Sums) -> f64 {
    match figure {
        SteadyFigure::Iops => sums.ios as f64,
        SteadyFigure::Throughput => sums.bytes as f64,
        SteadyFigure::MeanLatency if sums.ios == 0 => 0.0,
        SteadyFigure::MeanLatency => sums.latency_ns as f64 / sums.ios as f64,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// Slope of the best linear fit by least squares, per value.
fn slope(values: &[f64]) -> f64 {
    let (middle, mean) = (count(values.len() - 1) / 2.0, mean(values));
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let distance = count(index) - middle;
        products += distance * (value - mean);
        squares += distance * distance;
    }
    products / squares
}

#[expect(clippy::cast_precision_loss, reason = "a number of windows")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(figure: SteadyFigure, windows: u32) -> SteadyWatch {
        let rule = SteadyRule { figure, window_ns: 2_000, windows, excursion_pct: 20.0, slope_pct: 10.0 };
        SteadyWatch::new(rule, 1_000)
    }

    /// Feed windows of these I/O counts, two intervals each; the number of the window that was steady.
    fn steady_at(ios: &[u64]) -> Option<usize> {
        let mut watch = watch(SteadyFigure::Iops, 5);
        ios.iter().position(|ios| {
            let half = Sums { ios: ios / 2, ..Sums::default() };
            !watch.is_steady_after(half) && watch.is_steady_after(half)
        })
    }

    #[test]
    fn a_flat_figure_is_steady_after_the_last_of_the_windows() {
        assert_eq!(steady_at(&[100; 6]), Some(4));
    }

    #[test]
    fn the_windows_slide_until_the_excursion_fits() {
        // Mean of the last five: 98; range 18 of 19.6 allowed, slope 8.8 of 9.8.
        assert_eq!(steady_at(&[200, 108, 90, 100, 100, 92]), Some(5));
        // The same slope, but a range of 22.
        assert_eq!(steady_at(&[108, 86, 100, 104, 92]), None);
    }

    #[test]
    fn a_slope_is_not_steady_though_the_excursion_fits() {
        // Least squares over 92, 96, 100, 104, 108: 4 per window, 16 over the range, allowed 10.
        assert_eq!(steady_at(&[92, 96, 100, 104, 108]), None);
        assert_eq!(steady_at(&[96, 98, 100, 102, 104]), Some(4));
    }

    #[test]
    fn a_restart_takes_nothing_from_before_it() {
        let mut watch = watch(SteadyFigure::Iops, 5);
        let half = Sums { ios: 50, ..Sums::default() };
        assert!((0..9).all(|_| !watch.is_steady_after(half)));
        watch.restart();
        assert!((0..9).all(|_| !watch.is_steady_after(half)), "five windows have to come again");
        assert!(watch.is_steady_after(half));
    }

    #[test]
    fn a_device_that_does_nothing_is_never_steady() {
        assert_eq!(steady_at(&[0; 20]), None);
    }

    #[test]
    fn mean_latency_weighs_by_ios() {
        let sums = Sums { ios: 4, bytes: 0, latency_ns: 1_000 };
        assert_eq!(figure(SteadyFigure::MeanLatency, sums), 250.0);
    }
}
