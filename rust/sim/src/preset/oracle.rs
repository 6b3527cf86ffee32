//! A drive that follows a script, so that what a tool must report is known beforehand.

use serde::Deserialize;

/// All parts are optional but the rate; they act together. Moments, lengths of time, numbers of I/Os and of
/// bytes, and addresses are nominal: a scaled drive divides them by its scale. Rates and latencies are as
/// given, whatever the scale.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oracle {
    /// How fast I/Os are served, one after the other.
    pub rate: Rate,
    /// Latencies that are dealt out in turn instead of the service time; the rate is a cap then.
    pub latency: Option<Latency>,
    /// Single I/Os with a latency of their own.
    #[serde(default)]
    pub outliers: Vec<Outlier>,
    /// A drop in speed that a marker starts and a number of bytes ends.
    pub recovery: Option<Recovery>,
    /// Times without service.
    #[serde(default)]
    pub stalls: Vec<Stall>,
    /// What idle time gives back, from the shortest idle time on.
    #[serde(default)]
    pub idle: Vec<IdleStair>,
    /// What trims take; without, no time of their own.
    pub trims: Option<Trims>,
    /// What fails.
    #[serde(default)]
    pub errors: Errors,
    /// Whether the volatile write cache is on at first; without, there is none. It changes no time.
    pub write_cache: Option<bool>,
    /// How long a purge takes, in seconds.
    #[serde(default)]
    pub purge_s: f64,
    /// Temperature that the sensor reports; without, there is no sensor.
    pub temperature_c: Option<i32>,
    /// Where the counter of bytes written wraps to 0.
    pub host_write_bytes_wrap: Option<u64>,
}

/// The rate script: what each part has in I/Os per second, given as one of `iops`, `decay` and `ramp`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// What tells the parts apart.
    pub by: RateBy,
    /// Length of a part: steps, bytes written, or seconds, as `by` says.
    pub every: u64,
    /// Steps, bytes or seconds before the first part, at the first part's rate.
    #[serde(default)]
    pub skip: u64,
    /// I/Os per second of each part; `inf` for no limit.
    pub iops: Option<Vec<f64>>,
    /// A settling rate.
    pub decay: Option<Decay>,
    /// A rate that changes evenly.
    pub ramp: Option<Ramp>,
    /// Whether `iops` begins again after its last part; else the last part goes on for ever.
    #[serde(default)]
    pub repeat: bool,
    /// Bytes per second at most, so that large transfers take longer; without, size does not matter.
    pub bytes_per_s: Option<f64>,
}

/// Part k = 1, 2, ... has `base + excess * factor^(k - 1)` I/Os per second.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decay {
    /// What it settles at.
    pub base: f64,
    /// What the first part has besides; negative for a rate that rises.
    pub excess: f64,
    /// What is left of the excess from part to part, 0 to below 1.
    pub factor: f64,
}

/// Part k = 1, 2, ... has `first * (1 + change * (k - 1))` I/Os per second, up to the last of `parts`, which
/// goes on for ever.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// The first part's rate.
    pub first: f64,
    /// Change from part to part, as a share of the first.
    pub change: f64,
    /// Number of parts.
    pub parts: u32,
}

/// What a rate follows. All begin anew with a purge that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateBy {
    /// Steps of the host's program that have I/O.
    Steps,
    /// Bytes written by the host.
    BytesWritten,
    /// Seconds.
    Seconds,
}

/// Read or write number k since the last purge gets the latency of place `(a k + c) mod period`: any `period`
/// of them in a row hold exactly the law.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Number of simulated I/Os after which the law repeats.
    pub period: u64,
    /// Factor a, coprime to the period.
    pub factor: u64,
    /// Constant c.
    #[serde(default)]
    pub offset: u64,
    /// The law: place `i` of the period has latency `ns` of the first entry whose `below` is above `i`.
    pub law: Vec<LatencyClass>,
}

/// Part of a latency law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyClass {
    /// Places of the period below this, and not of an earlier entry.
    pub below: u64,
    /// Their latency.
    pub ns: u64,
}

/// An I/O out of the ordinary. Others do not wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outlier {
    /// Number of the step with I/O since the last purge, from 0; without, `io` counts from the last purge.
    pub step: Option<u64>,
    /// Number of the read or write, from 0.
    pub io: u64,
    /// Its latency.
    pub ns: u64,
}

/// After a write that is smaller than `marker_below_bytes`, large writes have `slow_bytes_per_s` until
/// `bytes` of them are written. The rate script has what is no large write.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// Writes below this size are the marker.
    pub marker_below_bytes: u32,
    /// Speed before the marker and after the recovery.
    pub fast_bytes_per_s: f64,
    /// Speed in between.
    pub slow_bytes_per_s: f64,
    /// Bytes of large writes that the recovery takes.
    pub bytes: u64,
}

/// No I/O is served in this time; milliseconds since the drive was made.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// First moment.
    pub from_ms: f64,
    /// Moment after the last.
    pub to_ms: f64,
    /// Whether it happens again each `every_ms` after that.
    pub every_ms: Option<f64>,
}

/// One trim is carried out after the other: each takes a time for the command and one for its length.
///
/// A drive that has to find and unmap every page of a range works so; whether it can read and write
/// meanwhile is what its firmware makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trims {
    /// Each command, in microseconds.
    pub command_us: f64,
    /// Each MiB of its range besides, in microseconds.
    #[serde(default)]
    pub mib_us: f64,
    /// Whether the server of reads and writes carries them out as well, in its turn, so that these wait;
    /// else they have a server of their own.
    #[serde(default)]
    pub blocks: bool,
}

/// After an idle time of at least `idle_ms`, and less than that of the next stair, so many reads and writes
/// have a rate of their own. It starts with the first I/O after the idle time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleStair {
    /// Idle time from which on it counts, in milliseconds.
    pub idle_ms: f64,
    /// I/Os per second then.
    pub iops: f64,
    /// For so many I/Os.
    pub ios: u64,
}

/// What fails.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// Sectors that can't be read.
    pub unreadable_lbas: Vec<u64>,
    /// Sectors that can't be written.
    pub unwritable_lbas: Vec<u64>,
    /// After this many bytes written since the drive was made, writes fail.
    pub read_only_after_bytes: Option<u64>,
}

impl Rate {
    /// I/Os per second of a part, from 0.
    #[must_use]
    pub fn iops_of_part(&self, part: u64) -> f64 {
        if let Some(Decay { base, excess, factor }) = self.decay {
            let steps = i32::try_from(part).unwrap_or(i32::MAX);
            return base + excess * factor.powi(steps);
        }
        if let Some(Ramp { first, change, parts }) = self.ramp {
            return first * (1.0 + change * part.min(u64::from(parts) - 1) as f64);
        }
        let iops = self.iops.as_deref().unwrap_or_default();
        let parts = iops.len() as u64;
        iops[if self.repeat { part % parts } else { part.min(parts - 1) } as usize]
    }
}
