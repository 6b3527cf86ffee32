//! I/Os in flight, busy and idle time, latencies by what was going on.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::values::Distribution;
use crate::error::TraceError;
use crate::steps::{InFlight, Kind};
use crate::traced_io::TracedIo;

/// Depths that are counted one by one; deeper ones by powers of 2.
const MOST_EXACT: u64 = 4096;
/// Lower edges of bins of idle gaps, s.
const IDLE_EDGES_S: [u64; 9] = [0, 1, 5, 60, 180, 600, 900, 1200, 1800];

fn bin(depth: u64) -> u64 {
    if depth <= MOST_EXACT { depth } else { depth.next_power_of_two() }
}

/// Of one operation, or of all.
#[derive(Clone, Debug)]
struct Depth {
    in_flight: InFlight,
    times_ns: BTreeMap<u64, u64>,
    area: u128,
    max: u64,
    at_arrival: Distribution,
}

impl Depth {
    fn since(now_ns: i64) -> Self {
        Self {
            in_flight: InFlight::since(now_ns),
            times_ns: BTreeMap::new(),
            area: 0,
            max: 0,
            at_arrival: Distribution::default(),
        }
    }

    fn advance(&mut self, until_ns: i64, mut idle: impl FnMut(i64, i64)) {
        let Self { in_flight, times_ns, area, .. } = self;
        in_flight.advance(until_ns, |depth, from_ns, to_ns| {
            let ns = from_ns.abs_diff(to_ns);
            *times_ns.entry(bin(depth)).or_default() += ns;
            *area += u128::from(depth) * u128::from(ns);
            if depth == 0 {
                idle(from_ns, to_ns);
            }
        });
    }

    fn issue(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        self.at_arrival.record(self.in_flight.depth());
        self.in_flight.issue(io)?;
        self.max = self.max.max(self.in_flight.depth());
        Ok(())
    }

    fn to_json(&self) -> Value {
        let total: u64 = self.times_ns.values().sum();
        let mean = if total == 0 { Value::Null } else { json!(self.area as f64 / total as f64) };
        let times: Vec<_> = self.times_ns.iter().collect();
        json!({"mean": mean, "max": self.max, "time_ns": times, "at_arrival": self.at_arrival.to_json()})
    }
}

/// Latencies in ns, over all and by what may explain them.
#[derive(Clone, Debug, Default)]
struct Latencies {
    all: Distribution,
    by_length: BTreeMap<u64, Distribution>,
    by_depth: BTreeMap<u64, Distribution>,
}

impl Latencies {
    fn record(&mut self, io: &TracedIo, depth: u64, latency_ns: u64) {
        self.all.record(latency_ns);
        self.by_length
            .entry(io.length_bytes.checked_next_power_of_two().unwrap_or(u64::MAX))
            .or_default()
            .record(latency_ns);
        self.by_depth.entry(depth.next_power_of_two()).or_default().record(latency_ns);
    }

    fn to_json(&self) -> Value {
        let listed = |by: &BTreeMap<u64, Distribution>| -> Vec<Value> {
            by.iter()
                .map(|(upto, latencies)| json!({"up_to": upto, "latency_ns": latencies.to_json()}))
                .collect()
        };
        json!({
            "all": self.all.to_json(), "by_length": listed(&self.by_length), "by_depth": listed(&self.by_depth),
        })
    }
}

/// What completions show.
#[derive(Clone, Debug)]
pub(super) struct Depths {
    start_ns: i64,
    all: Depth,
    operations: [Option<Box<Depth>>; Kind::ALL.len()],
    latencies: [Latencies; Kind::ALL.len()],
    /// Since when nothing is in flight.
    idle_since_ns: Option<i64>,
    gaps: Distribution,
    gaps_by_edge: [(u64, u64); IDLE_EDGES_S.len()],
    completed: u64,
    uncompleted: u64,
}

impl Depths {
    pub(super) fn since(start_ns: i64) -> Self {
        Self {
            start_ns,
            all: Depth::since(start_ns),
            operations: [const { None }; Kind::ALL.len()],
            latencies: Default::default(),
            idle_since_ns: None,
            gaps: Distribution::default(),
            gaps_by_edge: [(0, 0); IDLE_EDGES_S.len()],
            completed: 0,
            uncompleted: 0,
        }
    }

    pub(super) fn push(&mut self, kind: Kind, io: &TracedIo) -> Result<(), TraceError> {
        self.advance(io.issued_ns);
        self.end_idle(io.issued_ns);
        self.all.issue(io)?;
        let start_ns = self.start_ns;
        let depth = self.operations[kind as usize].get_or_insert_with(|| Box::new(Depth::since(start_ns)));
        depth.advance(io.issued_ns, |_, _| ());
        depth.issue(io)?;
        match io.latency_ns() {
            Some(latency_ns) => {
                self.completed += 1;
                self.latencies[kind as usize].record(io, self.all.in_flight.depth(), latency_ns);
            }
            None => self.uncompleted += 1,
        }
        Ok(())
    }

    fn advance(&mut self, until_ns: i64) {
        let idle_since_ns = &mut self.idle_since_ns;
        self.all.advance(until_ns, |from_ns, _| {
            idle_since_ns.get_or_insert(from_ns);
        });
    }

    fn end_idle(&mut self, at_ns: i64) {
        let Some(since_ns) = self.idle_since_ns.take() else { return };
        let gap_ns = since_ns.abs_diff(at_ns);
        self.gaps.record(gap_ns);
        let place = IDLE_EDGES_S.iter().rposition(|edge_s| gap_ns >= edge_s * 1_000_000_000).unwrap_or(0);
        let (count, sum_ns) = self.gaps_by_edge[place];
        self.gaps_by_edge[place] = (count + 1, sum_ns + gap_ns);
    }

    /// `null` without completions; ends at the last event.
    pub(super) fn into_json(mut self, last_issue_ns: i64) -> Value {
        if self.completed == 0 {
            return Value::Null;
        }
        let end_ns = self.all.in_flight.last_completion_ns().unwrap_or(last_issue_ns).max(last_issue_ns);
        self.advance(end_ns);
        self.operations.iter_mut().flatten().for_each(|depth| depth.advance(end_ns, |_, _| ()));
        let span_ns = self.start_ns.abs_diff(end_ns);
        let idle_ns = self.all.times_ns.get(&0).copied().unwrap_or(0);
        let kinds = || Kind::ALL.iter();
        let depths: Map<_, _> = kinds()
            .zip(&self.operations)
            .filter_map(|(kind, depth)| Some((kind.name().to_owned(), depth.as_ref()?.to_json())))
            .collect();
        let latencies: Map<_, _> = kinds()
            .zip(&self.latencies)
            .filter(|(_, latencies)| latencies.all.count() > 0)
            .map(|(kind, latencies)| (kind.name().to_owned(), latencies.to_json()))
            .collect();
        let edges: Vec<_> = IDLE_EDGES_S
            .iter()
            .zip(self.gaps_by_edge)
            .map(|(edge_s, (gaps, sum_ns))| json!({"from_s": edge_s, "gaps": gaps, "sum_ns": sum_ns}))
            .collect();
        json!({
            "completed_ios": self.completed, "uncompleted_ios": self.uncompleted,
            "queue_depth": {"all": self.all.to_json(), "by_operation": depths},
            "busy_ns": span_ns - idle_ns, "idle_ns": idle_ns, "span_ns": span_ns,
            "idle_gaps": {"gap_ns": self.gaps.to_json(), "by_edge": edges},
            "latency": latencies,
        })
    }
}
