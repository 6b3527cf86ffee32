//! The I/Os that one thread issues in one step.

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::deck::Deck;
use super::operation::{Choice, Io, Operation};
use super::placement::RandomOffsets;
use super::random::Uniform;
use super::segments::Arrangement;
use super::sequential::SequentialPart;
use super::stimulus::{OperationWeights, Step, Stimulus, Stream};

/// What a thread carries from step to step: the random state, so that no step repeats another's
/// offsets, the place of its sequential stream, and what is fixed for the whole session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    seed: u64,
    random: Uniform,
    sequential: Option<SequentialPart>,
    /// Follows from the seed and the stimulus.
    #[serde(skip)]
    arrangement: Option<Arrangement>,
}

impl Carried {
    /// The state of a thread before its first step.
    #[must_use]
    pub fn new(seed: u64, thread: u32) -> Self {
        let random = Uniform::for_thread(seed, thread);
        Self { seed, random, sequential: None, arrangement: None }
    }

    /// Whether it can be the state of a thread of a session under this seed: a record may have been changed.
    #[must_use]
    pub fn is_of(&self, seed: u64) -> bool {
        self.seed == seed && self.sequential.is_none_or(|part| part.is_sound())
    }
}

/// Yields one thread's I/Os of one step, without end where the step ends by time.
#[derive(Debug)]
pub struct IoStream<'a> {
    random: &'a mut Uniform,
    operations: Deck<Operation>,
    sizes: Deck<Size>,
    order: Deck<Order>,
    random_offsets: Option<RandomOffsets>,
    /// None where all accesses are random.
    sequential: Option<&'a mut SequentialPart>,
    /// The placement handle of its writes.
    handle: Option<u16>,
    /// Whether its writes are atomic.
    atomic: bool,
    budget: Budget,
    /// The budget of the time after the ramp-up, during which there is none.
    whole_budget: Budget,
}

/// A transfer size, and its position among all.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: u32,
    index: usize,
    /// Its number as the I/O has it.
    choice: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Random,
    Sequential,
}

impl<'a> IoStream<'a> {
    /// Those of thread number `thread` of the stream's TC. The step, of which it is one, has passed
    /// [`check_program`](super::check_program).
    ///
    /// # Panics
    /// If they would not have.
    #[must_use]
    pub fn new(
        step: &Step,
        stream: &Stream,
        sector_bytes: u32,
        thread: u32,
        carried: &'a mut Carried,
    ) -> Self {
        let stimulus = &stream.stimulus;
        let Carried { seed, random, sequential, arrangement } = carried;
        let random_pct = u32::from(stimulus.random_pct);
        let is_mixed = stimulus.mixed_sizes() > 0;
        let sizes = stimulus.block_sizes.iter().zip(1_u8..).map(|(size, number)| {
            let index = usize::from(number) - 1;
            let choice = if is_mixed { number } else { 0 };
            (Size { bytes: size.bytes, index, choice }, size.weight)
        });
        let whole_budget = Budget::new(step, stream, thread);
        Self {
            random,
            operations: Deck::new(weights(&stimulus.operations)),
            sizes: Deck::new(sizes),
            order: Deck::new([(Order::Random, random_pct), (Order::Sequential, 100 - random_pct)]),
            random_offsets: (random_pct > 0)
                .then(|| RandomOffsets::new(stimulus, sector_bytes, *seed, arrangement)),
            sequential: (random_pct < 100).then(|| resumed(sequential, stimulus, thread)),
            handle: stimulus.placement_handle,
            atomic: stimulus.atomic,
            budget: if step.ramp_ns == 0 { whole_budget } else { Budget::unlimited() },
            whole_budget,
        }
    }

    /// The thread's random state, for whatever else the step leaves to chance.
    pub fn random(&mut self) -> &mut Uniform {
        self.random
    }

    /// Whether the thread's share of the stop rule's amounts is used up.
    #[inline]
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// The ramp-up is over: the amounts of the stop rule count from here.
    pub fn count_from_here(&mut self) {
        self.budget = self.whole_budget;
    }

    /// Yield I/Os without end from now on: for a step whose amount or number of I/Os is reached, but which
    /// has to go on for at least some time.
    pub fn go_on(&mut self) {
        self.budget = Budget::unlimited();
    }
}

impl Iterator for IoStream<'_> {
    type Item = Io;

    #[inline]
    fn next(&mut self) -> Option<Io> {
        if self.budget.is_spent() {
            return None;
        }
        let operation = self.operations.deal(self.random);
        if !operation.is_addressed() {
            self.budget.spend(0);
            return Some(Io::new(operation, 0, 0));
        }
        let size = self.sizes.deal(self.random);
        let order = self.order.deal(self.random);
        let (offset_bytes, length_bytes, zone) = match order {
            Order::Random => {
                let offsets = self.random_offsets.as_mut().expect("made for these steps");
                let (offset_bytes, zone) = offsets.next(size.index, self.random);
                (offset_bytes, size.bytes, zone)
            }
            Order::Sequential => {
                let part = self.sequential.as_mut().expect("made for these steps");
                let (offset_bytes, length_bytes) = part.next(size.bytes);
                let zone = self.random_offsets.as_ref().map_or(0, |offsets| offsets.zone_of(offset_bytes));
                (offset_bytes, length_bytes, zone)
            }
        };
        self.budget.spend(length_bytes);
        let choice = Choice { size: size.choice, zone };
        let is_write = operation == Operation::Write;
        let handle = self.handle.filter(|_| is_write);
        let atomic = self.atomic && is_write;
        Some(Io { operation, offset_bytes, length_bytes, choice, fua: false, handle, atomic })
    }
}

/// The thread's part of the range, going on where an earlier step on the same part stopped.
fn resumed<'a>(
    carried: &'a mut Option<SequentialPart>,
    stimulus: &Stimulus,
    thread: u32,
) -> &'a mut SequentialPart {
    let mut part = SequentialPart::new(stimulus, thread);
    if let Some(earlier) = carried {
        part.resume(*earlier);
    }
    carried.insert(part)
}

fn weights(weights: &OperationWeights) -> [(Operation, u32); Operation::ALL.len()] {
    Operation::ALL.map(|operation| (operation, weights.of(operation)))
}

#[cfg(test)]
mod tests;
