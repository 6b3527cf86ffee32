//! Threads that write to an open target until its power is gone.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use memmap2::MmapMut;
use rustix::fs::fdatasync;
use rustix::io::{Errno, ReadWriteFlags, pread, pwritev2, retry_on_intr};

use super::Victim;
use super::journal::{Action, Journal};
use super::stamps::Stamps;
use crate::machine::Target;

const LOOK: Duration = Duration::from_millis(10);

/// An open target, by plain system calls.
#[derive(Debug)]
pub struct FileVictim(OwnedFd);

impl FileVictim {
    /// On a descriptor of our own.
    ///
    /// # Errors
    /// If the number is no open descriptor.
    pub fn duplicate(descriptor: RawFd) -> io::Result<Self> {
        Target::duplicate(descriptor).map(Target::into_descriptor).map(Self)
    }
}

impl Victim for FileVictim {
    fn write(&self, offset_bytes: u64, data: &[u8], through: bool) -> io::Result<()> {
        let flags = if through { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
        let parts = [io::IoSlice::new(data)];
        match retry_on_intr(|| pwritev2(&self.0, &parts, offset_bytes, flags))? {
            written if written == data.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn flush(&self) -> io::Result<()> {
        Ok(retry_on_intr(|| fdatasync(&self.0))?)
    }

    fn read(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        match retry_on_intr(|| pread(&self.0, &mut *buffer, offset_bytes))? {
            read if read == buffer.len() => Ok(()),
            _ => Err(Errno::IO.into()),
        }
    }
}

/// Threads at work on a journal, each with one I/O outstanding.
#[derive(Debug)]
pub struct Writers {
    journal: Arc<Mutex<Journal>>,
    threads: Vec<JoinHandle<()>>,
}

impl Writers {
    /// Begin to write.
    ///
    /// # Errors
    /// If memory or threads are short.
    pub fn start(
        victim: &Arc<dyn Victim>,
        journal: &Arc<Mutex<Journal>>,
        stamps: Stamps,
        count: u32,
        longest_bytes: usize,
    ) -> io::Result<Self> {
        let mut writers = Self { journal: Arc::clone(journal), threads: Vec::new() };
        for _ in 0..count {
            let buffer = MmapMut::map_anon(longest_bytes)?;
            let (victim, journal) = (Arc::clone(victim), Arc::clone(journal));
            let thread = Builder::new().name("power cut".into());
            let work = move || write_until_closed(&*victim, &journal, stamps, buffer);
            match thread.spawn(work) {
                Ok(thread) => writers.threads.push(thread),
                Err(error) => {
                    locked(&writers.journal).close();
                    return Err(error);
                }
            }
        }
        Ok(writers)
    }

    /// Threads that still have something outstanding, or go on.
    #[must_use]
    pub fn at_work(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_finished()).count()
    }

    /// Close the journal and wait for the threads; whether all came back in time.
    #[must_use]
    pub fn end(&self, patience: Duration) -> bool {
        locked(&self.journal).close();
        let begun = Instant::now();
        while self.at_work() > 0 && begun.elapsed() < patience {
            sleep(LOOK);
        }
        self.at_work() == 0
    }
}

fn locked(journal: &Mutex<Journal>) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_until_closed(victim: &dyn Victim, journal: &Mutex<Journal>, stamps: Stamps, mut buffer: MmapMut) {
    loop {
        // Released before the I/O: the guard of a condition lives as long as its block.
        let dealt = locked(journal).deal();
        let Some(action) = dealt else { return };
        let answer = match action {
            Action::Flush(_) => victim.flush(),
            Action::Write { sequence, first, sectors, through } => {
                let data = &mut buffer[..sectors as usize * stamps.sector_bytes()];
                stamps.fill(sequence, first, data);
                victim.write(first * stamps.sector_bytes() as u64, data, through)
            }
        };
        match answer {
            Ok(()) => locked(journal).acknowledge(&action),
            Err(error) => return locked(journal).fail(&error.to_string()),
        }
    }
}
