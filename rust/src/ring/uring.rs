//! One thread's ring with its registered file and buffers.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};

use super::buffers::Buffers;
use super::target::Target;
use super::waker::Waker;
use crate::workload::{Direction, Io};

/// The registered file's index, and the registered buffer's: a ring has one of each.
const FILE: types::Fixed = types::Fixed(0);
const BUFFER: u16 = 0;
/// Marks the completion that is no I/O but the waker's call.
const WOKEN: u64 = u64::MAX;

/// A ring could not be made, or the kernel refused a submission.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// `io_uring_setup` failed: an old kernel, a container's filter or a sysctl.
    #[error("io_uring can't be set up: {0}")]
    Setup(#[source] io::Error),
    /// The buffers could not be allocated.
    #[error("no memory for {bytes} B of I/O buffers: {source}")]
    Memory {
        /// Size of one thread's buffers.
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The target can't be registered with the ring.
    #[error("the target can't be registered with io_uring: {0}")]
    Register(#[source] io::Error),
    /// `io_uring_enter` failed.
    #[error("io_uring_enter failed: {0}")]
    Enter(#[source] io::Error),
}

/// What this kernel gave us; goes to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFeatures {
    /// Completions are run only when the thread asks for them (Linux 6.1).
    pub deferred_completion: bool,
    /// Pages are pinned once, not per I/O; needs enough locked memory.
    pub registered_buffers: bool,
    /// The ring itself is registered, which spares a look-up per system call (Linux 5.18).
    pub registered_ring: bool,
}

/// A finished I/O: the slot and the kernel's result, bytes or a negative errno.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The slot that is free again.
    pub slot: usize,
    /// Bytes transferred or -errno.
    pub result: i32,
}

/// A queue of `slots` I/Os, each with a buffer of its own.
pub struct Ring {
    ring: IoUring,
    /// Not freed while the kernel may still write into them: see `Drop`.
    buffers: ManuallyDrop<Buffers>,
    busy: Box<[bool]>,
    in_flight: usize,
    features: RingFeatures,
}

impl Ring {
    /// Make a ring for the calling thread, which must be the only one to use it. A wait for completions
    /// ends when `waker` is woken.
    ///
    /// # Errors
    /// If the kernel has no io_uring for us, or memory is short.
    ///
    /// # Panics
    /// If `slots` is 0 or more than 2^15.
    pub fn new(target: &Target, waker: &Waker, slots: usize, block_bytes: usize) -> Result<Self, RingError> {
        let entries = u32::try_from(slots + 1).expect("a queue depth");
        let (mut ring, deferred_completion) = build_ring(entries).map_err(RingError::Setup)?;
        let memory = |source| RingError::Memory { bytes: slots * block_bytes, source };
        let mut buffers = Buffers::new(slots, block_bytes).map_err(memory)?;
        ring.submitter().register_files(&[target.as_raw_fd()]).map_err(RingError::Register)?;
        // SAFETY: the mapping lives as long as the ring, and longer while an I/O is in flight (see Drop).
        let registered_buffers = unsafe { ring.submitter().register_buffers(&[buffers.as_iovec()]) }.is_ok();
        let registered_ring = ring.submitter().register_ring_fd().is_ok();
        let watch = opcode::PollAdd::new(types::Fd(waker.as_raw_fd()), libc::POLLIN as u32).build();
        // SAFETY: a poll refers to no memory of ours; the kernel holds the waker's file by itself.
        unsafe { ring.submission().push(&watch.user_data(WOKEN)) }.expect("an entry more than slots");
        Ok(Self {
            ring,
            buffers: ManuallyDrop::new(buffers),
            busy: vec![false; slots].into_boxed_slice(),
            in_flight: 0,
            features: RingFeatures { deferred_completion, registered_buffers, registered_ring },
        })
    }

    /// What this kernel gave us.
    #[must_use]
    pub fn features(&self) -> RingFeatures {
        self.features
    }

    /// I/Os submitted and not yet reaped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The first `length` bytes of a free slot's buffer.
    ///
    /// # Panics
    /// If the slot's I/O is in flight: the kernel owns the buffer then.
    pub fn buffer_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        assert!(!self.busy[slot], "the buffer of slot {slot} is the kernel's");
        self.buffers.slot_mut(slot, length)
    }

    /// Put an I/O into the submission queue; it starts with the next `enter`.
    ///
    /// # Panics
    /// If the slot is in use or the transfer larger than its buffer.
    pub fn push(&mut self, slot: usize, io: &Io) {
        let entry = self.entry(slot, io).user_data(slot as u64);
        self.busy[slot] = true;
        self.in_flight += 1;
        // SAFETY: the entry points to the slot's own buffer, which nobody touches until the slot is
        // reaped (`busy`) and which outlives the I/O (see Drop). The queue has an entry per slot.
        unsafe { self.ring.submission().push(&entry) }.expect("an entry per slot");
    }

    fn entry(&mut self, slot: usize, io: &Io) -> squeue::Entry {
        let registered = self.features.registered_buffers;
        let buffer = self.buffer_mut(slot, io.length_bytes as usize).as_mut_ptr();
        match (io.direction, registered) {
            (Direction::Read, true) => {
                opcode::ReadFixed::new(FILE, buffer, io.length_bytes, BUFFER).offset(io.offset_bytes).build()
            }
            (Direction::Read, false) => {
                opcode::Read::new(FILE, buffer, io.length_bytes).offset(io.offset_bytes).build()
            }
            (Direction::Write, true) => {
                opcode::WriteFixed::new(FILE, buffer, io.length_bytes, BUFFER).offset(io.offset_bytes).build()
            }
            (Direction::Write, false) => {
                opcode::Write::new(FILE, buffer, io.length_bytes).offset(io.offset_bytes).build()
            }
        }
    }

    /// Submit what was pushed and wait for `completions` of them, or until the waker is woken.
    ///
    /// # Errors
    /// If the kernel refuses; signals are no errors.
    pub fn enter(&mut self, completions: usize) -> Result<(), RingError> {
        entered(self.ring.submit_and_wait(completions))
    }

    /// As `enter`, but wait no longer than `timeout`. The kernel arms a timer for it, which the waits of a
    /// measurement do without: this is for the end, when a device may not answer any more.
    ///
    /// # Errors
    /// If the kernel refuses; a time-out that strikes is none.
    pub fn enter_for(&mut self, completions: usize, timeout: Duration) -> Result<(), RingError> {
        let timespec = types::Timespec::from(timeout);
        let args = types::SubmitArgs::new().timespec(&timespec);
        entered(self.ring.submitter().submit_with_args(completions, &args))
    }

    /// Take the finished I/Os, as many as there are now.
    pub fn reap(&mut self, mut each: impl FnMut(Completion)) {
        for entry in self.ring.completion() {
            if entry.user_data() == WOKEN {
                continue;
            }
            let slot = usize::try_from(entry.user_data()).expect("we numbered it");
            self.busy[slot] = false;
            self.in_flight -= 1;
            each(Completion { slot, result: entry.result() });
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // A device that hangs keeps its I/Os, and the kernel may write into their buffers at any later
        // time: leaking them is the only safe thing.
        if self.in_flight == 0 {
            // SAFETY: nothing is in flight and the field is not used again.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}

/// What counts as an error of `io_uring_enter`.
fn entered(answer: io::Result<usize>) -> Result<(), RingError> {
    match answer {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            // EAGAIN and EBUSY: the kernel is short of memory or our completions wait to be reaped; both
            // pass when the caller reaps and comes again.
            Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(RingError::Enter(error)),
        },
    }
}

/// The ring with the least work per I/O that this kernel knows, and whether it defers completions.
fn build_ring(entries: u32) -> io::Result<(IoUring, bool)> {
    let deferred =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(entries);
    match deferred {
        // Kernels before 6.1 answer EINVAL to flags that they don't know.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().build(entries).map(|ring| (ring, false))
        }
        other => other.map(|ring| (ring, true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::PipeReader;
    use std::sync::Arc;
    use std::time::Instant;

    fn reap_one(ring: &mut Ring) -> i32 {
        let mut result = None;
        while result.is_none() {
            ring.enter(1).unwrap();
            ring.reap(|completion| result = Some(completion.result));
        }
        result.unwrap()
    }

    fn ring_on(file: &File, slots: usize) -> Ring {
        Ring::new(&Target::duplicate(file.as_raw_fd()).unwrap(), &Waker::new().unwrap(), slots, 4096).unwrap()
    }

    fn ring_on_pipe(reader: &PipeReader, waker: &Waker) -> Ring {
        Ring::new(&Target::duplicate(reader.as_raw_fd()).unwrap(), waker, 1, 512).unwrap()
    }

    fn io(direction: Direction, offset_bytes: u64, length_bytes: u32) -> Io {
        Io { direction, offset_bytes, length_bytes }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let file = tempfile::tempfile().unwrap();
        let mut ring = ring_on(&file, 2);
        ring.buffer_mut(1, 512).fill(0xa5);
        ring.push(1, &io(Direction::Write, 8192, 512));
        assert_eq!(reap_one(&mut ring), 512);
        ring.push(0, &io(Direction::Read, 8192, 512));
        assert_eq!(reap_one(&mut ring), 512);
        assert!(ring.buffer_mut(0, 512).iter().all(|byte| *byte == 0xa5));
        assert_eq!(ring.in_flight(), 0);
    }

    #[test]
    fn a_read_past_the_end_is_short() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(600).unwrap();
        let mut ring = ring_on(&file, 1);
        ring.push(0, &io(Direction::Read, 512, 512));
        assert_eq!(reap_one(&mut ring), 88);
    }

    #[test]
    fn an_error_comes_back_as_a_negative_errno() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let file = File::open(path.path()).unwrap();
        let mut ring = ring_on(&file, 1);
        ring.push(0, &io(Direction::Write, 0, 512));
        assert_eq!(reap_one(&mut ring), -libc::EBADF);
    }

    #[test]
    fn waiting_ends_with_the_time_out() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut ring = ring_on_pipe(&reader, &Waker::new().unwrap());
        ring.push(0, &io(Direction::Read, 0, 512));
        ring.enter_for(1, Duration::from_millis(20)).unwrap();
        ring.reap(|_| panic!("an empty pipe has nothing to read"));
        assert_eq!(ring.in_flight(), 1);
        // Dropping it now must neither wait nor free the buffer under the kernel.
    }

    #[test]
    fn waiting_ends_when_the_waker_is_woken() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let waker = Arc::new(Waker::new().unwrap());
        let mut ring = ring_on_pipe(&reader, &waker);
        ring.push(0, &io(Direction::Read, 0, 512));
        let other = Arc::clone(&waker);
        let began = Instant::now();
        let sleeper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            other.wake();
        });
        ring.enter(1).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(30));
        ring.reap(|_| panic!("an empty pipe has nothing to read"));
        sleeper.join().unwrap();
    }

    #[test]
    #[should_panic(expected = "is the kernel's")]
    fn a_buffer_in_flight_cannot_be_touched() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut ring = ring_on_pipe(&reader, &Waker::new().unwrap());
        ring.push(0, &io(Direction::Read, 0, 512));
        ring.buffer_mut(0, 512);
    }

    #[test]
    fn a_number_that_is_no_descriptor_is_refused() {
        assert!(Target::duplicate(-1).is_err());
        assert!(Target::duplicate(1_000_000).is_err());
    }
}
