//! The I/Os of a recipe, in the order of their times on a nominal drive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use openpts_core::workload::Uniform;
use rand_distr::Exp1;

use super::actor::Accesses;
use super::{Actor, Recipe};
use crate::error::TraceError;
use crate::reader::{BATCH_IOS, Disorder, Level, SourceFacts, TraceReader, TracedDevice};
use crate::tally::Tally;
use crate::traced_io::{Flags, TracedIo, TracedOperation};

// The nominal drive: a latency for each operation, and a time for each byte.
const READ_NS: u64 = 80_000;
const WRITE_NS: u64 = 20_000;
const TRIM_NS: u64 = 50_000;
const FLUSH_NS: u64 = 100_000;
const NS_PER_KIB: u64 = 400;
const NS_PER_MS: i64 = 1_000_000;

/// The trace of a recipe.
pub struct RecipeReader {
    recipe: Recipe,
    actors: Vec<Acting>,
    due: BinaryHeap<Reverse<Due>>,
    made: u64,
}

/// An actor does something at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: i64,
    actor: usize,
    is_flush: bool,
}

/// How far an actor has come.
struct Acting {
    random: Uniform,
    accesses: Accesses,
    left: u64,
    /// I/Os until the next pause.
    left_in_burst: u64,
    writes_until_flush: u64,
    /// When the last of its I/Os is completed.
    completed_ns: i64,
    /// When its pause is over.
    rests_until_ns: i64,
    has_ended: bool,
}

impl Acting {
    fn new(actor: &Actor, seed: u64, number: u32) -> Self {
        Self {
            random: Uniform::for_thread(seed, number),
            accesses: Accesses::new(actor),
            left: actor.ios,
            left_in_burst: actor.think.map_or(u64::MAX, |think| think.burst_ios),
            writes_until_flush: actor.flush_every,
            completed_ns: 0,
            rests_until_ns: 0,
            has_ended: false,
        }
    }
}

impl RecipeReader {
    /// From its beginning.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        let actors = (recipe.actor.iter().zip(0..))
            .map(|(actor, number)| Acting::new(actor, recipe.seed, number))
            .collect();
        let mut reader = Self { recipe, actors, due: BinaryHeap::new(), made: 0 };
        for number in 0..reader.actors.len() {
            if reader.recipe.actor[number].after.is_none() {
                reader.begin(number, 0);
            }
        }
        reader
    }

    fn begin(&mut self, number: usize, after_ns: i64) {
        let actor = &self.recipe.actor[number];
        let at_ns = after_ns + actor.at_ms as i64 * NS_PER_MS;
        for _ in 0..u64::from(actor.depth).min(actor.ios) {
            self.due.push(Reverse(Due { at_ns, actor: number, is_flush: false }));
        }
    }

    /// Do what is due, and plan what follows from it.
    fn carry_out(&mut self, due: Due, batch: &mut Vec<TracedIo>) {
        let Due { at_ns, actor: number, is_flush } = due;
        let actor = &self.recipe.actor[number];
        let acting = &mut self.actors[number];
        let (operation, offset_bytes, length_bytes) = if is_flush {
            (TracedOperation::Flush, 0, 0)
        } else if acting.left == 0 {
            return;
        } else {
            let (offset_bytes, length_bytes) = acting.accesses.next(&mut acting.random);
            (acting.left, acting.left_in_burst) = (acting.left - 1, acting.left_in_burst - 1);
            (actor.operation(), offset_bytes, length_bytes)
        };
        let done_ns = at_ns + latency_ns(operation, length_bytes);
        acting.completed_ns = acting.completed_ns.max(done_ns);
        let mut io = TracedIo::new(at_ns, operation, offset_bytes, length_bytes, self.made);
        io.completed_ns = Some(done_ns);
        io.pid = number as i32 + 1;
        io.command = number as u16 + 1;
        io.flags = if actor.background { Flags::BACKGROUND } else { Flags::NONE };
        batch.push(io);
        self.made += 1;
        if !is_flush {
            self.pause(number);
            if self.flush_is_due(number) {
                let at_ns = self.actors[number].completed_ns;
                self.due.push(Reverse(Due { at_ns, actor: number, is_flush: true }));
                return;
            }
        }
        self.go_on(number, done_ns);
    }

    fn flush_is_due(&mut self, number: usize) -> bool {
        let flush_every = self.recipe.actor[number].flush_every;
        if flush_every == 0 {
            return false;
        }
        let left = &mut self.actors[number].writes_until_flush;
        *left = if *left > 1 { *left - 1 } else { flush_every };
        *left == flush_every
    }

    /// The slot of an I/O that is completed then.
    fn go_on(&mut self, number: usize, done_ns: i64) {
        let acting = &mut self.actors[number];
        if acting.left == 0 {
            let (ended_ns, is_first) = (acting.completed_ns, !acting.has_ended);
            acting.has_ended = true;
            if is_first {
                self.begin_those_after(number, ended_ns);
            }
            return;
        }
        let at_ns = done_ns.max(acting.rests_until_ns);
        self.due.push(Reverse(Due { at_ns, actor: number, is_flush: false }));
    }

    /// The pause after a burst, which begins when all of it is completed: the slots wait for its end.
    fn pause(&mut self, number: usize) {
        let Some(think) = self.recipe.actor[number].think else { return };
        let acting = &mut self.actors[number];
        if acting.left_in_burst > 0 {
            return;
        }
        let pause_ns = acting.random.sample(&Exp1) * think.mean_us as f64 * 1e3;
        acting.left_in_burst = think.burst_ios;
        acting.rests_until_ns = acting.completed_ns + pause_ns as i64;
        let at_ns = acting.rests_until_ns;
        let mut all = std::mem::take(&mut self.due).into_vec();
        for Reverse(due) in all.iter_mut().filter(|Reverse(due)| due.actor == number && !due.is_flush) {
            due.at_ns = at_ns;
        }
        self.due = all.into();
    }

    fn begin_those_after(&mut self, number: usize, ended_ns: i64) {
        let ended = self.recipe.actor[number].name.clone();
        for next in number + 1..self.actors.len() {
            if self.recipe.actor[next].after.as_ref() == Some(&ended) {
                self.begin(next, ended_ns);
            }
        }
    }
}

impl TraceReader for RecipeReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        let before = batch.len();
        while batch.len() - before < BATCH_IOS {
            let Some(Reverse(due)) = self.due.pop() else { break };
            self.carry_out(due, batch);
        }
        for _ in before..batch.len() {
            tally.accept();
        }
        Ok(!self.due.is_empty())
    }

    fn disorder(&self) -> Disorder {
        Disorder::None
    }

    fn facts(&self) -> SourceFacts {
        let mib = 1 << 20;
        SourceFacts {
            format: "recipe",
            level: Level::Queue,
            resolution_ns: 1,
            epoch_ns: None,
            has_completions: true,
            has_issue_times: true,
            devices: vec![TracedDevice {
                name: self.recipe.name.clone(),
                capacity_bytes: Some(self.recipe.footprint_mib * mib),
                sector_bytes: Some(4096),
            }],
            commands: std::iter::once(String::new())
                .chain(self.recipe.actor.iter().map(|actor| actor.name.clone()))
                .collect(),
        }
    }
}

const fn latency_ns(operation: TracedOperation, length_bytes: u64) -> i64 {
    let (fixed_ns, moved_bytes) = match operation {
        TracedOperation::Read => (READ_NS, length_bytes),
        TracedOperation::Write => (WRITE_NS, length_bytes),
        TracedOperation::Flush => (FLUSH_NS, 0),
        _ => (TRIM_NS, 0),
    };
    (fixed_ns + moved_bytes / 1024 * NS_PER_KIB) as i64
}

#[cfg(test)]
mod tests;
