//! The I/Os of a model.

use openpts_core::workload::Uniform;

use super::clock::{Clock, Due};
use super::form::{Arrivals, BLOCK_BYTES, Model, Places, Process, RANKS, Stream, Trains, weighted};
use super::use_stack::UseStack;
use crate::error::TraceError;
use crate::reader::{BATCH_IOS, Disorder, Level, SourceFacts, TraceReader, TracedDevice};
use crate::tally::Tally;
use crate::traced_io::{TracedIo, TracedOperation};

/// Places that are followed one by one; a larger range has larger ones.
const MOST_PLACES: u64 = 1 << 20;
/// Draws of a place that is new, until one is taken that is not.
const MOST_DRAWS: usize = 64;
const ALL_PER_10K: u64 = 10_000;

/// The trace of a model.
pub struct ModelReader {
    model: Model,
    random: Uniform,
    groups: Vec<Group>,
    /// I/Os of each stream: what transitions were counted with.
    ios: Vec<f64>,
    /// Of reads and of writes.
    going: [Going; 2],
    granule_bytes: u64,
    made: u64,
    has_ended: bool,
}

/// Streams with arrivals of their own.
struct Group {
    clock: Clock,
    random: Uniform,
    due: Option<Due>,
    last: Option<usize>,
}

/// Where the I/Os of an operation went.
struct Going {
    /// Ends of the last runs, the last continued first.
    ends: Vec<u64>,
    has_continued: bool,
    stack: UseStack,
}

const fn number_of(operation: TracedOperation) -> Option<usize> {
    match operation {
        TracedOperation::Read => Some(0),
        TracedOperation::Write => Some(1),
        _ => None,
    }
}

impl ModelReader {
    /// From its beginning.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let mut ios = vec![0.0; model.stream.len()];
        for (seconds, rates) in &model.steps {
            ios.iter_mut().zip(rates).for_each(|(ios, rate)| *ios += seconds * rate);
        }
        let groups = (model.arrivals.iter().zip(1..))
            .map(|(arrivals, number)| {
                let (mut clock, mut random) =
                    (Clock::new(&model, arrivals), Uniform::for_thread(model.seed, number));
                let due = clock.next(&arrivals.process, &mut random);
                Group { clock, random, due, last: None }
            })
            .collect();
        let granules = model.range_bytes.div_ceil(MOST_PLACES * BLOCK_BYTES);
        Self {
            random: Uniform::for_thread(model.seed, 0),
            groups,
            ios,
            going: std::array::from_fn(|_| Going {
                ends: Vec::new(),
                has_continued: false,
                stack: UseStack::new(),
            }),
            granule_bytes: granules.next_power_of_two() * BLOCK_BYTES,
            made: 0,
            has_ended: false,
            model,
        }
    }

    fn next(&mut self) -> Option<TracedIo> {
        let due_ns = |group: &Group| group.due.as_ref().map_or(i64::MAX, |due| due.at_ns);
        let number = (0..self.groups.len()).min_by_key(|number| due_ns(&self.groups[*number]))?;
        let group = &mut self.groups[number];
        let due = group.due.take()?;
        let arrivals = &self.model.arrivals[number];
        group.due = group.clock.next(&arrivals.process, &mut group.random);
        let stream = group.stream(arrivals, &due, &self.model.steps[due.step].1, &self.ios);
        group.last = Some(stream);
        let stream = self.model.stream[stream].clone();
        let offset_bytes = self.place(&stream);
        self.made += 1;
        Some(TracedIo::new(due.at_ns, stream.operation, offset_bytes, stream.size_bytes, self.made))
    }

    /// First byte.
    fn place(&mut self, stream: &Stream) -> u64 {
        if stream.operation == TracedOperation::Flush {
            return 0;
        }
        let Some(number) = number_of(stream.operation) else {
            let written = &self.going[1].stack;
            let place = written.at_distance(self.random.below(written.len().max(1) as u64)).unwrap_or(0);
            return (place * self.granule_bytes).min(self.model.range_bytes - stream.size_bytes);
        };
        let Some(places) = self.model.places(stream.operation).cloned() else { return 0 };
        let offset_bytes = match self.run_of(number, stream, &places) {
            Some(offset_bytes) => offset_bytes,
            None => self.begin(number, stream, &places),
        };
        let going = &mut self.going[number];
        going.ends.insert(0, offset_bytes + stream.size_bytes);
        going.ends.truncate(RANKS[RANKS.len() - 1]);
        let last = (offset_bytes + stream.size_bytes - 1) / self.granule_bytes;
        for place in offset_bytes / self.granule_bytes..=last {
            going.stack.touch(place);
        }
        offset_bytes
    }

    /// Where a run goes on, if one does.
    fn run_of(&mut self, number: usize, stream: &Stream, places: &Places) -> Option<u64> {
        let going = &mut self.going[number];
        let (early, later) = stream.continues_per_10k;
        let per_10k = if going.has_continued { later } else { early };
        going.has_continued = self.random.below(ALL_PER_10K) < per_10k && !going.ends.is_empty();
        if !going.has_continued {
            return None;
        }
        let class = weighted(places.ranks.iter().map(|n| *n as f64), &mut self.random).unwrap_or(0);
        let rank = RANKS[class] + self.random.below((RANKS[class + 1] - RANKS[class]) as u64) as usize;
        let end_bytes = going.ends.remove(rank.min(going.ends.len() - 1));
        going.has_continued = end_bytes + stream.size_bytes <= self.model.range_bytes;
        going.has_continued.then_some(end_bytes)
    }

    /// Where one begins: at a place that was used, as long ago as in the trace, or at a new one.
    fn begin(&mut self, number: usize, stream: &Stream, places: &Places) -> u64 {
        let highest = self.model.range_bytes - stream.size_bytes;
        if let Some(zone) = weighted(places.zones.iter().map(|zone| zone.0 as f64), &mut self.random) {
            let before: u64 = places.zones[..zone].iter().map(|zone| zone.1).sum();
            let units = (places.zones[zone].1 / stream.aligned_bytes).max(1);
            let bytes = places.zones_from_bytes + before + self.random.below(units) * stream.aligned_bytes;
            return bytes.min(highest) / stream.aligned_bytes * stream.aligned_bytes;
        }
        let (going, other) = (&self.going[number], &self.going[1 - number]);
        let is_first = self.random.below(ALL_PER_10K) < places.first_per_10k;
        let place = if is_first || going.stack.len() == 0 {
            let is_of_other = self.random.below(ALL_PER_10K) < places.first_of_other_per_10k;
            new_place(going, other, is_of_other, highest / self.granule_bytes + 1, &mut self.random)
        } else {
            let blocks = places.distances.draw(&mut self.random);
            going.stack.at_distance(blocks * BLOCK_BYTES / self.granule_bytes).unwrap_or(0)
        };
        // Within a larger granule it is anywhere.
        let block = self.random.below(self.granule_bytes / BLOCK_BYTES);
        let bytes = (place * self.granule_bytes + block * BLOCK_BYTES).min(highest);
        bytes - bytes % stream.aligned_bytes
    }
}

/// One that the operation has not used, and the other one has or has not.
fn new_place(going: &Going, other: &Going, is_of_other: bool, places: u64, random: &mut Uniform) -> u64 {
    let mut place = 0;
    for _ in 0..MOST_DRAWS {
        let used =
            is_of_other.then(|| other.stack.at_distance(random.below(other.stack.len().max(1) as u64)));
        place = used.flatten().unwrap_or_else(|| random.below(places));
        if !going.stack.has(place) && (used.is_some() || !other.stack.has(place)) {
            break;
        }
    }
    place
}

impl Group {
    /// Which stream the I/O is of: by the rates of the step, and by what was seen there in the trace.
    fn stream(&mut self, arrivals: &Arrivals, due: &Due, rates: &[f64], ios: &[f64]) -> usize {
        let seen = match &arrivals.process {
            Process::OnOff(Trains { first, next, .. }) => match (due.train, self.last) {
                (Some(length), _) => first.get((length.ilog2() as usize).min(first.len().saturating_sub(1))),
                (None, Some(last)) => next.get(last),
                (None, None) => None,
            },
            _ => None,
        };
        let streams = &arrivals.streams;
        let rate_of = |stream: &usize| rates[*stream];
        let by_seen = seen.and_then(|seen| {
            let weight = |stream: &usize| seen[*stream] as f64 * rate_of(stream) / ios[*stream].max(1.0);
            weighted(streams.iter().map(weight), &mut self.random)
        });
        let place = by_seen.or_else(|| weighted(streams.iter().map(rate_of), &mut self.random));
        place.map_or(streams[0], |place| streams[place])
    }
}

impl TraceReader for ModelReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        for _ in 0..BATCH_IOS {
            let Some(io) = self.next() else {
                self.has_ended = true;
                break;
            };
            batch.push(io);
            tally.accept();
        }
        Ok(!self.has_ended)
    }

    fn disorder(&self) -> Disorder {
        Disorder::None
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: "model",
            level: Level::Queue,
            resolution_ns: 1,
            epoch_ns: None,
            has_completions: false,
            has_issue_times: true,
            devices: vec![TracedDevice {
                name: self.model.name.clone(),
                capacity_bytes: Some(self.model.range_bytes),
                sector_bytes: None,
            }],
            commands: vec![String::new()],
        }
    }
}
