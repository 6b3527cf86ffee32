//! Where the calling thread runs, how exactly its waits end, and how urgent its I/Os are.

use std::io;
use std::num::NonZeroU64;

use rustix::process::getpid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

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

/// Let the calling thread run wherever the process's first thread may, whichever thread has started it.
///
/// # Errors
/// If the kernel refuses.
pub fn unpin() -> io::Result<()> {
    Ok(sched_setaffinity(None, &sched_getaffinity(Some(getpid()))?)?)
}

/// Let the calling thread's timed waits end when they should. The kernel may else add 50 us to each, so as
/// to wake less often.
///
/// # Errors
/// If the kernel knows no timer slack.
pub fn tighten_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(Some(NonZeroU64::MIN))?)
}

/// `IOPRIO_WHO_PROCESS`: of one thread.
const THREAD: libc::c_int = 1;
/// 0: the one that calls.
const CALLING: libc::c_int = 0;

/// Give all I/Os that the calling thread issues from now on this priority: the class, shifted by 13, and the
/// level (`ioprio_set(2)`); 0 for none.
///
/// # Errors
/// If the process may not use the class.
pub fn set_io_priority(priority: u16) -> io::Result<()> {
    // SAFETY: the call takes three integers and no memory of ours.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, THREAD, CALLING, libc::c_int::from(priority)) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
    fn the_kernel_has_the_priority_that_was_set() {
        std::thread::spawn(|| {
            // Best effort, level 6; the class above all others is none.
            for (priority, is_known) in [((2 << 13) | 6, true), (0, true), (7 << 13, false)] {
                assert_eq!(set_io_priority(priority).is_ok(), is_known, "{priority}");
                // SAFETY: two integers.
                let kept = unsafe { libc::syscall(libc::SYS_ioprio_get, THREAD, CALLING) };
                assert!(!is_known || priority == 0 || kept == libc::c_long::from(priority), "{kept}");
            }
        })
        .join()
        .unwrap();
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
