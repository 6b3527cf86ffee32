//! What tests of the page map share.

use crate::preset::{PageMapped, Preset};

/// A drive without a controller: 64 dies that program a page each, greedy, paced.
pub(crate) fn model(physical_per_user: f64, superblocks: u32) -> PageMapped {
    let text = include_str!("../../../../packages/openpts_sim/presets/theory.toml");
    let mut model = Preset::parse(text).expect("ships").page_mapped.expect("is one");
    model.mapping.physical_per_user = physical_per_user;
    model.geometry.superblocks = superblocks;
    model
}
