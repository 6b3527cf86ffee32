//! Bounds of a scripted drive.

use super::bounds::within;
use crate::preset::{IdleStair, Latency, Oracle, PresetError, Rate, Recovery, Stall, Trims};

/// Rates are kept in millionths and divide a second.
const LEAST_IOPS: f64 = 0.001;
/// 4 GiB take no more than the 213 days that the clock has.
const LEAST_BYTES_PER_S: f64 = 1e3;
const MOST_BYTES_PER_S: f64 = 1e12;
/// A nanosecond, and a month.
const SHORTEST_MS: f64 = 1e-6;
const LONGEST_MS: f64 = 2.7e9;
/// Stalls come one after the other as work goes on: not too many for an I/O, and never all of the time.
const LEAST_EVERY_MS: f64 = 1.0;
const MOST_STALLED: f64 = 0.9;
/// A minute, and 4 GiB at that take three days.
const MOST_TRIM_US: f64 = 6e7;
const LONGEST_NS: u64 = 2_700_000_000_000_000;
const MOST_PLACES: u64 = 1 << 62;

/// Check a script.
///
/// # Errors
/// With the dotted name of the first value that is out of bounds, and its bounds.
pub(super) fn check(oracle: &Oracle) -> Result<(), PresetError> {
    rate(&oracle.rate)?;
    oracle.latency.as_ref().map_or(Ok(()), latency)?;
    for outlier in &oracle.outliers {
        at_most("oracle.outliers.ns", outlier.ns, LONGEST_NS)?;
        at_most("oracle.outliers.io", outlier.io, MOST_PLACES)?;
    }
    oracle.recovery.as_ref().map_or(Ok(()), recovery)?;
    oracle.stalls.iter().try_for_each(stall)?;
    let shares =
        oracle.stalls.iter().filter_map(|stall| Some((stall.to_ms - stall.from_ms) / stall.every_ms?));
    if shares.sum::<f64>() > MOST_STALLED {
        return refused("oracle.stalls that come again must leave a tenth of the time to the drive");
    }
    idle(&oracle.idle)?;
    if let Some(Trims { command_us, mib_us, .. }) = oracle.trims {
        within("oracle.trims.command_us", command_us, 0.0, MOST_TRIM_US)?;
        within("oracle.trims.mib_us", mib_us, 0.0, MOST_TRIM_US)?;
    }
    within("oracle.purge_s", oracle.purge_s, 0.0, LONGEST_MS / 1e3)?;
    if oracle.host_write_bytes_wrap == Some(0) {
        return refused("oracle.host_write_bytes_wrap must be at least 1");
    }
    Ok(())
}

fn rate(rate: &Rate) -> Result<(), PresetError> {
    let given = [rate.iops.is_some(), rate.decay.is_some(), rate.ramp.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return refused("oracle.rate needs exactly one of iops, decay and ramp");
    }
    if rate.every == 0 {
        return refused("oracle.rate.every must be at least 1");
    }
    if rate.repeat && rate.iops.is_none() {
        return refused("oracle.rate.repeat needs oracle.rate.iops");
    }
    if let Some(values) = &rate.iops {
        if values.is_empty() {
            return refused("oracle.rate.iops needs at least one rate");
        }
        values.iter().try_for_each(|iops| speed("oracle.rate.iops", *iops))?;
    }
    if let Some(decay) = &rate.decay {
        within("oracle.rate.decay.factor", decay.factor, 0.0, 1.0)?;
        within("oracle.rate.decay.base", decay.base, LEAST_IOPS, 1e9)?;
        within("the first rate of oracle.rate.decay", decay.base + decay.excess, LEAST_IOPS, 1e9)?;
    }
    if let Some(ramp) = &rate.ramp {
        at_least_one("oracle.rate.ramp.parts", ramp.parts.into())?;
        let last = rate.iops_of_part(u64::from(ramp.parts) - 1);
        within("oracle.rate.ramp.first", ramp.first, LEAST_IOPS, 1e9)?;
        within("the last rate of oracle.rate.ramp", last, LEAST_IOPS, 1e9)?;
    }
    rate.bytes_per_s
        .map_or(Ok(()), |value| within("oracle.rate.bytes_per_s", value, LEAST_BYTES_PER_S, MOST_BYTES_PER_S))
}

/// A rate, which may be infinite.
fn speed(name: &str, iops: f64) -> Result<(), PresetError> {
    if iops == f64::INFINITY { Ok(()) } else { within(name, iops, LEAST_IOPS, 1e9) }
}

fn latency(latency: &Latency) -> Result<(), PresetError> {
    at_least_one("oracle.latency.period", latency.period)?;
    at_most("oracle.latency.period", latency.period, MOST_PLACES)?;
    if common_divisor(latency.factor, latency.period) != 1 {
        return refused("oracle.latency.factor and oracle.latency.period have a common divisor");
    }
    if !latency.law.is_sorted_by(|one, next| one.below < next.below) {
        return refused("oracle.latency.law must have rising values of below");
    }
    if latency.law.last().is_none_or(|class| class.below != latency.period) {
        return refused("the last below of oracle.latency.law must be oracle.latency.period");
    }
    latency.law.iter().try_for_each(|class| at_most("oracle.latency.law.ns", class.ns, LONGEST_NS))
}

const fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn recovery(recovery: &Recovery) -> Result<(), PresetError> {
    for (name, value) in [
        ("oracle.recovery.fast_bytes_per_s", recovery.fast_bytes_per_s),
        ("oracle.recovery.slow_bytes_per_s", recovery.slow_bytes_per_s),
    ] {
        within(name, value, LEAST_BYTES_PER_S, MOST_BYTES_PER_S)?;
    }
    Ok(())
}

fn stall(stall: &Stall) -> Result<(), PresetError> {
    within("oracle.stalls.from_ms", stall.from_ms, 0.0, LONGEST_MS)?;
    within("oracle.stalls.to_ms", stall.to_ms, 0.0, LONGEST_MS)?;
    let length_ms = stall.to_ms - stall.from_ms;
    within("the length of oracle.stalls in ms", length_ms, SHORTEST_MS, LONGEST_MS)?;
    if stall.every_ms.is_some_and(|every_ms| every_ms.is_nan() || every_ms <= length_ms) {
        return refused("oracle.stalls.every_ms must be more than the stall itself takes");
    }
    stall
        .every_ms
        .map_or(Ok(()), |every_ms| within("oracle.stalls.every_ms", every_ms, LEAST_EVERY_MS, LONGEST_MS))
}

fn idle(stairs: &[IdleStair]) -> Result<(), PresetError> {
    for stair in stairs {
        within("oracle.idle.idle_ms", stair.idle_ms, SHORTEST_MS, LONGEST_MS)?;
        speed("oracle.idle.iops", stair.iops)?;
        at_least_one("oracle.idle.ios", stair.ios)?;
    }
    if !stairs.is_sorted_by(|one, next| one.idle_ms < next.idle_ms) {
        return refused("oracle.idle must have rising values of idle_ms");
    }
    Ok(())
}

fn at_least_one(name: &str, value: u64) -> Result<(), PresetError> {
    if value > 0 { Ok(()) } else { refused(&format!("{name} must be at least 1")) }
}

fn at_most(name: &str, value: u64, most: u64) -> Result<(), PresetError> {
    if value <= most { Ok(()) } else { refused(&format!("{name} is {value} and must be at most {most}")) }
}

fn refused<T>(reason: &str) -> Result<T, PresetError> {
    Err(PresetError(reason.into()))
}

#[cfg(test)]
mod tests {
    use crate::preset::Preset;

    const RATE: &str = "[oracle.rate]\nby = 'steps'\nevery = 1\n";

    fn reason(oracle: &str) -> String {
        let text = format!("name = 'x'\nsummary = 'x'\ncapacity_bytes = 1048576\n{oracle}");
        Preset::parse(&text).err().map(|error| error.0).unwrap_or_default()
    }

    #[test]
    fn rates_that_no_drive_could_have_are_refused() {
        for (script, word) in [
            ("", "exactly one of iops"),
            ("iops = [1.0]\nramp = {first = 1.0, change = 0.0, parts = 1}", "exactly one of iops"),
            ("iops = []", "at least one"),
            ("iops = [1.0, 0.0]", "oracle.rate.iops is 0"),
            ("iops = [nan]", "oracle.rate.iops is NaN"),
            ("iops = [1.0]\nbytes_per_s = 0.0", "oracle.rate.bytes_per_s"),
            ("decay = {base = 100.0, excess = 1.0, factor = 1.5}", "decay.factor"),
            ("decay = {base = 100.0, excess = -100.0, factor = 0.5}", "first rate"),
            ("decay = {base = 1.0, excess = 1.0, factor = 0.5}\nrepeat = true", "repeat"),
            ("ramp = {first = 100.0, change = -0.1, parts = 12}", "last rate"),
            ("ramp = {first = 100.0, change = -0.1, parts = 0}", "parts"),
        ] {
            let reason = reason(&format!("{RATE}{script}"));
            assert!(reason.contains(word), "{script}: {reason}");
        }
        for script in ["iops = [inf]", "ramp = {first = 100.0, change = -0.1, parts = 10}"] {
            assert_eq!(reason(&format!("{RATE}{script}")), "");
        }
    }

    #[test]
    fn scripts_that_contradict_themselves_are_refused() {
        for (script, word) in [
            ("[oracle.latency]\nperiod = 10\nfactor = 4\nlaw = [{below = 10, ns = 1}]", "common divisor"),
            ("[oracle.latency]\nperiod = 10\nfactor = 3\nlaw = [{below = 9, ns = 1}]", "last below"),
            ("[oracle.latency]\nperiod = 10\nfactor = 3\nlaw = []", "last below"),
            (
                "[oracle.latency]\nperiod = 10\nfactor = 3\nlaw = [{below = 10, ns = 1}, {below = 10, ns = 2}]",
                "rising",
            ),
            ("[[oracle.stalls]]\nfrom_ms = 5.0\nto_ms = 5.0", "length of oracle.stalls"),
            ("[[oracle.stalls]]\nfrom_ms = 5.0\nto_ms = 9.0\nevery_ms = 4.0", "more than the stall"),
            ("[[oracle.stalls]]\nfrom_ms = 0.0\nto_ms = 5.0\nevery_ms = 5.000000001", "leave"),
            (
                "[[oracle.stalls]]\nfrom_ms = 0.0\nto_ms = 5.0\nevery_ms = 10.0\n\
                 [[oracle.stalls]]\nfrom_ms = 5.0\nto_ms = 10.0\nevery_ms = 10.0",
                "leave",
            ),
            ("[[oracle.stalls]]\nfrom_ms = 0.0\nto_ms = 0.00001\nevery_ms = 0.0001", "every_ms"),
            ("[[oracle.idle]]\nidle_ms = 0.0\niops = 1.0\nios = 1", "idle_ms"),
            ("[[oracle.idle]]\nidle_ms = 1.0\niops = 1.0\nios = 0", "ios"),
            ("[oracle]\nhost_write_bytes_wrap = 0", "wrap"),
            ("[oracle]\npurge_s = -1.0", "purge_s"),
            ("[oracle.trims]\ncommand_us = -1.0", "oracle.trims.command_us"),
            ("[oracle.trims]\ncommand_us = 1.0\nmib_us = nan", "oracle.trims.mib_us"),
        ] {
            let text = if script.starts_with("[oracle]") {
                format!("{script}\n{RATE}iops = [1.0]")
            } else {
                format!("{RATE}iops = [1.0]\n{script}")
            };
            let reason = reason(&text);
            assert!(reason.contains(word), "{script}: {reason}");
        }
    }
}
