//! Making an io_uring with the least work per I/O that this kernel knows.

use io_uring::{IoUring, cqueue, squeue};

use crate::machine::queue::{QueueError, Shape};

/// How finished I/Os are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaping {
    /// The device interrupts and the thread sleeps until then.
    Interrupts,
    /// The thread looks at the device's completion queue.
    Polls,
}

/// A new ring.
pub(super) struct Made<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    pub(super) ring: IoUring<S, C>,
    pub(super) reaping: Reaping,
    /// Completions are run only when the thread asks for them (Linux 6.1).
    pub(super) deferred_completion: bool,
}

/// A ring with an entry for each slot, one for the waker and one for an alarm.
pub(super) fn make<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    shape: &Shape,
    reaping: Reaping,
) -> Result<Made<S, C>, QueueError> {
    let entries = u32::try_from(shape.slots + 2).unwrap_or(u32::MAX);
    let mut builder = IoUring::<S, C>::builder();
    if reaping == Reaping::Polls {
        builder.setup_iopoll();
    }
    let plain = builder.clone();
    let deferred = builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(entries);
    let made = match deferred {
        // Kernels before 6.1 answer EINVAL to flags that they don't know.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            plain.build(entries).map(|ring| (ring, false))
        }
        other => other.map(|ring| (ring, true)),
    };
    let (ring, deferred_completion) = made.map_err(QueueError::Setup)?;
    Ok(Made { ring, reaping, deferred_completion })
}
