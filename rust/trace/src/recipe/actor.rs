//! What does I/O in a recipe: its declaration, and its accesses one by one.

use openpts_core::workload::{Deck, Uniform};
use serde::Deserialize;

use crate::traced_io::TracedOperation;

/// Places are multiples of it.
const ALIGNMENT_BYTES: u64 = 4096;
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// Most outstanding I/Os of one actor.
const MOST_DEPTH: u32 = 1024;

/// One of the programs of a recipe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// What it is.
    pub name: String,
    /// What it does: `read`, `write` or `trim`.
    operation: ActorOperation,
    /// Transfer sizes in KiB with their weights, exact over each deck of the weights.
    sizes_kib: Vec<(u64, u32)>,
    /// I/Os, flushes not counted.
    pub ios: u64,
    /// I/Os outstanding.
    #[serde(default = "one")]
    pub depth: u32,
    /// Mean length of a sequential run in I/Os; 1 for random accesses, 0 for one run without end.
    run_ios: u64,
    /// First MiB and number of MiB of the range that it accesses.
    place_mib: (u64, u64),
    /// A part of its range that most accesses go to.
    #[serde(default)]
    hot: Option<Hot>,
    /// Pauses.
    #[serde(default)]
    pub think: Option<Think>,
    /// A flush after so many writes; 0: none.
    #[serde(default)]
    pub flush_every: u64,
    /// Begins when the actor of this name has ended.
    #[serde(default)]
    pub after: Option<String>,
    /// Begins at this moment, or so long after that other one.
    #[serde(default)]
    pub at_ms: u64,
    /// Work in the background: no program waits for it.
    #[serde(default)]
    pub background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ActorOperation {
    Read,
    Write,
    Trim,
}

/// Some accesses go to the first part of the range.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hot {
    /// So many per cent of the runs begin there.
    accesses_pct: u64,
    /// So many per cent of the range.
    range_pct: u64,
}

/// Pauses with exponentially distributed lengths.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Mean length.
    pub mean_us: u64,
    /// I/Os between two pauses, which begin when all of them are completed.
    #[serde(default = "one_io")]
    pub burst_ios: u64,
}

const fn one() -> u32 {
    1
}

const fn one_io() -> u64 {
    1
}

impl Actor {
    pub(super) fn check(&self, footprint_mib: u64) -> Result<(), String> {
        let (start, length) = self.place_mib;
        let largest = self.sizes_kib.iter().map(|(size, _)| *size).max().unwrap_or(0);
        if self.sizes_kib.iter().any(|(size, weight)| *size == 0 || size % 4 != 0 || *weight == 0) {
            return Err("a size is no multiple of 4 KiB, or has no weight".into());
        }
        if self.sizes_kib.iter().map(|(_, weight)| u64::from(*weight)).sum::<u64>() > 10_000 {
            return Err("its weights add up to more than 10,000".into());
        }
        if largest == 0 || largest > length * KIB {
            return Err(format!("no block of {largest} KiB fits into its {length} MiB"));
        }
        if start.checked_add(length).is_none_or(|end| end > footprint_mib) {
            return Err(format!("its range ends beyond the footprint of {footprint_mib} MiB"));
        }
        if self.ios == 0 || self.depth == 0 || self.depth > MOST_DEPTH {
            return Err(format!("it needs I/Os, and a depth from 1 to {MOST_DEPTH}"));
        }
        if self.hot.is_some_and(|hot| hot.accesses_pct > 100 || !(1..=100).contains(&hot.range_pct)) {
            return Err("its hot part is no part in per cent".into());
        }
        if self.think.is_some_and(|think| think.burst_ios == 0) {
            return Err("a burst of no I/O".into());
        }
        Ok(())
    }

    pub(super) const fn operation(&self) -> TracedOperation {
        match self.operation {
            ActorOperation::Read => TracedOperation::Read,
            ActorOperation::Write => TracedOperation::Write,
            ActorOperation::Trim => TracedOperation::Trim,
        }
    }
}

/// Its accesses, one by one.
pub(super) struct Accesses {
    sizes: Deck<u64>,
    run_ios: u64,
    start_bytes: u64,
    length_bytes: u64,
    hot: Option<Hot>,
    /// I/Os that the run still has; the next begins at `next_bytes` of the range.
    left_in_run: u64,
    next_bytes: u64,
}

impl Accesses {
    pub(super) fn new(actor: &Actor) -> Self {
        let (start, length) = actor.place_mib;
        Self {
            sizes: Deck::new(actor.sizes_kib.iter().map(|(size, weight)| (size * KIB, *weight))),
            run_ios: actor.run_ios,
            start_bytes: start * MIB,
            length_bytes: length * MIB,
            hot: actor.hot,
            left_in_run: if actor.run_ios == 0 { u64::MAX } else { 0 },
            next_bytes: 0,
        }
    }

    /// First byte and length of the next one.
    pub(super) fn next(&mut self, random: &mut Uniform) -> (u64, u64) {
        let length = self.sizes.deal(random);
        if self.left_in_run == 0 {
            self.left_in_run = run_length(self.run_ios, random);
            self.next_bytes = self.begin_of_run(length, random);
        }
        if self.next_bytes + length > self.length_bytes {
            self.next_bytes = 0;
        }
        let offset = self.start_bytes + self.next_bytes;
        self.next_bytes += length;
        self.left_in_run -= 1;
        (offset, length)
    }

    fn begin_of_run(&self, length: u64, random: &mut Uniform) -> u64 {
        let range = match self.hot {
            Some(hot) if random.below(100) < hot.accesses_pct => self.length_bytes * hot.range_pct / 100,
            _ => self.length_bytes,
        };
        let places = range.max(length).saturating_sub(length) / ALIGNMENT_BYTES + 1;
        random.below(places) * ALIGNMENT_BYTES
    }
}

/// Geometrically distributed from 1 on.
fn run_length(mean: u64, random: &mut Uniform) -> u64 {
    let mut length = 1;
    while mean > 1 && random.below(mean) != 0 {
        length += 1;
    }
    length
}
