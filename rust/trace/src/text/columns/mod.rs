//! Texts whose lines are one I/O each: how to read them is data, a column map.

mod map;
mod row;
mod shipped;

pub(crate) use shipped::FORMATS;

use std::collections::HashMap;
use std::sync::Arc;

use self::map::{ColumnMap, Header, Meaning, Moment};
use self::row::{Layout, Row};
use super::fields::Fields;
use super::lines::{Line, head_lines};
use super::number::whole;
use super::reader::{LineReader, TextReader, damage};
use crate::error::TraceError;
use crate::formats::{HEAD_BYTES, Opened, ReadOptions, UnknownDirection};
use crate::reader::{Dictionary, SourceFacts, TracedDevice};
use crate::source::Source;
use crate::tally::{DamageClass, Tally};
use crate::traced_io::{Flags, Quality, Status, TracedIo, TracedOperation};

const HEADER: &str = "header line";
const COMMENT: &str = "comment";
const PREFACE: &str = "text before the records";
/// I/Os by which both directions should have been seen.
const BOTH_DIRECTIONS_IOS: u64 = 1_000_000;
/// A latency by coarser steps than this is marked.
const FINE_STEP_NS: u64 = 1_000;
const HALF_DAY_NS: i64 = 43_200_000_000_000;
/// Lines of a source's beginning that are tried, and of how many one may be damaged.
const HEAD_LINES: usize = 256;
const LINES_PER_DAMAGE: usize = 8;
/// Lines by which the nearest of all formats is found, and bytes that are shown of one.
const NEAR_LINES: usize = 20;
const NEAR_BYTES: usize = 60;
/// I/Os that wait for a record of their completion, at most, and for how long: less than I/Os may be out of order.
const OPEN_IOS: usize = 1 << 10;
const OPEN_NS: i64 = 900_000_000;

/// Opens sources by the operator's own map.
fn open_own(sources: Vec<Source>, options: &ReadOptions) -> Opened {
    let Some(text) = &options.column_map else {
        return Err(TraceError::Refused(
            "format 'columns' needs a column map that says what the columns are: give one as a TOML file"
                .into(),
        ));
    };
    open("columns", Arc::new(ColumnMap::parse(text)?), sources, options)
}

fn open(format: &'static str, map: Arc<ColumnMap>, sources: Vec<Source>, options: &ReadOptions) -> Opened {
    Ok(TextReader::boxed(sources, ColumnReader::new(format, map, options)))
}

/// Whether the lines at the beginning of a source are records by a map.
fn is_at_head(map: &ColumnMap, head: &[u8]) -> bool {
    let mut fields = Fields::new();
    let mut layout = (map.header == Header::Optional).then(|| Layout::of_map(map));
    let (mut records, mut damaged, mut has_odd, mut is_beyond) = (0, 0, false, false);
    for line in head_lines(head, head.len() < HEAD_BYTES).take(HEAD_LINES) {
        let Some(known) = &layout else {
            layout = Layout::of_header(map, line, &mut fields);
            if layout.is_none() && !map.preface && !map.is_comment(line) {
                return false;
            }
            continue;
        };
        if map.is_comment(line) || map.is_of_no_drive(line, known, &mut fields) {
            continue;
        }
        match map.row(line, known, &mut fields) {
            Ok(row) if looks_right(map, &row, map.field(line, known, &fields, &row, map.time)) => {
                records += 1;
                is_beyond |= map.detect.beyond_bytes.is_some_and(|bytes| row.offset_bytes > bytes);
                has_odd |= map.detect.no_multiple.is_some_and(|number| {
                    let odd = |bytes: u64, unit_bytes: u64| !(bytes / unit_bytes).is_multiple_of(number);
                    odd(row.offset_bytes, map.offset.unit_bytes)
                        || odd(row.length_bytes, map.length.unit_bytes)
                });
            }
            _ if records == 0 && map.preface => {}
            _ if Layout::of_header(map, line, &mut fields).is_some() => {}
            _ => damaged += 1,
        }
    }
    let is_empty_but_named =
        records == 0 && damaged == 0 && map.header == Header::Required && layout.is_some();
    is_empty_but_named
        || records > 0
            && damaged * LINES_PER_DAMAGE <= records + damaged
            && (has_odd || map.detect.no_multiple.is_none())
            && (is_beyond || map.detect.beyond_bytes.is_none())
}

/// How many lines are as a map has them, or nearly, and what the first other one lacks.
fn nearness(map: &ColumnMap, head: &[u8]) -> Option<(usize, String)> {
    const HEADER_SCORE: usize = 100;
    let mut fields = Fields::new();
    let mut layout = Layout::of_map(map);
    let (mut score, mut lack) = (0, None);
    for line in head_lines(head, head.len() < HEAD_BYTES).take(NEAR_LINES) {
        if let Some(header) = Layout::of_header(map, line, &mut fields) {
            (layout, score) = (header, HEADER_SCORE);
            continue;
        }
        let why = match map.row(line, &layout, &mut fields) {
            Ok(row) if looks_right(map, &row, map.field(line, &layout, &fields, &row, map.time)) => {
                score += 2;
                continue;
            }
            Ok(_) => "its times or places have other units",
            Err(class) => {
                let field = |column: usize| fields.get(line, layout.positions[column]);
                let is_like = map.words.is_some() && !map.has_codes && map.time(field(map.time)).is_ok();
                score += usize::from(is_like && map.meaning(field(map.operation)).is_ok());
                class
            }
        };
        let text = String::from_utf8_lossy(&line[..line.len().min(NEAR_BYTES)]);
        lack.get_or_insert_with(|| format!("{why} in '{text}'"));
    }
    if score < HEADER_SCORE && map.header == Header::Required {
        lack = Some(format!("the line that names its columns is missing: {}", map.names.join(" ")));
    }
    (score > 0).then_some((score, lack?))
}

/// Whether a record looks as those of this format do, where formats have the same columns.
fn looks_right(map: &ColumnMap, row: &Row, time: &[u8]) -> bool {
    let digits = time.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let has_fraction = digits < time.len();
    map.detect.time_digits.is_none_or(|[fewest, most]| (fewest..=most).contains(&digits))
        && map.detect.time_has_fraction.is_none_or(|has| has == has_fraction)
        && map.detect.multiple_bytes.is_none_or(|multiple| {
            row.offset_bytes.is_multiple_of(multiple) && row.length_bytes.is_multiple_of(multiple)
        })
}

/// Reads lines by a map.
struct ColumnReader {
    format: &'static str,
    map: Arc<ColumnMap>,
    unknown: UnknownDirection,
    layout: Option<Layout>,
    fields: Fields,
    /// Number of the file that the layout is of.
    file: usize,
    /// Whether there was no record in this file yet, and there may be text before it.
    is_preface: bool,
    devices: Dictionary,
    device_name: Vec<u8>,
    commands: Dictionary,
    resolution_ns: u64,
    /// Of days, so that a time of day goes on after midnight.
    day_ns: i64,
    last_ns: i64,
    reads: u64,
    writes: u64,
    /// I/Os without a latency, by their number.
    open: HashMap<Box<[u8]>, TracedIo>,
    /// None of them was issued before.
    open_from_ns: i64,
}

/// What a line is if it is no I/O.
enum Unused {
    Skipped(&'static str),
    /// Its completion is a record of its own.
    Open(i64),
    Damaged(DamageClass),
}

impl From<DamageClass> for Unused {
    fn from(class: DamageClass) -> Self {
        Self::Damaged(class)
    }
}

impl ColumnReader {
    fn new(format: &'static str, map: Arc<ColumnMap>, options: &ReadOptions) -> Self {
        let mut commands = Dictionary::default();
        commands.number(b"");
        Self {
            format,
            resolution_ns: map.time_unit.ns(),
            map,
            unknown: options.unknown_direction,
            layout: None,
            fields: Fields::new(),
            file: usize::MAX,
            is_preface: false,
            devices: Dictionary::default(),
            device_name: Vec::new(),
            commands,
            day_ns: 0,
            last_ns: i64::MIN,
            reads: 0,
            writes: 0,
            open: HashMap::new(),
            open_from_ns: i64::MAX,
        }
    }

    /// Where the columns of this file are; `None` if the line was looked at for it and is no record.
    fn layout_at(&mut self, line: Line<'_>, tally: &mut Tally) -> Result<Option<Layout>, TraceError> {
        if line.file != self.file {
            self.file = line.file;
            self.is_preface = self.map.preface;
            self.layout = match self.map.header {
                Header::Required => None,
                Header::Optional => Some(Layout::of_map(&self.map)),
            };
        }
        if self.layout.is_none() {
            self.layout = Layout::of_header(&self.map, line.text, &mut self.fields);
            if self.layout.is_some() {
                self.is_preface = false;
                tally.skip(HEADER);
            } else if self.map.preface || self.map.is_comment(line.text) {
                tally.skip(PREFACE);
            } else {
                return Err(TraceError::Refused(format!(
                    "cannot read line {} as '{}': it must name the columns {}",
                    line.number,
                    self.format,
                    self.map.names[..self.map.fewest].join(", ")
                )));
            }
            return Ok(None);
        }
        Ok(self.layout.take())
    }

    fn io(&mut self, line: Line<'_>, layout: &Layout) -> Result<TracedIo, Unused> {
        let map = &*self.map;
        if map.is_comment(line.text) {
            return Err(Unused::Skipped(COMMENT));
        }
        if map.is_of_no_drive(line.text, layout, &mut self.fields) {
            return Err(Unused::Skipped("request without a disk"));
        }
        let row = map.row(line.text, layout, &mut self.fields)?;
        let number = map.number.map(|column| map.field(line.text, layout, &self.fields, &row, column));
        let number = number.filter(|number| !number.is_empty());
        let (operation, quality) = match (row.meaning, self.unknown) {
            (Meaning::Operation(operation), _) => (operation, Quality::NONE),
            (Meaning::Completion, _) => {
                let open = number.and_then(|number| self.open.remove(number));
                let Some(mut io) = open else {
                    return Err(Unused::Skipped(
                        "completion of an I/O that has its latency, or no other record",
                    ));
                };
                (io.completed_ns, io.status) = (Some(row.time.ns), Status::Done);
                return Ok(io);
            }
            (Meaning::NoIo, _) => return Err(Unused::Skipped("no I/O by its code")),
            (Meaning::Unknown, UnknownDirection::Skip) => return Err(Unused::Skipped("unknown direction")),
            (Meaning::Unknown, UnknownDirection::Read) => {
                (TracedOperation::Read, Quality::OPERATION_INFERRED)
            }
            (Meaning::Unknown, UnknownDirection::Write) => {
                (TracedOperation::Write, Quality::OPERATION_INFERRED)
            }
        };
        // Flushes of Linux may come as writes of nothing that have a flush before them.
        let is_flush =
            operation == TracedOperation::Flush || row.length_bytes == 0 && row.flags.has(Flags::PREFLUSH);
        let mut io = if is_flush {
            TracedIo::new(row.time.ns, TracedOperation::Flush, 0, 0, line.number)
        } else {
            TracedIo::new(row.time.ns, operation, row.offset_bytes, row.length_bytes, line.number)
        };
        io.flags = row.flags;
        io.quality = quality;
        self.set_times(&mut io, &row)?;
        self.set_issuer(&mut io, line.text, layout, &row)?;
        if let Some(number) = number
            && row.latency.is_none_or(|latency| latency.ns == 0)
        {
            (io.completed_ns, io.status) = (None, Status::NoCompletionSeen);
            self.open_from_ns = self.open_from_ns.min(io.issued_ns);
            return self.open.insert(number.into(), io).ok_or(Unused::Open(io.issued_ns));
        }
        Ok(io)
    }

    fn set_times(&mut self, io: &mut TracedIo, row: &Row) -> Result<(), DamageClass> {
        const OUT_OF_RANGE: DamageClass = "time out of range";
        if self.map.time_unit == map::TimeUnit::TimeOfDay {
            io.issued_ns += self.day_ns;
            if io.issued_ns < self.last_ns.saturating_sub(HALF_DAY_NS) {
                self.day_ns += 2 * HALF_DAY_NS;
                io.issued_ns += 2 * HALF_DAY_NS;
            }
            self.last_ns = io.issued_ns;
        }
        self.resolution_ns = self.resolution_ns.min(row.time.step_ns);
        let Some(latency) = row.latency else {
            if self.map.latency.is_some() {
                io.status = Status::NoCompletionSeen;
            }
            return match self.map.moment {
                Moment::Issue => Ok(()),
                Moment::Completion => Err("completion without a latency"),
            };
        };
        if latency.step_ns > FINE_STEP_NS {
            io.quality = io.quality.with(Quality::LATENCY_QUANTIZED);
        }
        match self.map.moment {
            Moment::Issue => {
                io.completed_ns = Some(io.issued_ns.checked_add(latency.ns).ok_or(OUT_OF_RANGE)?);
            }
            Moment::Completion => {
                io.completed_ns = Some(io.issued_ns);
                io.issued_ns = io.issued_ns.checked_sub(latency.ns).ok_or(OUT_OF_RANGE)?;
                io.quality = io.quality.with(Quality::TIME_SYNTHETIC);
            }
        }
        Ok(())
    }

    fn set_issuer(
        &mut self,
        io: &mut TracedIo,
        line: &[u8],
        layout: &Layout,
        row: &Row,
    ) -> Result<(), DamageClass> {
        let map = &*self.map;
        let field = |column| map.field(line, layout, &self.fields, row, column);
        if let Some(column) = map.pid {
            io.pid = i32::try_from(whole(field(column))?).map_err(|_| "process number too large")?;
        }
        if let Some(column) = map.command {
            io.command = self.commands.number(field(column)).unwrap_or_default();
        }
        let name = match map.device.as_slice() {
            [] => b"device".as_slice(),
            [column] => field(*column),
            columns => {
                self.device_name.clear();
                for column in columns {
                    if !self.device_name.is_empty() {
                        self.device_name.push(b'.');
                    }
                    self.device_name.extend_from_slice(map.field(line, layout, &self.fields, row, *column));
                }
                &self.device_name
            }
        };
        io.device = self.devices.number(name).ok_or("more than 65,536 devices")?;
        io.domain = io.device;
        Ok(())
    }

    /// Doubts a map by which all I/Os have the same direction: codes are inverted between formats.
    fn count_direction(&mut self, operation: TracedOperation, tally: &mut Tally) {
        match operation {
            TracedOperation::Read => self.reads += 1,
            TracedOperation::Write => self.writes += 1,
            _ => return,
        }
        if self.reads + self.writes == BOTH_DIRECTIONS_IOS {
            self.doubt_direction(tally);
        }
    }

    /// No longer waits for the completions of what was issued before.
    fn release(&mut self, before_ns: i64, batch: &mut Vec<TracedIo>) {
        let mut ios: Vec<_> =
            self.open.extract_if(|_, io| io.issued_ns < before_ns).map(|(_, io)| io).collect();
        ios.sort_unstable_by_key(|io| (io.issued_ns, io.source_position));
        batch.extend(ios);
        self.open_from_ns = self.open.values().map(|io| io.issued_ns).min().unwrap_or(i64::MAX);
    }

    fn doubt_direction(&self, tally: &mut Tally) {
        if !self.map.has_codes {
            return;
        }
        if self.reads > 0 && self.writes == 0 {
            tally.note("only reads seen: check what the codes of the operation column mean");
        } else if self.writes > 0 && self.reads == 0 {
            tally.note("only writes seen: check what the codes of the operation column mean");
        }
    }
}

impl LineReader for ColumnReader {
    fn line(
        &mut self,
        line: Line<'_>,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        let Some(layout) = self.layout_at(line, tally)? else { return Ok(()) };
        match self.io(line, &layout) {
            Ok(io) => {
                self.is_preface = false;
                tally.accept();
                self.count_direction(io.operation, tally);
                batch.push(io);
            }
            Err(Unused::Open(issued_ns)) => {
                tally.accept();
                if self.open.len() == OPEN_IOS {
                    self.release(i64::MAX, batch);
                } else if issued_ns.saturating_sub(self.open_from_ns) > OPEN_NS {
                    self.release(issued_ns - OPEN_NS, batch);
                }
            }
            Err(Unused::Skipped(reason)) => tally.skip(reason),
            Err(Unused::Damaged(_))
                if Layout::of_header(&self.map, line.text, &mut self.fields).is_some() =>
            {
                tally.skip(HEADER);
            }
            Err(Unused::Damaged(_)) if self.is_preface => tally.skip(PREFACE),
            Err(Unused::Damaged(class)) => damage(line, class, tally),
        }
        self.layout = Some(layout);
        Ok(())
    }

    fn finish(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<(), TraceError> {
        self.release(i64::MAX, batch);
        if self.reads + self.writes < BOTH_DIRECTIONS_IOS {
            self.doubt_direction(tally);
        }
        Ok(())
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: self.format,
            level: self.map.level,
            resolution_ns: self.map.resolution_ns.unwrap_or(self.resolution_ns),
            epoch_ns: self.map.epoch_ns,
            has_completions: self.map.latency.is_some(),
            has_issue_times: self.map.moment == Moment::Issue,
            devices: named_devices(&self.devices),
            commands: self.commands.names().to_vec(),
        }
    }
}

/// Devices of which only the names are known.
pub(super) fn named_devices(names: &Dictionary) -> Vec<TracedDevice> {
    names.names().iter().map(|name| TracedDevice { name: name.clone(), ..TracedDevice::default() }).collect()
}
