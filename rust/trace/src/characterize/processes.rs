//! Who issues I/Os, and after how long a thought.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::values::Distribution;
use crate::error::TraceError;
use crate::steps::{InFlight, Kind};
use crate::traced_io::{NO_PROCESS, TracedIo};

/// Processes that are counted one by one.
const MOST_PROCESSES: usize = 1 << 16;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Clone, Debug, Default)]
struct Process {
    ios: [u64; Kind::ALL.len()],
    bytes: u64,
}

/// By process, where they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Processes {
    known: BTreeMap<(i32, u16), Process>,
    others: Process,
    unknown_ios: u64,
    second: u64,
    active: HashSet<i32>,
    active_sum: u64,
    active_most: usize,
    active_seconds: u64,
}

impl Processes {
    pub(super) fn push(&mut self, kind: Kind, io: &TracedIo, since_ns: u64) {
        if io.pid == NO_PROCESS && io.command == 0 {
            self.unknown_ios += 1;
            return;
        }
        let key = (io.pid, io.command);
        let is_counted = self.known.len() < MOST_PROCESSES || self.known.contains_key(&key);
        let process = if is_counted { self.known.entry(key).or_default() } else { &mut self.others };
        process.ios[kind as usize] += 1;
        process.bytes = process.bytes.saturating_add(io.length_bytes);
        if since_ns / SECOND_NS != self.second {
            self.end_second();
            self.second = since_ns / SECOND_NS;
        }
        self.active.insert(io.pid);
    }

    fn end_second(&mut self) {
        if !self.active.is_empty() {
            self.active_sum += self.active.len() as u64;
            self.active_most = self.active_most.max(self.active.len());
            self.active_seconds += 1;
            self.active.clear();
        }
    }

    /// `null` if no process is known.
    pub(super) fn into_json(mut self, commands: &[String]) -> Value {
        if self.known.is_empty() {
            return Value::Null;
        }
        self.end_second();
        let mut rows: Vec<_> = self.known.iter().collect();
        rows.sort_by_key(|(key, process)| (std::cmp::Reverse(process.ios.iter().sum::<u64>()), **key));
        let row = |pid: Value, name: &str, process: &Process| {
            let ios: serde_json::Map<_, _> = Kind::ALL
                .iter()
                .zip(process.ios)
                .filter(|(_, n)| *n > 0)
                .map(|(kind, n)| (kind.name().to_owned(), json!(n)))
                .collect();
            json!({
                "pid": pid, "command": name, "ios": process.ios.iter().sum::<u64>(), "bytes": process.bytes,
                "by_operation": ios,
            })
        };
        let name = |number: u16| commands.get(usize::from(number)).map_or("", String::as_str);
        let rows: Vec<_> = rows
            .into_iter()
            .map(|((pid, command), process)| {
                row(if *pid == NO_PROCESS { Value::Null } else { json!(pid) }, name(*command), process)
            })
            .collect();
        json!({
            "processes": rows, "others": row(Value::Null, "", &self.others), "unknown_ios": self.unknown_ios,
            "active_per_second": {
                "mean": self.active_sum as f64 / self.active_seconds as f64, "max": self.active_most,
            },
        })
    }
}

/// Time from the last completion of a process, or of a domain without processes, to the next issue there.
#[derive(Clone, Debug, Default)]
pub(super) struct ThinkTime {
    issuers: HashMap<(u16, i32), (InFlight, Option<i64>)>,
    slack: Distribution,
    alone: Distribution,
}

impl ThinkTime {
    pub(super) fn push(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        if self.issuers.len() >= MOST_PROCESSES {
            self.issuers.retain(|_, (in_flight, _)| in_flight.depth() > 0);
        }
        let key = if io.pid == NO_PROCESS { (io.domain, NO_PROCESS) } else { (u16::MAX, io.pid) };
        let (in_flight, last_ns) =
            self.issuers.entry(key).or_insert_with(|| (InFlight::since(io.issued_ns), None));
        in_flight.advance_completions(io.issued_ns, |completed_ns| *last_ns = Some(completed_ns));
        if let Some(last_ns) = *last_ns {
            let slack_ns = last_ns.abs_diff(io.issued_ns);
            self.slack.record(slack_ns);
            if in_flight.depth() == 0 {
                self.alone.record(slack_ns);
            }
        }
        in_flight.issue(io)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"slack_ns": self.slack.to_json(), "slack_with_nothing_in_flight_ns": self.alone.to_json()})
    }
}
