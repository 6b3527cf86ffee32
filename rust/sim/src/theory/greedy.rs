//! Greedy collection under uniform random writes, with superblocks of any size (Desnoyers 2012, 2014).

use super::lambert::lambert_w0;

/// The fraction of superblocks with `j` valid pages is proportional to `1/j`, from the emptiest to full ones.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    pages: f64,
    emptiest: f64,
}

impl Greedy {
    /// With superblocks of so many pages.
    #[must_use]
    pub fn new(alpha: f64, pages: u32) -> Self {
        let pages = f64::from(pages);
        let stretched = (1.0 + 0.5 / pages) * alpha;
        let emptiest = 0.5 - pages / alpha * lambert_w0(-stretched * (-stretched).exp());
        Self { pages, emptiest }
    }

    /// Valid pages of the emptiest superblock, which is collected.
    #[must_use]
    pub const fn emptiest(&self) -> f64 {
        self.emptiest
    }

    /// NAND pages for each page of the host.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        self.pages / (self.pages - self.emptiest + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Greedy;

    #[test]
    fn the_law_holds_the_user_space() {
        // The formula comes from the demand that superblocks of 1/j hold U pages: sum it up.
        for (alpha, pages) in [(1.07, 1024), (1.125, 256), (1.28, 1024)] {
            let law = Greedy::new(alpha, pages);
            let low = law.emptiest();
            let (from, full) = (low.ceil() as u32, f64::from(pages));
            // The lowest count takes the broken part.
            let part = f64::from(from) - low;
            let sum: f64 = (from..=pages).map(|j| 1.0 / f64::from(j)).sum::<f64>() + part / low;
            let mean = (f64::from(pages - from + 1) + part) / sum;
            assert!((full / mean / alpha - 1.0).abs() < 2e-3, "{alpha}, {pages}: {}", full / mean);
        }
    }

    #[test]
    fn values_of_the_literature_are_reproduced() {
        for (alpha, pages, expected) in [
            (1.07, 64, 7.001),
            (1.125, 64, 4.384),
            (1.28, 64, 2.402),
            (1.07, 1024, 7.761),
            (1.28, 1024, 2.476),
        ] {
            let found = Greedy::new(alpha, pages).write_amplification();
            assert!((found - expected).abs() < 6e-4, "{alpha}, {pages}: {found}");
        }
    }
}
