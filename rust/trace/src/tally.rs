//! What became of every record that a reader has met.

use std::collections::BTreeMap;
use std::fmt;

/// Damages, and losses, that are kept with their places.
pub const FIRST_DAMAGES: usize = 20;

/// Why a sound record is no I/O of the trace: a few words, the same for all of a kind.
pub type SkipReason = &'static str;
/// What is wrong with a record: a few words, the same for all of a kind.
pub type DamageClass = &'static str;

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of a text, from 1.
    Line(u64),
    /// Of a binary file.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// One damaged record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the file among the sources.
    pub file: usize,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub class: DamageClass,
}

/// Records that the source had and this trace has not, by its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The processor that they were of.
    pub cpu: u32,
    /// Time of the last record before them.
    pub from_ns: i64,
    /// Time of the first one after them.
    pub to_ns: i64,
    /// How many.
    pub records: u64,
}

/// Counts; read = accepted + skipped + damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records of the source, of any kind.
    pub read: u64,
    /// Records that are an I/O of the trace, or that were joined to one (a completion, a merge).
    pub accepted: u64,
    /// Sound records that are left out.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Damaged ones.
    pub damaged: BTreeMap<DamageClass, u64>,
    /// The first of those.
    pub first_damages: Vec<Damage>,
    /// Records that the source itself says it has lost.
    pub lost: u64,
    /// The first gaps in which they were lost.
    pub first_losses: Vec<Loss>,
    /// What was done to accepted ones or is odd about them, e.g. sorted, spread.
    pub notes: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// A record was read and is an I/O, or is joined to one.
    #[inline]
    pub fn accept(&mut self) {
        self.read += 1;
        self.accepted += 1;
    }

    /// A record was read and is left out.
    pub fn skip(&mut self, reason: SkipReason) {
        self.read += 1;
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// A record was read and can't be used.
    #[cold]
    pub fn damage(&mut self, file: usize, place: Place, class: DamageClass) {
        self.read += 1;
        *self.damaged.entry(class).or_default() += 1;
        if self.first_damages.len() < FIRST_DAMAGES {
            self.first_damages.push(Damage { file, place, class });
        }
    }

    /// The source has lost some here.
    #[cold]
    pub fn lose(&mut self, loss: Loss) {
        self.lost += loss.records;
        if self.first_losses.len() < FIRST_DAMAGES {
            self.first_losses.push(loss);
        }
    }

    /// Something to be said of an accepted record.
    pub fn note(&mut self, what: &'static str) {
        *self.notes.entry(what).or_default() += 1;
    }

    /// All that are damaged.
    #[must_use]
    pub fn damaged_total(&self) -> u64 {
        self.damaged.values().sum()
    }

    /// All that are left out.
    #[must_use]
    pub fn skipped_total(&self) -> u64 {
        self.skipped.values().sum()
    }

    /// Whether every record is accounted for.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        self.read == self.accepted + self.skipped_total() + self.damaged_total()
    }
}
