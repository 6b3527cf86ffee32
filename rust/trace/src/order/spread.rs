//! Gives I/Os that share a coarse stamp times of their own.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::error::TraceError;
use super::super::formats::Spread;
use super::super::tally::Tally;
use super::super::traced_io::{Quality, TracedIo};
use super::WINDOW_IOS;

/// What is said of I/Os whose time was spread.
const SPREAD: &str = "spread over the tick of a coarse clock";

/// Takes I/Os in order and hands them on, those of equal times together.
pub(in super::super) struct Spreader {
    how: Spread,
    tick_ns: u64,
    group: Vec<TracedIo>,
    random: Xoshiro256PlusPlus,
}

impl Spreader {
    pub(in super::super) fn new(how: Spread, tick_ns: u64) -> Self {
        let seed = if let Spread::Poisson { seed } = how { seed } else { 0 };
        Self { how, tick_ns, group: Vec::new(), random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Take I/Os, and append those whose time is known.
    pub(in super::super) fn push(
        &mut self,
        ios: &[TracedIo],
        spread: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        for io in ios {
            if let Some(last) = self.group.last().filter(|last| last.issued_ns != io.issued_ns) {
                let until_next_ns = io.issued_ns.abs_diff(last.issued_ns);
                self.end_group(until_next_ns, spread, tally);
            }
            if self.group.len() == WINDOW_IOS {
                return Err(TraceError::Refused(format!(
                    "can't spread the I/Os of one moment: more than {WINDOW_IOS} have the same time; select a device, \
                     or leave them together with --spread burst"
                )));
            }
            self.group.push(*io);
        }
        Ok(())
    }

    /// Append all that is left.
    pub(in super::super) fn finish(&mut self, spread: &mut Vec<TracedIo>, tally: &mut Tally) {
        self.end_group(self.tick_ns, spread, tally);
    }

    /// The next I/O keeps its place: where it is within the tick, that ends there.
    fn end_group(&mut self, until_next_ns: u64, spread: &mut Vec<TracedIo>, tally: &mut Tally) {
        if self.group.len() > 1 {
            *tally.notes.entry(SPREAD).or_default() += self.group.len() as u64;
            let delays_ns = self.delays(self.tick_ns.min(until_next_ns));
            for (io, delay_ns) in self.group.iter_mut().zip(delays_ns) {
                io.issued_ns = io.issued_ns.saturating_add(delay_ns);
                io.completed_ns = io.completed_ns.map(|completed_ns| completed_ns.saturating_add(delay_ns));
                io.quality = io.quality.with(Quality::TIME_SYNTHETIC);
            }
        }
        spread.append(&mut self.group);
    }

    /// Of the I/Os of a group after its time, in order.
    fn delays(&mut self, tick_ns: u64) -> Vec<i64> {
        let tick_ns = u128::from(tick_ns);
        let ios = self.group.len() as u128;
        let mut delays_ns = match self.how {
            Spread::Burst => vec![0; self.group.len()],
            Spread::Even => (0..ios).map(|number| number * tick_ns / ios).collect(),
            // So many arrivals of a Poisson process in a tick are anywhere in it, independently.
            Spread::Poisson { .. } => {
                let mut place = || (u128::from(self.random.next_u64()) * tick_ns) >> 64;
                (0..ios).map(|_| place()).collect::<Vec<_>>()
            }
        };
        delays_ns.sort_unstable();
        delays_ns.into_iter().map(|delay_ns| i64::try_from(delay_ns).unwrap_or(i64::MAX)).collect()
    }
}
