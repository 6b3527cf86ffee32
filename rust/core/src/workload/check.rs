//! What makes sense of a program, and what does not: every step is checked before anything is run.

mod data;
mod pacing;
mod pattern;
mod placement;
mod replay;
mod stop;

pub use pattern::MOST_BLOCK_SIZES;
pub use placement::{MOST_SEGMENTS, MOST_ZONES};
pub use stop::MOST_WINDOWS;

use serde::Deserialize;

use super::stimulus::{Pacing, Program, Step, Stimulus, Stream};

/// Most streams of one step.
pub const MOST_STREAMS: usize = 64;

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
        let all_end = !self.is_idle() && self.streams.iter().all(|stream| stream.bounds.any());
        self.stop.check(all_end)?;
        if self.is_idle() && self.stop.duration_ns.is_none() {
            return Err("a step without a stimulus ends by stop.duration_ns only, which is missing".into());
        }
        for (stream, number) in self.streams.iter().zip(1..) {
            let checked = stream.check(limits).and_then(|()| self.check_end(stream));
            checked.map_err(|reason| match self.streams.len() {
                1 => reason,
                _ => format!("stream {number}: {reason}"),
            })?;
        }
        self.check_together(limits)
    }

    /// Flushes move no bytes: an amount alone would never end a step of them.
    fn check_end(&self, stream: &Stream) -> Result<(), String> {
        let (stop, bounds) = (&self.stop, &stream.bounds);
        let ends_otherwise = stop.duration_ns.is_some()
            || stop.ios.is_some()
            || stop.steady.is_some()
            || bounds.duration_ns.is_some()
            || bounds.ios.is_some();
        let operations = &stream.stimulus.operations;
        if !ends_otherwise && operations.read == 0 && operations.write == 0 && operations.trim == 0 {
            return Err("stop.amount_bytes never ends a step of flushes, which have no bytes".into());
        }
        Ok(())
    }

    /// What each stream may do, several may not.
    fn check_together(&self, limits: &Limits) -> Result<(), String> {
        if self.streams.len() > MOST_STREAMS {
            return Err(format!("{} streams are more than {MOST_STREAMS}", self.streams.len()));
        }
        let tc = self.streams.iter().map(|stream| u64::from(stream.stimulus.tc)).sum::<u64>();
        if tc > u64::from(limits.tc) {
            return Err(format!("TC {tc} of all streams is not within 1 to {}", limits.tc));
        }
        let is_counted = self.stop.amount_bytes.is_some() || self.stop.ios.is_some();
        if self.streams.len() > 1 && is_counted {
            return Err("an amount or a number of I/Os ends one stream: give each its own bounds".into());
        }
        if self.ramp_ns > 0 && self.streams.iter().any(|stream| stream.replay.is_some()) {
            return Err("ramp_ns goes with no replay: all of it counts".into());
        }
        if self.stop.at_least_ns > 0 && self.streams.iter().any(|stream| stream.bounds.any()) {
            return Err("stop.at_least_ns goes with no stream that has bounds of its own".into());
        }
        Ok(())
    }
}

impl Stream {
    fn check(&self, limits: &Limits) -> Result<(), String> {
        self.bounds.check("bounds")?;
        let is_cyclic = matches!(self.stimulus.pacing, Pacing::DutyCycle { .. } | Pacing::ThinkTime { .. });
        if self.share > 0 && is_cyclic {
            return Err("share goes with no duty cycle and no think time: use batches".into());
        }
        if let Some(replay) = &self.replay {
            if self.share > 0 || self.stimulus.tc != 1 || self.stimulus.pacing != Pacing::ClosedLoop {
                return Err("a replay goes with one thread, without share and pacing".into());
            }
            replay.check(self, limits.sector_bytes)?;
        }
        self.stimulus.check(limits)
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
