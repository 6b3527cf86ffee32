//! One thread's io_uring with its registered file and buffers, whatever commands it carries.

mod commands;
mod discard;
mod file;
mod namespace;
mod noop;
mod nvme;
mod nvme_command;
mod setup;

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::features::Features;
use super::queue::{Completion, Queue, QueueError, Shape};
use super::slots::Slots;
use super::target::Target;
use super::waker::{Waker, Watch};
use crate::workload::{Io, Operation};
use commands::{Commands, SlotMemory};
pub use file::FileCommands;
pub use noop::{NoOpCommands, TIMER_DELAY};
pub use nvme::NvmeCommands;
use setup::{Made, Reaping};

/// Marks the completion that is no I/O but the waker's call.
const WOKEN: u64 = u64::MAX;
/// Marks the one that is an alarm.
const ALARM: u64 = u64::MAX - 1;
/// The kernel counts a woken waker as one completion only. So who waits for several looks after it himself,
/// once in this time.
const LOOK_AROUND: Duration = Duration::from_millis(50);
/// A polled ring looks at clock and waker once in so many looks at the device: they cost as much.
const POLLS_PER_LOOK_AROUND: u32 = 16;
/// With so few I/Os outstanding, submission and wait are two system calls: see `submit_then_wait`.
const FEW_IN_FLIGHT: usize = 4;
/// Longer than any wait; the kernel wants a time-out beside its minimum wait.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// A queue in io_uring. It belongs to the thread that makes it.
pub struct Ring<C: Commands> {
    ring: IoUring<C::Submission, C::Answer>,
    slots: Slots,
    commands: C,
    watch: Watch,
    reaping: Reaping,
    registered_buffers: bool,
    /// `IORING_FEAT_MIN_TIMEOUT`, Linux 6.12.
    minimum_wait: bool,
    features: Features,
    /// Waits that a signal ended.
    interruptions: u64,
    /// Boxed: the kernel reads it where it is when the alarm's entry is submitted.
    alarm: Box<types::Timespec>,
    /// When a ring that polls looks up.
    alarm_at: Option<Instant>,
}

impl<C: Commands> Ring<C> {
    /// Give a new ring its buffers and its waker.
    fn assemble(
        made: Made<C::Submission, C::Answer>,
        commands: C,
        waker: &Waker,
        shape: &Shape,
    ) -> Result<Self, QueueError> {
        let Made { mut ring, reaping, deferred_completion } = made;
        let mut slots = Slots::new(shape, C::ANNEX_BYTES)?;
        // One for each slot: for a command on a part of a buffer, Linux before 6.16 counts the pages of all.
        // SAFETY: the mapping lives as long as the ring, and longer while an I/O is in flight (see Slots).
        let registered_buffers = unsafe { ring.submitter().register_buffers(&slots.as_iovecs()) }.is_ok();
        let registered_ring = ring.submitter().register_ring_fd().is_ok();
        let watch = Watch::new(waker).map_err(QueueError::Descriptor)?;
        if reaping == Reaping::Interrupts {
            let entry = opcode::PollAdd::new(types::Fd(watch.as_raw_fd()), libc::POLLIN as u32).build();
            // SAFETY: a poll refers to no memory of ours; the kernel holds the waker's file by itself.
            unsafe { ring.submission().push(&entry.user_data(WOKEN).into()) }
                .expect("an entry more than slots");
        }
        let minimum_wait = reaping == Reaping::Interrupts && ring.params().is_feature_min_timeout();
        let features = Features::from([
            ("deferred_completion", deferred_completion),
            ("registered_buffers", registered_buffers),
            ("registered_ring", registered_ring),
            ("minimum_wait", minimum_wait),
            ("polled", reaping == Reaping::Polls),
        ]);
        Ok(Self {
            ring,
            slots,
            commands,
            watch,
            reaping,
            registered_buffers,
            minimum_wait,
            features,
            interruptions: 0,
            alarm: Box::default(),
            alarm_at: None,
        })
    }

    /// Where the buffers begin.
    #[cfg(all(test, not(miri)))]
    pub(super) fn lent_memory(&mut self) -> usize {
        self.slots.as_iovecs()[0].iov_base.addr()
    }

    /// The number of completions to wait for: to wait for more than there can be would last for ever.
    fn attainable(&self, completions: usize) -> usize {
        completions.min(self.slots.in_flight().max(1))
    }

    /// Submit in one system call, and wait for a completion in another, if there is none by then.
    ///
    /// Where threads of the kernel carry out the I/O, the submission wakes one of them, often on this thread's
    /// own processor. A kernel that preempts no system call lets it run when this one returns: the thread then
    /// stays runnable where it is and finds its answer, mostly without ever falling asleep. One that waits in the
    /// same call sleeps before that, and each wake-up is a chance to be moved to a processor that is idle, with
    /// two wake-ups between processors for each I/O from then on. For a device that interrupts, the second call
    /// lies within the time of the I/O.
    fn submit_then_wait(&mut self) -> Result<(), QueueError> {
        self.submit_alone()?;
        if self.ring.completion().is_empty() {
            let answer = self.ring.submit_and_wait(1);
            self.entered(answer)?;
        }
        Ok(())
    }

    fn submit_alone(&mut self) -> Result<(), QueueError> {
        if !self.ring.submission().is_empty() {
            let answer = self.ring.submit();
            self.entered(answer)?;
        }
        Ok(())
    }

    /// What the kernel says of a wait, and whether a signal has ended it.
    #[inline]
    fn entered(&mut self, answer: io::Result<usize>) -> Result<Entered, QueueError> {
        let entered = entered(answer)?;
        self.interruptions += u64::from(entered == Entered::Interrupted);
        Ok(entered)
    }

    /// Wait in the kernel until the deadline.
    fn sleep(&mut self, completions: usize, deadline: Option<Instant>) -> Result<(), QueueError> {
        loop {
            let left = deadline.map_or(FOR_EVER, |at| at.saturating_duration_since(Instant::now()));
            // A woken waker is one completion: enough for who waits for one.
            let nap = if completions > 1 { left.min(LOOK_AROUND) } else { left };
            let timespec = types::Timespec::from(nap);
            let args = types::SubmitArgs::new().timespec(&timespec);
            let answer = self.ring.submitter().submit_with_args(completions, &args);
            if self.entered(answer)? != Entered::Waited
                || nap == left
                || self.ring.completion().len() >= completions
                || self.watch.strikes()
            {
                return Ok(());
            }
        }
    }

    /// Look at the device again and again. No timer and no waker can end the kernel's own polling, which
    /// would keep the thread for as long as a device hangs: so each look is a system call of its own. It ends
    /// with the first completions, for the kernel looks no further before these are reaped.
    fn poll(&mut self, completions: usize, deadline: Option<Instant>) -> Result<(), QueueError> {
        if self.slots.in_flight() == 0 {
            if completions > 0 {
                let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                self.watch.strikes_within(left);
            }
            return Ok(());
        }
        let deadline = deadline.into_iter().chain(self.alarm_at).min();
        for look in 1_u32.. {
            let answer = self.ring.submit_and_wait(0);
            self.entered(answer)?;
            if completions == 0 || !self.ring.completion().is_empty() {
                break;
            }
            if look % POLLS_PER_LOOK_AROUND == 0
                && (self.watch.strikes() || deadline.is_some_and(|at| Instant::now() >= at))
            {
                break;
            }
        }
        Ok(())
    }
}

impl<C: Commands> Queue for Ring<C> {
    #[inline]
    fn buffer_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.slots.buffer_mut(slot, length)
    }

    #[inline]
    fn buffer(&self, slot: usize, length: usize) -> &[u8] {
        self.slots.buffer(slot, length)
    }

    #[inline(always)]
    fn push(&mut self, slot: usize, io: &Io) {
        let memory = SlotMemory { slots: &mut self.slots, slot, registered: self.registered_buffers };
        let mut entry = self.commands.entry(io, memory);
        squeue::EntryMarker::set_user_data(&mut entry, slot as u64);
        self.slots.occupy(slot);
        // SAFETY: the entry points to the slot's own memory, which stays untouched until the slot is reaped
        // and which outlives the I/O (Slots sees to both). The queue has an entry per slot.
        unsafe { self.ring.submission().push(&entry) }.expect("an entry per slot");
    }

    #[inline]
    fn enter(&mut self, completions: usize) -> Result<(), QueueError> {
        let completions = self.attainable(completions);
        match (self.reaping, completions) {
            (Reaping::Interrupts, 1) if self.slots.in_flight() <= FEW_IN_FLIGHT => self.submit_then_wait(),
            (Reaping::Interrupts, 0 | 1) => {
                let answer = self.ring.submit_and_wait(completions);
                self.entered(answer).map(drop)
            }
            (Reaping::Interrupts, _) => self.sleep(completions, None),
            (Reaping::Polls, _) => self.poll(completions, None),
        }
    }

    fn enter_for(&mut self, completions: usize, timeout: Duration) -> Result<(), QueueError> {
        let completions = self.attainable(completions);
        let deadline = Instant::now().checked_add(timeout);
        match self.reaping {
            Reaping::Interrupts => {
                if completions == 1 && self.slots.in_flight() <= FEW_IN_FLIGHT {
                    self.submit_alone()?;
                    if !self.ring.completion().is_empty() {
                        return Ok(());
                    }
                }
                self.sleep(completions, deadline)
            }
            Reaping::Polls => self.poll(completions, deadline),
        }
    }

    fn enter_batched(&mut self, completions: usize, patience: Duration) -> Result<(), QueueError> {
        let completions = self.attainable(completions);
        let patience_us = u32::try_from(patience.as_micros()).unwrap_or(u32::MAX);
        if !self.minimum_wait || completions <= 1 || patience_us == 0 {
            return self.enter(completions.min(1));
        }
        let timespec = types::Timespec::from(FOR_EVER);
        let args = types::SubmitArgs::new().timespec(&timespec).min_wait_usec(patience_us);
        let answer = self.ring.submitter().submit_with_args(completions, &args);
        self.entered(answer).map(drop)
    }

    fn set_alarm(&mut self, after: Duration) {
        if self.reaping == Reaping::Polls {
            self.alarm_at = Instant::now().checked_add(after);
            return;
        }
        let mut submission = self.ring.submission();
        // The kernel has refused what was there: each slot still has to find its entry.
        if submission.capacity() - submission.len() > self.slots.free() {
            *self.alarm = after.into();
            let entry = opcode::Timeout::new(&raw const *self.alarm).build().user_data(ALARM);
            // SAFETY: the kernel reads the time while it takes the entry, and the ring owns both until then.
            let _ = unsafe { submission.push(&entry.into()) };
        }
    }

    #[inline]
    fn reap(&mut self, mut each: impl FnMut(Completion)) {
        for answer in self.ring.completion() {
            let answer: cqueue::Entry = answer.into();
            match answer.user_data() {
                WOKEN => {
                    self.watch.dismiss();
                    continue;
                }
                ALARM => continue,
                _ => (),
            }
            let slot = usize::try_from(answer.user_data()).expect("we numbered it");
            self.slots.release(slot);
            let (result, status) = self.commands.outcome(slot, answer.result());
            each(Completion { slot, result, status });
        }
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    fn interruptions(&self) -> u64 {
        self.interruptions
    }

    fn supports(&self, operation: Operation) -> bool {
        self.commands.supports(operation)
    }

    fn features(&self) -> Features {
        self.features.clone()
    }
}

impl<C: Commands> Drop for Ring<C> {
    fn drop(&mut self) {
        // The kernel takes a ring apart some time after it was closed. A device that is idle is let go at
        // once, so that a program that wants it for itself next does not find it in use.
        if self.slots.in_flight() == 0 {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

/// How a wait ended. The kernel does not tell a time-out from enough completions if it has submitted as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entered {
    /// With completions, by the time-out or by the waker.
    Waited,
    /// The caller has to look first.
    Disturbed,
    /// So has it, after a signal.
    Interrupted,
}

/// What counts as an error of `io_uring_enter`.
fn entered(answer: io::Result<usize>) -> Result<Entered, QueueError> {
    match answer {
        Ok(_) => Ok(Entered::Waited),
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME) => Ok(Entered::Waited),
            // EAGAIN and EBUSY: the kernel is short of memory or our completions wait to be reaped; both
            // pass when the caller reaps and comes again.
            Some(libc::EAGAIN | libc::EBUSY) => Ok(Entered::Disturbed),
            Some(libc::EINTR) => Ok(Entered::Interrupted),
            _ => Err(QueueError::Enter(error)),
        },
    }
}

/// The target as the ring knows it.
fn register(
    ring: &IoUring<impl squeue::EntryMarker, impl cqueue::EntryMarker>,
    target: &Target,
) -> Result<(), QueueError> {
    ring.submitter().register_files(&[target.as_raw_fd()]).map_err(QueueError::Register)
}

// System calls that Miri does not know.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_could_not_be_registered_serve_as_well() {
        // As for a user who may lock little memory.
        let file = tempfile::tempfile().unwrap();
        let target = Target::duplicate(file.as_raw_fd()).unwrap();
        let shape = Shape { slots: 2, block_bytes: 512, sector_bytes: 512 };
        let mut ring = Ring::on_file(&target, &Waker::new().unwrap(), &shape).unwrap();
        ring.registered_buffers = false;
        ring.buffer_mut(0, 512).fill(0xa5);
        for (slot, operation) in [(0, Operation::Write), (1, Operation::Read)] {
            ring.push(slot, &Io::new(operation, 512, 512));
            ring.enter(1).unwrap();
            ring.reap(|completion| assert_eq!((completion.slot, completion.result), (slot, 512)));
            assert_eq!(ring.in_flight(), 0);
        }
        assert_eq!(ring.buffer(1, 512), [0xa5; 512]);
    }

    #[test]
    fn what_passes_by_itself_is_no_error_of_a_wait() {
        let answer = |errno| entered(Err(io::Error::from_raw_os_error(errno)));
        for errno in [libc::EAGAIN, libc::EBUSY] {
            assert_eq!(answer(errno).unwrap(), Entered::Disturbed);
        }
        assert_eq!(answer(libc::EINTR).unwrap(), Entered::Interrupted);
        assert_eq!(answer(libc::ETIME).unwrap(), Entered::Waited);
        assert!(matches!(answer(libc::EBADF), Err(QueueError::Enter(_))));
    }
}
