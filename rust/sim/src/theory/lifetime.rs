//! How long flash lives.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Drive writes until the first write fails. Superblocks live a normally distributed number of erases; a
/// share `spare` of them may die before. Those that die give all their erases, the others as many as the
/// last one that died; `alpha` is physical over user space and the write amplification a mean over life.
pub(crate) fn lifetime_drive_writes(
    mean: f64,
    deviation: f64,
    spare: f64,
    alpha: f64,
    write_amplification: f64,
) -> f64 {
    let law = Normal::new(0.0, 1.0).expect("standard");
    let last = law.inverse_cdf(spare);
    let of_dead = mean - deviation * law.pdf(last) / spare;
    let of_last = mean + deviation * last;
    (spare * of_dead + (1.0 - spare) * of_last) * alpha / write_amplification
}
