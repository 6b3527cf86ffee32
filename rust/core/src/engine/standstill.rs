//! Notices when this process itself did not run: stopped, frozen with its group or machine, suspended.
//!
//! A thread that should run again and again looks at three clocks. One of them has gone on in any case: the
//! engine's, where the process alone stood still or the machine's own clock was stopped with it; the
//! system's; and that since boot, which goes on while the machine is suspended.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use rustix::time::{ClockId, clock_gettime};

/// How often to look.
pub(super) const PERIOD: Duration = Duration::from_millis(100);
/// By how much a look may be late before that is a standstill. A busy machine lets a thread that wakes up
/// wait for others' slices, of some milliseconds each: for a second only behind hundreds of them at once, and
/// then the threads that issue I/O wait as well.
const LIMIT: Duration = Duration::from_secs(1);

/// Time in which nothing was issued and nothing seen. Moments are on the engine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// When the process should have run again and did not.
    pub from_ns: u64,
    /// When it ran again.
    pub until_ns: u64,
    /// How long it stood still; longer than between the two, where the engine's clock stood still as well.
    pub lasted_ns: u64,
}

impl Standstill {
    /// Whether what ran from one moment to another is disturbed. All threads stand still at once: of two
    /// steps, of which one ended when the other began, but one has nearly all of it.
    fn disturbs(&self, from_ns: u64, until_ns: u64) -> bool {
        let (limit_ns, width_ns) = (nanoseconds(LIMIT), self.until_ns.saturating_sub(self.from_ns));
        if width_ns < limit_ns {
            return from_ns <= self.until_ns && self.from_ns <= until_ns;
        }
        let shared_ns = self.until_ns.min(until_ns).saturating_sub(self.from_ns.max(from_ns));
        shared_ns >= limit_ns.min(width_ns / 2)
    }
}

/// What the clocks say at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    engine_ns: u64,
    system_ns: u64,
    boot_ns: u64,
}

impl Look {
    pub(super) fn now(engine_ns: u64) -> Self {
        Self { engine_ns, system_ns: read_ns(ClockId::Monotonic), boot_ns: read_ns(ClockId::Boottime) }
    }
}

/// Compares each look with the one before.
#[derive(Debug)]
pub(super) struct StandstillWatch {
    last: Look,
    found: Vec<Standstill>,
}

impl StandstillWatch {
    pub(super) fn new(first: Look) -> Self {
        Self { last: first, found: Vec::new() }
    }

    /// Take the next look; false if the engine's clock went back, as a counter does that loses its power.
    pub(super) fn look(&mut self, now: Look) -> bool {
        let last = std::mem::replace(&mut self.last, now);
        let engine_ns = now.engine_ns.saturating_sub(last.engine_ns);
        let system_ns = now.system_ns.saturating_sub(last.system_ns);
        let passed_ns = engine_ns.max(system_ns).max(now.boot_ns.saturating_sub(last.boot_ns));
        let period_ns = nanoseconds(PERIOD);
        if passed_ns >= period_ns + nanoseconds(LIMIT) {
            // Where the engine's clock stood still, nothing tells when between the looks.
            let seen_ns = if engine_ns > 2 * period_ns { period_ns } else { 0 };
            self.found.push(Standstill {
                from_ns: last.engine_ns + seen_ns,
                until_ns: now.engine_ns.max(last.engine_ns),
                lasted_ns: passed_ns - period_ns,
            });
        }
        now.engine_ns >= last.engine_ns
    }

    /// What disturbed the time between these moments.
    pub(super) fn between(&self, from_ns: u64, until_ns: u64) -> Vec<Standstill> {
        self.found.iter().copied().filter(|found| found.disturbs(from_ns, until_ns)).collect()
    }

    /// What ended before this moment will not be asked for.
    pub(super) fn forget_before(&mut self, at_ns: u64) {
        self.found.retain(|found| found.until_ns >= at_ns);
    }
}

/// A watch with a thread of its own, for an engine whose I/O is issued elsewhere. Its clock is the system's
/// monotonic one.
#[derive(Debug)]
pub struct WatchedTime {
    watch: Arc<Mutex<StandstillWatch>>,
    _ends_with_it: Sender<()>,
}

impl WatchedTime {
    /// Watch from now on.
    ///
    /// # Errors
    /// If there can be no thread for it.
    pub fn start() -> io::Result<Self> {
        let watch = Arc::new(Mutex::new(StandstillWatch::new(system_look())));
        let (ends_with_it, end) = mpsc::channel();
        let watched = Arc::clone(&watch);
        thread::Builder::new().name("openpts-watch".into()).spawn(move || {
            while end.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                lock(&watched).look(system_look());
            }
        })?;
        Ok(Self { watch, _ends_with_it: ends_with_it })
    }

    /// What disturbed the time between these moments, of which the later one has passed. They are asked for
    /// in order: what ended before the first is forgotten.
    #[must_use]
    pub fn between(&self, from_ns: u64, until_ns: u64) -> Vec<Standstill> {
        let mut watch = lock(&self.watch);
        watch.look(system_look());
        watch.forget_before(from_ns);
        watch.between(from_ns, until_ns)
    }
}

fn lock(watch: &Mutex<StandstillWatch>) -> MutexGuard<'_, StandstillWatch> {
    // A panic elsewhere leaves the looks whole.
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

fn system_look() -> Look {
    Look::now(read_ns(ClockId::Monotonic))
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A watch whose looks came each 100 ms until 1,000 ms.
    fn watch() -> (StandstillWatch, Look) {
        let look = |at_ms: u64| Look {
            engine_ns: at_ms * MS,
            system_ns: (7_000 + at_ms) * MS,
            boot_ns: (90_000 + at_ms) * MS,
        };
        let mut watch = StandstillWatch::new(look(0));
        assert!((1..=10).all(|index| watch.look(look(index * 100))));
        assert!(watch.between(0, u64::MAX).is_empty());
        (watch, look(1_000))
    }

    fn later(last: Look, engine_ms: u64, system_ms: u64, boot_ms: u64) -> Look {
        Look {
            engine_ns: last.engine_ns + engine_ms * MS,
            system_ns: last.system_ns + system_ms * MS,
            boot_ns: last.boot_ns + boot_ms * MS,
        }
    }

    #[test]
    fn a_stopped_process_is_in_the_step_that_ran_and_in_no_other() {
        let (mut watch, last) = watch();
        watch.look(later(last, 3_100, 3_100, 3_100));
        let found = [Standstill { from_ns: 1_100 * MS, until_ns: 4_100 * MS, lasted_ns: 3_000 * MS }];
        assert_eq!(watch.between(900 * MS, 4_095 * MS), found, "its end is seen before the watch looks");
        assert!(watch.between(0, 1_050 * MS).is_empty(), "it ended between the last look and the stop");
        assert!(watch.between(4_095 * MS, 9_000 * MS).is_empty(), "it began before the watch looked");
        watch.forget_before(5_000 * MS);
        assert!(watch.between(0, u64::MAX).is_empty());
    }

    #[test]
    fn a_suspended_machine_shows_in_the_clock_since_boot_alone() {
        let (mut watch, last) = watch();
        watch.look(later(last, 100, 100, 3_600_100));
        let found = watch.between(0, 1_020 * MS);
        assert_eq!(found[0].lasted_ns, 3_600_000 * MS);
        assert_eq!(watch.between(1_020 * MS, 2_000 * MS), found, "either step may have had it");
        assert!(watch.between(1_200 * MS, 2_000 * MS).is_empty());
    }

    #[test]
    fn a_machine_that_was_frozen_shows_in_the_counter_alone() {
        let (mut watch, last) = watch();
        watch.look(later(last, 20_100, 100, 100));
        assert_eq!(watch.between(0, 30_000 * MS)[0].lasted_ns, 20_000 * MS);
    }

    #[test]
    fn a_counter_that_begins_again_is_told() {
        let (mut watch, last) = watch();
        let back = Look { engine_ns: 0, ..later(last, 0, 100, 60_000) };
        assert!(!watch.look(back));
        assert_eq!(watch.between(0, 2_000 * MS).len(), 1);
    }

    #[test]
    fn what_a_busy_machine_does_is_no_standstill() {
        let (mut watch, mut last) = watch();
        for late_ms in [150, 700, 1_000, 1_099] {
            last = later(last, late_ms, late_ms, late_ms);
            watch.look(last);
        }
        assert!(watch.between(0, u64::MAX).is_empty());
    }
}
