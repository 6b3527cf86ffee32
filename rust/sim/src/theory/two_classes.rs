//! Hot and cold pages: a share of the space that gets a larger share of the writes.

use super::oldest_first;

/// A share of the writes that goes to a share of the space; the rest to the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoClasses {
    pub(crate) writes: f64,
    pub(crate) space: f64,
}

impl TwoClasses {
    fn both(self) -> [(f64, f64); 2] {
        [(self.writes, self.space), (1.0 - self.writes, 1.0 - self.space)]
    }

    /// The oldest superblock first, all in one frontier: all slots live equally long, in which each class
    /// loses pages at its own rate.
    pub(crate) fn oldest_first(self, alpha: f64) -> f64 {
        // x is the life of a slot in drive writes of the host: what it does not hold at its end was won.
        let held = |x: f64| self.both().iter().map(|(r, f)| r * x / (1.0 - (-r * x / f).exp())).sum::<f64>();
        let (mut low, mut high) = (1e-9, 1e3);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if held(middle) < alpha { low = middle } else { high = middle }
        }
        alpha / low
    }

    /// The emptiest of some that are drawn, all in one frontier: fractions by hot and cold valid pages. A full
    /// superblock has the hot pages of the victim, and of the host's as many as chance gives.
    pub(crate) fn choices(self, alpha: f64, pages: u32, draws: u32) -> f64 {
        let mut field = Field::new(self, alpha, pages as usize, draws as i32);
        let mut last = 0.0;
        for _ in 0..400 {
            let won = field.relax(200);
            if (won - last).abs() < 1e-7 * won {
                break;
            }
            last = won;
        }
        f64::from(pages) / last
    }
}

/// Fractions of superblocks with `h` hot and `c` cold valid pages, at `h * width + c`.
struct Field {
    classes: TwoClasses,
    pages: usize,
    width: usize,
    draws: i32,
    /// User pages for each superblock.
    user_pages: f64,
    fractions: Vec<f64>,
    /// The chance of `k` hot pages among `n` of the host, at `n * width + k`.
    hot_of: Vec<f64>,
}

impl Field {
    fn new(classes: TwoClasses, alpha: f64, pages: usize, draws: i32) -> Self {
        let width = pages + 1;
        let user_pages = pages as f64 / alpha;
        let mut hot_of = vec![0.0; width * width];
        hot_of[0] = 1.0;
        for n in 1..width {
            for k in 0..=n {
                let stays = hot_of[(n - 1) * width + k] * (1.0 - classes.writes);
                let grows = if k > 0 { hot_of[(n - 1) * width + k - 1] * classes.writes } else { 0.0 };
                hot_of[n * width + k] = stays + grows;
            }
        }
        // Full superblocks with their share of hot pages; to make room for the rest, empty ones.
        let mut fractions = vec![0.0; width * width];
        for k in 0..=pages {
            let share = (1..=k).fold((1.0 - classes.space).powi(pages as i32), |share, i| {
                share * (pages + 1 - i) as f64 / i as f64 * classes.space / (1.0 - classes.space)
            });
            fractions[k * width + pages - k] = share / alpha;
        }
        fractions[0] = 1.0 - 1.0 / alpha;
        Self { classes, pages, width, draws, user_pages, fractions, hot_of }
    }

    /// Steps towards the steady state; gives the pages that a victim wins at the end.
    fn relax(&mut self, steps: usize) -> f64 {
        let mut won = 0.0;
        for _ in 0..steps {
            won = self.step();
        }
        won
    }

    fn step(&mut self) -> f64 {
        let (width, pages) = (self.width, self.pages);
        let mut by_valid = vec![0.0; pages + 1];
        self.each(|h, c| by_valid[h + c] += self.fractions[h * width + c]);
        let mut chance = vec![0.0; pages + 1];
        let (mut above, mut moved) = (0.0_f64, 0.0);
        for valid in (0..=pages).rev() {
            let here = above + by_valid[valid];
            let taken = here.powi(self.draws) - above.powi(self.draws);
            // Among equally empty ones, each is as likely as any other.
            chance[valid] = if by_valid[valid] > 0.0 { taken / by_valid[valid] } else { 0.0 };
            moved += valid as f64 * taken;
            above = here;
        }
        let won = pages as f64 - moved;
        let hot_loss = won * self.classes.writes / (self.user_pages * self.classes.space);
        let cold_loss = won * (1.0 - self.classes.writes) / (self.user_pages * (1.0 - self.classes.space));
        // Stable: no superblock may lose more than it has.
        let step = 0.5 / (pages as f64 * hot_loss.max(cold_loss) + self.draws as f64);
        let mut change = vec![0.0; width * width];
        let mut refilled = vec![0.0; width * width];
        self.each(|h, c| {
            let at = h * width + c;
            let share = self.fractions[at];
            let taken = chance[h + c] * share;
            let (hot, cold) = (hot_loss * h as f64 * share, cold_loss * c as f64 * share);
            change[at] -= taken + hot + cold;
            if h > 0 {
                change[at - width] += hot;
            }
            if c > 0 {
                change[at - 1] += cold;
            }
            refilled[at] = taken;
        });
        self.each(|h, c| {
            let taken = refilled[h * width + c];
            if taken > 1e-18 {
                let free = pages - h - c;
                for k in 0..=free {
                    change[(h + k) * width + pages - h - k] += taken * self.hot_of[free * width + k];
                }
            }
        });
        self.fractions.iter_mut().zip(&change).for_each(|(m, d)| *m += step * d);
        won
    }

    fn each(&self, mut visit: impl FnMut(usize, usize)) {
        for h in 0..=self.pages {
            for c in 0..=self.pages - h {
                visit(h, c);
            }
        }
    }
}

#[test]
fn equal_classes_are_one() {
    let even = TwoClasses { writes: 0.3, space: 0.3 };
    for alpha in [1.07, 1.28] {
        assert!((even.oldest_first(alpha) / oldest_first(alpha) - 1.0).abs() < 1e-9);
    }
    let mean_field = even.choices(1.28, 16, 4);
    let fixed = super::Choices::new(1.28, 16, 4).write_amplification();
    assert!((mean_field / fixed - 1.0).abs() < 2e-3, "{mean_field}, {fixed}");
}
