//! Whole lives of page maps.

mod balance;
mod placement;
mod steady;
mod wear;

use openpts_core::workload::Uniform;

use super::{Ftl, Timeless};
use crate::preset::PageMapped;
use crate::theory::write_at_random;

/// The write amplification of so many uniform random writes over the whole drive.
fn amplification(ftl: &mut Ftl, writes: u32, random: &mut Uniform) -> f64 {
    let before = ftl.counters();
    write_at_random(ftl, writes, random).unwrap();
    let after = ftl.counters();
    (after.total() - before.total()) as f64 / (after.host - before.host) as f64
}

fn fill_in_order(ftl: &mut Ftl) {
    for page in 0..ftl.layout().user_pages {
        ftl.write(page, 8, &mut Timeless).unwrap();
    }
}

fn ftl(model: &PageMapped, user_pages: u32) -> Ftl {
    Ftl::new(model, user_pages, 42).unwrap()
}

/// One die: superblocks of any size.
fn one_die(model: &mut PageMapped) {
    model.geometry.dies = 1;
    model.geometry.dies_per_group = 1;
}
