//! What theory says of write amplification: NAND pages programmed for each page of the host. The page map is
//! held against these formulas; none of them knows of it.
//!
//! `alpha` is physical over user space, as far as it takes part; `pages` those of a superblock.

#[cfg(test)]
mod amplification;
mod choices;
mod greedy;
mod lambert;
#[cfg(test)]
mod lifetime;
#[cfg(test)]
mod transient;
#[cfg(test)]
mod two_classes;

#[cfg(test)]
pub(crate) use amplification::{expected, write_at_random};
pub use choices::Choices;
pub use greedy::Greedy;
pub use lambert::lambert_w0;
#[cfg(test)]
pub(crate) use {lifetime::lifetime_drive_writes, transient::Transient, two_classes::TwoClasses};

use super::preset::Victim;

/// The oldest superblock first, under uniform random writes: `alpha / (alpha + W0(-alpha e^-alpha))`. Also
/// the limit of greedy collection for large superblocks (Desnoyers 2014; Xiang and Kurkoski 2011).
#[must_use]
pub fn oldest_first(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w0(-alpha * (-alpha).exp()))
}

/// A victim at random: it has lost as many pages as any other superblock.
#[must_use]
pub fn at_random(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// The write amplification of a policy under uniform random writes.
#[must_use]
pub fn of_policy(victim: Victim, alpha: f64, pages: u32) -> f64 {
    match victim {
        Victim::Greedy => Greedy::new(alpha, pages).write_amplification(),
        Victim::Fifo => oldest_first(alpha),
        Victim::Choices(draws) => Choices::new(alpha, pages, draws).write_amplification(),
    }
}

/// A drive whose map knows units of so many pages, with a log before them whose oldest page makes its whole
/// unit be rewritten; the log has room for `log_pages_per_unit` pages for each unit of the user space. Under
/// uniform random writes, a merge takes that many pages of the log along besides the oldest.
#[must_use]
pub fn log_block(unit_pages: f64, log_pages_per_unit: f64) -> f64 {
    1.0 + unit_pages / (1.0 + log_pages_per_unit)
}

/// The mapped share of a user space of which random pages are written and trimmed, a share `trims` of all
/// requests being trims, below 1/2 (Frankie et al. 2012).
#[must_use]
pub fn mapped_share_under_trims(trims: f64) -> f64 {
    (1.0 - 2.0 * trims) / (1.0 - trims)
}

/// Valid pages of superblocks in the steady state, the oldest first, that together hold `user_pages`;
/// `None` if there is nothing to collect.
#[must_use]
pub fn valid_counts(victim: Victim, superblocks: u32, pages: u32, user_pages: u32) -> Option<Vec<u32>> {
    let alpha = f64::from(superblocks) * f64::from(pages) / f64::from(user_pages);
    if alpha <= 1.0 {
        return None;
    }
    // Between the emptiest and a full one, equal shares of superblocks multiply the count by equal factors.
    let geometric = |from: f64, to: f64| move |share: f64| from * (to / from).powf(share);
    let full = f64::from(pages);
    let quantile: Box<dyn Fn(f64) -> f64> = match victim {
        Victim::Greedy => {
            Box::new(geometric((Greedy::new(alpha, pages).emptiest() - 0.5).max(0.5), full + 0.5))
        }
        Victim::Fifo => Box::new(geometric(full * (1.0 - 1.0 / oldest_first(alpha)), full)),
        Victim::Choices(draws) => {
            let law = Choices::new(alpha, pages, draws);
            Box::new(move |share| law.quantile(share))
        }
    };
    let share = |superblock| (f64::from(superblock) + 0.5) / f64::from(superblocks);
    let counts = (0..superblocks).map(|superblock| quantile(share(superblock)).round());
    Some(balanced(counts.map(|count| (count as u32).min(pages)).collect(), pages, user_pages))
}

/// Counts whose sum is `total`: each gives or takes as little as possible.
fn balanced(mut counts: Vec<u32>, most: u32, total: u32) -> Vec<u32> {
    let mut missing = i64::from(total) - counts.iter().map(|count| i64::from(*count)).sum::<i64>();
    while missing != 0 {
        for count in &mut counts {
            if missing > 0 && *count < most {
                *count += 1;
                missing -= 1;
            } else if missing < 0 && *count > 0 {
                *count -= 1;
                missing += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_examples_are_reproduced() {
        // Xiang and Kurkoski, arXiv 1110.4245: 30 % of over-provisioning.
        assert!((oldest_first(1.3) - 2.36).abs() < 0.005);
        // The limits of many choices, and of one.
        for alpha in [1.07, 1.28] {
            assert!((of_policy(Victim::Choices(1), alpha, 64) / at_random(alpha) - 1.0).abs() < 1e-9);
            let many = of_policy(Victim::Choices(3000), alpha, 64);
            assert!((many / of_policy(Victim::Greedy, alpha, 64) - 1.0).abs() < 0.01, "{alpha}: {many}");
            let large = of_policy(Victim::Greedy, alpha, 1 << 20);
            assert!((large / oldest_first(alpha) - 1.0).abs() < 1e-3, "{alpha}: {large}");
        }
    }

    #[test]
    fn counts_of_superblocks_hold_the_user_space_and_nothing_more() {
        for victim in [Victim::Greedy, Victim::Fifo, Victim::Choices(1), Victim::Choices(5)] {
            for (superblocks, pages, user_pages) in [(1000, 64, 59_000), (300, 5000, 1_200_000), (50, 8, 300)]
            {
                let counts = valid_counts(victim, superblocks, pages, user_pages).unwrap();
                assert_eq!(counts.len() as u32, superblocks);
                assert_eq!(counts.iter().sum::<u32>(), user_pages, "{victim:?}");
                assert!(counts.iter().all(|count| *count <= pages));
            }
        }
        assert_eq!(valid_counts(Victim::Greedy, 10, 10, 100), None);
    }
}
