//! Simulated drives in virtual time, and the host that runs programs of steps on them.
//!
//! ```text
//! preset (TOML) -> drive: page-mapped | log-block | oracle
//!                    |  submit(I/O, moment) -> answer
//!                  host: streams of the workload, a heap of slots -> intervals and steps
//! ```
//!
//! Knows no clock, no file and no Python.

#![forbid(unsafe_code)]

mod contents;
mod drive;
pub mod ftl;
mod host;
mod host_counters;
mod log_block;
mod media_errors;
mod open;
mod oracle;
mod page_mapped;
mod placement;
mod power;
mod power_setting;
mod power_states;
mod powercut;
mod preset;
mod scale;
mod shape;
mod smart;
pub mod theory;
mod thermal;
mod time;
mod timing;
mod wear;

pub use contents::{Contents, Media, PowerFault, PowerFaults};
pub use drive::{Answer, Completion, Drive, Refusal};
pub use host::{SharedDrive, VirtualConfiguration, VirtualSession};
pub use host_counters::HostCounters;
pub use log_block::LogBlockDrive;
pub use media_errors::{BitErrors, BlockCondition, RetryTiers};
pub use open::{open, simulated_bytes};
pub use oracle::OracleDrive;
pub use page_mapped::PageMappedDrive;
pub use placement::{HandleStatus, Placed, UnitEvent, UnitEvents};
pub use power::{Activity, Heat, Meter};
pub use power_setting::{MOST_POWER_STATES, PowerSetting, Transition};
pub use powercut::SimulatedVictim;
pub use preset::*;
pub use scale::Scale;
pub use shape::{Shape, slc_burst_share};
pub use smart::{DATA_UNIT_BYTES, EraseCounts, NandPages, Sensed, Smart};
pub use thermal::ThermalState;
pub use time::{NEVER, PS_PER_NS, PS_PER_S, Ps, ps_of_us, ps_per_byte_fixed, transfer_ps};
