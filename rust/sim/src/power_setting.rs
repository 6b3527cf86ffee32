//! What a host may set of power states.

use super::preset::PowerState;

/// Entries of the table of autonomous transitions.
pub const MOST_POWER_STATES: usize = 32;

/// After so many milliseconds without I/O in a state the drive enters another; 0: it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// The state that it enters.
    pub to: u8,
    /// Idle time in the state before, in milliseconds.
    pub after_ms: u32,
}

/// What a host may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerSetting {
    /// The state that the host has asked for last.
    pub state: u8,
    /// Whether the drive enters states by itself.
    pub autonomous: bool,
    /// From which state into which.
    pub table: [Transition; MOST_POWER_STATES],
}

impl PowerSetting {
    /// As the drive of a preset begins: each state with a time of its own follows the one before in that list.
    #[must_use]
    pub fn of(states: &[PowerState]) -> Self {
        let mut table = [Transition::default(); MOST_POWER_STATES];
        let mut from: Vec<usize> = (0..states.len()).filter(|number| states[*number].operational).collect();
        for (number, state) in states.iter().enumerate() {
            let Some(after_idle_ms) = state.after_idle_ms else { continue };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "presets are checked"
            )]
            let transition = Transition { to: number as u8, after_ms: after_idle_ms.round() as u32 };
            from.drain(..).for_each(|before| table[before] = transition);
            from.push(number);
        }
        Self { state: 0, autonomous: states.iter().any(|state| state.after_idle_ms.is_some()), table }
    }
}
