//! Results of a simulated drive as those of the drive that it stands for.

use openpts_core::engine::{ChoiceCounts, ErrorTally, IntervalResult, OperationResult, Spent, StepResult};
use openpts_core::workload::{ByOperation, Operation};

use crate::scale::Scale;
use crate::smart::{NandPages, Smart};

/// An interval whose times are nominal already. Histograms keep the simulated counts: what was not simulated
/// supports no percentile.
pub(super) fn scaled_interval(mut interval: IntervalResult, scale: Scale) -> IntervalResult {
    let factor = u64::from(scale.factor());
    scale_operations(&mut interval.operations, factor);
    interval.streams.iter_mut().for_each(|operations| scale_operations(operations, factor));
    interval.errors *= factor;
    interval.spent = scaled_spent(interval.spent, scale);
    interval
}

/// A step whose times are nominal already.
pub(super) fn scaled_step(mut step: StepResult, scale: Scale) -> StepResult {
    let factor = u64::from(scale.factor());
    scale_operations(&mut step.operations, factor);
    scale_choices(&mut step.choices, factor);
    for stream in &mut step.streams {
        scale_operations(&mut stream.operations, factor);
        scale_choices(&mut stream.choices, factor);
        stream.unissued = stream.unissued.saturating_mul(factor);
        stream.errors *= factor;
    }
    step.spent = scaled_spent(step.spent, scale);
    step.unissued = step.unissued.saturating_mul(factor);
    step.errors.iter_mut().for_each(|error| scale_error(error, factor));
    if let Some(failure) = &mut step.failure {
        failure.io.offset_bytes *= factor;
    }
    step
}

fn scaled_spent(spent: Spent, scale: Scale) -> Spent {
    let scaled = |bytes: u64| bytes * u64::from(scale.factor());
    Spent {
        energy_j: spent.energy_j.map(|energy_j| energy_j * f64::from(scale.factor())),
        media_write_bytes: spent.media_write_bytes.map(scaled),
        host_write_bytes: spent.host_write_bytes.map(scaled),
        free_blocks_pct: spent.free_blocks_pct,
    }
}

fn scale_operations(operations: &mut ByOperation<OperationResult>, factor: u64) {
    for operation in Operation::ALL {
        let result = operations.of_mut(operation);
        result.ios *= factor;
        result.bytes *= factor;
        result.latency_sum_ns *= u128::from(factor);
    }
}

fn scale_choices(ChoiceCounts { by_block_size, by_zone }: &mut ChoiceCounts, factor: u64) {
    by_block_size.iter_mut().chain(by_zone).for_each(|ios| *ios *= factor);
}

fn scale_error(error: &mut ErrorTally, factor: u64) {
    error.count *= factor;
    error.first_offsets_bytes.iter_mut().for_each(|offset| *offset *= factor);
}

/// The drive's log as the nominal drive would have it. Erases of a block, percentages and temperatures are
/// the same for both, and so is how often throttling began: its time constants are shortened as steps are.
pub(super) fn scaled_smart(smart: Smart, scale: Scale) -> Smart {
    let factor = u64::from(scale.factor());
    let times = f64::from(scale.factor());
    Smart {
        host_read_bytes: smart.host_read_bytes * factor,
        host_write_bytes: smart.host_write_bytes * factor,
        host_reads: smart.host_reads * factor,
        host_writes: smart.host_writes * factor,
        nand_pages: NandPages {
            host: smart.nand_pages.host * factor,
            collected: smart.nand_pages.collected * factor,
            folded: smart.nand_pages.folded * factor,
            padded: smart.nand_pages.padded * factor,
            journal: smart.nand_pages.journal * factor,
        },
        media_errors: smart.media_errors * factor,
        warning_temperature_s: smart.warning_temperature_s * times,
        critical_temperature_s: smart.critical_temperature_s * times,
        busy_s: smart.busy_s * times,
        energy_j: smart.energy_j.map(|energy_j| energy_j * times),
        mapped_pages: smart.mapped_pages * factor,
        ..smart
    }
}
