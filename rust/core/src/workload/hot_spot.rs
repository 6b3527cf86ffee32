//! Random accesses of which some places get more than others.

use rand_distr::{StandardNormal, Zipf};

use super::grid::Grid;
use super::permutation::Permutation;
use super::random::Uniform;

/// Exponents this near to 1 are taken for 1: the sampler's formula divides by their difference. At a rank
/// of 2^40 this changes the probability by less than 3e-6 of itself.
const NEAR_ONE: f64 = 1e-7;

/// The random accesses of one size, some places hotter than others.
#[derive(Clone, Copy, Debug)]
pub(super) struct HotSpot {
    grid: Grid,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Zipf { ranks: Zipf<f64>, scatter: Permutation },
    Pareto { exponent: f64, scatter: Permutation },
    Normal { mean: f64, deviation: f64 },
}

impl HotSpot {
    /// The place of rank r in proportion to r^-theta, the ranks scattered by the session's seed.
    pub(super) fn zipf(grid: Grid, theta: f64, seed: u64) -> Self {
        let theta = if (theta - 1.0).abs() < NEAR_ONE { 1.0 } else { theta };
        let ranks = Zipf::new(grid.places() as f64, theta).expect("theta is checked");
        Self { grid, shape: Shape::Zipf { ranks, scatter: Permutation::new(grid.places(), seed) } }
    }

    /// A share `1 - h` of the accesses to a share `h` of the places, scattered by the session's seed.
    pub(super) fn pareto(grid: Grid, h: f64, seed: u64) -> Self {
        // The first x of the places get x^(ln(1-h)/ln h) of the accesses (self-similar after Gray et al.,
        // "Quickly generating billion-record synthetic databases", SIGMOD 1994); this is its inverse.
        let exponent = h.ln() / (-h).ln_1p();
        Self { grid, shape: Shape::Pareto { exponent, scatter: Permutation::new(grid.places(), seed) } }
    }

    /// Around a place at `mean_pct` of the range.
    pub(super) fn normal(grid: Grid, mean_pct: f64, deviation_pct: f64) -> Self {
        Self { grid, shape: Shape::Normal { mean: mean_pct / 100.0, deviation: deviation_pct / 100.0 } }
    }

    #[inline]
    pub(super) fn next(&self, random: &mut Uniform) -> u64 {
        let places = self.grid.places();
        let place = match &self.shape {
            Shape::Zipf { ranks, scatter } => {
                // Ranks count from 1; rounding may lead beyond the last one.
                let rank = random.sample(ranks) as u64 - 1;
                scatter.place_of(rank.min(places - 1))
            }
            Shape::Pareto { exponent, scatter } => {
                scatter.place_of(place_at(random.unit().powf(*exponent), places))
            }
            Shape::Normal { mean, deviation } => loop {
                let share = mean + deviation * random.sample(&StandardNormal);
                if (0.0..=1.0).contains(&share) {
                    break place_at(share, places);
                }
            },
        };
        self.grid.offset_of(place)
    }
}

/// The place at a share of all places, from 0 to 1.
#[inline]
fn place_at(share: f64, places: u64) -> u64 {
    ((share * places as f64) as u64).min(places - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::{chi_square_p, ks_p};
    use statrs::distribution::{ContinuousCDF, Normal};

    const DRAWS: usize = 200_000;

    fn grid(places: u64) -> Grid {
        Grid::new(&(0..places * 4096), 4096, 4096).unwrap()
    }

    /// Places that were drawn, translated back to their ranks.
    fn ranks(spot: &HotSpot, seed: u64) -> Vec<u64> {
        let places = spot.grid.places();
        let order = Permutation::new(places, seed);
        let mut rank_of = vec![0; places as usize];
        (0..places).for_each(|rank| rank_of[order.place_of(rank) as usize] = rank);
        let mut random = Uniform::for_thread(2026, 1);
        (0..DRAWS).map(|_| rank_of[(spot.next(&mut random) / 4096) as usize]).collect()
    }

    #[test]
    fn zipf_ranks_come_in_proportion_to_a_power_of_them() {
        let places = 1000;
        for theta in [0.3, 0.99, 1.0 - 1e-15, 1.0, 1.2, 2.0] {
            let weights: Vec<f64> = (1..=places).map(|rank| (rank as f64).powf(-theta)).collect();
            let harmonic: f64 = weights.iter().sum();
            let mut counts = vec![0; places as usize];
            ranks(&HotSpot::zipf(grid(places), theta, 4), 4)
                .into_iter()
                .for_each(|rank| counts[rank as usize] += 1);
            // Pearson's test wants five of each: rare ranks go together.
            let (mut observed, mut expected) = (vec![0], vec![0.0]);
            for (count, weight) in counts.into_iter().zip(weights) {
                if *expected.last().unwrap() >= 20.0 {
                    observed.push(0);
                    expected.push(0.0);
                }
                *observed.last_mut().unwrap() += count;
                *expected.last_mut().unwrap() += weight / harmonic * DRAWS as f64;
            }
            if *expected.last().unwrap() < 5.0 {
                let (count, rest) = (observed.pop().unwrap(), expected.pop().unwrap());
                *observed.last_mut().unwrap() += count;
                *expected.last_mut().unwrap() += rest;
            }
            let p = chi_square_p(&observed, &expected);
            assert!(p > 1e-4, "theta {theta}: {p}");
        }
    }

    #[test]
    fn zipf_works_for_a_petabyte_of_places() {
        let places = 1_u64 << 40;
        let spot = HotSpot::zipf(grid(places), 1.0, 4);
        let hottest = spot.grid.offset_of(Permutation::new(places, 4).place_of(0));
        let mut random = Uniform::for_thread(1, 0);
        let hits = (0..DRAWS).filter(|_| spot.next(&mut random) == hottest).count() as f64;
        // The harmonic number of 2^40 is ln 2^40 + 0.5772.
        let expected = DRAWS as f64 / (40.0 * std::f64::consts::LN_2 + 0.577_215_66);
        assert!((hits - expected).abs() < 5.0 * expected.sqrt(), "{hits} for {expected}");
    }

    #[test]
    fn a_share_h_of_the_places_gets_the_rest_of_the_accesses_and_so_on_inside() {
        let places = 100_000;
        for h in [0.1, 0.2, 0.4] {
            let ranks = ranks(&HotSpot::pareto(grid(places), h, 8), 8);
            let within = |share: f64| {
                let hot = (share * places as f64).round() as u64;
                ranks.iter().filter(|rank| **rank < hot).count() as f64 / DRAWS as f64
            };
            for (share, expected) in [(h, 1.0 - h), (h * h, (1.0 - h).powi(2))] {
                let error = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
                let got = within(share);
                assert!((got - expected).abs() < 4.0 * error, "h {h}: {got} for {expected}");
            }
            // And at every other share: the first x of the places get x^(ln(1-h)/ln h).
            let edges = [0, 1, 3, 10, 100, 1000, 5000, 20_000, 50_000, places];
            let cell = |pair: &[u64]| ranks.iter().filter(|rank| (pair[0]..pair[1]).contains(rank)).count();
            let below = |rank: u64| (rank as f64 / places as f64).powf((1.0 - h).ln() / h.ln());
            let counts: Vec<u64> = edges.windows(2).map(|pair| cell(pair) as u64).collect();
            let expected: Vec<f64> =
                edges.windows(2).map(|pair| (below(pair[1]) - below(pair[0])) * DRAWS as f64).collect();
            let p = chi_square_p(&counts, &expected);
            assert!(p > 1e-4, "h {h}: {p}");
        }
    }

    #[test]
    fn a_normal_hot_spot_is_a_bell_cut_at_the_ends() {
        let places = 1 << 30;
        for (mean, deviation) in [(50.0, 10.0), (0.0, 20.0), (90.0, 30.0), (30.0, 100.0)] {
            let spot = HotSpot::normal(grid(places), mean, deviation);
            let mut random = Uniform::for_thread(31, 0);
            let shares: Vec<f64> =
                (0..20_000).map(|_| spot.next(&mut random) as f64 / 4096.0 / places as f64).collect();
            let bell = Normal::new(mean / 100.0, deviation / 100.0).unwrap();
            let (low, high) = (bell.cdf(0.0), bell.cdf(1.0));
            let p = ks_p(&shares, |share| (bell.cdf(share) - low) / (high - low));
            assert!(p > 1e-4, "{mean} and {deviation} %: {p}");
        }
    }

    #[test]
    fn extreme_shapes_still_end_and_stay_inside() {
        for places in [1, 2, 3, 1000] {
            for spot in [
                HotSpot::zipf(grid(places), 1e300, 1),
                HotSpot::zipf(grid(places), 1e-300, 1),
                HotSpot::zipf(grid(places), 40.0, 1),
                HotSpot::pareto(grid(places), 1e-300, 1),
                HotSpot::pareto(grid(places), 0.5 - 1e-16, 1),
                HotSpot::normal(grid(places), 100.0, 1e-300),
                HotSpot::normal(grid(places), 0.0, 1e-300),
            ] {
                let mut random = Uniform::for_thread(1, 0);
                for _ in 0..1000 {
                    assert!(spot.next(&mut random) < places * 4096, "{spot:?}");
                }
            }
        }
    }
}
