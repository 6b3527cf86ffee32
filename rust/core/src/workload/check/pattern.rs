//! Sizes, operations, range and demand.

use super::super::deck::{MOST_CARDS, cards_of};
use super::super::stimulus::Stimulus;
use super::Limits;

/// Most transfer sizes that one stimulus mixes.
pub const MOST_BLOCK_SIZES: usize = 64;

pub(super) fn check(stimulus: &Stimulus, limits: &Limits) -> Result<(), String> {
    check_block_sizes(stimulus, limits)?;
    let operations = stimulus.operations;
    let weights = [operations.read, operations.write, operations.trim, operations.flush, operations.fsync];
    check_weights("operations", weights.into_iter())?;
    if stimulus.random_pct > 100 {
        return Err(format!("random_pct {} is more than all", stimulus.random_pct));
    }
    if stimulus.tc == 0 || stimulus.tc > limits.tc {
        return Err(format!("TC {} is not within 1 to {}", stimulus.tc, limits.tc));
    }
    if stimulus.qd == 0 || stimulus.qd > limits.qd {
        return Err(format!("QD {} is not within 1 to {}", stimulus.qd, limits.qd));
    }
    check_distances(stimulus, limits.sector_bytes)?;
    check_range(stimulus, limits)
}

fn check_block_sizes(stimulus: &Stimulus, limits: &Limits) -> Result<(), String> {
    let sizes = &stimulus.block_sizes;
    if sizes.is_empty() || sizes.len() > MOST_BLOCK_SIZES {
        return Err(format!("block_sizes: {} are not 1 to {MOST_BLOCK_SIZES}", sizes.len()));
    }
    let sector = limits.sector_bytes;
    let transfers = stimulus.operations.read > 0 || stimulus.operations.write > 0;
    for size in sizes {
        let block = size.bytes;
        if block == 0 || !block.is_multiple_of(sector) {
            return Err(format!("block size {block} B is not a multiple of the sector size {sector} B"));
        }
        // What moves no data needs no buffer.
        if transfers && block > limits.block_size_bytes {
            return Err(format!("block size {block} B exceeds the buffers of {} B", limits.block_size_bytes));
        }
    }
    check_weights("block_sizes", sizes.iter().map(|size| size.weight))
}

/// A deck of these weights can be dealt.
pub(super) fn check_weights(field: &str, weights: impl Iterator<Item = u32> + Clone) -> Result<(), String> {
    match cards_of(weights) {
        0 => Err(format!("{field}: the weights sum to 0")),
        1..=MOST_CARDS => Ok(()),
        cards => Err(format!("{field}: the weights, reduced, sum to {cards}, more than {MOST_CARDS}")),
    }
}

fn check_distances(stimulus: &Stimulus, sector: u32) -> Result<(), String> {
    if let Some(alignment) = stimulus.alignment_bytes
        && (alignment == 0 || !alignment.is_multiple_of(sector))
    {
        return Err(format!("alignment_bytes {alignment} is not a multiple of the sector size {sector} B"));
    }
    if let Some(stride) = stimulus.stride_bytes {
        if !stride.is_multiple_of(u64::from(sector)) {
            return Err(format!("stride_bytes {stride} is not a multiple of the sector size {sector} B"));
        }
        let largest = stimulus.largest_block_bytes();
        if stride < u64::from(largest) {
            return Err(format!("stride_bytes {stride} is less than the largest block size {largest} B"));
        }
    }
    Ok(())
}

fn check_range(stimulus: &Stimulus, limits: &Limits) -> Result<(), String> {
    let (start, end) = (stimulus.range_start_bytes, stimulus.range_end_bytes);
    let sector = u64::from(limits.sector_bytes);
    if start >= end || end > limits.capacity_bytes {
        return Err(format!("range {start} to {end} does not lie within {} B", limits.capacity_bytes));
    }
    if !start.is_multiple_of(sector) || !end.is_multiple_of(sector) {
        return Err(format!("range {start} to {end} does not lie on sectors of {sector} B"));
    }
    let (bytes, block) = (end - start, stimulus.largest_block_bytes());
    if bytes < u64::from(block) * u64::from(stimulus.tc) {
        return Err(format!("a range of {bytes} B has no block of {block} B for each thread"));
    }
    let unit = stimulus.sequential_unit_bytes();
    if stimulus.random_pct < 100 && u128::from(bytes) < u128::from(unit) * u128::from(stimulus.tc) {
        return Err(format!("a range of {bytes} B has no stride of {unit} B for each thread"));
    }
    Ok(())
}
