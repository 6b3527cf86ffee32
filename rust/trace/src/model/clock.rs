//! When the next I/O of a model is due.

use openpts_core::workload::Uniform;
use rand_distr::Exp1;

use super::form::{Arrivals, Model, Process};

const NS_PER_S: f64 = 1e9;

/// Moments of the I/Os of a group of streams, through all steps.
pub(super) struct Clock {
    /// End, and I/Os per ns, of each step.
    steps: Vec<(f64, f64)>,
    /// The step of the moment; behind the last one at the end.
    step: usize,
    at_ns: f64,
    /// Of MMPP: whether it has the second rate, and until when.
    is_second: bool,
    changes_ns: f64,
    /// Of trains: I/Os that the present one still has.
    left: u64,
}

/// An I/O is due.
pub(super) struct Due {
    pub(super) at_ns: i64,
    pub(super) step: usize,
    /// Of a train that begins: its length.
    pub(super) train: Option<u64>,
}

impl Clock {
    pub(super) fn new(model: &Model, arrivals: &Arrivals) -> Self {
        let mut end_ns = 0.0;
        let steps = (model.steps.iter())
            .map(|(seconds, rates)| {
                end_ns += seconds * NS_PER_S;
                (end_ns, arrivals.streams.iter().map(|stream| rates[*stream]).sum::<f64>() / NS_PER_S)
            })
            .collect();
        Self { steps, step: 0, at_ns: 0.0, is_second: false, changes_ns: 0.0, left: 0 }
    }

    /// The next I/O; `None` at the end.
    pub(super) fn next(&mut self, process: &Process, random: &mut Uniform) -> Option<Due> {
        let mut train = None;
        let is_there = match process {
            Process::Even => self.pass(1.0, |rate| rate),
            Process::Poisson => self.pass(random.sample(&Exp1), |rate| rate),
            Process::Mmpp { rates, seconds } => self.modulated(*rates, *seconds, random),
            Process::OnOff(trains) if self.left > 0 => {
                self.left -= 1;
                self.wait(trains.gaps_within_ns.draw(random) as f64)
            }
            Process::OnOff(trains) => {
                let length = trains.lengths.mean();
                let within_ns = trains.gaps_within_ns.mean() * (length - 1.0);
                let between_ns = trains.gaps_between_ns.mean();
                let gap_ns = trains.gaps_between_ns.draw(random) as f64;
                let drawn = trains.lengths.draw(random);
                self.left = drawn - 1;
                train = Some(drawn);
                // The gaps of a step are as long as its rate wants them.
                self.pass(gap_ns, |rate| between_ns / (length / rate - within_ns).max(between_ns * 1e-3))
            }
        };
        is_there.then(|| Due { at_ns: self.at_ns.round() as i64, step: self.step, train })
    }

    /// Let so much of something pass that flows at a speed by the rate; false at the end.
    fn pass(&mut self, mut amount: f64, speed: impl Fn(f64) -> f64) -> bool {
        while let Some((end_ns, rate)) = self.steps.get(self.step).copied() {
            let per_ns = if rate > 0.0 { speed(rate) } else { 0.0 };
            if amount < (end_ns - self.at_ns) * per_ns {
                self.at_ns += amount / per_ns;
                return true;
            }
            amount -= (end_ns - self.at_ns) * per_ns;
            self.at_ns = end_ns;
            self.step += 1;
        }
        false
    }

    /// Let a time pass; false at the end.
    fn wait(&mut self, ns: f64) -> bool {
        self.at_ns += ns;
        while self.steps.get(self.step).is_some_and(|(end_ns, _)| *end_ns <= self.at_ns) {
            self.step += 1;
        }
        self.step < self.steps.len()
    }

    fn modulated(&mut self, rates: (f64, f64), seconds: (f64, f64), random: &mut Uniform) -> bool {
        let mut amount = random.sample(&Exp1);
        while let Some((end_ns, rate)) = self.steps.get(self.step).copied() {
            if self.at_ns >= self.changes_ns {
                self.is_second = if self.changes_ns == 0.0 {
                    random.unit() * (seconds.0 + seconds.1) >= seconds.0
                } else {
                    !self.is_second
                };
                let mean_ns = NS_PER_S * if self.is_second { seconds.1 } else { seconds.0 };
                self.changes_ns = self.at_ns + random.sample(&Exp1) * mean_ns;
            }
            let per_ns = rate * if self.is_second { rates.1 } else { rates.0 };
            let until_ns = end_ns.min(self.changes_ns);
            if amount < (until_ns - self.at_ns) * per_ns {
                self.at_ns += amount / per_ns;
                return true;
            }
            amount -= (until_ns - self.at_ns) * per_ns;
            self.at_ns = until_ns;
            self.step += usize::from(until_ns >= end_ns);
        }
        false
    }
}
