//! What a drive holds: media, a volatile write cache before it, and what becomes of both when the power goes.
//!
//! A write to the cache is acknowledged at once and reaches the media later, in any order that leaves the
//! last write of each sector the last. A flush, Force Unit Access and a cache that is off make it durable.
//! A cut leaves any part of what is in the cache, in whole sectors, and of what is outstanding: all or nothing
//! of a write up to the atomic unit, any of the sectors of a longer one.
//!
//! Faults hide: what the media lack, the drive still answers from its memory, until that is gone.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;

use openpts_core::workload::Uniform;

/// Writes that the cache holds.
const CACHED_WRITES: usize = 256;
/// Old contents that a stale block may come back with.
const OLD_BLOCKS: usize = 64;

/// Where durable data are.
pub trait Media: fmt::Debug + Send {
    /// Read all of the buffer.
    ///
    /// # Errors
    /// If there is nothing to read.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Write all of the data.
    ///
    /// # Errors
    /// If there is no room.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;
}

impl Media for Vec<u8> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        let data = self.get(at..at + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(data);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        self.get_mut(at..at + data.len()).ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
        Ok(())
    }
}

/// What goes wrong on purpose when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerFault {
    /// A write that had to be durable is not on the media.
    LostWrite,
    /// A flush is acknowledged, and what was in the cache is not on the media.
    LostFlush,
    /// A sector of a durable write has new bytes and old ones.
    TornSector,
    /// Of a durable write of several sectors only some are on the media.
    TornUnit,
    /// A block elsewhere falls back to what it held earlier.
    StaleBlock,
    /// A cached write is left out by the flushes behind it, while the write after it is durable at once.
    ReorderedPair,
}

impl PowerFault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::LostWrite,
        Self::LostFlush,
        Self::TornSector,
        Self::TornUnit,
        Self::StaleBlock,
        Self::ReorderedPair,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LostWrite => "lost-write",
            Self::LostFlush => "lost-flush",
            Self::TornSector => "torn-sector",
            Self::TornUnit => "torn-unit",
            Self::StaleBlock => "stale-block",
            Self::ReorderedPair => "reordered-pair",
        }
    }

    /// The fault of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// Faults, and in how many of the writes each begins.
pub type PowerFaults = Vec<(PowerFault, f64)>;

#[derive(Clone, Debug)]
struct Cached {
    offset: u64,
    data: Vec<u8>,
    /// Flushes leave it out.
    is_skipped: bool,
}

/// The contents of a drive with a volatile write cache.
#[derive(Debug)]
pub struct Contents<M> {
    media: M,
    sector_bytes: usize,
    atomic_bytes: usize,
    cached: VecDeque<Cached>,
    /// Sectors that the media have otherwise, by offset.
    hidden: BTreeMap<u64, Vec<u8>>,
    old: VecDeque<(u64, Vec<u8>)>,
    faults: PowerFaults,
    /// A fault that waits for what it needs: the next flush, or the next cached write.
    waiting: Option<PowerFault>,
    next_is_durable: bool,
    random: Uniform,
}

impl<M: Media> Contents<M> {
    /// Of media as they are, with nothing in the cache.
    pub fn new(media: M, sector_bytes: usize, atomic_bytes: usize, faults: PowerFaults, seed: u64) -> Self {
        Self {
            media,
            sector_bytes,
            atomic_bytes,
            cached: VecDeque::new(),
            hidden: BTreeMap::new(),
            old: VecDeque::new(),
            faults,
            waiting: None,
            next_is_durable: false,
            random: Uniform::for_session(seed),
        }
    }

    /// What the drive answers: the newest of cache, memory and media.
    ///
    /// # Errors
    /// Those of the media.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.media.read(offset, buffer)?;
        let end = offset + buffer.len() as u64;
        let before = offset.saturating_sub(self.sector_bytes as u64);
        for (at, sector) in self.hidden.range(before..end) {
            lay_over(buffer, offset, *at, sector);
        }
        for write in &self.cached {
            lay_over(buffer, offset, write.offset, &write.data);
        }
        Ok(())
    }

    /// A write that is acknowledged. `durable`: with Force Unit Access, or the cache is off.
    ///
    /// # Errors
    /// Those of the media.
    pub fn write(&mut self, offset: u64, data: &[u8], durable: bool) -> io::Result<()> {
        let begins = self.faults.iter().copied().find(|(_, share)| self.random.unit() < *share);
        let fault = begins.map(|(fault, _)| fault);
        if let Some(PowerFault::LostFlush | PowerFault::ReorderedPair) = fault {
            self.waiting = fault;
        }
        let is_pair = !durable && self.waiting == Some(PowerFault::ReorderedPair);
        if durable || self.next_is_durable && !is_pair {
            self.next_is_durable = false;
            self.forget_cached(offset, data.len())?;
            return self.persist(offset, data, fault);
        }
        if is_pair {
            (self.waiting, self.next_is_durable) = (None, true);
        }
        let data = data.to_vec();
        self.cached.push_back(Cached { offset, data, is_skipped: is_pair });
        match fault {
            // It shows only in what is durable, so this one is at once.
            Some(
                PowerFault::LostWrite
                | PowerFault::TornSector
                | PowerFault::TornUnit
                | PowerFault::StaleBlock,
            ) => {
                let write = self.cached.pop_back().expect("the one above");
                self.forget_cached(write.offset, write.data.len())?;
                self.persist(write.offset, &write.data, fault)
            }
            _ if self.cached.len() > CACHED_WRITES => self.destage_one(),
            _ => Ok(()),
        }
    }

    /// A flush that is acknowledged.
    ///
    /// # Errors
    /// Those of the media.
    pub fn flush(&mut self) -> io::Result<()> {
        let is_lost = self.waiting == Some(PowerFault::LostFlush) && !self.cached.is_empty();
        if is_lost {
            self.waiting = None;
        }
        for write in std::mem::take(&mut self.cached) {
            if is_lost || write.is_skipped {
                self.hide(write.offset, &write.data);
            } else {
                self.persist(write.offset, &write.data, None)?;
            }
        }
        Ok(())
    }

    /// The media are about to change here: the cache has nothing for them any more.
    ///
    /// # Errors
    /// Those of the media.
    pub fn forget(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.flush()?;
        self.hidden.retain(|at, _| !(offset..offset + length).contains(at));
        Ok(())
    }

    /// The power goes while these writes, offset and data, are outstanding, and comes back.
    ///
    /// # Errors
    /// Those of the media.
    pub fn cut(&mut self, outstanding: &[(u64, Vec<u8>)]) -> io::Result<()> {
        self.hidden.clear();
        self.waiting = None;
        self.next_is_durable = false;
        // Some cuts come when most is on the media, some when nothing is.
        let share = self.random.unit();
        for write in std::mem::take(&mut self.cached) {
            if !write.is_skipped {
                self.persist_some(write.offset, &write.data, self.sector_bytes, share)?;
            }
        }
        for (offset, data) in outstanding {
            let unit = if data.len() <= self.atomic_bytes { data.len() } else { self.sector_bytes };
            self.persist_some(*offset, data, unit, share)?;
        }
        Ok(())
    }

    fn persist_some(&mut self, offset: u64, data: &[u8], unit: usize, share: f64) -> io::Result<()> {
        for (at, piece) in (offset..).step_by(unit).zip(data.chunks(unit)) {
            if self.random.unit() < share {
                self.media.write(at, piece)?;
            }
        }
        Ok(())
    }

    /// Bring one of the cached writes to the media.
    fn destage_one(&mut self) -> io::Result<()> {
        let picked = self.pick(self.cached.len());
        let at = self.earliest_below(picked);
        if self.cached[at].is_skipped { Ok(()) } else { self.destage(at) }
    }

    /// What is cached in this place comes first.
    fn forget_cached(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let own = Cached { offset, data: vec![0; length], is_skipped: false };
        while let Some(at) = self.cached.iter().position(|write| overlap(write, &own)) {
            let at = self.earliest_below(at);
            self.destage(at)?;
        }
        Ok(())
    }

    /// The cached write that has to reach the media first, before another one can.
    fn earliest_below(&self, mut at: usize) -> usize {
        while let Some(earlier) = (0..at).find(|earlier| overlap(&self.cached[*earlier], &self.cached[at])) {
            at = earlier;
        }
        at
    }

    fn destage(&mut self, at: usize) -> io::Result<()> {
        match self.cached.remove(at) {
            Some(write) => self.persist(write.offset, &write.data, None),
            None => Ok(()),
        }
    }

    fn persist(&mut self, offset: u64, data: &[u8], fault: Option<PowerFault>) -> io::Result<()> {
        self.keep_old(offset, data.len())?;
        for at in (offset..).step_by(self.sector_bytes).take(data.len().div_ceil(self.sector_bytes)) {
            self.hidden.remove(&at);
        }
        let sectors = data.len() / self.sector_bytes;
        let hidden = match fault {
            Some(PowerFault::LostWrite) => 0..sectors,
            Some(PowerFault::TornUnit) if sectors > 1 => {
                let kept = 1 + self.pick(sectors - 1);
                kept..sectors
            }
            Some(PowerFault::TornSector) => {
                let torn = self.pick(sectors);
                torn..torn + 1
            }
            _ => 0..0,
        };
        let span = hidden.start * self.sector_bytes..hidden.end * self.sector_bytes;
        self.media.write(offset, &data[..span.start])?;
        self.media.write(offset + span.end as u64, &data[span.end..])?;
        if fault == Some(PowerFault::TornSector) {
            self.media
                .write(offset + span.start as u64, &data[span.start..span.start + self.sector_bytes / 2])?;
        }
        self.hide(offset + span.start as u64, &data[span]);
        if fault == Some(PowerFault::StaleBlock) {
            self.fall_back()?;
        }
        Ok(())
    }

    /// Know, until the power goes, what the media have otherwise.
    fn hide(&mut self, offset: u64, data: &[u8]) {
        for (at, sector) in (offset..).step_by(self.sector_bytes).zip(data.chunks(self.sector_bytes)) {
            self.hidden.insert(at, sector.to_vec());
        }
    }

    fn keep_old(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let keeps = self.faults.iter().any(|(fault, _)| *fault == PowerFault::StaleBlock);
        if keeps && self.random.below(16) == 0 {
            let mut data = vec![0; length];
            self.read(offset, &mut data)?;
            self.old.push_back((offset, data));
            self.old.truncate(OLD_BLOCKS);
        }
        Ok(())
    }

    fn fall_back(&mut self) -> io::Result<()> {
        let Some((offset, old)) = self.old.pop_front() else { return Ok(()) };
        let mut now = vec![0; old.len()];
        self.read(offset, &mut now)?;
        self.media.write(offset, &old)?;
        self.hide(offset, &now);
        Ok(())
    }

    fn pick(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap_or(0)
    }
}

fn overlap(one: &Cached, other: &Cached) -> bool {
    one.offset < other.offset + other.data.len() as u64 && other.offset < one.offset + one.data.len() as u64
}

/// Lay a piece at `at` over a buffer that begins at `offset`.
fn lay_over(buffer: &mut [u8], offset: u64, at: u64, piece: &[u8]) {
    let (from, end) = (at.max(offset), (at + piece.len() as u64).min(offset + buffer.len() as u64));
    if from < end {
        let index = |place: u64, start: u64| usize::try_from(place - start).unwrap_or(0);
        let piece = &piece[index(from, at)..index(end, at)];
        buffer[index(from, offset)..index(end, offset)].copy_from_slice(piece);
    }
}
