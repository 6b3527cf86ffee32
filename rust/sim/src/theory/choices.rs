//! The emptiest of some superblocks drawn at random, under uniform random writes (mean field: Van Houdt 2013).

/// The steady state: fractions of superblocks by their number of valid pages.
///
/// Let `S_i` be the fraction with at least `i` valid pages. A victim has at least `i` with probability
/// `S_i^d`, and becomes full; overwriting takes superblocks from `i` to `i - 1` at a rate `rate * i`, for each
/// victim. In balance `1 - S_i^d = rate i (S_i - S_{i+1})`, solved from full superblocks down; `rate` is such
/// that superblocks hold the user space.
#[derive(Clone, Debug)]
pub struct Choices {
    /// `S_i` for `i` from 0 to full.
    at_least: Vec<f64>,
    draws: i32,
}

impl Choices {
    /// With superblocks of so many pages, of which `draws` are drawn, with replacement.
    #[must_use]
    pub fn new(alpha: f64, pages: u32, draws: u32) -> Self {
        let draws = i32::try_from(draws.max(1)).unwrap_or(i32::MAX);
        let wanted = f64::from(pages) / alpha;
        let held = |at_least: &[f64]| at_least[1..].iter().sum::<f64>();
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        // The faster superblocks lose pages, the fewer they hold.
        while held(&solve(pages, draws, high)) > wanted {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if held(&solve(pages, draws, middle)) > wanted { low = middle } else { high = middle }
        }
        Self { at_least: solve(pages, draws, high), draws }
    }

    /// NAND pages for each page of the host.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        let pages = (self.at_least.len() - 1) as f64;
        let moved: f64 = self.at_least[1..].iter().map(|share| share.powi(self.draws)).sum();
        pages / (pages - moved)
    }

    /// Fewer superblocks than this share hold fewer pages than this.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let fuller = self.at_least.partition_point(|at_least| *at_least >= 1.0 - share);
        fuller.saturating_sub(1) as f64
    }

    /// The fraction of superblocks with each number of valid pages.
    #[must_use]
    pub fn fractions(&self) -> Vec<f64> {
        let next = self.at_least[1..].iter().copied().chain([0.0]);
        self.at_least.iter().zip(next).map(|(here, next)| here - next).collect()
    }
}

fn solve(pages: u32, draws: i32, rate: f64) -> Vec<f64> {
    let mut at_least = vec![0.0; pages as usize + 1];
    let mut above = 0.0;
    for i in (1..=pages).rev() {
        above = root(draws, rate * f64::from(i), above);
        at_least[i as usize] = above;
    }
    at_least[0] = 1.0;
    at_least
}

/// The `s` from `above` to 1 for which `s^d + loss (s - above) = 1`: convex and rising, so that Newton's
/// method comes down to it from 1.
fn root(draws: i32, loss: f64, above: f64) -> f64 {
    let mut s = 1.0_f64;
    for _ in 0..100 {
        let power = s.powi(draws - 1);
        let step = (power * s + loss * (s - above) - 1.0) / (f64::from(draws) * power + loss);
        s -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    s
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn values_of_the_mean_field_are_reproduced() {
        // Fixed points of the differential equation, found by integrating it elsewhere.
        for (alpha, draws, expected) in [
            (1.07, 2, 10.277),
            (1.07, 5, 7.875),
            (1.07, 10, 7.323),
            (1.125, 2, 6.194),
            (1.28, 2, 3.245),
            (1.28, 10, 2.471),
        ] {
            let found = Choices::new(alpha, 64, draws).write_amplification();
            assert!((found - expected).abs() < 6e-4, "{alpha}, {draws}: {found}");
        }
    }

    #[test]
    fn fractions_hold_the_user_space() {
        for draws in [1, 2, 30] {
            let law = Choices::new(1.125, 100, draws);
            let fractions = law.fractions();
            assert!((fractions.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mean: f64 = (0..).zip(&fractions).map(|(i, share)| f64::from(i) * share).sum();
            assert!((mean - 100.0 / 1.125).abs() < 1e-9, "{mean}");
            let median = law.quantile(0.5);
            let below: f64 = fractions[..median as usize].iter().sum();
            assert!(below < 0.5 && below + fractions[median as usize] >= 0.5);
        }
    }
}
