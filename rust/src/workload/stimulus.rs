//! A program of steps as it arrives from outside: declarative, in JSON, validated before any I/O.

use serde::Deserialize;

/// Order of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessPattern {
    /// Uniform over the active range.
    Random,
    /// Ascending; each thread its own part of the range.
    Sequential,
}

/// One access pattern and its demand.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stimulus {
    /// Random or sequential.
    pub access_pattern: AccessPattern,
    /// Size of one transfer.
    pub block_size_bytes: u32,
    /// Share of reads among the I/Os.
    pub read_pct: u8,
    /// Threads that issue I/O.
    pub tc: u32,
    /// I/Os that each thread keeps outstanding.
    pub qd: u32,
    /// First byte of the active range.
    pub range_start_bytes: u64,
    /// Byte after the last one of the active range.
    pub range_end_bytes: u64,
}

/// What ends a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRule {
    /// Stop issuing after this time; what is outstanding is waited for.
    DurationNs(u64),
    /// Stop after this many bytes, all threads together.
    AmountBytes(u64),
}

/// A stimulus and the rule that ends it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What to issue.
    pub stimulus: Stimulus,
    /// When to stop.
    pub stop: StopRule,
}

/// Steps to be run one after the other without idle time between them.
pub type Program = Vec<Step>;

/// What the target and the engine allow.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Size of the target.
    pub capacity_bytes: u64,
    /// Smallest unit of direct I/O.
    pub sector_bytes: u32,
    /// Threads that the engine has.
    pub tc: u32,
    /// Outstanding I/Os that each thread has room for.
    pub qd: u32,
    /// Largest transfer that the buffers hold.
    pub block_size_bytes: u32,
}

/// Why a program is refused; nothing of it is run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StimulusError {
    /// The text is no program.
    #[error("not a program of steps: {0}")]
    Syntax(String),
    /// A value is out of bounds.
    #[error("step {step}: {reason}")]
    Value {
        /// Position in the program, from 1.
        step: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Read a program from JSON and check every step against the limits.
///
/// # Errors
/// On the first thing that makes no sense or does not fit the target.
pub fn parse_program(json: &str, limits: &Limits) -> Result<Program, StimulusError> {
    let program: Program =
        serde_json::from_str(json).map_err(|error| StimulusError::Syntax(error.to_string()))?;
    for (index, step) in program.iter().enumerate() {
        step.check(limits).map_err(|reason| StimulusError::Value { step: index + 1, reason })?;
    }
    Ok(program)
}

impl Step {
    fn check(&self, limits: &Limits) -> Result<(), String> {
        self.stimulus.check(limits)?;
        match self.stop {
            StopRule::DurationNs(0) => Err("a duration of 0 does nothing".into()),
            StopRule::AmountBytes(0) => Err("an amount of 0 bytes does nothing".into()),
            _ => Ok(()),
        }
    }
}

impl Stimulus {
    fn check(&self, limits: &Limits) -> Result<(), String> {
        let block = u64::from(self.block_size_bytes);
        let sector = u64::from(limits.sector_bytes);
        if block == 0 || !block.is_multiple_of(sector) {
            return Err(format!("block size {block} B is no multiple of the sector size {sector} B"));
        }
        if self.block_size_bytes > limits.block_size_bytes {
            return Err(format!("block size {block} B exceeds the buffers of {} B", limits.block_size_bytes));
        }
        if self.read_pct > 100 {
            return Err(format!("{} % reads is more than all", self.read_pct));
        }
        if self.tc == 0 || self.tc > limits.tc {
            return Err(format!("TC {} is not within 1 to {}", self.tc, limits.tc));
        }
        if self.qd == 0 || self.qd > limits.qd {
            return Err(format!("QD {} is not within 1 to {}", self.qd, limits.qd));
        }
        self.check_range(limits, block, sector)
    }

    fn check_range(&self, limits: &Limits, block: u64, sector: u64) -> Result<(), String> {
        let (start, end) = (self.range_start_bytes, self.range_end_bytes);
        if start >= end || end > limits.capacity_bytes {
            return Err(format!("range {start} to {end} does not lie within {} B", limits.capacity_bytes));
        }
        if !start.is_multiple_of(sector) || !end.is_multiple_of(sector) {
            return Err(format!("range {start} to {end} does not lie on sectors of {sector} B"));
        }
        if end - start < block * u64::from(self.tc) {
            return Err(format!("a range of {} B has no block of {block} B for each thread", end - start));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits =
        Limits { capacity_bytes: 1 << 30, sector_bytes: 512, tc: 4, qd: 32, block_size_bytes: 1 << 20 };

    fn json(field: &str, value: &str) -> String {
        let mut step: serde_json::Value = serde_json::from_str(
            r#"{"stimulus": {"access_pattern": "random", "block_size_bytes": 4096, "read_pct": 65,
                "tc": 4, "qd": 32, "range_start_bytes": 0, "range_end_bytes": 1073741824},
                "stop": {"duration_ns": 1000}}"#,
        )
        .unwrap();
        let value = serde_json::from_str(value).unwrap();
        if field == "stop" {
            step["stop"] = value
        } else {
            step["stimulus"][field] = value
        }
        format!("[{step}]")
    }

    #[test]
    fn a_good_program_is_taken_as_it_is() {
        let program = parse_program(&json("qd", "16"), &LIMITS).unwrap();
        assert_eq!(program[0].stimulus.qd, 16);
        assert_eq!(program[0].stop, StopRule::DurationNs(1000));
    }

    #[test]
    fn each_nonsense_is_refused_by_name() {
        for (field, value, reason) in [
            ("block_size_bytes", "1000", "no multiple of the sector"),
            ("block_size_bytes", "0", "no multiple of the sector"),
            ("block_size_bytes", "2097152", "exceeds the buffers"),
            ("read_pct", "101", "more than all"),
            ("tc", "0", "TC 0"),
            ("tc", "5", "TC 5"),
            ("qd", "33", "QD 33"),
            ("range_end_bytes", "2147483648", "does not lie within"),
            ("range_start_bytes", "1073741824", "does not lie within"),
            ("range_start_bytes", "100", "does not lie on sectors"),
            ("range_end_bytes", "8192", "no block"),
            ("stop", r#"{"duration_ns": 0}"#, "does nothing"),
            ("stop", r#"{"amount_bytes": 0}"#, "does nothing"),
            ("stop", r#"{"rounds": 5}"#, "unknown variant"),
            ("access_pattern", r#""zigzag""#, "unknown variant"),
            ("colour", "1", "unknown field"),
        ] {
            let error = parse_program(&json(field, value), &LIMITS).unwrap_err().to_string();
            assert!(error.contains(reason), "{field} = {value}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}") {
            let _ = parse_program(&text, &LIMITS);
        }
    }
}
