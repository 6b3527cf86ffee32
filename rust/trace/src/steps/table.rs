//! From I/Os to a step table: the same for a capture while it runs and for one that was recorded.

use std::collections::{BTreeMap, HashMap};

use super::depth_times::DepthTimes;
use super::in_flight::InFlight;
use super::row::{ALL_DEVICES, Counts, Latencies, StepRow, Subject, coarsened};
use super::sequence::Sequences;
use super::stream::{Kind, Stream};
use crate::error::TraceError;
use crate::traced_io::{NO_PROCESS, TracedIo};

/// Streams of a device in one step that are kept by exact length; more are kept by powers of 2.
const MOST_EXACT_STREAMS: usize = 1024;
/// Processes with streams of a device in one step; what more of them do is that of no process.
const MOST_PROCESS_ROWS: usize = 1 << 14;
/// Steps of one table.
const MOST_STEPS: u32 = 10_000_000;

/// How long steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepLength {
    /// So many ns.
    Fixed(u64),
    /// 1 s up to an hour, 10 s up to a day, then 5 min: steps are joined as the capture gets longer, and all rows
    /// are there at the end only.
    ByDuration,
}

/// Lengths of steps by duration: so many ns, for so many steps. Beyond the last they double.
const LENGTHS: [(u64, u32); 3] = [(1_000_000_000, 3600), (10_000_000_000, 8640), (300_000_000_000, u32::MAX)];
/// Rows beyond which steps are joined before their time.
const MOST_ROWS: usize = 1 << 18;

/// What rows there are beside those of devices and streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Latencies by stream, and what each process did of it.
    Full,
    /// Only devices have latencies: a trace of any length in little memory.
    Brief,
}

/// What is to be known beforehand.
#[derive(Clone, Copy, Debug)]
pub struct StepOptions {
    /// When the capture began, by the I/Os' clock; 0 for a trace that was put in order.
    pub start_ns: i64,
    /// Of a step.
    pub length: StepLength,
    /// Whether completions are known: otherwise depth, busy and idle time are unknown.
    pub has_completions: bool,
    /// Devices that are known to exist: they have rows before their first I/O.
    pub devices: u16,
    /// Whether streams have rows by process, and latencies of their own, beside those of devices.
    pub detail: Detail,
}

impl StepOptions {
    /// Of a trace of any length: whether it has completions shows at its end.
    pub(crate) const OF_A_TRACE: Self = Self {
        start_ns: 0,
        length: StepLength::ByDuration,
        has_completions: true,
        devices: 0,
        detail: Detail::Brief,
    };
}

/// What a device does in the step that is open.
#[derive(Debug)]
struct Device {
    in_flight: InFlight,
    depth_times: DepthTimes,
    latencies: Latencies,
    streams: HashMap<Stream, Counts>,
    processes: HashMap<(Stream, i32, u16), Counts>,
}

impl Device {
    fn since(now_ns: i64) -> Self {
        Self {
            in_flight: InFlight::since(now_ns),
            depth_times: DepthTimes::default(),
            latencies: Latencies::default(),
            streams: HashMap::new(),
            processes: HashMap::new(),
        }
    }

    fn advance(&mut self, until_ns: i64) {
        let times = &mut self.depth_times;
        self.in_flight.advance(until_ns, |depth, from_ns, to_ns| times.spend(depth, from_ns.abs_diff(to_ns)));
    }

    fn issue(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        self.advance(io.issued_ns);
        self.in_flight.issue(io)?;
        let depth = self.in_flight.depth();
        // One that is over at once has been at this depth for no time.
        self.depth_times.max = self.depth_times.max.max(depth);
        Ok(())
    }

    fn count(&mut self, stream: Stream, is_windowed: bool, io: &TracedIo, detail: Detail) {
        let is_known = self.streams.contains_key(&stream);
        let is_exact = is_known || self.streams.len() < MOST_EXACT_STREAMS;
        let stream = if is_exact { stream } else { stream.binned() };
        let counts = self.streams.entry(stream).or_default();
        counts.count(io.length_bytes, is_windowed);
        if let Some(latency_ns) = io.latency_ns() {
            self.latencies.record(latency_ns);
            if detail == Detail::Full {
                counts.latencies.record(latency_ns);
            }
        }
        if detail == Detail::Brief {
            return;
        }
        if io.pid == NO_PROCESS && io.command == 0 {
            return;
        }
        let mut key = (stream, io.pid, io.command);
        if self.processes.len() >= MOST_PROCESS_ROWS && !self.processes.contains_key(&key) {
            key = (stream, NO_PROCESS, 0);
        }
        self.processes.entry(key).or_default().count(io.length_bytes, is_windowed);
    }

    /// The counts of the whole step, and its rows by stream and process; it begins again from nothing.
    fn take(&mut self) -> (Counts, Vec<(Subject, Counts)>) {
        let mut total = Counts { latencies: std::mem::take(&mut self.latencies), ..Counts::default() };
        self.streams.values().for_each(|counts| total.add_sums(counts));
        let streams = self.streams.drain().map(|(stream, counts)| (Subject::Stream(stream), counts));
        let processes = self
            .processes
            .drain()
            .map(|((stream, pid, command), counts)| (Subject::Process(stream, pid, command), counts));
        let mut rows: Vec<_> = streams.chain(processes).collect();
        rows.sort_unstable_by_key(|(subject, _)| *subject);
        (total, rows)
    }
}

/// Takes I/Os in the order of their issue; has rows for each step that is over.
#[derive(Debug)]
pub struct StepTable {
    options: StepOptions,
    length_ns: u64,
    step: u32,
    sequences: Sequences,
    devices: Vec<Option<Device>>,
    together: Device,
    now_ns: i64,
    rows: Vec<StepRow>,
    lost: BTreeMap<(u32, u16), u64>,
    cpu_busy: BTreeMap<u32, f32>,
}

impl StepTable {
    /// Without I/Os.
    #[must_use]
    pub fn new(options: StepOptions) -> Self {
        let length_ns = match options.length {
            StepLength::Fixed(length_ns) => length_ns.max(1),
            StepLength::ByDuration => LENGTHS[0].0,
        };
        let start_ns = options.start_ns;
        let devices = (0..options.devices).map(|_| Some(Device::since(start_ns))).collect();
        Self {
            options,
            length_ns,
            step: 0,
            sequences: Sequences::default(),
            devices,
            together: Device::since(start_ns),
            now_ns: start_ns,
            rows: Vec::new(),
            lost: BTreeMap::new(),
            cpu_busy: BTreeMap::new(),
        }
    }

    /// Of a step, now.
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// Take the next I/O.
    ///
    /// # Errors
    /// If it was issued before the one before it, or before the capture began; if the table gets too long; if
    /// completions can't be right.
    pub fn push(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        if io.issued_ns < self.now_ns {
            return Err(TraceError::Refused(format!(
                "can't tabulate steps: an I/O at {} ns comes after one at {} ns; put the trace in order first \
                 with `openpts trace convert`",
                io.issued_ns, self.now_ns
            )));
        }
        self.advance(io.issued_ns)?;
        let place = usize::from(io.device);
        if self.devices.len() <= place {
            self.devices.resize_with(place + 1, || None);
        }
        let start_ns = self.bound_ns(self.step);
        let device = self.devices[place].get_or_insert_with(|| Device::since(start_ns));
        let verdict = self.sequences.judge(io);
        let kind = Kind::of(io.operation);
        let size_bytes = io.length_bytes;
        let stream = Stream { kind, pattern: verdict.pattern, size_bytes, is_binned: false };
        device.issue(io)?;
        device.count(stream, verdict.is_windowed, io, self.options.detail);
        self.together.issue(io)
    }

    /// Close the steps that are over at this moment: a live capture without I/Os goes on, too.
    ///
    /// # Errors
    /// If the table gets too long.
    pub fn advance(&mut self, now_ns: i64) -> Result<(), TraceError> {
        while now_ns >= self.bound_ns(self.step + 1) {
            self.close(self.bound_ns(self.step + 1));
            self.step += 1;
            self.join_steps();
            if self.step >= MOST_STEPS {
                return Err(TraceError::Refused(format!(
                    "can't tabulate more than {MOST_STEPS} steps: choose longer ones"
                )));
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
        Ok(())
    }

    /// Events were lost at this moment; of no device in particular, with [`ALL_DEVICES`].
    pub fn lose(&mut self, at_ns: i64, device: u16, events: u64) {
        *self.lost.entry((self.step_at(at_ns), device)).or_default() += events;
    }

    /// How busy the host's processors were in the step of this moment, from 0 to 1. Only with steps of fixed
    /// length.
    pub fn host_was_busy(&mut self, at_ns: i64, share: f32) {
        self.cpu_busy.insert(self.step_at(at_ns), share);
    }

    /// The rows that are complete, in the order of steps, each after its device's. None before the end if the
    /// length of steps depends on the duration.
    pub fn take_rows(&mut self) -> Vec<StepRow> {
        match self.options.length {
            StepLength::Fixed(_) => std::mem::take(&mut self.rows),
            StepLength::ByDuration => Vec::new(),
        }
    }

    /// End, at the end of the capture or, if it is not known or too early, at the last event.
    ///
    /// # Errors
    /// If the table gets too long.
    pub fn finish(mut self, end_ns: Option<i64>) -> Result<Vec<StepRow>, TraceError> {
        let last_ns = self.together.in_flight.last_completion_ns().unwrap_or(self.now_ns);
        let end_ns = end_ns.unwrap_or(self.now_ns).max(last_ns).max(self.now_ns);
        self.advance(end_ns)?;
        let start_ns = self.bound_ns(self.step);
        // An I/O at the very end needs a step of its own, however short.
        let is_needed = end_ns > start_ns || self.together_has_ios() || self.step == 0;
        if is_needed {
            self.close(end_ns.max(start_ns + 1));
        }
        Ok(self.rows)
    }

    fn together_has_ios(&self) -> bool {
        self.devices.iter().flatten().any(|device| !device.streams.is_empty())
    }

    /// When a step begins.
    fn bound_ns(&self, step: u32) -> i64 {
        let since_ns = i64::try_from(u128::from(step) * u128::from(self.length_ns)).unwrap_or(i64::MAX);
        self.options.start_ns.saturating_add(since_ns)
    }

    fn step_at(&self, at_ns: i64) -> u32 {
        let since_ns = u64::try_from(at_ns.saturating_sub(self.options.start_ns)).unwrap_or(0);
        u32::try_from(since_ns / self.length_ns).unwrap_or(u32::MAX)
    }

    fn close(&mut self, end_ns: i64) {
        let numbers: Vec<u16> = (0..=u16::MAX).take(self.devices.len()).collect();
        let mut sum = Counts::default();
        for number in &numbers {
            let Some(mut device) = self.devices[usize::from(*number)].take() else { continue };
            device.advance(end_ns);
            let (total, rows) = device.take();
            sum.add(&total);
            let times = std::mem::take(&mut device.depth_times);
            self.devices[usize::from(*number)] = Some(device);
            self.add_row(*number, end_ns, Subject::Device, total, Some(times));
            for (subject, counts) in rows {
                self.add_row(*number, end_ns, subject, counts, None);
            }
        }
        self.together.advance(end_ns);
        let times = std::mem::take(&mut self.together.depth_times);
        if numbers.len() > 1 || self.lost.contains_key(&(self.step, ALL_DEVICES)) {
            self.add_row(ALL_DEVICES, end_ns, Subject::Device, sum, Some(times));
        }
    }

    fn add_row(
        &mut self,
        device: u16,
        end_ns: i64,
        subject: Subject,
        counts: Counts,
        depth_times: Option<DepthTimes>,
    ) {
        let start_ns = self.bound_ns(self.step);
        let is_device = subject == Subject::Device;
        let lost = |number| self.lost.get(&(self.step, number)).copied().unwrap_or(0);
        let lost = match device {
            _ if !is_device => 0,
            ALL_DEVICES => self.lost.range((self.step, 0)..=(self.step, ALL_DEVICES)).map(|(_, n)| n).sum(),
            number => lost(number),
        };
        let row = StepRow {
            device,
            step: self.step,
            start_ns: start_ns - self.options.start_ns,
            length_ns: start_ns.abs_diff(end_ns),
            subject,
            counts,
            depth_times: depth_times.filter(|_| self.options.has_completions),
            cpu_busy: self.cpu_busy.get(&self.step).copied().filter(|_| is_device),
            lost,
        };
        self.rows.push(row.packed());
    }

    /// Make steps longer once there are too many of them.
    fn join_steps(&mut self) {
        if self.options.length != StepLength::ByDuration {
            return;
        }
        let place = LENGTHS.iter().position(|(length_ns, _)| *length_ns == self.length_ns);
        let is_full = place.is_some_and(|place| self.step >= LENGTHS[place].1);
        if !is_full && self.rows.len() < MOST_ROWS {
            return;
        }
        let longer = place.and_then(|place| LENGTHS.get(place + 1));
        let next_ns = longer.map_or(self.length_ns.saturating_mul(2), |(length_ns, _)| *length_ns);
        let factor = u32::try_from(next_ns / self.length_ns).unwrap_or(1);
        if !self.step.is_multiple_of(factor) {
            return;
        }
        self.rows = coarsened(&self.rows, factor);
        self.rows.sort_by_key(|row| (row.step, row.device, row.subject));
        self.lost = std::mem::take(&mut self.lost).into_iter().fold(BTreeMap::new(), |mut sums, (key, n)| {
            *sums.entry((key.0 / factor, key.1)).or_default() += n;
            sums
        });
        self.length_ns = next_ns;
        self.step /= factor;
    }
}
