//! What every simulated drive offers to its host, in virtual time.

use openpts_core::engine::Spent;
use openpts_core::workload::Io;

use super::placement::Placed;
use super::power_setting::{MOST_POWER_STATES, PowerSetting, Transition};
use super::preset::PowerState;
use super::smart::{Sensed, Smart};
use super::time::Ps;

/// A page, which is what all models map.
pub(super) const PAGE_BYTES: u64 = 4096;

/// An I/O is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When the host sees it.
    pub at_ps: Ps,
    /// What went wrong, in words; `None` if it was done as asked.
    pub error: Option<&'static str>,
}

/// What becomes of a submitted I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its answer is known already.
    Known(Completion),
    /// It waits for something that later I/Os or time decide; [`Drive::answer_until`] gives the answer.
    Deferred,
}

/// Something that the drive can't do, or failed to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// A drive in virtual time. Moments never go back: each call names one that is no earlier than that of the
/// call before. It answers at once and knows no threads; equal calls have equal answers.
pub trait Drive: Send {
    /// Bytes that the host can address: a scaled drive's own, not those that it stands for.
    fn capacity_bytes(&self) -> u64;

    /// Smallest unit of an access.
    fn sector_bytes(&self) -> u32;

    /// How the model came out, by name; nothing where there is no model of flash.
    fn geometry(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// A step of the host begins. `entropy` is the share of random bytes in what it writes, 0 to 1.
    fn begin_step(&mut self, entropy: f64, now_ps: Ps);

    /// Take an I/O, which lies inside of the capacity; `tag` names it in a deferred answer.
    fn submit(&mut self, io: &Io, tag: u32, now_ps: Ps) -> Answer;

    /// When the next deferred I/O will be answered if nothing more is submitted;
    /// [`NEVER`](super::time::NEVER) if none waits.
    fn next_answer_ps(&self) -> Ps;

    /// Give the answers of deferred I/Os that are known by this moment, also if they lie behind it.
    fn answer_until(&mut self, now_ps: Ps, answered: &mut Vec<(u32, Completion)>);

    /// All I/Os are answered, and until this moment none comes: time for what drives do on their own.
    fn idle_until(&mut self, until_ps: Ps);

    /// The address of a coming I/O is known already: its tables may be fetched into the cache. Changes
    /// nothing.
    #[inline]
    fn prefetch(&self, _io: &Io) {}

    /// Forget all data, as a sanitize or format does; gives the moment at which it is done.
    ///
    /// # Errors
    /// If the drive has no purge, or a preset makes it fail.
    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal>;

    /// Whether the volatile write cache is on; `None` if there is none.
    fn write_cache(&self) -> Option<bool>;

    /// Switch the volatile write cache.
    ///
    /// # Errors
    /// If the drive has none to switch.
    fn set_write_cache(&mut self, enabled: bool, now_ps: Ps) -> Result<(), Refusal>;

    /// Fold or flush all caches into native cells, as an admin command of the maker; gives the moment at
    /// which it is done.
    ///
    /// # Errors
    /// If the drive has nothing to fold.
    fn flush_caches(&mut self, now_ps: Ps) -> Result<Ps, Refusal>;

    /// Put the drive into the state that long random writing over its whole range would leave, at once.
    ///
    /// # Errors
    /// If its model has no such state in closed form.
    fn jump_start(&mut self) -> Result<(), Refusal>;

    /// Health counters and temperatures, as the drive itself would report them. Reading changes nothing.
    fn smart(&self) -> Smart;

    /// Whether it takes no writes any more, as its log would tell.
    fn is_read_only(&self) -> bool {
        self.smart().read_only
    }

    /// What its sensor would say at this moment if nothing more were submitted until then; `None` without
    /// one. Reading changes nothing.
    fn sensed(&self, _now_ps: Ps) -> Option<Sensed> {
        None
    }

    /// What it says of the placement of data; `None` if it takes no handles. Reading changes nothing.
    fn placed(&self) -> Option<Placed> {
        None
    }

    /// Have a placement handle go on in another reclaim unit.
    ///
    /// # Errors
    /// If the drive takes no handles, or not this one.
    fn update_handle(&mut self, handle: u16, _now_ps: Ps) -> Result<(), Refusal> {
        Err(Refusal(format!("the drive has no placement handle {handle}")))
    }

    /// What it has used up since it was made; nothing where it has no model of that. Reading changes nothing.
    fn spent(&self, _now_ps: Ps) -> Spent {
        Spent::default()
    }

    /// Its power states, and what the host has set of them; `None` of a drive that has one.
    fn power(&self) -> Option<(&[PowerState], &PowerSetting)> {
        None
    }

    /// Enter a power state, which lasts until the next I/O if none is done in it.
    ///
    /// # Errors
    /// If there is no such state.
    fn command_power_state(&mut self, _state: u8, _now_ps: Ps) -> Result<(), Refusal> {
        Err(Refusal("the drive has one power state".into()))
    }

    /// Set which states the drive enters by itself, and whether it does.
    ///
    /// # Errors
    /// If it has none.
    fn set_autonomous(
        &mut self,
        _autonomous: bool,
        _table: &[Transition; MOST_POWER_STATES],
        _now_ps: Ps,
    ) -> Result<(), Refusal> {
        Err(Refusal("the drive has one power state".into()))
    }
}
