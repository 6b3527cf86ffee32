//! Power states that a host may choose, or that a drive enters by itself when it has been idle for long.

use serde::Deserialize;

use super::PresetError;
use super::check::within;

/// NVMe has room for so many.
const MOST_STATES: usize = 32;
/// What a descriptor can hold, in microseconds, and an hour of idle time.
const LONGEST_US: f64 = 60e6;
const LONGEST_IDLE_MS: f64 = 3.6e6;
/// Hundredths of a watt in 16 bits.
const MOST_W: f64 = 655.0;

/// One state, by its place in the list. The first is that of a drive that was switched on.
///
/// Idle time is nominal: a scaled drive divides it. What entering and leaving takes is as given.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// The most power that it takes, in watts.
    pub most_w: f64,
    /// Power without I/O, in watts.
    pub idle_w: f64,
    /// Whether I/O is done in it; else an I/O brings the drive back to the last state in which it is.
    #[serde(default)]
    pub operational: bool,
    /// What entering takes, in microseconds.
    #[serde(default)]
    pub entry_us: f64,
    /// What leaving takes, in microseconds: the first I/O waits for it.
    #[serde(default)]
    pub exit_us: f64,
    /// Idle time in the state before after which the drive enters this one by itself, in milliseconds.
    pub after_idle_ms: Option<f64>,
    /// What the drive says that entering takes at most; without, what it takes.
    pub declared_entry_us: Option<f64>,
    /// What the drive says that leaving takes at most; without, what it takes.
    pub declared_exit_us: Option<f64>,
}

/// Check the states of a drive.
///
/// # Errors
/// With the name of the first value that makes no sense.
pub(super) fn check(states: &[PowerState]) -> Result<(), PresetError> {
    let Some(first) = states.first() else { return Ok(()) };
    if states.len() > MOST_STATES {
        return Err(PresetError(format!("power_states are more than {MOST_STATES}")));
    }
    if !first.operational || first.after_idle_ms.is_some() {
        return Err(PresetError(
            "the first of power_states must be operational, without after_idle_ms".into(),
        ));
    }
    for (number, state) in states.iter().enumerate() {
        let name = |field: &str| format!("{field} of power state {number}");
        within(&name("most_w"), state.most_w, 0.0, MOST_W)?;
        within(&name("idle_w"), state.idle_w, 0.0, state.most_w)?;
        for (field, value) in [
            ("entry_us", Some(state.entry_us)),
            ("exit_us", Some(state.exit_us)),
            ("declared_entry_us", state.declared_entry_us),
            ("declared_exit_us", state.declared_exit_us),
        ] {
            within(&name(field), value.unwrap_or(0.0), 0.0, LONGEST_US)?;
        }
        if let Some(after_idle_ms) = state.after_idle_ms {
            within(&name("after_idle_ms"), after_idle_ms, 1.0, LONGEST_IDLE_MS)?;
        }
        if state.operational && state.after_idle_ms.is_some() {
            return Err(PresetError(format!(
                "power state {number} is operational: a drive enters none of these by itself"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::preset::Preset;

    fn reason(states: &str) -> String {
        let text = format!(
            "name = 'x'\nsummary = 'x'\ncapacity_bytes = 1048576\n{states}\n[oracle.rate]\nby = 'steps'\n\
             every = 1\niops = [1000.0]\n"
        );
        Preset::parse(&text).err().map(|error| error.0).unwrap_or_default()
    }

    #[test]
    fn states_that_no_drive_could_have_are_refused() {
        let first = "[[power_states]]\nmost_w = 8.0\nidle_w = 2.0\noperational = true\n";
        assert_eq!(reason(first), "");
        for (states, word) in [
            ("[[power_states]]\nmost_w = 8.0\nidle_w = 2.0\n".into(), "must be operational"),
            (first.replace("2.0", "9.0"), "idle_w of power state 0"),
            (format!("{first}after_idle_ms = 5.0"), "must be operational"),
            (format!("{first}exit_us = -1.0"), "exit_us of power state 0"),
            (format!("{first}{first}after_idle_ms = 5.0"), "power state 1 is operational"),
            (
                format!("{first}[[power_states]]\nmost_w = 1.0\nidle_w = 0.1\nafter_idle_ms = 0.5"),
                "after_idle_ms",
            ),
            (first.repeat(33), "more than 32"),
        ] {
            assert!(reason(&states).contains(word), "{states}: {}", reason(&states));
        }
    }
}
