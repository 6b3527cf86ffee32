//! How superblocks come to the steady state: the differential equation of the mean field (Van Houdt 2013).

/// Fractions of superblocks by their number of valid pages, in time.
pub(crate) struct Transient {
    fractions: Vec<f64>,
    draws: i32,
    /// User pages for each superblock.
    user_pages: f64,
}

impl Transient {
    /// Superblocks of so many pages as they are when collection begins: the user space was written in order,
    /// then random pages of it until nothing was empty.
    pub(crate) fn after_random_overwrites(alpha: f64, pages: u32, draws: u32) -> Self {
        // In drive writes the overwriting took `alpha - 1`. The first superblocks kept each page with the same
        // chance; those written after them have lost the less the later they were written.
        let mut fractions = vec![0.0; pages as usize + 1];
        let mut add = |share: f64, chance: f64| {
            let mut term = (1.0 - chance).powi(pages as i32);
            for valid in 0..=pages {
                fractions[valid as usize] += share * term;
                term *= f64::from(pages - valid) / f64::from(valid + 1) * chance / (1.0 - chance);
            }
        };
        add(1.0 / alpha, (1.0 - alpha).exp());
        const PARTS: u32 = 1000;
        for part in 0..PARTS {
            let age = (alpha - 1.0) * (f64::from(part) + 0.5) / f64::from(PARTS);
            add((1.0 - 1.0 / alpha) / f64::from(PARTS), (-age).exp());
        }
        Self { fractions, draws: draws as i32, user_pages: f64::from(pages) / alpha }
    }

    /// The write amplification over the next so many drive writes, in steps of so many victims for each
    /// superblock.
    pub(crate) fn advance(&mut self, drive_writes: f64, step: f64) -> f64 {
        let (mut host, mut nand) = (0.0, 0.0);
        let pages = (self.fractions.len() - 1) as f64;
        while host < drive_writes * self.user_pages {
            // The midpoint method.
            let (slope, _) = self.slope(&self.fractions);
            let middle: Vec<f64> =
                self.fractions.iter().zip(&slope).map(|(m, s)| m + s * step / 2.0).collect();
            let (slope, won) = self.slope(&middle);
            self.fractions.iter_mut().zip(&slope).for_each(|(m, s)| *m += s * step);
            host += won * step;
            nand += pages * step;
        }
        nand / host
    }

    /// Change of the fractions for each victim, and the pages that it wins.
    fn slope(&self, fractions: &[f64]) -> (Vec<f64>, f64) {
        let full = fractions.len() - 1;
        let mut taken = vec![0.0; full + 1];
        let mut above = 0.0_f64;
        for i in (0..=full).rev() {
            let here = above + fractions[i];
            taken[i] = here.powi(self.draws) - above.powi(self.draws);
            above = here;
        }
        let moved: f64 = (0..).zip(&taken).map(|(i, share)| f64::from(i) * share).sum();
        let won = full as f64 - moved;
        let loss = won / self.user_pages;
        let slope = (0..=full).map(|i| {
            let from_above = if i < full { (i + 1) as f64 * fractions[i + 1] } else { 0.0 };
            let full_again = if i == full { 1.0 } else { 0.0 };
            full_again - taken[i] + loss * (from_above - i as f64 * fractions[i])
        });
        (slope.collect(), won)
    }
}

#[test]
fn the_equation_comes_to_rest_where_the_fixed_point_is() {
    let mut transient = Transient::after_random_overwrites(1.28, 32, 5);
    transient.advance(8.0, 2e-3);
    let rest = transient.advance(0.2, 2e-3);
    let fixed = super::Choices::new(1.28, 32, 5).write_amplification();
    assert!((rest / fixed - 1.0).abs() < 1e-3, "{rest}, {fixed}");
}
