//! Where the calling thread runs, and how exactly its waits end.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

/// Let the calling thread run on this processor and no other.
///
/// # Errors
/// If there is no such processor, or the process may not use it.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Let the calling thread's timed waits end when they should. The kernel may else add 50 us to each, so as
/// to wake less often.
///
/// # Errors
/// If the kernel knows no timer slack.
pub fn tighten_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(Some(NonZeroU64::MIN))?)
}

// System calls that Miri does not know.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use rustix::thread::{current_timer_slack, sched_getaffinity, sched_getcpu};

    #[test]
    fn a_pinned_thread_runs_where_it_was_told() {
        let allowed = sched_getaffinity(None).unwrap();
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)) {
            std::thread::spawn(move || {
                pin_to_cpu(cpu).unwrap();
                assert_eq!(sched_getcpu(), cpu);
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused() {
        assert!(pin_to_cpu(CpuSet::MAX_CPU - 1).is_err());
        assert!(pin_to_cpu(usize::MAX).is_err());
    }

    #[test]
    fn the_timer_slack_is_one_nanosecond() {
        std::thread::spawn(|| {
            tighten_timers().unwrap();
            assert_eq!(current_timer_slack().unwrap(), 1);
        })
        .join()
        .unwrap();
    }
}
