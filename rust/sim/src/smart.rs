//! What a simulated drive tells about itself. A scaled drive tells of itself, not of what it stands for.

/// Bytes of an NVMe data unit.
pub const DATA_UNIT_BYTES: u64 = 512_000;

/// NAND pages of 4 KiB that were programmed, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NandPages {
    /// Written by the host.
    pub host: u64,
    /// Moved to free a block.
    pub collected: u64,
    /// Moved from single-bit into native cells.
    pub folded: u64,
    /// Filled up, to close a program unit early.
    pub padded: u64,
    /// The map's own.
    pub journal: u64,
}

impl NandPages {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.host + self.collected + self.folded + self.padded + self.journal
    }
}

/// Erase counts of the blocks that are still in use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EraseCounts {
    /// The fewest.
    pub min: u32,
    /// The average.
    pub mean: f64,
    /// The most.
    pub max: u32,
}

/// The drive's own log. Names follow the SMART log of NVMe where it has the field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Smart {
    /// Bytes read by the host.
    pub host_read_bytes: u64,
    /// Bytes written by the host.
    pub host_write_bytes: u64,
    /// Read commands.
    pub host_reads: u64,
    /// Write commands.
    pub host_writes: u64,
    /// NAND pages programmed.
    pub nand_pages: NandPages,
    /// Superblocks erased, all together.
    pub erases: u64,
    /// Erase counts.
    pub erase_counts: EraseCounts,
    /// Superblocks taken out of use.
    pub bad_superblocks: u32,
    /// Spare that is left, in per cent of that of a new drive.
    pub available_spare_pct: f64,
    /// Endurance used, in per cent of the rated erases; may exceed 100.
    pub percentage_used: f64,
    /// Whether writes are refused for good.
    pub read_only: bool,
    /// Uncorrectable errors.
    pub media_errors: u64,
    /// Temperature as the drive's sensor reports it, in whole degrees Celsius; `None` without a sensor.
    pub temperature_c: Option<i32>,
    /// True temperatures of the model, which no real drive reports: controller and NAND.
    pub true_temperatures_c: Option<(f64, f64)>,
    /// Time above the warning threshold, virtual seconds.
    pub warning_temperature_s: f64,
    /// Time above the critical threshold, virtual seconds.
    pub critical_temperature_s: f64,
    /// How often throttling began.
    pub throttle_events: u64,
    /// Time in which the controller was busy with I/O, virtual seconds.
    pub busy_s: f64,
    /// Energy drawn, in joules; `None` where the preset has no power.
    pub energy_j: Option<f64>,
    /// Superblocks that hold single-bit cells now.
    pub slc_superblocks: u32,
    /// Pages that hold data.
    pub mapped_pages: u64,
}

/// What a drive's sensor says at one moment, and whether heat slows the drive down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sensed {
    /// As [`Smart::temperature_c`].
    pub temperature_c: i32,
    /// Whether the drive throttles at this moment.
    pub throttles: bool,
    /// As [`Smart::throttle_events`].
    pub throttle_events: u64,
}

impl Sensed {
    /// Whether the drive throttled at any moment since then.
    #[must_use]
    pub const fn has_throttled_since(&self, before: &Self) -> bool {
        before.throttles || self.throttles || self.throttle_events > before.throttle_events
    }
}

impl Smart {
    /// Data units written, in NVMe's rounding.
    #[must_use]
    pub const fn data_units_written(&self) -> u64 {
        self.host_write_bytes.div_ceil(DATA_UNIT_BYTES)
    }

    /// Data units read, in NVMe's rounding.
    #[must_use]
    pub const fn data_units_read(&self) -> u64 {
        self.host_read_bytes.div_ceil(DATA_UNIT_BYTES)
    }
}
