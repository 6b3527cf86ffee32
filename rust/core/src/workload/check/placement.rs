//! Where random accesses go.

use super::super::grid::Grid;
use super::super::stimulus::{Placement, Stimulus, Zone};
use super::super::{segments, unique_lbas, zones};
use super::check_share;
use super::pattern::check_weights;

/// Most access ranges that one stimulus has.
pub const MOST_ZONES: usize = 64;
/// Most segments: each thread keeps a table of their starts, half a megabyte then.
pub const MOST_SEGMENTS: u32 = 65_536;
/// Allowed distance of the zones' sum from 100 %, for shares that are no binary fractions.
const SHARE_TOLERANCE_PCT: f64 = 1e-6;

pub(super) fn check(stimulus: &Stimulus, sector_bytes: u32) -> Result<(), String> {
    if stimulus.random_pct == 0 {
        // Sequential accesses tile the range from its first sector on, aligned or not.
        return match stimulus.placement {
            Placement::Uniform => Ok(()),
            _ => Err("placement: without random accesses there is nothing to place".into()),
        };
    }
    holds_all_sizes(stimulus, sector_bytes, &stimulus.range(), "the range")?;
    match stimulus.placement {
        Placement::Uniform => Ok(()),
        Placement::Zones(ref zones) => check_zones(stimulus, zones, sector_bytes),
        Placement::Zipf { theta } if theta > 0.0 && theta.is_finite() => Ok(()),
        Placement::Zipf { theta } => Err(format!("zipf.theta {theta} is not above 0 and finite")),
        Placement::Pareto { h } if h > 0.0 && h < 0.5 => Ok(()),
        Placement::Pareto { h } => Err(format!("pareto.h {h} is not between 0 and 0.5")),
        Placement::Normal { mean_pct, deviation_pct } => {
            check_share("normal.mean_pct", mean_pct)?;
            if deviation_pct > 0.0 && deviation_pct <= 100.0 {
                return Ok(());
            }
            Err(format!("normal.deviation_pct {deviation_pct} is not above 0 and at most 100"))
        }
        Placement::Segments { count, bytes } => check_segments(stimulus, count, bytes, sector_bytes),
        Placement::UniqueLbas { bytes } => check_unique_lbas(stimulus, bytes, sector_bytes),
    }
}

/// A region has an aligned place for a transfer of each size.
fn holds_all_sizes(
    stimulus: &Stimulus,
    sector_bytes: u32,
    region: &std::ops::Range<u64>,
    name: &str,
) -> Result<(), String> {
    for block in stimulus.block_sizes.iter().map(|size| size.bytes) {
        let alignment = stimulus.alignment_of(block, sector_bytes);
        if Grid::new(region, block, alignment).is_none() {
            let (start, end) = (region.start, region.end);
            return Err(format!(
                "{name}, {start} to {end}, holds no block of {block} B aligned to {alignment} B"
            ));
        }
    }
    Ok(())
}

fn check_zones(stimulus: &Stimulus, zones: &[Zone], sector_bytes: u32) -> Result<(), String> {
    if zones.is_empty() || zones.len() > MOST_ZONES {
        return Err(format!("zones: {} are not 1 to {MOST_ZONES}", zones.len()));
    }
    check_weights("zones", zones.iter().map(|zone| zone.weight))?;
    for zone in zones {
        check_share("zones.range_pct", zone.range_pct)?;
    }
    let sum: f64 = zones.iter().map(|zone| zone.range_pct).sum();
    if (sum - 100.0).abs() > SHARE_TOLERANCE_PCT {
        return Err(format!("zones.range_pct sum to {sum} and not to 100"));
    }
    zones::regions(stimulus, zones, sector_bytes).iter().zip(1..).try_for_each(|(region, position)| {
        holds_all_sizes(stimulus, sector_bytes, region, &format!("zone {position}"))
    })
}

fn check_segments(stimulus: &Stimulus, count: u32, bytes: u64, sector_bytes: u32) -> Result<(), String> {
    let largest = stimulus.largest_block_bytes();
    let alignment = stimulus.alignment_of(largest, sector_bytes);
    if count == 0 || count > MOST_SEGMENTS {
        return Err(format!("segments.count {count} is not within 1 to {MOST_SEGMENTS}"));
    }
    if !bytes.is_multiple_of(alignment) {
        return Err(format!("segments.bytes {bytes} is not a multiple of the alignment {alignment} B"));
    }
    if bytes < u64::from(largest) {
        return Err(format!("segments.bytes {bytes} is less than the largest block size {largest} B"));
    }
    let room = segments::room(&stimulus.range(), alignment).unwrap_or(0);
    if u128::from(count) * u128::from(bytes / alignment) > u128::from(room) {
        let room = room * alignment;
        return Err(format!("segments: {count} of {bytes} B do not fit the range's aligned {room} B"));
    }
    Ok(())
}

fn check_unique_lbas(stimulus: &Stimulus, bytes: u64, sector_bytes: u32) -> Result<(), String> {
    let largest = u64::from(stimulus.largest_block_bytes());
    if stimulus.random_pct < 100 {
        let random_pct = stimulus.random_pct;
        return Err(format!("unique_lbas limits random accesses: random_pct {random_pct} is not 100"));
    }
    if bytes < largest {
        return Err(format!("unique_lbas.bytes {bytes} is less than the largest block size {largest} B"));
    }
    let places = unique_lbas::places(stimulus, sector_bytes).map_or(0, |grid| grid.places());
    if bytes / largest > places {
        let room = places * largest;
        return Err(format!("unique_lbas.bytes {bytes} exceeds the range's {room} B of aligned places"));
    }
    Ok(())
}
