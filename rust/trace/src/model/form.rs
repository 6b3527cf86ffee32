//! What a model says.

use openpts_core::workload::Uniform;
use serde::Deserialize;

use crate::error::TraceError;
use crate::traced_io::TracedOperation;

/// Streams at most: operations with one size each.
const MOST_STREAMS: usize = 32;
/// Steps, and values of a distribution, at most.
const MOST_ROWS: usize = 4096;
/// I/Os that a model makes at most.
const MOST_IOS: f64 = 1e11;
/// Ranks of runs: that which went on last, those before it, up to the 32nd.
pub(super) const RANKS: [usize; 7] = [0, 1, 2, 4, 8, 16, 32];
const SECTOR_BYTES: u64 = 512;
pub(super) const BLOCK_BYTES: u64 = 4096;
const LEAST_RANGE_BYTES: u64 = 1 << 20;

/// I/Os like those of a trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What it is like.
    pub name: String,
    /// Of its random numbers.
    pub seed: u64,
    /// All I/Os are in it, from the target's first byte on.
    pub range_bytes: u64,
    /// One after the other: seconds, and I/Os per second of each stream.
    pub steps: Vec<(f64, Vec<f64>)>,
    /// When I/Os come, of groups of streams that don't know of each other.
    pub arrivals: Vec<Arrivals>,
    /// What they are.
    pub stream: Vec<Stream>,
    /// Where reads go.
    #[serde(default)]
    pub read: Option<Places>,
    /// Where writes go.
    #[serde(default)]
    pub write: Option<Places>,
}

/// When the I/Os of some streams come.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Numbers of the streams.
    pub streams: Vec<usize>,
    /// How they come; the steps have their rates.
    pub process: Process,
}

/// How I/Os come.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Process {
    /// Evenly.
    Even,
    /// Independently of each other.
    Poisson,
    /// With two rates, between which it changes at random (MMPP-2).
    Mmpp {
        /// Each rate as a multiple of the step's.
        rates: (f64, f64),
        /// Mean time with each, s.
        seconds: (f64, f64),
    },
    /// In trains, with gaps between them that the rate of a step scales.
    OnOff(Trains),
}

/// I/Os that follow each other closely.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trains {
    /// I/Os of a train.
    pub lengths: Values,
    /// From one I/O of a train to the next, ns.
    pub gaps_within_ns: Values,
    /// From the last of a train to the first of the next, ns.
    pub gaps_between_ns: Values,
    /// How often a stream begins a train of 1, of 2 and 3, of 4 to 7 and so on I/Os.
    pub first: Vec<Vec<u64>>,
    /// How often a stream comes after another within a train, by the one before.
    pub next: Vec<Vec<u64>>,
}

/// An operation with one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// What it does: read, write, trim or flush.
    pub operation: TracedOperation,
    /// Its length; 0 for a flush.
    pub size_bytes: u64,
    /// What the places where runs begin are multiples of.
    #[serde(default = "block")]
    pub aligned_bytes: u64,
    /// How many of ten thousand go on where one of the last 32 runs of the operation ended: after an I/O of the
    /// operation that did not go on, and after one that did.
    #[serde(default)]
    pub continues_per_10k: (u64, u64),
}

const fn block() -> u64 {
    BLOCK_BYTES
}

/// Where the I/Os of an operation go that don't go on with a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// How often the run that goes on is the last one, the one before, the third and fourth, up to the eighth, ...
    pub ranks: Vec<u64>,
    /// Of ten thousand, how many begin where the operation was never before.
    pub first_per_10k: u64,
    /// Of ten thousand of those, how many begin where the other operation was.
    pub first_of_other_per_10k: u64,
    /// Of the others: distinct blocks of 4 KiB that the operation used since the last use of the place.
    pub distances: Values,
    /// In place of these: how often one begins in which zone, and its bytes; one zone behind the other.
    #[serde(default)]
    pub zones: Vec<(u64, u64)>,
    /// Where the first zone begins.
    #[serde(default)]
    pub zones_from_bytes: u64,
}

/// A distribution: from, to, count; what is between from and to is equally likely.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Values(pub Vec<(u64, u64, u64)>);

impl Values {
    /// One of them; 0 if there is none.
    pub(super) fn draw(&self, random: &mut Uniform) -> u64 {
        weighted(self.0.iter().map(|(_, _, count)| *count as f64), random).map_or(0, |place| {
            let (from, to, _) = self.0[place];
            from + random.below(to - from + 1)
        })
    }

    /// 0 if there is none.
    pub(super) fn mean(&self) -> f64 {
        let sum = |of: fn(&(u64, u64, u64)) -> f64| self.0.iter().map(of).sum::<f64>();
        let count = sum(|row| row.2 as f64);
        if count > 0.0 { sum(|row| (row.0 as f64 + row.1 as f64) / 2.0 * row.2 as f64) / count } else { 0.0 }
    }

    fn check(&self, name: &str) -> Result<(), String> {
        if self.0.len() > MOST_ROWS {
            return Err(format!("{name} has more than {MOST_ROWS} values"));
        }
        let is_wrong =
            |row: &(u64, u64, u64)| row.0 > row.1 || row.1 > i64::MAX as u64 || row.2 > u32::MAX.into();
        if self.0.iter().any(is_wrong) {
            return Err(format!("{name} has a value that is no range, or is too large"));
        }
        Ok(())
    }
}

/// The place of one weight, as often as it weighs; `None` if all are 0.
pub(super) fn weighted(weights: impl Iterator<Item = f64> + Clone, random: &mut Uniform) -> Option<usize> {
    let total: f64 = weights.clone().sum();
    let mut left = random.unit() * total;
    let mut last = None;
    for (place, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = Some(place);
        if left < weight {
            break;
        }
        left -= weight;
    }
    last
}

impl Model {
    /// Of its text.
    ///
    /// # Errors
    /// If it is no TOML, lacks something, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let model: Self = toml::from_str(text)
            .map_err(|error| TraceError::Refused(format!("not a model: {}", error.to_string().trim_end())))?;
        model.check().map_err(|reason| {
            TraceError::Refused(format!("no I/Os can be made of the model {}: {reason}", model.name))
        })?;
        Ok(model)
    }

    /// Where I/Os of an operation go; `None` for one without places of its own.
    pub(super) const fn places(&self, operation: TracedOperation) -> Option<&Places> {
        match operation {
            TracedOperation::Read => self.read.as_ref(),
            TracedOperation::Write => self.write.as_ref(),
            _ => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        let streams = self.stream.len();
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(format!("it needs 1 to {MOST_STREAMS} streams"));
        }
        if self.range_bytes < LEAST_RANGE_BYTES || self.range_bytes > i64::MAX as u64 {
            return Err("its range is below 1 MiB, or no drive has it".into());
        }
        self.check_steps()?;
        for (number, stream) in self.stream.iter().enumerate() {
            self.check_stream(stream).map_err(|reason| format!("stream {number}: {reason}"))?;
        }
        for places in [&self.read, &self.write].into_iter().flatten() {
            places.distances.check("distances")?;
            if places.ranks.len() >= RANKS.len()
                || places.first_per_10k.max(places.first_of_other_per_10k) > 10_000
            {
                return Err("places have too many ranks, or more than all of ten thousand".into());
            }
            let end_bytes =
                places.zones.iter().try_fold(places.zones_from_bytes, |sum, zone| sum.checked_add(zone.1));
            let has_none = |zone: &(u64, u64)| zone.0 > u32::MAX.into() || zone.1 < BLOCK_BYTES;
            if end_bytes.is_none_or(|end_bytes| end_bytes > self.range_bytes)
                || places.zones.len() > MOST_ROWS
                || places.zones.iter().any(has_none)
            {
                return Err("its zones have less than 4096 bytes, or don't fit into its range".into());
            }
        }
        let mut counts = vec![0; streams];
        for group in &self.arrivals {
            for stream in &group.streams {
                *counts
                    .get_mut(*stream)
                    .ok_or_else(|| format!("arrivals of stream {stream}, which there is not"))? += 1;
            }
            group.process.check(streams)?;
        }
        if counts.iter().any(|count| *count != 1) {
            return Err("each stream has to be in one group of arrivals".into());
        }
        Ok(())
    }

    fn check_steps(&self) -> Result<(), String> {
        if self.steps.len() > MOST_ROWS {
            return Err(format!("it has more than {MOST_ROWS} steps"));
        }
        let is_number = |value: &f64| value.is_finite() && *value >= 0.0;
        if self.steps.iter().any(|(seconds, rates)| {
            rates.len() != self.stream.len() || !is_number(seconds) || !rates.iter().all(is_number)
        }) {
            return Err("a step needs seconds, and a rate for each stream".into());
        }
        let ios: f64 = self.steps.iter().map(|(seconds, rates)| seconds * rates.iter().sum::<f64>()).sum();
        if !(ios > 0.0 && ios <= MOST_IOS) {
            return Err(format!("{ios:.3} I/Os are none, or too many"));
        }
        Ok(())
    }

    fn check_stream(&self, stream: &Stream) -> Result<(), String> {
        let (early, later) = stream.continues_per_10k;
        match stream.operation {
            TracedOperation::Flush if stream.size_bytes == 0 => return Ok(()),
            TracedOperation::Read | TracedOperation::Write if self.places(stream.operation).is_none() => {
                return Err(format!("the model does not say where a {} goes", stream.operation.name()));
            }
            TracedOperation::Read | TracedOperation::Write | TracedOperation::Trim => (),
            _ => return Err("it is no read, write or trim with a size, and no flush without one".into()),
        }
        if stream.size_bytes == 0
            || !stream.size_bytes.is_multiple_of(SECTOR_BYTES)
            || stream.size_bytes > self.range_bytes
        {
            return Err("its size is no multiple of 512 bytes, or larger than the range".into());
        }
        if early.max(later) > 10_000 {
            return Err("more than all go on".into());
        }
        if !stream.aligned_bytes.is_power_of_two()
            || !(BLOCK_BYTES..=self.range_bytes).contains(&stream.aligned_bytes)
        {
            return Err("its alignment is no power of 2 from 4096 bytes to the range".into());
        }
        Ok(())
    }
}

impl Process {
    fn check(&self, streams: usize) -> Result<(), String> {
        match self {
            Self::Even | Self::Poisson => Ok(()),
            Self::Mmpp { rates: (one, other), seconds: (first, second) } => {
                let is_rate = |value: &f64| value.is_finite() && *value >= 0.0;
                let is_time = |value: &f64| value.is_finite() && *value >= 1e-9;
                if [one, other].into_iter().all(is_rate)
                    && [first, second].into_iter().all(is_time)
                    && one.max(*other) > 0.0
                {
                    return Ok(());
                }
                Err("MMPP needs two rates, and times of a nanosecond or more".into())
            }
            Self::OnOff(trains) => {
                trains.lengths.check("lengths")?;
                trains.gaps_within_ns.check("gaps_within_ns")?;
                trains.gaps_between_ns.check("gaps_between_ns")?;
                if trains.lengths.0.iter().any(|(from, _, _)| *from == 0) || trains.lengths.mean() < 1.0 {
                    return Err("a train needs an I/O".into());
                }
                if trains.gaps_between_ns.mean() <= 0.0 {
                    return Err("trains need gaps between them".into());
                }
                let has_all = |table: &[Vec<u64>]| table.iter().all(|row| row.len() == streams);
                if !has_all(&trains.first) || !has_all(&trains.next) || trains.next.len() != streams {
                    return Err("first and next need a number for each stream".into());
                }
                Ok(())
            }
        }
    }
}
