//! A page-mapped drive: 4 KiB pages over superblocks that span all dies.

use serde::Deserialize;

/// The parts of the model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageMapped {
    /// How the flash is arranged.
    pub geometry: Geometry,
    /// How much of it the host sees, and how it is mapped.
    pub mapping: Mapping,
    /// Garbage collection.
    pub collection: Collection,
    /// Times of the flash.
    pub nand: Nand,
    /// Times of the controller.
    #[serde(default)]
    pub controller: Controller,
    /// The interface to the host.
    #[serde(default)]
    pub link: Link,
    /// Where writes wait for their program.
    pub write_buffer: WriteBuffer,
    /// Placement handles that the host's writes may name.
    pub placement: Option<DataPlacement>,
    /// Single-bit cells as a cache.
    pub slc: Option<SlcCache>,
    /// Work in idle time.
    pub idle: Option<IdleWork>,
    /// Compression and the like.
    pub reduction: Option<Reduction>,
    /// Heat and throttling.
    pub thermal: Option<Thermal>,
    /// Endurance; without it, cells last for ever.
    pub wear: Option<Wear>,
    /// Raw bit errors, retries, uncorrectable reads.
    pub media_errors: Option<MediaErrors>,
    /// Energy.
    pub power: Option<Power>,
}

/// The flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Units that work independently of each other; at most so many if `bytes_per_die` is given.
    pub dies: u32,
    /// Nominal capacity that each die serves: drives of one family have the more dies the larger they are.
    pub bytes_per_die: Option<u64>,
    /// Buses to them.
    pub channels: u32,
    /// Dies that are programmed together; divides the dies.
    pub dies_per_group: u32,
    /// Pages in a row on one die; divides the program unit.
    pub chunk_pages: u32,
    /// Pages of 4 KiB that a die programs at once.
    pub program_unit_pages: u32,
    /// Superblocks that the simulated drive should have, about: their size follows from it.
    #[serde(default = "superblocks")]
    pub superblocks: u32,
}

const fn superblocks() -> u32 {
    800
}

/// What the host sees.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Physical pages over user pages (alpha): 1.28 is an over-provisioning of 28 %.
    pub physical_per_user: f64,
    /// Pages that an entry of the map stands for: of what is written smaller, or not aligned to so many, the
    /// rest is read and written again.
    #[serde(default = "one")]
    pub unit_pages: u32,
    /// Bytes of user space whose map fits into the controller's memory; without, all of it does.
    pub map_coverage_bytes: Option<u64>,
    /// Map pages written for each 1000 pages of the host.
    #[serde(default)]
    pub journal_per_1000: f64,
}

const fn one() -> u32 {
    1
}

/// Garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Whose pages are moved.
    pub victim: Victim,
    /// In small doses beside the host's writes, or a whole superblock at once.
    pub pace: Pace,
    /// Whether moved pages share superblocks with the host's.
    pub frontiers: Frontiers,
    /// Collect while fewer superblocks than this are free.
    #[serde(default = "two")]
    pub free_low: u32,
}

const fn two() -> u32 {
    2
}

/// Victim selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The fewest valid pages; of several, the fewest erases.
    Greedy,
    /// The oldest.
    Fifo,
    /// The fewest valid pages among so many that are drawn at random, with replacement.
    Choices(u32),
}

/// Doses of collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Each program unit of the host pays for as many moves as it needs.
    Paced,
    /// All at once, when nothing is left.
    Burst,
}

/// Superblocks that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frontiers {
    /// One for the host, one for moved pages.
    Separate,
    /// One for both.
    Mixed,
}

/// Times of one kind of cell, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellTimes {
    /// Array read of a chunk.
    pub read_us: f64,
    /// Program of a program unit.
    pub program_us: f64,
}

/// The flash's times.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nand {
    /// Array read of a chunk, in microseconds.
    pub read_us: f64,
    /// Program of a program unit, in microseconds.
    pub program_us: f64,
    /// Erase of a block, in microseconds.
    pub erase_us: f64,
    /// Rows of program units in a real superblock: an erase belongs to so many.
    #[serde(default = "rows")]
    pub rows_per_erase: u32,
    /// Bus transfer of a page, in microseconds.
    #[serde(default)]
    pub transfer_us: f64,
    /// Time to suspend a program or erase for a read, in microseconds.
    #[serde(default)]
    pub suspend_us: f64,
    /// Suspensions that a program allows; 0: reads wait.
    #[serde(default)]
    pub suspends_per_program: f64,
    /// After so long without progress one program runs first, in microseconds.
    #[serde(default = "starve")]
    pub starvation_us: f64,
}

const fn rows() -> u32 {
    256
}

const fn starve() -> f64 {
    20_000.0
}

/// The controller's times, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Controller {
    /// Front end, one read command.
    pub read_us: f64,
    /// Front end, one write command.
    pub write_us: f64,
    /// Front end, one trim command, and each page of it.
    pub trim_us: f64,
    /// Each page of a trim.
    pub trim_page_us: f64,
    /// What a read takes besides.
    pub fixed_read_us: f64,
    /// What a write takes besides.
    pub fixed_write_us: f64,
    /// Front end, besides, for a write of less than a unit of the map, of which it also reads the rest.
    pub partial_write_us: f64,
    /// Regular stalls of the front end.
    pub housekeeping: Option<Housekeeping>,
}

/// Stalls of the front end; their share of time does not depend on the scale.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Housekeeping {
    /// From one to the next, in milliseconds.
    pub period_ms: f64,
    /// How long each is, in milliseconds.
    pub stall_ms: f64,
}

/// The interface.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// To the host, bytes per second.
    pub read_bytes_per_s: f64,
    /// From the host, bytes per second.
    pub write_bytes_per_s: f64,
    /// Each command, in microseconds.
    pub command_us: f64,
    /// Both directions share the wire.
    pub half_duplex: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            read_bytes_per_s: f64::INFINITY,
            write_bytes_per_s: f64::INFINITY,
            command_us: 0.0,
            half_duplex: false,
        }
    }
}

/// The write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBuffer {
    /// Program units that it holds for each die.
    pub program_units_per_die: u32,
    /// What becomes of it when power is lost.
    pub cache: WriteCache,
    /// Without a cache: how long a write waits for others to fill its program unit, in microseconds.
    #[serde(default)]
    pub collect_us: f64,
}

/// When a write is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// From the buffer, which survives a loss of power: no volatile cache to switch.
    Protected,
    /// From the buffer, which is volatile; can be switched off.
    Volatile,
    /// When it is programmed.
    None,
}

/// Flexible data placement: superblocks are reclaim units, and each handle fills its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPlacement {
    /// Handles that the host may name.
    pub handles: u16,
    /// What becomes of a handle's pages when they are moved.
    #[serde(default)]
    pub isolation: Isolation,
    /// Handles are taken, and all pages go where they would without.
    #[serde(default)]
    pub ignored: bool,
}

/// Where moved pages go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Among those of all handles.
    #[default]
    Initially,
    /// Among those of their own handle.
    Persistently,
}

/// Superblocks with one bit per cell.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcCache {
    /// Share of all superblocks that may always be used so.
    pub static_share: f64,
    /// Share of the unmapped space that may be used so besides (kappa).
    pub dynamic_share: f64,
    /// Bits per cell otherwise: so many times fewer pages fit into such a superblock.
    pub bits: u32,
    /// Pages of a program unit.
    pub program_unit_pages: u32,
    /// Array read, in microseconds.
    pub read_us: f64,
    /// Program, in microseconds.
    pub program_us: f64,
    /// Pages folded for each page of the host when the cache is full.
    pub fold_share: f64,
}

/// Work in idle time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleWork {
    /// Silence before it begins, in milliseconds; nominal, shortened by the scale.
    pub delay_ms: f64,
    /// Collect until this share of all superblocks is free.
    pub free_target_share: f64,
    /// But nothing that is fuller than this.
    pub most_valid_share: f64,
    /// Whether single-bit superblocks are folded first.
    #[serde(default)]
    pub folds: bool,
}

/// Data reduction: data of entropy H take `floor + slope * H` of their size.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    /// Share that even zeros take.
    pub floor: f64,
    /// Share that random bytes take besides.
    pub slope: f64,
}

/// Two nodes: the controller, and NAND with case. Times are nominal and shortened by the scale.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thermal {
    /// Air, in degrees Celsius.
    pub ambient_c: f64,
    /// Controller to air, kelvin per watt.
    pub controller_k_per_w: f64,
    /// Controller, joules per kelvin.
    pub controller_j_per_k: f64,
    /// NAND and case to air, kelvin per watt.
    pub nand_k_per_w: f64,
    /// NAND and case, joules per kelvin.
    pub nand_j_per_k: f64,
    /// How far the sensor is behind, in seconds.
    pub sensor_lag_s: f64,
    /// What the sensor adds.
    pub sensor_offset_c: f64,
    /// Warning threshold.
    pub warning_c: Option<f64>,
    /// Critical threshold.
    pub critical_c: Option<f64>,
    /// Throttling, from the mildest level on; measured on the controller node.
    pub throttle: Vec<Throttle>,
}

/// A throttle level.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// Begins at this temperature.
    pub from_c: f64,
    /// Ends this far below.
    pub hysteresis_k: f64,
    /// Front end times become so many times longer.
    pub factor: f64,
}

/// Endurance of superblocks: normal, cut at one erase.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Mean erases.
    pub mean_erases: f64,
    /// Standard deviation, as a share of the mean.
    pub deviation_share: f64,
    /// Erases that the maker rates the flash for.
    pub rated_erases: f64,
}

/// `RBER = base + per_erase * erases^power + per_age * erases * ln(1 + age / age_hours) + per_read * erases * reads`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaErrors {
    /// Of a new block.
    pub base: f64,
    /// Of wear.
    pub per_erase: f64,
    /// Exponent of wear.
    pub power: f64,
    /// Of retention.
    pub per_age: f64,
    /// Time constant of retention, nominal hours.
    pub age_hours: f64,
    /// Of read disturb.
    pub per_read: f64,
    /// Upper ends of the tiers: a block above `n` of them needs `n` retries.
    pub tiers: Vec<f64>,
    /// Each retry, in microseconds.
    pub retry_us: f64,
    /// Above the last tier, chance of a read to be uncorrectable.
    pub uncorrectable_chance: f64,
}

/// Energy.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Idle, watts.
    pub idle_w: f64,
    /// Each command, microjoules.
    pub command_uj: f64,
    /// Each byte over the link, nanojoules.
    pub byte_nj: f64,
    /// Each program of a unit, microjoules.
    pub program_uj: f64,
    /// Each array read, microjoules.
    pub read_uj: f64,
    /// Each erase of one die's block, microjoules.
    pub erase_uj: f64,
    /// Share of all but the idle power that heats the controller; the rest heats the NAND.
    pub controller_share: f64,
}
