//! Several traces as one.

use std::collections::{HashMap, VecDeque};

use super::super::error::TraceError;
use super::super::header::{Change, FidelityClass, SourceFile, TraceHeader};
use super::super::reader::{BATCH_IOS, Dictionary, Level, TracedDevice};
use super::super::trace::{IoStream, Trace};
use super::super::traced_io::TracedIo;

/// How much faster a trace runs than it was recorded: an exact ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Traced time.
    pub traced: u32,
    /// In so much time.
    pub taken: u32,
}

impl Default for Speed {
    fn default() -> Self {
        Self { traced: 1, taken: 1 }
    }
}

impl Speed {
    /// A moment of the trace at this speed, rounded down.
    #[must_use]
    pub fn scaled(self, ns: i64) -> Option<i64> {
        let scaled = i128::from(ns) * i128::from(self.taken);
        i64::try_from(scaled.div_euclid(i128::from(self.traced.max(1)))).ok()
    }
}

/// Opens a trace, once for each time that it is repeated.
pub type Opener = Box<dyn Fn() -> Result<Trace, TraceError> + Send>;

/// One of the traces, and where it goes.
pub struct Part {
    /// Opens it.
    pub open: Opener,
    /// When its first I/O is issued, ns after the beginning of all.
    pub start_ns: i64,
    /// How fast it runs.
    pub speed: Speed,
    /// How often; a repetition begins when the last I/O of the one before was issued, and a mean gap later.
    pub loops: u32,
    /// Before the names of its devices, to tell them from those of the others.
    pub prefix: String,
}

struct Running {
    part: Part,
    trace: Trace,
    waiting: VecDeque<TracedIo>,
    loops_done: u32,
    /// When this repetition begins.
    start_ns: i64,
    /// Of the last I/O, in the trace's own time, and how many there were.
    last_ns: i64,
    ios: u64,
    /// Number of its device or command in the whole.
    devices: Vec<u16>,
    commands: Vec<u16>,
    files: Vec<SourceFile>,
    ended: Option<TraceHeader>,
}

/// Several traces in the order of their times; of equal times those of an earlier trace are first.
pub struct Merged {
    running: Vec<Running>,
    devices: Vec<TracedDevice>,
    commands: Dictionary,
    /// Numbers of ordering domains that are no devices, from the highest down.
    domains: HashMap<(usize, u16), u16>,
}

impl Merged {
    /// Begin.
    ///
    /// # Errors
    /// If one can't be opened.
    pub fn new(parts: Vec<Part>) -> Result<Self, TraceError> {
        let mut running = Vec::new();
        for part in parts {
            if part.start_ns < 0 || part.loops == 0 || part.speed.traced == 0 || part.speed.taken == 0 {
                return Err(TraceError::Refused(
                    "can't merge the traces: a start is at least 0 s, a speed above 0, and loops at least 1"
                        .into(),
                ));
            }
            running.push(Running {
                trace: (part.open)()?,
                start_ns: part.start_ns,
                part,
                waiting: VecDeque::new(),
                loops_done: 0,
                last_ns: 0,
                ios: 0,
                devices: Vec::new(),
                commands: Vec::new(),
                files: Vec::new(),
                ended: None,
            });
        }
        let mut commands = Dictionary::default();
        commands.number(b"");
        Ok(Self { running, devices: Vec::new(), commands, domains: HashMap::new() })
    }

    /// Records of all traces so far, of the last repetition of each.
    pub fn traces(&self) -> impl Iterator<Item = &Trace> {
        self.running.iter().map(|running| &running.trace)
    }

    /// See to it that a trace that goes on has I/Os waiting.
    fn refill(&mut self, number: usize) -> Result<(), TraceError> {
        let mut batch = Vec::new();
        while self.running[number].waiting.is_empty() && self.running[number].ended.is_none() {
            if self.running[number].trace.read(&mut batch)? {
                self.learn(number, &batch)?;
                for io in &batch {
                    let mut io = self.running[number].moved(io)?;
                    if io.domain != io.device {
                        io.domain = self.domain(number, io.domain);
                    }
                    self.running[number].waiting.push_back(io);
                }
            } else {
                self.running[number].end_of_loop()?;
            }
        }
        Ok(())
    }

    /// The number in the whole of a part's ordering domain.
    fn domain(&mut self, number: usize, domain: u16) -> u16 {
        let next = u16::MAX - u16::try_from(self.domains.len()).unwrap_or(u16::MAX);
        *self.domains.entry((number, domain)).or_insert(next)
    }

    /// Give numbers to devices and commands that were not met before.
    fn learn(&mut self, number: usize, batch: &[TracedIo]) -> Result<(), TraceError> {
        let running = &mut self.running[number];
        let is_known = |io: &TracedIo| {
            usize::from(io.device) < running.devices.len() && usize::from(io.command) < running.commands.len()
        };
        if batch.iter().all(is_known) {
            return Ok(());
        }
        let too_many =
            || TraceError::Refused("can't merge the traces: together they have over 65,536 names".into());
        let header = running.trace.header()?;
        for mut device in header.devices.into_iter().skip(running.devices.len()) {
            device.name = format!("{}{}", running.part.prefix, device.name);
            let place = self.devices.iter().position(|known| *known == device);
            let place = place.unwrap_or(self.devices.len());
            if place == self.devices.len() {
                self.devices.push(device);
            }
            running.devices.push(u16::try_from(place).map_err(|_| too_many())?);
        }
        for command in header.commands.iter().skip(running.commands.len()) {
            running.commands.push(self.commands.number(command.as_bytes()).ok_or_else(too_many)?);
        }
        Ok(())
    }
}

impl Running {
    /// An I/O where it is in the whole; its domain is its device, or still that of the part.
    fn moved(&mut self, io: &TracedIo) -> Result<TracedIo, TraceError> {
        self.last_ns = io.issued_ns;
        self.ios += 1;
        let issued_ns = self.part.speed.scaled(io.issued_ns).and_then(|ns| ns.checked_add(self.start_ns));
        let issued_ns = issued_ns.ok_or_else(|| {
            TraceError::Refused("can't merge the traces: they would be over 290 years long".into())
        })?;
        // A drive is as fast as it was, however fast the I/Os come.
        let latency_ns = io.completed_ns.map(|completed_ns| completed_ns.saturating_sub(io.issued_ns));
        let device = self.devices.get(usize::from(io.device)).copied().unwrap_or(io.device);
        let domain = match io.domain {
            domain if domain == io.device => device,
            // A domain that would get the number of its device gets the complement instead.
            domain if domain == device => !domain,
            domain => domain,
        };
        Ok(TracedIo {
            issued_ns,
            completed_ns: latency_ns.map(|latency_ns| issued_ns.saturating_add(latency_ns)),
            device,
            domain,
            command: self.commands.get(usize::from(io.command)).copied().unwrap_or(0),
            ..*io
        })
    }

    fn end_of_loop(&mut self) -> Result<(), TraceError> {
        self.loops_done += 1;
        if self.files.is_empty() {
            self.files = self.trace.files().to_vec();
        }
        if self.loops_done == self.part.loops {
            self.ended = Some(self.trace.header()?);
            return Ok(());
        }
        let mean_gap_ns = self.last_ns / i64::try_from(self.ios.saturating_sub(1).max(1)).unwrap_or(i64::MAX);
        let span_ns = self.last_ns.saturating_add(mean_gap_ns.max(1));
        let scaled_ns = self.part.speed.scaled(span_ns).unwrap_or(i64::MAX).max(1);
        self.start_ns = self.start_ns.saturating_add(scaled_ns);
        self.last_ns = 0;
        self.ios = 0;
        self.devices.clear();
        self.commands.clear();
        self.trace = (self.part.open)()?;
        Ok(())
    }

    fn words(&self) -> String {
        let Part { start_ns, speed, loops, prefix, .. } = &self.part;
        format!(
            "merged: from {start_ns} ns on, at speed {}/{}, {loops} times, devices with {prefix:?} before their names",
            speed.traced, speed.taken
        )
    }
}

impl IoStream for Merged {
    fn read(&mut self, batch: &mut Vec<TracedIo>) -> Result<bool, TraceError> {
        batch.clear();
        for number in 0..self.running.len() {
            self.refill(number)?;
        }
        while batch.len() < BATCH_IOS {
            let heads = self.running.iter().enumerate();
            let next = heads
                .filter_map(|(number, running)| Some((running.waiting.front()?.issued_ns, number)))
                .min();
            let Some((_, number)) = next else { break };
            batch.extend(self.running[number].waiting.pop_front());
            if self.running[number].waiting.is_empty() {
                self.refill(number)?;
            }
        }
        Ok(!batch.is_empty())
    }

    fn header(&self) -> Result<TraceHeader, TraceError> {
        let mut merged: Option<TraceHeader> = None;
        for running in &self.running {
            let header = match &running.ended {
                Some(header) => header.clone(),
                None => running.trace.header()?,
            };
            let change = Change { done: running.words(), parents: running.files.clone() };
            match &mut merged {
                None => {
                    merged = Some(header);
                }
                Some(merged) => join(merged, header),
            }
            if let Some(merged) = &mut merged {
                merged.changes.push(change);
            }
        }
        let mut header = merged.ok_or_else(|| TraceError::Refused("no trace is given to merge".into()))?;
        header.devices.clone_from(&self.devices);
        header.commands = self.commands.names().to_vec();
        header.origin_utc_ns = None;
        Ok(header)
    }
}

/// What holds for both.
fn join(merged: &mut TraceHeader, other: TraceHeader) {
    if merged.format != other.format {
        merged.format = format!("{}, {}", merged.format, other.format);
    }
    if merged.level != other.level {
        // The highest of them promises the least of the order of its I/Os.
        merged.level = [Level::File, Level::Queue, Level::Issue, Level::Wire]
            .into_iter()
            .find(|level| [merged.level, other.level].contains(level))
            .unwrap_or(merged.level);
    }
    merged.class = merged.class.max(other.class);
    merged.resolution_ns = match merged.class {
        FidelityClass::X => 0,
        _ => merged.resolution_ns.max(other.resolution_ns),
    };
    merged.has_completions &= other.has_completions;
    merged.has_issue_times &= other.has_issue_times;
    merged.sources.extend(other.sources);
    merged.changes.extend(other.changes);
    merged.records.add(&other.records);
}
