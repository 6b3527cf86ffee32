//! A simulated drive that sessions and orders take turns with.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::scaled_results::scaled_smart;
use crate::drive::{Drive, Refusal};
use crate::placement::Placed;
use crate::power_setting::{MOST_POWER_STATES, PowerSetting, Transition};
use crate::preset::PowerState;
use crate::scale::Scale;
use crate::smart::Smart;
use crate::time::Ps;

/// How often a session that waits for the drive looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// A drive and its clock. Virtual time passes in programs and orders only, so that equal ones have equal
/// results however long they are apart.
pub(super) struct TimedDrive {
    pub(super) drive: Box<dyn Drive>,
    pub(super) now_ps: Ps,
}

/// A drive for one program or order at a time. Quantities are nominal.
pub struct SharedDrive {
    state: Mutex<State>,
    changed: Condvar,
    scale: Scale,
    simulated_bytes: u64,
    sector_bytes: u32,
    geometry: Vec<(&'static str, f64)>,
    now_ps: AtomicU64,
    /// Who waits for the log while a program runs.
    readers: AtomicUsize,
}

struct State {
    /// With the thread that uses it, if it is not here.
    drive: Option<TimedDrive>,
    /// Programs that were submitted and have not ended.
    programs: usize,
    /// The log as a running program gave it, and how often one did.
    log: Smart,
    logs: u64,
}

impl SharedDrive {
    /// A drive that stands for one of `scale` times its size.
    #[must_use]
    pub fn new(drive: Box<dyn Drive>, scale: Scale) -> Self {
        let (simulated_bytes, sector_bytes) = (drive.capacity_bytes(), drive.sector_bytes());
        let geometry = drive.geometry();
        let drive = Some(TimedDrive { drive, now_ps: 0 });
        Self {
            state: Mutex::new(State { drive, programs: 0, log: Smart::default(), logs: 0 }),
            changed: Condvar::new(),
            scale,
            simulated_bytes,
            sector_bytes,
            geometry,
            now_ps: AtomicU64::new(0),
            readers: AtomicUsize::new(0),
        }
    }

    /// How many bytes one simulated byte stands for.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Size of the drive that it stands for.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.simulated_bytes * u64::from(self.scale.factor())
    }

    /// Size of the drive that is simulated.
    #[must_use]
    pub fn simulated_bytes(&self) -> u64 {
        self.simulated_bytes
    }

    /// Smallest unit of an access.
    #[must_use]
    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    /// How the simulated drive's model came out, by name.
    #[must_use]
    pub fn geometry(&self) -> &[(&'static str, f64)] {
        &self.geometry
    }

    /// Time since the drive was made, in ns; of a running program, some I/Os ago.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.scale.nominal_ns(self.now_ps.load(Ordering::Relaxed))
    }

    /// Forget all data; the time in ns that it took. Waits for the programs that were submitted, as all
    /// orders do.
    ///
    /// # Errors
    /// If the drive can't.
    pub fn purge(&self) -> Result<u64, Refusal> {
        self.order(|timed| timed.drive.purge(timed.now_ps))
    }

    /// Whether the volatile write cache is on; `None` if there is none.
    #[must_use]
    pub fn write_cache(&self) -> Option<bool> {
        self.with_idle(|timed| timed.drive.write_cache())
    }

    /// Switch the volatile write cache.
    ///
    /// # Errors
    /// If the drive has none to switch.
    pub fn set_write_cache(&self, enabled: bool) -> Result<(), Refusal> {
        self.with_idle(|timed| timed.drive.set_write_cache(enabled, timed.now_ps))
    }

    /// Its power states, and what is set of them; `None` where there is one.
    #[must_use]
    pub fn power(&self) -> Option<(Vec<PowerState>, PowerSetting)> {
        self.with_idle(|timed| timed.drive.power().map(|(states, setting)| (states.to_vec(), *setting)))
    }

    /// Enter a power state.
    ///
    /// # Errors
    /// If the drive has no such state.
    pub fn command_power_state(&self, state: u8) -> Result<(), Refusal> {
        self.with_idle(|timed| timed.drive.command_power_state(state, timed.now_ps))
    }

    /// Set which power states the drive enters by itself, and whether it does.
    ///
    /// # Errors
    /// If it has none.
    pub fn set_autonomous(
        &self,
        autonomous: bool,
        table: &[Transition; MOST_POWER_STATES],
    ) -> Result<(), Refusal> {
        self.with_idle(|timed| timed.drive.set_autonomous(autonomous, table, timed.now_ps))
    }

    /// Fold or flush all caches into native cells; the time in ns that it took.
    ///
    /// # Errors
    /// If the drive has nothing to fold.
    pub fn flush_caches(&self) -> Result<u64, Refusal> {
        self.order(|timed| timed.drive.flush_caches(timed.now_ps))
    }

    /// Put the drive into the state that long random writing would leave, at once.
    ///
    /// # Errors
    /// If its model has no such state in closed form.
    pub fn jump_start(&self) -> Result<(), Refusal> {
        self.with_idle(|timed| timed.drive.jump_start())
    }

    /// The drive's log, also while a program runs. Reading changes nothing.
    #[must_use]
    pub fn smart(&self) -> Smart {
        self.readers.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        let known = state.logs;
        let smart = loop {
            if let Some(timed) = &state.drive {
                break timed.drive.smart();
            }
            if state.logs > known {
                break state.log.clone();
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        self.readers.fetch_sub(1, Ordering::Relaxed);
        scaled_smart(smart, self.scale)
    }

    /// What the drive says of the placement of data; `None` if it takes no handles. Waits for the programs that
    /// were submitted.
    #[must_use]
    pub fn placed(&self) -> Option<Placed> {
        self.with_idle(|timed| timed.drive.placed()).map(|placed| placed.scaled(self.scale))
    }

    /// An order that takes virtual time.
    fn order(&self, order: impl FnOnce(&mut TimedDrive) -> Result<Ps, Refusal>) -> Result<u64, Refusal> {
        let took_ps = self.with_idle(|timed| {
            let began_ps = timed.now_ps;
            timed.now_ps = order(timed)?.max(began_ps);
            self.now_ps.store(timed.now_ps, Ordering::Relaxed);
            Ok(timed.now_ps - began_ps)
        })?;
        Ok(self.scale.nominal_ns(took_ps))
    }

    fn with_idle<T>(&self, with: impl FnOnce(&mut TimedDrive) -> T) -> T {
        let mut state = self.lock();
        loop {
            if state.programs == 0
                && let Some(timed) = &mut state.drive
            {
                return with(timed);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A program was submitted: orders that come after it wait for its end.
    pub(super) fn expect_program(&self) {
        self.lock().programs += 1;
    }

    /// A program that was submitted has ended, or will never begin.
    pub(super) fn end_program(&self) {
        self.lock().programs -= 1;
        self.changed.notify_all();
    }

    /// Take the drive for a program, as soon as no other session has it; `None` if `is_stopped` first.
    pub(super) fn lend(&self, is_stopped: impl Fn() -> bool) -> Option<Lent<'_>> {
        let mut state = self.lock();
        while !is_stopped() {
            if let Some(timed) = state.drive.take() {
                return Some(Lent { timed: Some(timed), from: self });
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the state whole: every change to it is complete when the lock is let go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The drive while a program runs; it goes back when this is dropped.
pub(super) struct Lent<'a> {
    timed: Option<TimedDrive>,
    from: &'a SharedDrive,
}

impl Lent<'_> {
    pub(super) fn timed(&mut self) -> &mut TimedDrive {
        self.timed.as_mut().expect("it goes back at the end only")
    }
}

impl SharedDrive {
    /// What the program that has the drive tells from time to time: where it is, and the log if someone
    /// waits for it.
    pub(super) fn tell(&self, drive: &dyn Drive, now_ps: Ps) {
        self.now_ps.store(now_ps, Ordering::Relaxed);
        if self.readers.load(Ordering::Relaxed) > 0 {
            let mut state = self.lock();
            state.log = drive.smart();
            state.logs += 1;
            self.changed.notify_all();
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(timed) = self.timed.take() {
            self.from.now_ps.store(timed.now_ps, Ordering::Relaxed);
            self.from.lock().drive = Some(timed);
            self.from.changed.notify_all();
        }
    }
}
