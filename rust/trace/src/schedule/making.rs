//! Reads a trace twice, and writes its schedule.

use std::fs::File;
use std::io;

use openpts_core::workload::{Operation, ScheduleWriter, ScheduledIo, UNKNOWN_LATENCY};

use super::effects::Figures;
use super::footprint::Footprint;
use super::made::{Made, Original};
use super::mapping::Map;
use super::parents::{Dependencies, Parents};
use super::{Convert, Ground, Plan, Pull, Unaligned};
use crate::error::{TraceError, why};
use crate::reader::BATCH_IOS;
use crate::traced_io::{Flags, Status, TracedIo, TracedOperation};

/// Most bytes of a trim: what a record has room for, in whole MiB.
const MOST_TRIM_BYTES: u64 = (1 << 32) - (1 << 20);

/// Prepare a trace, which `open` opens from its beginning as often as it is called, in an empty file.
///
/// # Errors
/// If the trace can't be read or does not fit, or the file can't be written.
pub fn make_schedule<'a>(
    mut open: impl FnMut() -> Result<Pull<'a>, TraceError>,
    plan: &Plan,
    out: File,
) -> Result<Made, TraceError> {
    let survey = Survey::of(open()?, plan)?;
    let devices = Devices::new(&survey.ends, plan.granule_bytes);
    let end_bytes = devices.end_bytes;
    let (sector_bytes, granule_bytes) = (plan.sector_bytes, plan.granule_bytes);
    let capacity_bytes = plan.whole_capacity_bytes();
    if !plan.shift_bytes.is_multiple_of(sector_bytes.into()) {
        let shift_bytes = plan.shift_bytes;
        return Err(TraceError::Refused(format!(
            "a shift of {shift_bytes} B is not of whole sectors: use a multiple of {sector_bytes} B"
        )));
    }
    // What does not fit is refused with its footprint.
    let is_asked_for = plan.mapping.needs_footprint() || end_bytes > capacity_bytes;
    // Only the last device's base is not known while a trace with several is read for the first time.
    let footprint = if devices.are_several() && is_asked_for {
        touched(open()?, plan, &devices)?
    } else {
        survey.footprint
    };
    let map = Map::new(&plan.mapping, sector_bytes, footprint, granule_bytes, end_bytes, capacity_bytes)?;
    Maker::new(plan, devices, map, out)?.run(open()?)
}

/// Call `each` with every I/O of the trace, and its number.
fn each_io(
    mut pull: Pull<'_>,
    mut each: impl FnMut(u64, &TracedIo) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let (mut batch, mut number) = (Vec::with_capacity(BATCH_IOS), 0);
    while pull(&mut batch)? {
        for io in &batch {
            each(number, io)?;
            number += 1;
        }
    }
    Ok(())
}

/// What an I/O becomes; the reason if it is not replayed.
fn operation_of(io: &TracedIo, plan: &Plan) -> Result<Operation, &'static str> {
    let since_ns = u64::try_from(io.issued_ns).unwrap_or(0);
    if since_ns < plan.from_ns || plan.to_ns.is_some_and(|to_ns| since_ns >= to_ns) {
        return Err("outside of the window");
    }
    let is_transfer = matches!(io.operation, TracedOperation::Read | TracedOperation::Write);
    if plan.unaligned == Unaligned::Skip && is_transfer && parts_of_sectors(io, plan) != (false, false) {
        return Err("not of whole sectors");
    }
    match io.operation {
        TracedOperation::Read if plan.reads => Ok(Operation::Read),
        TracedOperation::Read => Err("reads"),
        _ if !plan.writes => Err("writes, trims and flushes"),
        TracedOperation::Write if io.length_bytes > 0 => Ok(Operation::Write),
        TracedOperation::Write | TracedOperation::Flush => Ok(Operation::Flush),
        TracedOperation::Trim | TracedOperation::WriteZeroes => match plan.trims {
            Convert::Keep => Ok(Operation::Trim),
            Convert::Write => Ok(Operation::Write),
            Convert::Skip => Err("trims and zeroes"),
        },
        TracedOperation::ZoneAppend | TracedOperation::ZoneReset => Err("commands of zoned drives"),
        TracedOperation::Other => Err("no access of data"),
    }
}

/// Why an I/O is of no interest, though it is a part of the trace: places are those of the whole.
fn other_ground(io: &TracedIo, plan: &Plan) -> Option<&'static str> {
    match (plan.ground, io.flags.has(Flags::BACKGROUND)) {
        (Ground::Foreground, true) => Some("background"),
        (Ground::Background, false) => Some("foreground"),
        _ => None,
    }
}

/// Whole sectors around the I/O: first byte and the one behind. Those of a trim are within it: what is around it
/// holds data.
fn sectors_of(io: &TracedIo, plan: &Plan) -> (u64, u64) {
    let sector = u64::from(plan.sector_bytes);
    if io.operation == TracedOperation::Trim {
        return (io.offset_bytes.div_ceil(sector) * sector, io.end_bytes() / sector * sector);
    }
    (io.offset_bytes / sector * sector, io.end_bytes().div_ceil(sector).saturating_mul(sector))
}

/// Whether it begins, and ends, within a sector.
fn parts_of_sectors(io: &TracedIo, plan: &Plan) -> (bool, bool) {
    let sector = u64::from(plan.sector_bytes);
    (!io.offset_bytes.is_multiple_of(sector), !io.end_bytes().is_multiple_of(sector))
}

/// What the first pass finds.
struct Survey {
    /// Of each device, behind the last byte that is replayed.
    ends: Vec<u64>,
    footprint: Footprint,
}

impl Survey {
    fn of(pull: Pull<'_>, plan: &Plan) -> Result<Self, TraceError> {
        let mut found = Self { ends: Vec::new(), footprint: Footprint::new(plan.granule_bytes) };
        let (mut before_ns, mut replayed) = (0, 0_u64);
        each_io(pull, |number, io| {
            if io.issued_ns < before_ns {
                return Err(TraceError::Refused(format!(
                    "I/O {number} was issued before the one before it: put the trace in order first"
                )));
            }
            before_ns = io.issued_ns;
            let Ok(operation) = operation_of(io, plan) else { return Ok(()) };
            replayed += u64::from(other_ground(io, plan).is_none());
            let device = usize::from(io.device);
            if found.ends.len() <= device {
                found.ends.resize(device + 1, 0);
            }
            if operation.is_addressed() {
                let (start, end) = sectors_of(io, plan);
                // A trim of a whole drive is no reason to refuse the trace: its end is cut.
                if operation != Operation::Trim {
                    found.ends[device] = found.ends[device].max(end);
                    found.footprint.touch(start, end);
                }
            }
            Ok(())
        })?;
        if replayed == 0 {
            return Err(TraceError::Refused(
                "no I/O of the trace is left to replay: look at it with `openpts trace check`, and at the filters"
                    .into(),
            ));
        }
        Ok(found)
    }
}

fn touched(pull: Pull<'_>, plan: &Plan, devices: &Devices) -> Result<Footprint, TraceError> {
    let mut footprint = Footprint::new(plan.granule_bytes);
    each_io(pull, |_, io| {
        if matches!(operation_of(io, plan), Ok(Operation::Read | Operation::Write)) {
            let (start, end) = devices.place(io, plan);
            footprint.touch(start, end);
        }
        Ok(())
    })?;
    Ok(footprint)
}

/// Devices of a trace, one behind the other.
struct Devices {
    bases: Vec<u64>,
    end_bytes: u64,
}

impl Devices {
    fn new(ends: &[u64], granule_bytes: u64) -> Self {
        let mut devices = Self { bases: Vec::new(), end_bytes: 0 };
        let mut base = 0;
        for end in ends {
            devices.bases.push(base);
            if *end > 0 {
                devices.end_bytes = base + end;
                base = (base + end).next_multiple_of(granule_bytes);
            }
        }
        devices
    }

    fn are_several(&self) -> bool {
        self.bases.last().is_some_and(|base| *base > 0)
    }

    fn place(&self, io: &TracedIo, plan: &Plan) -> (u64, u64) {
        let base = self.bases.get(usize::from(io.device)).copied().unwrap_or(0);
        let (start, end) = sectors_of(io, plan);
        (base.saturating_add(start), base.saturating_add(end))
    }
}

/// The last pass.
struct Maker<'a> {
    plan: &'a Plan,
    devices: Devices,
    map: Map,
    writer: ScheduleWriter,
    dependencies: Dependencies,
    made: Made,
    before: Figures,
    after: Figures,
    read: Footprint,
    places: Vec<(u64, u64)>,
    index: u64,
    /// Of the trace, since its window began, with idle times cut.
    cut_ns: u64,
    busy_until_ns: u64,
    transfers_until_ns: u64,
}

fn unwritten(source: io::Error) -> TraceError {
    TraceError::Refused(format!("can't write the schedule: {}", why(&source)))
}

impl<'a> Maker<'a> {
    fn new(plan: &'a Plan, devices: Devices, map: Map, out: File) -> Result<Self, TraceError> {
        let writer =
            ScheduleWriter::new(out, plan.sector_bytes, plan.with_parents, plan.speed).map_err(unwritten)?;
        let granule = plan.granule_bytes;
        Ok(Self {
            plan,
            devices,
            map,
            writer,
            dependencies: Dependencies::default(),
            made: Made::default(),
            before: Figures::new(granule),
            after: Figures::new(granule),
            read: Footprint::new(plan.sector_bytes.max(4096).into()),
            places: Vec::new(),
            index: 0,
            cut_ns: 0,
            busy_until_ns: 0,
            transfers_until_ns: 0,
        })
    }

    fn run(mut self, pull: Pull<'_>) -> Result<Made, TraceError> {
        each_io(pull, |_, io| self.add(io))?;
        let Self { mut made, writer, before, after, read, dependencies, .. } = self;
        made.header = writer.finish().map_err(unwritten)?;
        (made.before, made.after) = (before.effects(), after.effects());
        made.read_ranges = read.ranges();
        made.touched_ranges = after.footprint().ranges();
        if dependencies.dropped > 0 {
            made.changed.insert("parents left out", dependencies.dropped);
        }
        Ok(made)
    }

    fn add(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        self.made.traced += 1;
        let operation = operation_of(io, self.plan);
        if operation == Err("outside of the window") {
            self.skip("outside of the window");
            return Ok(());
        }
        let traced_ns = u64::try_from(io.issued_ns).unwrap_or(0) - self.plan.from_ns;
        let done_ns = io.latency_ns().map(|latency_ns| traced_ns.saturating_add(latency_ns));
        // What is not replayed keeps its place in time, and its time is not idle.
        self.cut_idle(traced_ns);
        self.busy_until_ns = self.busy_until_ns.max(done_ns.unwrap_or(traced_ns));
        let operation = operation.and_then(|found| other_ground(io, self.plan).map_or(Ok(found), Err));
        let operation = match operation {
            Ok(operation) => operation,
            Err(reason) => {
                self.skip(reason);
                return Ok(());
            }
        };
        if self.plan.with_parents && done_ns.is_none() && operation != Operation::Flush {
            return Err(TraceError::Refused(
                "dependencies can't be inferred from a trace without completions: use --mode timed or afap"
                    .into(),
            ));
        }
        let (now_ns, done_ns) = (traced_ns - self.cut_ns, done_ns.map(|done_ns| done_ns - self.cut_ns));
        self.note_original(io, operation, now_ns, done_ns);
        self.place(io, operation, now_ns, done_ns)
    }

    fn skip(&mut self, reason: &'static str) {
        *self.made.skipped.entry(reason).or_default() += 1;
    }

    fn change(&mut self, what: &'static str) {
        *self.made.changed.entry(what).or_default() += 1;
    }

    fn cut_idle(&mut self, traced_ns: u64) {
        let Some(most_ns) = self.plan.max_idle_ns else { return };
        let idle_ns = traced_ns.saturating_sub(self.busy_until_ns);
        if idle_ns > most_ns {
            self.made.cut_idles += 1;
            self.made.cut_ns += idle_ns - most_ns;
            self.cut_ns += idle_ns - most_ns;
        }
    }

    fn note_original(&mut self, io: &TracedIo, operation: Operation, now_ns: u64, done_ns: Option<u64>) {
        let original: &mut Original = &mut self.made.original;
        original.span_ns = original.span_ns.max(done_ns.unwrap_or(now_ns));
        let latencies = match operation {
            Operation::Read => &mut original.read_latencies,
            Operation::Write => &mut original.write_latencies,
            Operation::Trim | Operation::Flush | Operation::Fsync => return,
        };
        original.transferred_bytes += io.length_bytes;
        if let Some(done_ns) = done_ns {
            latencies.record(done_ns - now_ns);
            // Issues come in order: the union grows at its end only.
            original.busy_ns += done_ns.saturating_sub(self.transfers_until_ns.max(now_ns));
            self.transfers_until_ns = self.transfers_until_ns.max(done_ns);
        }
    }

    fn place(
        &mut self,
        io: &TracedIo,
        operation: Operation,
        now_ns: u64,
        done_ns: Option<u64>,
    ) -> Result<(), TraceError> {
        if io.flags.has(Flags::PREFLUSH) && operation == Operation::Write {
            self.change("preflushes");
            self.push(Operation::Flush, (0, 0), false, false, now_ns, None)?;
        }
        if !operation.is_addressed() {
            return self.push(operation, (0, 0), false, false, now_ns, done_ns);
        }
        let (start, end) = self.devices.place(io, self.plan);
        if start >= end {
            self.skip("trims of less than a sector");
            return Ok(());
        }
        let added_bytes = (end - start).saturating_sub(io.length_bytes);
        if added_bytes > 0 {
            self.change("rounded to whole sectors");
            self.made.rounding_bytes += added_bytes;
        }
        if io.operation == TracedOperation::WriteZeroes {
            self.change("zeroes converted");
        } else if io.operation == TracedOperation::Trim && operation == Operation::Write {
            self.change("trims converted");
        }
        if matches!(io.status, Status::Failed(_)) {
            self.change("failed in the trace");
        }
        let mut places = std::mem::take(&mut self.places);
        let capacity_bytes = self.plan.whole_capacity_bytes();
        self.map.places(start, end, capacity_bytes, &mut places);
        if operation == Operation::Trim {
            places.retain_mut(|(from, to)| {
                *to = (*to).min(capacity_bytes);
                from < to
            });
        }
        self.plan.settle(&mut places);
        let kept_bytes: u64 = places.iter().map(|(from, to)| to - from).sum();
        if kept_bytes < end - start {
            self.made.clipped_bytes += end - start - kept_bytes;
            if kept_bytes > 0 {
                self.change(self.map.losses().1);
            }
        }
        if places.len() > 1 {
            self.change("split by the mapping");
        }
        if places.is_empty() {
            self.skip(self.map.losses().0);
        } else {
            self.measure(operation, (start, end), &places, now_ns, done_ns);
            if operation == Operation::Write && self.plan.unaligned == Unaligned::Rmw && added_bytes > 0 {
                self.read_before(parts_of_sectors(io, self.plan), &places, now_ns)?;
            }
        }
        let is_flushed = io.flags.has(Flags::PREFLUSH) && operation == Operation::Write;
        let fua = io.flags.has(Flags::FUA) && operation == Operation::Write;
        let pushed = places
            .iter()
            .try_for_each(|place| self.split(operation, *place, fua, is_flushed, now_ns, done_ns));
        self.places = places;
        pushed
    }

    /// Read the first and the last sector of a write that has only parts of them. It overlaps them, and waits.
    fn read_before(
        &mut self,
        parts: (bool, bool),
        places: &[(u64, u64)],
        now_ns: u64,
    ) -> Result<(), TraceError> {
        let sector = u64::from(self.plan.sector_bytes);
        let (Some((start, _)), Some((_, end))) = (places.first(), places.last()) else { return Ok(()) };
        let (first, last) = ((*start, start + sector), (end - sector, *end));
        let has_last = parts.1 && !(parts.0 && last == first);
        for place in [parts.0.then_some(first), has_last.then_some(last)].into_iter().flatten() {
            self.change("read before a write of a part");
            self.read.touch(place.0, place.1);
            self.push(Operation::Read, place, false, false, now_ns, None)?;
        }
        Ok(())
    }

    fn measure(
        &mut self,
        operation: Operation,
        traced: (u64, u64),
        places: &[(u64, u64)],
        now_ns: u64,
        done_ns: Option<u64>,
    ) {
        match operation {
            Operation::Read => places.iter().for_each(|(from, to)| self.read.touch(*from, *to)),
            Operation::Write => (),
            // Its place says nothing of what is read and written.
            Operation::Trim | Operation::Flush | Operation::Fsync => return,
        }
        let changes = operation == Operation::Write;
        self.before.add(now_ns, done_ns, &[traced], changes);
        self.after.add(now_ns, done_ns, places, changes);
    }

    /// One place, in as many I/Os as it takes.
    fn split(
        &mut self,
        operation: Operation,
        place: (u64, u64),
        fua: bool,
        after_flush: bool,
        now_ns: u64,
        done_ns: Option<u64>,
    ) -> Result<(), TraceError> {
        let most = match operation {
            Operation::Trim => MOST_TRIM_BYTES,
            _ => u64::from(self.plan.most_bytes),
        };
        if place.1 - place.0 > most {
            self.change("split by size");
        }
        let mut from = place.0;
        while from < place.1 {
            let to = place.1.min(from + most);
            self.push(operation, (from, to), fua, after_flush, now_ns, done_ns)?;
            from = to;
        }
        Ok(())
    }

    fn push(
        &mut self,
        operation: Operation,
        place: (u64, u64),
        fua: bool,
        after_flush: bool,
        now_ns: u64,
        done_ns: Option<u64>,
    ) -> Result<(), TraceError> {
        let in_flight = self.dependencies.at(now_ns);
        let parents = if self.plan.with_parents {
            self.dependencies.parents(self.index, now_ns)
        } else {
            Parents::default()
        };
        if let Some(done_ns) = done_ns {
            self.dependencies.issued(self.index, now_ns, done_ns);
        }
        let (faster, slower) = self.plan.speed;
        let io = ScheduledIo {
            due_ns: scaled(now_ns, slower, faster),
            offset_bytes: place.0,
            length_bytes: u32::try_from(place.1 - place.0).expect("it was split"),
            operation,
            fua,
            after_flush,
            latency_ns: done_ns.map_or(UNKNOWN_LATENCY, |done_ns| done_ns - now_ns),
            in_flight: u16::try_from(in_flight).unwrap_or(u16::MAX),
            slack_ns: scaled(parents.slack_ns, slower, faster),
            parents: parents.back,
        };
        self.index += 1;
        self.writer.push(&io).map_err(unwritten)
    }
}

/// `time_ns * part / whole`, to the nearest nanosecond: from the whole time, so that nothing adds up.
fn scaled(time_ns: u64, part: u32, whole: u32) -> u64 {
    if part == whole {
        return time_ns;
    }
    let product = u128::from(time_ns) * u128::from(part) + u128::from(whole) / 2;
    u64::try_from(product / u128::from(whole)).unwrap_or(u64::MAX)
}
