//! How the host's processors spend a step (PTS 2.1.4), and what openpts itself used.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::time::{ClockId, clock_gettime};

/// Shares of the capacity of all processors during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShares {
    /// Running programs.
    pub user_pct: f64,
    /// Running the kernel, interrupts included.
    pub sys_pct: f64,
    /// Idle while I/O was outstanding.
    pub iowait_pct: f64,
    /// Processor time of this process, kernel work on its behalf included.
    pub process_ns: u64,
}

/// The counters at one moment. Host counters are in clock ticks since boot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuSnapshot {
    user: u64,
    system: u64,
    iowait: u64,
    total: u64,
    process_ns: u64,
}

impl CpuSnapshot {
    pub(super) fn now() -> Self {
        let process = clock_gettime(ClockId::ProcessCPUTime);
        let process_ns = process.tv_sec.unsigned_abs() * 1_000_000_000 + process.tv_nsec.unsigned_abs();
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self { process_ns, ..parse(&text).unwrap_or_default() }
    }

    /// Shares since an earlier snapshot; `None` when no tick passed or the kernel has no counters.
    pub(super) fn since(&self, earlier: &Self) -> Option<CpuShares> {
        let total = self.total.checked_sub(earlier.total).filter(|ticks| *ticks > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "ticks of one step")]
        let share = |now: u64, before: u64| 100.0 * now.saturating_sub(before) as f64 / total as f64;
        Some(CpuShares {
            user_pct: share(self.user, earlier.user),
            sys_pct: share(self.system, earlier.system),
            iowait_pct: share(self.iowait, earlier.iowait),
            process_ns: self.process_ns - earlier.process_ns,
        })
    }
}

/// The counters when steps, or their measured parts, began other than with the end of the one before. A thread
/// that is late may report a step after the next one has begun to measure.
#[derive(Debug, Default)]
pub(super) struct Beginnings(Mutex<Vec<(u64, CpuSnapshot)>>);

impl Beginnings {
    pub(super) fn add(&self, step: u64, at: CpuSnapshot) {
        self.lock().push((step, at));
    }

    pub(super) fn of(&self, step: u64) -> Option<CpuSnapshot> {
        self.lock().iter().rfind(|(begun, _)| *begun == step).map(|(_, at)| *at)
    }

    pub(super) fn forget_through(&self, step: u64) {
        self.lock().retain(|(begun, _)| *begun > step);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, CpuSnapshot)>> {
        // A panic elsewhere leaves the snapshots complete.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The line `cpu user nice system idle iowait irq softirq steal ...` of `/proc/stat`; guests' time is
/// part of `user` already.
fn parse(stat: &str) -> Option<CpuSnapshot> {
    let mut words = stat.lines().next()?.split_ascii_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    let ticks: Vec<u64> = words.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks.try_into().ok()?;
    Some(CpuSnapshot {
        user: user + nice,
        system: system + irq + softirq,
        iowait,
        total: user + nice + system + idle + iowait + irq + softirq + steal,
        process_ns: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: PTS-DEF-12
    #[test]
    fn shares_follow_from_the_difference_of_two_readings() {
        let before = parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 ...").unwrap();
        let mut after = parse("cpu  150 10 70 900 80 5 5 0 0 0\n").unwrap();
        after.process_ns = 7;
        let shares = after.since(&before).unwrap();
        let total = 60.0 + 30.0 + 100.0 + 30.0;
        assert_eq!(shares.user_pct, 100.0 * 60.0 / total);
        assert_eq!(shares.sys_pct, 100.0 * 30.0 / total);
        assert_eq!(shares.iowait_pct, 100.0 * 30.0 / total);
        assert_eq!(shares.process_ns, 7);
    }

    // proves: PTS-DEF-12
    #[test]
    fn a_ramp_that_ends_before_the_step_ahead_is_reported_is_of_its_own_step() {
        let at = |process_ns| CpuSnapshot { process_ns, ..CpuSnapshot::default() };
        let beginnings = Beginnings::default();
        for (step, process_ns) in [(0, 5), (0, 10), (2, 50)] {
            beginnings.add(step, at(process_ns));
        }
        let found = || [0, 1, 2].map(|step| beginnings.of(step).map(|found| found.process_ns));
        assert_eq!(found(), [Some(10), None, Some(50)]);
        beginnings.forget_through(1);
        assert_eq!(found(), [None, None, Some(50)]);
    }

    #[test]
    fn a_kernel_without_counters_gives_no_shares() {
        for text in ["", "intr 1 2 3", "cpu a b c d e f g h", "cpu 1 2 3"] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(CpuSnapshot::default().since(&CpuSnapshot::default()).is_none());
    }

    #[test]
    fn this_kernel_is_understood() {
        assert!(CpuSnapshot::now().total > 0);
    }
}
