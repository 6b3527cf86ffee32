//! The page map against theory, for a user who wants to see it.

use openpts_core::workload::Uniform;

use super::{of_policy, oldest_first};
use crate::ftl::{Ftl, Timeless};
use crate::preset::{PageMapped, Preset, PresetError, Victim};

/// Pages of the host: enough for a spread below 0.1 %, and a second or two.
const USER_PAGES: u32 = 1 << 21;
/// Writes before those that count, after the jump: a part of the drive.
const SETTLE: u32 = USER_PAGES / 4;
/// Writes that count.
const MEASURED: u32 = 2 * USER_PAGES;

/// Write amplification as simulated, and what the theory of the policy says of it.
#[derive(Clone, Copy, Debug)]
pub struct Amplification {
    /// Of the page map.
    pub simulated: f64,
    /// Spare space that takes part, as a share of the user space: what a drive holds back for its frontiers,
    /// and keeps empty for collection, is of no use.
    pub effective_over_provisioning: f64,
    /// Theory of that, which the simulated drive is held against.
    pub theory: f64,
    /// The closed formula for superblocks of any size, where the policy has one, of all spare space there is.
    pub nominal_theory: f64,
}

/// Write amplification of uniform random writes over the whole drive in the steady state: simulated, and by
/// the theory of the preset's policy. The preset's flash counts, at another size and over-provisioning;
/// wear, data reduction and single-bit cells do not.
///
/// # Errors
/// If the preset is not page-mapped, or leaves no room for collection.
pub fn write_amplification(
    preset: &Preset,
    over_provisioning: f64,
    seed: u64,
) -> Result<Amplification, PresetError> {
    let Some(model) = &preset.page_mapped else {
        return Err(PresetError(format!("{} is not page-mapped: no theory covers it", preset.name)));
    };
    if !(over_provisioning > 0.0 && over_provisioning <= 10.0) {
        return Err(PresetError(format!(
            "over-provisioning {over_provisioning} is not above 0 and at most 10"
        )));
    }
    let mut model = PageMapped { slc: None, reduction: None, wear: None, idle: None, ..model.clone() };
    model.mapping.physical_per_user = 1.0 + over_provisioning;
    let mut ftl = Ftl::new(&model, USER_PAGES, seed)?;
    let theory = expected(&ftl, &model);
    let effective_over_provisioning = effective_alpha(&ftl, theory) - 1.0;
    let nominal_theory = match model.collection.victim {
        Victim::Greedy | Victim::Fifo => oldest_first(1.0 + over_provisioning),
        Victim::Choices(_) => {
            of_policy(model.collection.victim, 1.0 + over_provisioning, ftl.layout().superblock_pages)
        }
    };
    ftl.jump_start(8)?;
    let mut random = Uniform::for_thread(seed, 0);
    write_at_random(&mut ftl, SETTLE, &mut random)?;
    let before = ftl.counters();
    write_at_random(&mut ftl, MEASURED, &mut random)?;
    let after = ftl.counters();
    let simulated = (after.total() - before.total()) as f64 / (after.host - before.host) as f64;
    Ok(Amplification { simulated, effective_over_provisioning, theory, nominal_theory })
}

/// The theory of the policy, for the space that takes part. How much of it is empty depends a little on what
/// victims hold, and the other way round.
pub(crate) fn expected(ftl: &Ftl, model: &PageMapped) -> f64 {
    let layout = ftl.layout();
    (0..5).fold(2.0, |amplification: f64, _| {
        of_policy(model.collection.victim, effective_alpha(ftl, amplification), layout.superblock_pages)
    })
}

/// Physical over user space, as far as it takes part at such an amplification.
fn effective_alpha(ftl: &Ftl, amplification: f64) -> f64 {
    ftl.layout().physical_per_user - ftl.empty_per_user(1.0 - 1.0 / amplification)
}

/// Pages whose entries of the map are fetched ahead.
const AHEAD: usize = 32;

/// So many uniform random writes, about.
pub(crate) fn write_at_random(ftl: &mut Ftl, writes: u32, random: &mut Uniform) -> Result<(), PresetError> {
    let user_pages = u64::from(ftl.layout().user_pages);
    for _ in 0..writes as usize / AHEAD {
        let pages = [(); AHEAD].map(|()| random.below(user_pages) as u32);
        pages.iter().for_each(|page| ftl.prefetch(*page));
        pages.iter().for_each(|page| ftl.prefetch_place(*page));
        for page in pages {
            ftl.write(page, 8, &mut Timeless).map_err(|error| PresetError(error.to_string()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped(text: &str) -> Preset {
        Preset::parse(text).expect("ships")
    }

    #[test]
    fn simulated_and_expected_agree() {
        let theory = shipped(include_str!("../../../../python/openpts/simulation/presets/theory.toml"));
        let enterprise =
            shipped(include_str!("../../../../python/openpts/simulation/presets/enterprise-tlc.toml"));
        for (preset, over_provisioning) in
            [(&theory, 0.07), (&theory, 0.125), (&theory, 0.28), (&enterprise, 0.07), (&enterprise, 0.28)]
        {
            let found = write_amplification(preset, over_provisioning, 1).unwrap();
            let deviation = found.simulated / found.theory - 1.0;
            assert!(deviation.abs() < 0.005, "{over_provisioning}: {found:?}");
            assert!(found.effective_over_provisioning < over_provisioning, "{found:?}");
            assert!(found.nominal_theory < found.theory, "{over_provisioning}: {found:?}");
        }
    }

    #[test]
    fn what_has_no_theory_is_refused() {
        let oracle = shipped(include_str!("../../../../python/openpts/simulation/presets/oracle.toml"));
        assert!(write_amplification(&oracle, 0.07, 1).unwrap_err().0.contains("not page-mapped"));
        let theory = shipped(include_str!("../../../../python/openpts/simulation/presets/theory.toml"));
        for out_of_bounds in [0.0, -1.0, f64::NAN, 11.0] {
            assert!(write_amplification(&theory, out_of_bounds, 1).is_err());
        }
        assert!(write_amplification(&theory, 1e-4, 1).unwrap_err().0.contains("superblocks"));
    }
}
