//! What follows from a preset, a capacity and a scale before any drive is made: geometry, buffer, rates.
//!
//! Rates are estimates from closed formulas, good for planning; what a drive really does, only its
//! simulation shows.

use super::drive::PAGE_BYTES;
use super::ftl::{row_pages, rows_and_superblocks};
use super::open::simulated_bytes;
use super::page_mapped::dies;
use super::preset::{Geometry, LogBlock, Nand, Pace, PageMapped, Preset};
use super::scale::Scale;
use super::theory;

/// A simulated drive's size and speed. Bytes and pages are the simulated ones, times micro times.
///
/// `superblocks`, their user bytes and `rows` are 0 where the model has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Bytes that the host sees.
    pub user_bytes: u64,
    /// Pages of the flash.
    pub physical_pages: u64,
    /// Superblocks.
    pub superblocks: u64,
    /// What of the host's bytes a superblock stands for.
    pub superblock_user_bytes: f64,
    /// Rows of program units in a superblock.
    pub rows: u64,
    /// The same of the drive that this one stands for.
    pub rows_of_real_drive: u32,
    /// Write buffer.
    pub buffer_bytes: u64,
    /// How far work that one phase leaves behind can reach into the next: a full write buffer, or a merge or
    /// collection at once.
    pub settling_ns: f64,
    /// Speed of writes that nothing is collected for.
    pub fresh_write_bytes_per_s: f64,
    /// Speed of random writes in steady state.
    steady_write_bytes_per_s: f64,
    read_commands_per_s: f64,
    write_commands_per_s: f64,
    read_bytes_per_s: f64,
    array_reads_per_s: f64,
    array_read_bytes: u64,
}

impl Shape {
    /// The shape of a drive of so many nominal bytes; `None` for an oracle, whose script knows neither flash
    /// nor buffer.
    #[must_use]
    pub fn of(preset: &Preset, capacity_bytes: u64, scale: Scale) -> Option<Self> {
        let user_bytes = capacity_bytes / u64::from(scale.factor());
        if let Some(model) = &preset.page_mapped {
            let nominal_bytes =
                u128::from(simulated_bytes(capacity_bytes, scale)) * u128::from(scale.factor());
            let dies = dies(&model.geometry, nominal_bytes);
            return Some(page_mapped(model, Geometry { dies, ..model.geometry }, user_bytes));
        }
        preset.log_block.as_ref().map(|parts| log_block(parts, user_bytes))
    }

    /// About how many I/Os of this kind the drive does each second at most. `collects`: they are random
    /// writes, or reads among them, on a drive in steady state.
    #[must_use]
    pub fn expected_iops(&self, block_size_bytes: u32, read_share: f64, collects: bool) -> f64 {
        let bytes = u64::from(block_size_bytes).max(PAGE_BYTES);
        let write_bytes_per_s =
            if collects { self.steady_write_bytes_per_s } else { self.fresh_write_bytes_per_s };
        let read_s = (1.0 / self.read_commands_per_s)
            .max(bytes as f64 / self.read_bytes_per_s)
            .max(bytes.div_ceil(self.array_read_bytes) as f64 / self.array_reads_per_s);
        let write_s = (1.0 / self.write_commands_per_s).max(bytes as f64 / write_bytes_per_s);
        1.0 / (read_share * read_s + (1.0 - read_share) * write_s)
    }
}

/// Share of the user capacity that a fresh drive takes into single-bit cells; `None` without such a cache.
///
/// `x = (S P + kappa U) / (bits + kappa)`: each page written takes room from the dynamic part.
#[must_use]
pub fn slc_burst_share(preset: &Preset) -> Option<f64> {
    let model = preset.page_mapped.as_ref()?;
    let slc = model.slc?;
    let alpha = model.mapping.physical_per_user;
    Some((slc.static_share * alpha + slc.dynamic_share) / (f64::from(slc.bits) + slc.dynamic_share))
}

/// `geometry` has the dies of a drive of this capacity.
fn page_mapped(model: &PageMapped, geometry: Geometry, user_bytes: u64) -> Shape {
    let nand = &model.nand;
    let alpha = model.mapping.physical_per_user;
    let physical_pages = alpha * (user_bytes / PAGE_BYTES) as f64;
    let (rows, superblocks) = rows_and_superblocks(&geometry, physical_pages);
    let row_bytes = row_pages(&geometry) * PAGE_BYTES;
    let amplification = theory::oldest_first(alpha);
    let buffer_units = model.write_buffer.program_units_per_die;
    let buffer_us = f64::from(buffer_units) * nand.program_us * amplification;
    let settling_us = match model.collection.pace {
        Pace::Burst => buffer_us.max(rows as f64 * nand.program_us + nand.erase_us),
        Pace::Paced => buffer_us,
    };
    let row_per_s = |row_us: f64| (row_bytes as f64 / (row_us / 1e6)).min(model.link.write_bytes_per_s);
    Shape {
        user_bytes,
        physical_pages: physical_pages.round_ties_even() as u64,
        superblocks,
        superblock_user_bytes: (rows * row_bytes) as f64 / alpha,
        rows,
        rows_of_real_drive: nand.rows_per_erase,
        buffer_bytes: u64::from(buffer_units) * row_bytes,
        settling_ns: settling_us * 1e3,
        fresh_write_bytes_per_s: row_per_s(nand.program_us),
        steady_write_bytes_per_s: row_per_s(steady_row_us(nand, &geometry, amplification)),
        read_commands_per_s: 1e6 / model.controller.read_us,
        write_commands_per_s: 1e6 / model.controller.write_us,
        read_bytes_per_s: model.link.read_bytes_per_s,
        array_reads_per_s: f64::from(geometry.dies) * 1e6 / nand.read_us,
        array_read_bytes: u64::from(geometry.chunk_pages) * PAGE_BYTES,
    }
}

/// Time that a die needs for one program unit of the host, with all that is moved and erased for it.
fn steady_row_us(nand: &Nand, geometry: &Geometry, amplification: f64) -> f64 {
    let chunk_pages = f64::from(geometry.chunk_pages);
    let valid = 1.0 - 1.0 / amplification;
    let moved_of_chunk =
        if valid > 0.0 { chunk_pages * valid / (1.0 - (1.0 - valid).powf(chunk_pages)) } else { 1.0 };
    amplification * nand.program_us
        + (amplification - 1.0) * f64::from(geometry.program_unit_pages) * nand.read_us / moved_of_chunk
        + amplification * nand.erase_us / f64::from(nand.rows_per_erase)
}

fn log_block(parts: &LogBlock, user_bytes: u64) -> Shape {
    let dies = f64::from(parts.dies);
    let program_us_per_page = parts.program_us / f64::from(parts.program_unit_pages) / dies;
    let read_us_per_page = parts.read_us / f64::from(parts.read_unit_pages) / dies;
    let merge_us = f64::from(parts.unit_pages) * (program_us_per_page + read_us_per_page) + parts.erase_us;
    let flash_bytes_per_s = PAGE_BYTES as f64 / (program_us_per_page / 1e6);
    let amplification = theory::log_block(parts.unit_pages.into(), parts.log_pages_per_unit.into());
    let user_pages = user_bytes / PAGE_BYTES;
    let log_pages = user_pages / u64::from(parts.unit_pages) * u64::from(parts.log_pages_per_unit);
    Shape {
        user_bytes,
        physical_pages: user_pages + log_pages,
        superblocks: 0,
        superblock_user_bytes: 0.0,
        rows: 0,
        rows_of_real_drive: 0,
        buffer_bytes: u64::from(parts.buffer_program_units)
            * u64::from(parts.program_unit_pages)
            * PAGE_BYTES,
        settling_ns: merge_us * 1e3,
        fresh_write_bytes_per_s: (flash_bytes_per_s * parts.log_speed).min(parts.link_bytes_per_s),
        steady_write_bytes_per_s: (flash_bytes_per_s / amplification).min(parts.link_bytes_per_s),
        read_commands_per_s: 1e6 / parts.command_read_us,
        write_commands_per_s: 1e6 / parts.command_write_us,
        read_bytes_per_s: parts.link_bytes_per_s,
        array_reads_per_s: dies * 1e6 / parts.read_us,
        array_read_bytes: u64::from(parts.read_unit_pages) * PAGE_BYTES,
    }
}
