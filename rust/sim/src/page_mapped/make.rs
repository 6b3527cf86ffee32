//! A drive from its preset.

use super::back_end::{BackEnd, EraseShare, Journal};
use super::heating::Heating;
use super::map_cache::MapCache;
use super::partial_pages::{PAGE_SHIFT, PartialPages};
use super::prefetch::Prefetch;
use super::reduced_size::ReducedSize;
use super::retention::Retention;
use super::{Cache, PageMappedDrive, Times};
use crate::ftl::Ftl;
use crate::host_counters::HostCounters;
use crate::media_errors::BitErrors;
use crate::preset::{Controller, Geometry, IdleWork, PageMapped, Preset, PresetError, WriteCache};
use crate::scale::Scale;
use crate::time::{NEVER, Ps, ps_of_us};
use crate::timing::{Flash, FrontEnd, GroupCommit, Link, WriteBuffer};

impl PageMappedDrive {
    /// An empty drive of so many simulated bytes; the seed decides on whatever the model leaves to chance.
    ///
    /// # Errors
    /// If the geometry does not go with the capacity.
    pub fn new(
        preset: &Preset,
        model: &PageMapped,
        capacity_bytes: u64,
        scale: Scale,
        seed: u64,
    ) -> Result<Self, PresetError> {
        let mut model = model.clone();
        let user_pages = u32::try_from(capacity_bytes >> PAGE_SHIFT)
            .map_err(|_| PresetError(format!("{capacity_bytes} bytes are more than 2^32 pages of 4 KiB")))?;
        let nominal_bytes = u128::from(capacity_bytes) * u128::from(scale.factor());
        model.geometry.dies = dies(&model.geometry, nominal_bytes);
        let ftl = Ftl::new(&model, user_pages, seed)?;
        let times = times(&model.controller, model.write_buffer.collect_us);
        let back_end = back_end(&model, &ftl, &times, scale, seed);
        let heating = Heating::new(&model, scale);
        let coverage = |bytes: u64| bytes / u64::from(scale.factor());
        Ok(Self {
            back_end,
            front_end: FrontEnd::new(model.controller.housekeeping),
            link: Link::new(&model.link),
            times,
            cache: match model.write_buffer.cache {
                WriteCache::Protected => Cache::Protected,
                WriteCache::Volatile => Cache::Volatile { on: true },
                WriteCache::None => Cache::Absent,
            },
            purge: preset.purge,
            partial: PartialPages::new(model.mapping.unit_pages),
            size: ReducedSize::new(model.reduction),
            map_cache: model
                .mapping
                .map_coverage_bytes
                .map(|bytes| MapCache::new(user_pages, coverage(bytes), seed)),
            placement: model.placement,
            idle_delay_ps: model.idle.map(|idle| delay_ps(&idle, scale)),
            next_tick_ps: heating.as_ref().map_or(NEVER, Heating::next_tick_ps),
            heating,
            wear: model.wear,
            host: HostCounters::default(),
            commands: 0,
            now_ps: 0,
            sector_bytes: preset.sector_bytes,
            prefetch: Prefetch::default(),
            ftl,
        })
    }
}

/// The dies of a drive of this capacity, in whole groups.
pub(crate) fn dies(geometry: &Geometry, nominal_bytes: u128) -> u32 {
    let Some(bytes_per_die) = geometry.bytes_per_die else { return geometry.dies };
    let wanted = (nominal_bytes + u128::from(bytes_per_die) / 2) / u128::from(bytes_per_die);
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX).min(geometry.dies);
    (wanted / geometry.dies_per_group).max(1) * geometry.dies_per_group
}

fn times(controller: &Controller, collect_us: f64) -> Times {
    Times {
        read_ps: ps_of_us(controller.read_us),
        write_ps: ps_of_us(controller.write_us),
        trim_ps: ps_of_us(controller.trim_us),
        trim_page_ps: ps_of_us(controller.trim_page_us),
        fixed_read_ps: ps_of_us(controller.fixed_read_us),
        fixed_write_ps: ps_of_us(controller.fixed_write_us),
        partial_write_ps: ps_of_us(controller.partial_write_us),
        collect_ps: ps_of_us(collect_us),
    }
}

fn back_end(model: &PageMapped, ftl: &Ftl, times: &Times, scale: Scale, seed: u64) -> BackEnd {
    let geometry = &model.geometry;
    let layout = ftl.layout();
    // In places as small as the smallest program unit, so that each gives back its own.
    let unit = geometry.program_unit_pages;
    let place = model.slc.map_or(unit, |slc| slc.program_unit_pages.min(unit));
    let places = geometry.dies * model.write_buffer.program_units_per_die * unit.div_ceil(place);
    BackEnd {
        flash: Flash::new(geometry.dies, geometry.channels, &model.nand, model.slc.as_ref()),
        buffer: WriteBuffer::new(places, place),
        commits: GroupCommit::new(times.fixed_write_ps),
        retention: model
            .media_errors
            .as_ref()
            .map(|law| Retention::new(BitErrors::new(law, scale, seed), layout.superblocks)),
        erases: EraseShare::new(layout.rows, model.nand.rows_per_erase),
        journal: Journal::new(model.mapping.journal_per_1000, unit, geometry.dies),
        host_done_ps: 0,
        next_host_die: 0,
        next_moved_die: 0,
    }
}

/// How long the host is silent before idle work begins.
fn delay_ps(idle: &IdleWork, scale: Scale) -> Ps {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
    let delay_ns = (idle.delay_ms * 1e6).round() as u64;
    scale.virtual_ps(delay_ns)
}
