//! How long flash blocks live.

use openpts_core::workload::Uniform;
use rand_distr::Normal;

use super::preset::Wear;

/// Erases that one block lives.
pub(super) fn erases_of_one(wear: &Wear, random: &mut Uniform) -> u32 {
    let deviation = (wear.mean_erases * wear.deviation_share).max(0.0);
    let erases = Normal::new(wear.mean_erases, deviation)
        .map_or(wear.mean_erases, |distribution| random.sample(&distribution));
    erases.round().max(1.0) as u32
}
