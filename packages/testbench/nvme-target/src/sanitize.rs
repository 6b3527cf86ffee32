//! Sanitize: it runs in the drive's time, survives resets, and its log tells how far it is.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use openpts_sim::Purge;

use super::command::{Answered, Command, Done, Status};
use super::events::Event;
use super::media::Gate;
use super::sanitize_log::{COMPLETED, FAILED, IN_PROGRESS, SanitizeState, WHOLE};
use super::self_test_log::Ending;
use super::subsystem::{Subsystem, Traffic};

const EXIT_FAILURE: u32 = 1;
const BLOCK_ERASE: u32 = 2;
const OVERWRITE: u32 = 3;
const CRYPTO_ERASE: u32 = 4;

const LOOK: Duration = Duration::from_millis(5);
/// What the drive overwrites at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// What the drive can do, as the identify data say it: crypto erase, block erase, overwrite, and that data
/// are deallocated in any case.
pub(super) fn capabilities(subsystem: &Subsystem) -> u32 {
    match subsystem.character.purge {
        Purge::Absent => 0,
        Purge::Works | Purge::Fails | Purge::Lies => 1 | 1 << 1 | 1 << 2 | 1 << 29 | 1 << 30,
    }
}

/// The Sanitize command: it is answered at once, and the drive works on.
pub(super) fn sanitize(subsystem: &Arc<Subsystem>, command: &Command) -> Answered {
    if capabilities(subsystem) == 0 {
        return Err(Status::INVALID_OPCODE);
    }
    let word = command.dword(10);
    let action = word & 7;
    if action == EXIT_FAILURE {
        return leave_failure(subsystem);
    }
    // Bit 9 asks that nothing be deallocated, which this drive can't promise.
    if !matches!(action, BLOCK_ERASE | OVERWRITE | CRYPTO_ERASE) || word & 1 << 9 != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let is_unrestricted = word & 1 << 3 != 0;
    let mut media = subsystem.media_mut();
    let mut state = subsystem.sanitize();
    match media.admit() {
        // A failure in restricted mode is cured in restricted mode only.
        Err(Status::SANITIZE_FAILED) if state.is_unrestricted || !is_unrestricted => {}
        admitted => admitted?,
    }
    *state = SanitizeState {
        command: word,
        status: IN_PROGRESS,
        is_unrestricted,
        written_when_clean: state.written_when_clean,
        ..SanitizeState::default()
    };
    media.gate = Gate::Sanitizing;
    subsystem.abort_self_test(Ending::AbortedBySanitize);
    drop((state, media));
    let works_on = Arc::clone(subsystem);
    let passes = if action == OVERWRITE { passes(word) } else { 0 };
    std::thread::Builder::new()
        .name("sanitize".into())
        .spawn(move || end(&works_on, carry_out(&works_on, passes)))
        .map_err(|_| {
            end(subsystem, false);
            Status::INTERNAL_ERROR
        })?;
    Ok(Done::default())
}

/// Overwrite passes that a command asks for; 0 stands for 16.
fn passes(word: u32) -> u16 {
    match word >> 4 & 15 {
        0 => 16,
        passes => u16::try_from(passes).unwrap_or(16),
    }
}

fn leave_failure(subsystem: &Subsystem) -> Answered {
    let mut media = subsystem.media_mut();
    let state = subsystem.sanitize();
    match media.gate {
        Gate::Sanitizing => return Err(Status::SANITIZE_IN_PROGRESS),
        Gate::SanitizeFailed if !state.is_unrestricted => return Err(Status::SANITIZE_FAILED),
        // The log still says that the latest one failed.
        Gate::SanitizeFailed => media.gate = Gate::Open,
        Gate::Open | Gate::Formatting(_) => {}
    }
    Ok(Done::default())
}

/// Erase, in the drive's time; false if that failed.
fn carry_out(subsystem: &Subsystem, passes: u16) -> bool {
    for pass in 0..passes {
        if !overwrite(subsystem, u64::from(pass), passes.into()) {
            return false;
        }
        subsystem.sanitize().passes = (pass + 1) & 31;
    }
    let begun = Instant::now();
    let Ok(until) = subsystem.drive.purge() else { return false };
    let until = until.max(begun + subsystem.character.sanitize_takes);
    // After overwriting, the erase is the small rest.
    let is_waited = passes > 0 || wait(subsystem, begun, until);
    if subsystem.faults.sanitize_fails || !is_waited {
        return false;
    }
    subsystem.purge_lies() || subsystem.store.discard(0, subsystem.drive.capacity_bytes()).is_ok()
}

/// Wait until then, and tell how far that is; false if serving ends first.
fn wait(subsystem: &Subsystem, begun: Instant, until: Instant) -> bool {
    let whole = until.saturating_duration_since(begun).as_secs_f64().max(1e-9);
    while !subsystem.is_stopping() {
        let now = Instant::now();
        if now >= until {
            return true;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the whole")]
        let progress = ((now - begun).as_secs_f64() / whole * WHOLE as f64) as u64;
        subsystem.sanitize().progress = progress;
        std::thread::sleep(LOOK.min(until - now));
    }
    false
}

/// One pass over the whole drive, as fast as it writes.
fn overwrite(subsystem: &Subsystem, pass: u64, passes: u64) -> bool {
    let capacity = subsystem.drive.capacity_bytes();
    let mut offset = 0;
    while offset < capacity {
        if subsystem.is_stopping() {
            return false;
        }
        let chunk = CHUNK_BYTES.min(capacity - offset);
        let until = subsystem.drive.overwrite(offset, chunk);
        offset += chunk;
        let done = u128::from(pass * capacity + offset) * u128::from(WHOLE);
        let progress = done / (u128::from(passes) * u128::from(capacity));
        subsystem.sanitize().progress = u64::try_from(progress).unwrap_or(WHOLE);
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
    true
}

fn end(subsystem: &Subsystem, is_done: bool) {
    {
        let mut media = subsystem.media_mut();
        let mut state = subsystem.sanitize();
        state.status = if is_done { COMPLETED } else { FAILED };
        if is_done {
            state.written_when_clean = Some(Traffic::of(&subsystem.traffic.write_bytes));
        }
        media.gate = if is_done { Gate::Open } else { Gate::SanitizeFailed };
    }
    if !subsystem.is_stopping.load(Ordering::Relaxed) {
        subsystem.raise(Event::SanitizeDone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_passes_stand_for_sixteen() {
        assert_eq!((passes(3), passes(3 | 1 << 4), passes(3 | 15 << 4)), (16, 1, 15));
    }
}
