//! Which superblock is collected next.

use std::collections::VecDeque;

use openpts_core::workload::Uniform;

use super::superblocks::Superblocks;
use crate::preset::Victim;

/// The closed superblocks in native cells, arranged as the policy needs it.
#[derive(Clone, Debug)]
pub(super) enum Candidates {
    /// The table itself is searched.
    Greedy,
    /// In the order in which they were closed.
    Fifo(VecDeque<u32>),
    /// In no order.
    Choices { draws: u32, closed: Vec<u32>, random: Uniform },
}

impl Candidates {
    pub(super) fn new(victim: Victim, superblocks: u32, random: Uniform) -> Self {
        match victim {
            Victim::Greedy => Self::Greedy,
            Victim::Fifo => Self::Fifo(VecDeque::with_capacity(superblocks as usize)),
            Victim::Choices(draws) => Self::Choices {
                draws: draws.max(1),
                closed: Vec::with_capacity(superblocks as usize),
                random,
            },
        }
    }

    /// A superblock was closed.
    pub(super) fn add(&mut self, superblock: u32) {
        match self {
            Self::Greedy => {}
            Self::Fifo(closed) => closed.push_back(superblock),
            Self::Choices { closed, .. } => closed.push(superblock),
        }
    }

    /// Choose one and take it out, if it holds at most `most_valid` granules.
    pub(super) fn take(&mut self, table: &Superblocks, most_valid: u32) -> Option<u32> {
        let suits = |superblock: &u32| table.valid(*superblock) <= most_valid;
        match self {
            Self::Greedy => table.emptiest().filter(suits),
            Self::Fifo(closed) => {
                closed.front().filter(|front| suits(front))?;
                closed.pop_front()
            }
            Self::Choices { draws, closed, random } => {
                if closed.is_empty() {
                    return None;
                }
                let mut draw = || random.below(closed.len() as u64) as usize;
                let first = draw();
                let index = (1..*draws).fold(first, |best, _| {
                    let other = draw();
                    if table.valid(closed[other]) < table.valid(closed[best]) { other } else { best }
                });
                suits(&closed[index]).then(|| closed.swap_remove(index))
            }
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Greedy => {}
            Self::Fifo(closed) => closed.clear(),
            Self::Choices { closed, .. } => closed.clear(),
        }
    }
}
