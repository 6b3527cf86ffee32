//! What lasts from cut to cut: what each sector holds.

use std::io;

use memmap2::MmapMut;

use super::Victim;
use super::check::{Finding, Rules, verify};
use super::journal::{Journal, Load};
use super::stamps::Stamps;

const FILL_BYTES: usize = 1 << 20;
/// With fewer places, writers would wait for each other.
const PLACES_PER_WRITER: u64 = 4;

/// A drive, or the first part of one, whose power is cut again and again.
#[derive(Debug)]
pub struct Bench {
    load: Load,
    stamps: Stamps,
    /// The number of each sector's write; none before the first preparation.
    contents: Vec<u64>,
    damaged: Vec<u64>,
    next: u64,
}

impl Bench {
    /// One for a load.
    ///
    /// # Errors
    /// In words, if the range has too few places for so many writers.
    pub fn new(load: Load) -> Result<Self, String> {
        let needed = u64::from(load.longest()) * u64::from(load.writers) * PLACES_PER_WRITER;
        if load.sectors < needed {
            let (has, writers) = (load.sectors, load.writers);
            return Err(format!("{has} sectors are too few for {writers} writers: use at least {needed}"));
        }
        let stamps = Stamps::new(load.seed, load.sector_bytes);
        Ok(Self { load, stamps, contents: Vec::new(), damaged: Vec::new(), next: 1 })
    }

    /// What is written.
    #[must_use]
    pub const fn load(&self) -> &Load {
        &self.load
    }

    /// How sectors are written and recognized.
    #[must_use]
    pub const fn stamps(&self) -> Stamps {
        self.stamps
    }

    /// Give each sector contents that are known: all of them, and later those that a cut has damaged.
    ///
    /// # Errors
    /// If the drive does not take a write or the flush behind them.
    pub fn prepare(&mut self, victim: &dyn Victim) -> io::Result<()> {
        let sector_bytes = self.stamps.sector_bytes();
        let mut buffer = MmapMut::map_anon(FILL_BYTES)?;
        let runs: Vec<(u64, u64)> = if self.contents.is_empty() {
            let most = (FILL_BYTES / sector_bytes) as u64;
            let starts = (0..self.load.sectors).step_by(FILL_BYTES / sector_bytes);
            starts.map(|first| (first, most.min(self.load.sectors - first))).collect()
        } else {
            self.damaged.iter().map(|lba| (*lba, 1)).collect()
        };
        #[expect(clippy::cast_possible_truncation, reason = "a range that memory holds a list of")]
        self.contents.resize(self.load.sectors as usize, 0);
        for (first, count) in &runs {
            #[expect(clippy::cast_possible_truncation, reason = "a range that memory holds a list of")]
            let (at, count) = (*first as usize, *count as usize);
            let data = &mut buffer[..count * sector_bytes];
            self.stamps.fill(self.next, *first, data);
            victim.write((at * sector_bytes) as u64, data, false)?;
            self.contents[at..at + count].fill(self.next);
            self.next += 1;
        }
        self.damaged.clear();
        if runs.is_empty() { Ok(()) } else { victim.flush() }
    }

    /// The journal of the writes until the next cut.
    #[must_use]
    pub fn journal(&self) -> Journal {
        Journal::new(self.load.clone(), self.next)
    }

    /// Read all of it back after the cut, and judge it.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn verify(&mut self, victim: &dyn Victim, journal: &Journal, rules: Rules) -> io::Result<Finding> {
        let finding = verify(victim, self.stamps, journal, &mut self.contents, rules)?;
        self.next = journal.end();
        self.damaged.clone_from(&finding.damaged);
        Ok(finding)
    }
}
