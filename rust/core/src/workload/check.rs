//! What makes sense of a program, and what does not: every step is checked before anything is run.

mod data;
mod pacing;
mod pattern;
mod placement;
mod stop;

pub use pattern::MOST_BLOCK_SIZES;
pub use placement::{MOST_SEGMENTS, MOST_ZONES};
pub use stop::MOST_WINDOWS;

use serde::Deserialize;

use super::stimulus::{Program, Step, Stimulus};

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
    let program: Program = serde_json::from_str(json).map_err(|error| unreadable(json, &error))?;
    check_program(&program, limits)?;
    Ok(program)
}

/// Which step can't be read, if it is one of them and not the whole.
fn unreadable(json: &str, error: &serde_json::Error) -> StimulusError {
    let steps: Vec<serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    let of_step = |(step, position): (serde_json::Value, usize)| {
        let reason = Step::deserialize(step).err()?.to_string();
        Some(StimulusError::Value { step: position, reason })
    };
    steps.into_iter().zip(1..).find_map(of_step).unwrap_or_else(|| StimulusError::Syntax(error.to_string()))
}

/// Check every step against the limits.
///
/// # Errors
/// On the first step that makes no sense or does not fit the target.
pub fn check_program(program: &[Step], limits: &Limits) -> Result<(), StimulusError> {
    program.iter().zip(1..).try_for_each(|(step, position)| {
        step.check(limits).map_err(|reason| StimulusError::Value { step: position, reason })
    })
}

impl Step {
    fn check(&self, limits: &Limits) -> Result<(), String> {
        self.stop.check()?;
        match &self.stimulus {
            Some(stimulus) => {
                stimulus.check(limits)?;
                self.check_end(stimulus)
            }
            None if self.stop.duration_ns.is_none() => {
                Err("a step without a stimulus ends by stop.duration_ns only, which is missing".into())
            }
            None => Ok(()),
        }
    }

    /// Flushes move no bytes: an amount alone would never end a step of them.
    fn check_end(&self, stimulus: &Stimulus) -> Result<(), String> {
        let stop = &self.stop;
        let ends_otherwise = stop.duration_ns.is_some() || stop.ios.is_some() || stop.steady.is_some();
        let operations = &stimulus.operations;
        if !ends_otherwise && operations.read == 0 && operations.write == 0 && operations.trim == 0 {
            return Err("stop.amount_bytes never ends a step of flushes, which have no bytes".into());
        }
        Ok(())
    }
}

impl Stimulus {
    fn check(&self, limits: &Limits) -> Result<(), String> {
        pattern::check(self, limits)?;
        placement::check(self, limits.sector_bytes)?;
        pacing::check(self.pacing)?;
        data::check(&self.data, limits)
    }
}

/// A number of per cent.
fn check_share(field: &str, pct: f64) -> Result<(), String> {
    if (0.0..=100.0).contains(&pct) {
        return Ok(());
    }
    Err(format!("{field} {pct} is not within 0 to 100"))
}

#[cfg(test)]
mod tests;
