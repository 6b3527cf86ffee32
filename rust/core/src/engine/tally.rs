//! What one thread counts in one interval.

use crate::histogram::LatencyHistogram;
use crate::workload::{ByOperation, Choice, Io, MOST_BLOCK_SIZES, MOST_ZONES, Operation, Stimulus};

/// Bytes and latencies of one operation.
#[derive(Debug, Default)]
pub struct OperationTally {
    /// Bytes moved.
    pub bytes: u64,
    /// The latency of each I/O.
    pub latencies: LatencyHistogram,
}

/// All that is counted for each I/O. It travels whole: a thread fills it, the collector empties it.
#[derive(Debug, Default)]
pub struct Tally {
    operations: ByOperation<OperationTally>,
    choices: Choices,
    /// How long after their planned moments planned I/Os were submitted.
    pub slips: LatencyHistogram,
    /// I/Os that failed.
    pub errors: u64,
}

/// I/Os by the numbers of their choices. Those without a choice have number 0 and a place that is not read:
/// cheaper than to ask.
#[derive(Debug)]
struct Choices {
    sizes: [u64; MOST_BLOCK_SIZES + 1],
    zones: [u64; MOST_ZONES + 1],
}

impl Default for Choices {
    fn default() -> Self {
        Self { sizes: [0; MOST_BLOCK_SIZES + 1], zones: [0; MOST_ZONES + 1] }
    }
}

impl Choices {
    #[inline]
    fn record(&mut self, choice: Choice) {
        self.sizes[usize::from(choice.size)] += 1;
        self.zones[usize::from(choice.zone)] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(mine, theirs)| *mine += theirs);
        self.zones.iter_mut().zip(&other.zones).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Transfers by what the stimulus lets choose among, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChoiceCounts {
    /// By block size; empty where there is but one.
    pub by_block_size: Vec<u64>,
    /// By access range; empty where the placement has none.
    pub by_zone: Vec<u64>,
}

impl Tally {
    /// Count an I/O that was done as asked.
    #[inline]
    pub fn record(&mut self, io: &Io, latency_ns: u64) {
        let operation = self.operations.of_mut(io.operation);
        operation.bytes += u64::from(io.length_bytes);
        operation.latencies.record(latency_ns);
        self.choices.record(io.choice);
    }

    /// What was counted of an operation.
    pub fn of(&self, operation: Operation) -> &OperationTally {
        self.operations.of(operation)
    }

    /// What was counted for each choice that the stimulus leaves.
    pub fn choices_of(&self, stimulus: Option<&Stimulus>) -> ChoiceCounts {
        let (sizes, zones) =
            stimulus.map_or((0, 0), |stimulus| (stimulus.mixed_sizes(), stimulus.zones().len()));
        ChoiceCounts {
            by_block_size: self.choices.sizes[1..=sizes].to_vec(),
            by_zone: self.choices.zones[1..=zones].to_vec(),
        }
    }

    /// Add what another tally has counted.
    pub fn add(&mut self, other: &Self) {
        self.errors += other.errors;
        self.choices.add(&other.choices);
        self.slips.add(&other.slips);
        self.operations.merge(&other.operations, |mine, theirs| {
            mine.bytes += theirs.bytes;
            mine.latencies.add(&theirs.latencies);
        });
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.errors == 0 && self.operations.iter().all(|(_, tally)| tally.latencies.count() == 0)
    }

    /// Forget everything, keeping the memory.
    pub fn clear(&mut self) {
        self.errors = 0;
        self.choices = Choices::default();
        self.slips.clear();
        for operation in Operation::ALL {
            let tally = self.operations.of_mut(operation);
            tally.bytes = 0;
            tally.latencies.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(operation: Operation) -> Io {
        Io::new(operation, 0, 4096)
    }

    #[test]
    fn operations_are_counted_apart() {
        let mut tally = Tally::default();
        tally.record(&io(Operation::Write), 100);
        tally.record(&io(Operation::Write), 300);
        tally.record(&io(Operation::Trim), 7);
        let writes = tally.of(Operation::Write);
        assert_eq!((writes.latencies.count(), writes.latencies.sum_ns(), writes.bytes), (2, 400, 8192));
        assert_eq!(tally.of(Operation::Trim).latencies.max_ns(), Some(7));
        assert_eq!(tally.of(Operation::Read).latencies.count(), 0);
    }

    #[test]
    fn sums_add_up_and_a_cleared_tally_is_as_good_as_new() {
        let (mut whole, mut part) = (Tally::default(), Tally::default());
        part.record(&io(Operation::Read), 50);
        part.errors = 2;
        whole.add(&part);
        part.clear();
        whole.add(&part);
        assert_eq!((whole.of(Operation::Read).latencies.count(), whole.errors), (1, 2));
        assert_eq!((part.of(Operation::Read).bytes, part.errors), (0, 0));
    }
}
