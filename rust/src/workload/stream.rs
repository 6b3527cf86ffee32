//! The stream of I/Os that one thread issues in one step.

use super::mix::Mix;
use super::offsets::{RandomOffsets, SequentialPart};
use super::random::Uniform;
use super::stimulus::{AccessPattern, Step, StopRule};

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl Direction {
    /// The word for messages and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Read or write.
    pub direction: Direction,
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u32,
}

/// What a thread carries from step to step: the random state, so that no step repeats another's
/// offsets, and the place of its sequential stream.
#[derive(Clone, Debug)]
pub struct Carried {
    random: Uniform,
    sequential: Option<SequentialPart>,
}

impl Carried {
    /// The state of a thread before its first step.
    #[must_use]
    pub fn new(seed: u64, thread: u32) -> Self {
        Self { random: Uniform::for_thread(seed, thread), sequential: None }
    }
}

#[derive(Debug)]
enum Offsets {
    Random(RandomOffsets),
    Sequential,
}

/// Yields one thread's I/Os of one step, without end where the step ends by time.
#[derive(Debug)]
pub struct Stream<'a> {
    carried: &'a mut Carried,
    offsets: Offsets,
    mix: Mix,
    block_size_bytes: u32,
    bytes_left: Option<u64>,
}

impl<'a> Stream<'a> {
    /// The stream of thread number `thread` of the step's TC.
    #[must_use]
    pub fn new(step: &Step, sector_bytes: u32, thread: u32, carried: &'a mut Carried) -> Self {
        let stimulus = &step.stimulus;
        let offsets = match stimulus.access_pattern {
            AccessPattern::Random => Offsets::Random(RandomOffsets::new(stimulus, sector_bytes)),
            AccessPattern::Sequential => {
                let mut part = SequentialPart::new(stimulus, thread);
                if let Some(earlier) = carried.sequential {
                    part.resume(earlier);
                }
                carried.sequential = Some(part);
                Offsets::Sequential
            }
        };
        Self {
            bytes_left: bytes_of_thread(step, thread),
            offsets,
            mix: Mix::new(stimulus.read_pct),
            block_size_bytes: stimulus.block_size_bytes,
            carried,
        }
    }
}

impl Iterator for Stream<'_> {
    type Item = Io;

    #[inline]
    fn next(&mut self) -> Option<Io> {
        if self.bytes_left == Some(0) {
            return None;
        }
        let direction = self.mix.deal(&mut self.carried.random);
        let (offset_bytes, length_bytes) = match (&self.offsets, &mut self.carried.sequential) {
            (Offsets::Random(offsets), _) => (offsets.next(&mut self.carried.random), self.block_size_bytes),
            (Offsets::Sequential, part) => {
                part.as_mut().expect("set when the stream was made").next(self.block_size_bytes)
            }
        };
        if let Some(left) = &mut self.bytes_left {
            *left = left.saturating_sub(u64::from(length_bytes));
        }
        Some(Io { direction, offset_bytes, length_bytes })
    }
}

/// A thread's share of a step's bytes: in proportion to its part of the range, so that all threads
/// make the same number of passes.
fn bytes_of_thread(step: &Step, thread: u32) -> Option<u64> {
    let StopRule::AmountBytes(amount) = step.stop else { return None };
    let stimulus = &step.stimulus;
    let share = match stimulus.access_pattern {
        AccessPattern::Random => amount.div_ceil(u64::from(stimulus.tc)),
        AccessPattern::Sequential => {
            let part = u128::from(SequentialPart::new(stimulus, thread).bytes());
            let range = u128::from(stimulus.range_end_bytes - stimulus.range_start_bytes);
            let share = (u128::from(amount) * part).div_ceil(range);
            u64::try_from(share).expect("no more than the whole amount")
        }
    };
    Some(share)
}

#[cfg(test)]
mod tests {
    use super::super::stimulus::Stimulus;
    use super::*;
    use proptest::prelude::*;

    const SECTOR: u32 = 512;

    fn sequential(block_size_bytes: u32, tc: u32, range: std::ops::Range<u64>, stop: StopRule) -> Step {
        Step {
            stimulus: Stimulus {
                access_pattern: AccessPattern::Sequential,
                block_size_bytes,
                read_pct: 0,
                tc,
                qd: 1,
                range_start_bytes: range.start,
                range_end_bytes: range.end,
            },
            stop,
        }
    }

    proptest! {
        #[test]
        fn a_pass_of_all_threads_covers_every_sector_exactly_once(
            start in 0..50_u64,
            sectors in 16..3000_u64,
            block_sectors in 1..40_u32,
            tc in 1..9_u32,
            passes in 1..3_u64,
        ) {
            prop_assume!(sectors >= u64::from(block_sectors * tc));
            let bytes = |sectors: u64| sectors * u64::from(SECTOR);
            let step = sequential(
                block_sectors * SECTOR,
                tc,
                bytes(start)..bytes(start + sectors),
                StopRule::AmountBytes(bytes(sectors) * passes),
            );
            let mut written = vec![0; usize::try_from(start + sectors + 50).unwrap()];
            for thread in 0..tc {
                let mut carried = Carried::new(1, thread);
                for io in Stream::new(&step, SECTOR, thread, &mut carried) {
                    for sector in 0..u64::from(io.length_bytes / SECTOR) {
                        written[usize::try_from(io.offset_bytes / u64::from(SECTOR) + sector).unwrap()] += 1;
                    }
                }
            }
            let inside = |sector: u64| (start..start + sectors).contains(&sector);
            for (sector, times) in written.iter().enumerate() {
                prop_assert_eq!(*times, if inside(sector as u64) { passes } else { 0 }, "sector {}", sector);
            }
        }

        #[test]
        fn random_accesses_stay_inside_the_range_and_aligned(
            start in 0..100_u64,
            extra in 0..1000_u64,
            block_size_bytes in prop::sample::select(vec![512_u32, 1536, 4096, 8192, 1 << 20]),
        ) {
            let range = start * 512..start * 512 + u64::from(block_size_bytes) * 2 + extra * 512;
            let mut step = sequential(block_size_bytes, 1, range.clone(), StopRule::DurationNs(1));
            step.stimulus.access_pattern = AccessPattern::Random;
            let mut carried = Carried::new(1, 0);
            for io in Stream::new(&step, SECTOR, 0, &mut carried).take(200) {
                prop_assert!(io.offset_bytes >= range.start);
                prop_assert!(io.offset_bytes + u64::from(io.length_bytes) <= range.end);
                let alignment = if block_size_bytes.is_multiple_of(4096) { 4096 } else { 512 };
                prop_assert_eq!(io.offset_bytes % alignment, 0);
            }
        }
    }

    #[test]
    fn every_place_of_a_small_range_is_reached_last_one_included() {
        let mut step = sequential(4096, 1, 0..10 * 4096, StopRule::DurationNs(1));
        step.stimulus.access_pattern = AccessPattern::Random;
        let mut carried = Carried::new(1, 0);
        let mut seen = [0; 10];
        for io in Stream::new(&step, SECTOR, 0, &mut carried).take(1000) {
            seen[usize::try_from(io.offset_bytes / 4096).unwrap()] += 1;
        }
        assert!(seen.iter().all(|times| (60..150).contains(times)), "{seen:?}");
    }

    #[test]
    fn a_later_step_draws_other_offsets() {
        let mut step = sequential(4096, 1, 0..1 << 30, StopRule::DurationNs(1));
        step.stimulus.access_pattern = AccessPattern::Random;
        let mut carried = Carried::new(1, 0);
        let first: Vec<_> = Stream::new(&step, SECTOR, 0, &mut carried).take(100).collect();
        let second: Vec<_> = Stream::new(&step, SECTOR, 0, &mut carried).take(100).collect();
        assert_ne!(first, second);
    }

    #[test]
    fn a_later_sequential_step_goes_on_where_the_earlier_one_stopped() {
        let step = sequential(4096, 1, 0..10 * 4096, StopRule::DurationNs(1));
        let mut carried = Carried::new(1, 0);
        let mut offsets = Vec::new();
        for count in [3, 9] {
            offsets.extend(
                Stream::new(&step, SECTOR, 0, &mut carried).take(count).map(|io| io.offset_bytes / 4096),
            );
        }
        assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    }

    #[test]
    fn the_client_range_is_passed_two_and_two_thirds_times() {
        // 2 x user capacity inside 75 % of it: the amount stays, the passes grow.
        let capacity = 400 * 4096_u64;
        let step = sequential(4096, 2, 0..capacity * 3 / 4, StopRule::AmountBytes(2 * capacity));
        let bytes: u64 = (0..2)
            .map(|thread| {
                let mut carried = Carried::new(1, thread);
                Stream::new(&step, SECTOR, thread, &mut carried)
                    .map(|io| u64::from(io.length_bytes))
                    .sum::<u64>()
            })
            .sum();
        assert_eq!(bytes, 2 * capacity);
    }
}
