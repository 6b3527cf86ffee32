//! The page map against theory.

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

/// Write amplification of uniform random writes over the whole drive in the steady state: as simulated, the
/// spare space that takes part, as a share of the user space, and the theory of the preset's policy for that.
/// What a drive holds back for its frontiers, and keeps empty for collection, takes no part.
/// The preset's flash counts, at another size and over-provisioning; wear, data reduction and single-bit cells
/// do not.
fn write_amplification(preset: &Preset, over_provisioning: f64) -> (f64, f64, f64) {
    let model = preset.page_mapped.clone().unwrap();
    let mut model = PageMapped { slc: None, reduction: None, wear: None, idle: None, ..model };
    model.mapping.physical_per_user = 1.0 + over_provisioning;
    let mut ftl = Ftl::new(&model, USER_PAGES, 1).unwrap();
    let theory = expected(&ftl, &model);
    let effective_over_provisioning = effective_alpha(&ftl, theory) - 1.0;
    ftl.jump_start(8).unwrap();
    let mut random = Uniform::for_thread(1, 0);
    write_at_random(&mut ftl, SETTLE, &mut random).unwrap();
    let before = ftl.counters();
    write_at_random(&mut ftl, MEASURED, &mut random).unwrap();
    let after = ftl.counters();
    let simulated = (after.total() - before.total()) as f64 / (after.host - before.host) as f64;
    (simulated, effective_over_provisioning, theory)
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

#[test]
#[ignore = "seconds: make test-full has it"]
fn simulated_and_expected_agree() {
    let shipped = |text| Preset::parse(text).expect("ships");
    let theory = shipped(include_str!("../../../../packages/openpts_sim/presets/theory.toml"));
    let enterprise = shipped(include_str!("../../../../packages/openpts_sim/presets/enterprise-tlc.toml"));
    for (preset, over_provisioning) in
        [(&theory, 0.07), (&theory, 0.125), (&theory, 0.28), (&enterprise, 0.07), (&enterprise, 0.28)]
    {
        let (simulated, effective, expected) = write_amplification(preset, over_provisioning);
        let deviation = simulated / expected - 1.0;
        assert!(deviation.abs() < 0.005, "{over_provisioning}: {simulated}, theory {expected}");
        assert!(effective < over_provisioning, "{effective}");
        if matches!(preset.page_mapped.as_ref().unwrap().collection.victim, Victim::Greedy | Victim::Fifo) {
            assert!(oldest_first(1.0 + over_provisioning) < expected, "of all spare space there is");
        }
    }
}
