//! Reads everything back after a cut, and holds it against the journal.
//!
//! A sector may hold the last write that had to survive, or any later one. With a volatile cache a write has
//! to survive from the acknowledgment of a flush on that was submitted after its own, or from its own if it
//! has Force Unit Access; without one, from its own.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use memmap2::MmapMut;

use super::Victim;
use super::journal::{Journal, Write};
use super::stamps::Stamps;

const MOST_ACCUSATIONS: usize = 50;
const READ_BYTES: usize = 1 << 20;
/// What a sector without a stamp of ours holds.
const NOT_OURS: u64 = u64::MAX;

/// What the drive promises.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Its cache loses what was not flushed.
    pub is_volatile: bool,
    /// A write of up to so many sectors that the cut interrupts is whole or not there at all.
    pub atomic_sectors: u32,
    /// Of a longer one, each sector is; otherwise nothing is promised of it.
    pub each_sector: bool,
}

/// What a drive is accused of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// An acknowledged write that had to survive by itself did not.
    LostWrite,
    /// None of the writes that a flush made durable survived it.
    LostFlush,
    /// A write before a flush is lost, and one behind it survived.
    Reordered,
    /// A sector has bytes of two writes.
    TornSector,
    /// A write no longer than the atomic unit is there in part.
    TornUnit,
    /// A sector has what it held before the cut before this one.
    Stale,
    /// A sector that was not written is not as it was.
    Changed,
    /// A sector that was written has neither its old data nor its new ones.
    Corrupt,
    /// A sector can't be read.
    Unreadable,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::LostWrite,
        Self::LostFlush,
        Self::Reordered,
        Self::TornSector,
        Self::TornUnit,
        Self::Stale,
        Self::Changed,
        Self::Corrupt,
        Self::Unreadable,
    ];

    /// The word for records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LostWrite => "lost-write",
            Self::LostFlush => "lost-flush",
            Self::Reordered => "reordered",
            Self::TornSector => "torn-sector",
            Self::TornUnit => "torn-unit",
            Self::Stale => "stale",
            Self::Changed => "changed",
            Self::Corrupt => "corrupt",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Neighboring sectors with the same fault, of the same write.
#[derive(Clone, Debug)]
pub struct DataLoss {
    /// What it is.
    pub class: Class,
    /// The first sector.
    pub lba: u64,
    /// How many.
    pub sectors: u64,
    /// What had to be there.
    pub expected: String,
    /// What is.
    pub found: String,
    /// What the journal has on it.
    pub context: String,
}

/// What was found after a cut.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// How many accusations of each class, in the order of [`Class::ALL`].
    pub counts: [u64; Class::ALL.len()],
    /// The first of them.
    pub accusations: Vec<DataLoss>,
    /// Writes that were acknowledged, and flushes.
    pub acknowledged: (u64, u64),
    /// Writes that had to survive.
    pub promised: u64,
    /// Writes that were outstanding.
    pub outstanding: u64,
    /// Sectors whose last write was acknowledged and is lost, which was not promised to survive.
    pub lost_unpromised_sectors: u64,
    /// Sectors of interrupted writes longer than the atomic unit that hold neither old nor new data.
    pub indeterminate_sectors: u64,
    /// Sectors that have to be written before their contents say anything again.
    pub damaged: Vec<u64>,
}

/// Why a write has to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Itself,
    Flush(usize),
}

/// What a sector without a stamp of ours holds.
#[derive(Clone, Copy, Debug)]
struct Damage {
    text: &'static str,
    is_torn: bool,
}

/// One read-back, and what it is held against; each list has an entry for each sector.
struct Case<'a> {
    journal: &'a Journal,
    rules: Rules,
    promises: Vec<Option<Promise>>,
    before: &'a [u64],
    must: Vec<u64>,
    last: Vec<u64>,
    found: Vec<u64>,
    damage: HashMap<u64, Damage>,
}

/// Read all sectors, and judge them. `contents` has the number of each sector's write before the cut, and is
/// brought to what was found.
///
/// # Errors
/// If nothing at all can be read.
pub(super) fn verify(
    victim: &dyn Victim,
    stamps: Stamps,
    journal: &Journal,
    contents: &mut [u64],
    rules: Rules,
) -> io::Result<Finding> {
    let mut case = Case::new(journal, rules, contents);
    case.read(victim, stamps)?;
    let finding = case.judge();
    let found = case.found;
    contents.copy_from_slice(&found);
    Ok(finding)
}

impl<'a> Case<'a> {
    fn new(journal: &'a Journal, rules: Rules, before: &'a [u64]) -> Self {
        let promises: Vec<_> = promises(journal, rules);
        let (mut must, mut last) = (before.to_vec(), before.to_vec());
        for ((sequence, write), promise) in (journal.base..).zip(&journal.writes).zip(&promises) {
            let sectors = range(write);
            last[sectors.clone()].fill(sequence);
            if promise.is_some() {
                must[sectors].fill(sequence);
            }
        }
        let found = vec![NOT_OURS; before.len()];
        Self { journal, rules, promises, before, must, last, found, damage: HashMap::new() }
    }

    fn read(&mut self, victim: &dyn Victim, stamps: Stamps) -> io::Result<()> {
        let sector_bytes = stamps.sector_bytes();
        let piece = READ_BYTES / sector_bytes;
        let mut buffer = MmapMut::map_anon(READ_BYTES)?;
        let mut last_error = None;
        for first in (0..self.found.len()).step_by(piece) {
            let count = piece.min(self.found.len() - first);
            let data = &mut buffer[..count * sector_bytes];
            if victim.read((first * sector_bytes) as u64, data).is_ok() {
                for (at, sector) in data.chunks_exact(sector_bytes).enumerate() {
                    self.note(stamps, first + at, sector);
                }
                continue;
            }
            for at in first..first + count {
                let sector = &mut buffer[..sector_bytes];
                match victim.read((at * sector_bytes) as u64, sector) {
                    Ok(()) => self.note(stamps, at, sector),
                    Err(error) => last_error = Some(error),
                }
            }
        }
        match last_error {
            Some(error) if self.damage.is_empty() && self.found.iter().all(|found| *found == NOT_OURS) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, stamps: Stamps, at: usize, sector: &[u8]) {
        match stamps.sequence_of(sector, at as u64) {
            Ok(sequence) => self.found[at] = sequence,
            Err(text) => {
                let versions = self.versions(at);
                let pairs = versions.iter().flat_map(|one| versions.iter().map(move |other| [*one, *other]));
                let is_torn = pairs
                    .filter(|[one, other]| one < other)
                    .any(|pair| stamps.is_torn_of(sector, at as u64, pair));
                self.damage.insert(at as u64, Damage { text, is_torn });
            }
        }
    }

    /// All that a sector has held since the cut before.
    fn versions(&self, at: usize) -> Vec<u64> {
        let writes = (self.journal.base..).zip(&self.journal.writes);
        let these = writes.filter(|(_, write)| range(write).contains(&at)).map(|(sequence, _)| sequence);
        std::iter::once(self.before[at]).chain(these).collect()
    }

    fn write(&self, sequence: u64) -> Option<&Write> {
        let index = usize::try_from(sequence.checked_sub(self.journal.base)?).ok()?;
        self.journal.writes.get(index)
    }

    /// Whether a sector has held this since the cut before.
    fn is_version(&self, at: usize, sequence: u64) -> bool {
        sequence == self.before[at] || self.write(sequence).is_some_and(|write| range(write).contains(&at))
    }

    fn promise(&self, sequence: u64) -> Option<Promise> {
        let index = usize::try_from(sequence.checked_sub(self.journal.base)?).ok()?;
        *self.promises.get(index)?
    }

    fn judge(&self) -> Finding {
        let writes = &self.journal.writes;
        let mut finding = Finding {
            acknowledged: self.journal.acknowledged(),
            promised: self.promises.iter().flatten().count() as u64,
            outstanding: writes.iter().filter(|write| write.acknowledged.is_none()).count() as u64,
            ..Finding::default()
        };
        let torn = self.torn_units(&mut finding);
        let flushes = self.flushes_without_survivors(&torn);
        let newest = self.newest_survivor();
        let mut open: Option<(DataLoss, u64)> = None;
        for at in 0..self.found.len() {
            if self.found[at] == NOT_OURS {
                finding.damaged.push(at as u64);
            }
            let class =
                if torn.contains(&at) { None } else { self.class_of(at, &flushes, newest, &mut finding) };
            let expected = self.must[at];
            if let Some((accusation, sequence)) = &mut open
                && class == Some(accusation.class)
                && *sequence == expected
            {
                accusation.sectors += 1;
                continue;
            }
            finding.add(open.take().map(|(accusation, _)| accusation));
            open = class.map(|class| (self.accusation(class, at), expected));
        }
        finding.add(open.map(|(accusation, _)| accusation));
        finding
    }

    fn class_of(
        &self,
        at: usize,
        flushes: &HashSet<usize>,
        newest: u64,
        finding: &mut Finding,
    ) -> Option<Class> {
        let (found, must, last) = (self.found[at], self.must[at], self.last[at]);
        let was_written = last != self.before[at];
        if found == NOT_OURS {
            let Some(damage) = self.damage.get(&(at as u64)) else { return Some(Class::Unreadable) };
            if was_written && self.may_be_anything(last) {
                finding.indeterminate_sectors += 1;
                return None;
            }
            return Some(match (was_written, damage.is_torn) {
                (false, _) => Class::Changed,
                (true, true) => Class::TornSector,
                (true, false) => Class::Corrupt,
            });
        }
        if !self.is_version(at, found) {
            return Some(if found < self.before[at] { Class::Stale } else { Class::Changed });
        }
        if found >= must {
            let is_lost = self.write(last).is_some_and(|write| write.acknowledged.is_some());
            finding.lost_unpromised_sectors += u64::from(found < last && is_lost);
            return None;
        }
        Some(match self.promise(must) {
            Some(Promise::Flush(flush)) if flushes.contains(&flush) => Class::LostFlush,
            Some(Promise::Flush(flush)) if Some(newest) > self.journal.flushes[flush].acknowledged => {
                Class::Reordered
            }
            Some(Promise::Flush(_)) => Class::LostFlush,
            _ => Class::LostWrite,
        })
    }

    /// A write that was interrupted, and is longer than what is promised to be whole.
    fn may_be_anything(&self, sequence: u64) -> bool {
        let is_long = |write: &Write| write.sectors > self.rules.atomic_sectors && !self.rules.each_sector;
        self.write(sequence).is_some_and(|write| write.acknowledged.is_none() && is_long(write))
    }

    /// Sectors that lack in writes which had to be there as a whole or not at all.
    fn torn_units(&self, finding: &mut Finding) -> HashSet<usize> {
        let mut torn = HashSet::new();
        for ((sequence, write), promise) in
            (self.journal.base..).zip(&self.journal.writes).zip(&self.promises)
        {
            let is_unit = (2..=self.rules.atomic_sectors).contains(&write.sectors);
            if !is_unit || (write.acknowledged.is_some() && promise.is_none()) {
                continue;
            }
            let last = range(write).filter(|at| self.last[*at] == sequence && self.found[*at] != NOT_OURS);
            let (there, absent): (Vec<_>, Vec<_>) = last.partition(|at| self.found[*at] == sequence);
            let is_old = |at: &&usize| self.is_version(**at, self.found[**at]);
            if let (Some(at), false) = (absent.iter().find(is_old), there.is_empty()) {
                let context = self.context(sequence);
                let found = format!("{} of its {} sectors", there.len(), write.sectors);
                let expected = format!("all of write {sequence}, or nothing of it");
                let (lba, sectors) = (*at as u64, absent.len() as u64);
                let class = Class::TornUnit;
                finding.add(Some(DataLoss { class, lba, sectors, expected, found, context }));
                torn.extend(absent);
            }
        }
        torn
    }

    /// Flushes of whose writes nothing is left.
    fn flushes_without_survivors(&self, torn: &HashSet<usize>) -> HashSet<usize> {
        let (mut survived, mut lost) = (HashSet::new(), HashSet::new());
        for at in (0..self.found.len()).filter(|at| !torn.contains(at) && self.found[*at] != NOT_OURS) {
            if let Some(Promise::Flush(flush)) = self.promise(self.must[at]) {
                let is_there = self.found[at] >= self.must[at];
                (if is_there { &mut survived } else { &mut lost }).insert(flush);
            }
        }
        lost.difference(&survived).copied().collect()
    }

    /// When the last write was submitted that is on the drive.
    fn newest_survivor(&self) -> u64 {
        let whole = self.found.iter().filter(|found| **found != NOT_OURS);
        whole.filter_map(|found| self.write(*found)).map(|write| write.submitted).max().unwrap_or(0)
    }

    fn accusation(&self, class: Class, at: usize) -> DataLoss {
        let must = self.must[at];
        let found = match (self.found[at], self.damage.get(&(at as u64))) {
            (NOT_OURS, None) => "an error".to_owned(),
            (NOT_OURS, Some(damage)) => damage.text.to_owned(),
            (found, _) => format!("write {found}"),
        };
        let later = if self.last[at] > must { " or later" } else { "" };
        let expected = format!("write {must}{later}");
        DataLoss { class, lba: at as u64, sectors: 1, expected, found, context: self.context(must) }
    }

    fn context(&self, sequence: u64) -> String {
        let Some(write) = self.write(sequence) else {
            return "not written since the cut before".to_owned();
        };
        let through = if write.through { " with FUA" } else { "" };
        let Write { first, sectors, submitted, .. } = write;
        let mut text = format!("{sectors} sectors from LBA {first}{through}, submitted at {submitted}");
        match write.acknowledged {
            Some(tick) => text += &format!(", acknowledged at {tick}"),
            None => text += ", outstanding",
        }
        if let Some(Promise::Flush(flush)) = self.promise(sequence) {
            let flush = &self.journal.flushes[flush];
            text += &format!(
                "; flush of {} acknowledged at {}",
                flush.submitted,
                flush.acknowledged.unwrap_or(0)
            );
        }
        text
    }
}

impl Finding {
    fn add(&mut self, accusation: Option<DataLoss>) {
        let Some(accusation) = accusation else { return };
        self.counts[accusation.class as usize] += 1;
        if self.accusations.len() < MOST_ACCUSATIONS {
            self.accusations.push(accusation);
        }
    }
}

/// Why each write has to survive, if it has to.
fn promises(journal: &Journal, rules: Rules) -> Vec<Option<Promise>> {
    // Of the flushes from each on, the one that was acknowledged first.
    let mut first = None;
    let mut earliest: Vec<Option<usize>> = Vec::with_capacity(journal.flushes.len());
    for (number, flush) in journal.flushes.iter().enumerate().rev() {
        let best = first.and_then(|number: usize| journal.flushes[number].acknowledged);
        if flush.acknowledged.is_some_and(|tick| best.is_none_or(|best| tick < best)) {
            first = Some(number);
        }
        earliest.push(first);
    }
    earliest.reverse();
    let promise = |write: &Write| {
        let acknowledged = write.acknowledged?;
        if !rules.is_volatile || write.through {
            return Some(Promise::Itself);
        }
        let after = journal.flushes.partition_point(|flush| flush.submitted <= acknowledged);
        earliest.get(after).copied().flatten().map(Promise::Flush)
    };
    journal.writes.iter().map(promise).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a range that memory holds a list of")]
fn range(write: &Write) -> Range<usize> {
    write.first as usize..write.first as usize + write.sectors as usize
}
