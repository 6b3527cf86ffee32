//! Step tables as Parquet files: what captures of workloads are exchanged as.

use std::collections::BTreeMap;
use std::io::Write;

use crate::table::{Column, Table, list, optional, properties, required};
use parquet::basic::Encoding;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use serde::{Deserialize, Serialize};

use super::depth_times::DepthTimes;
use super::row::{ALL_DEVICES, Counts, Latencies, StepRow, Subject};
use super::sequence::{SEQUENTIAL_RULE, WINDOWED_RULE};
use super::stream::{Kind, Pattern, Stream};

/// Key of the version of the files' format in their metadata.
pub(crate) const STEPS_KEY: &str = "openpts.steps";
const FORMAT_VERSION: &str = "1";
/// The name of all devices together.
const ALL: &str = "*";

const SCHEMA: &str = "message steps {
  required binary subject (STRING);
  required binary device (STRING);
  required int32 step (INTEGER(32, false));
  required int64 start_ns;
  required int64 length_ns (INTEGER(64, false));
  required binary kind (STRING);
  required binary pattern (STRING);
  required int64 size_bytes (INTEGER(64, false));
  required boolean binned;
  required int32 pid;
  required binary comm (STRING);
  required int64 ios (INTEGER(64, false));
  required int64 bytes (INTEGER(64, false));
  required int64 windowed_sequential_ios (INTEGER(64, false));
  required int64 lat_sum_ns (INTEGER(64, false));
  required int64 lat_max_ns (INTEGER(64, false));
  required binary lat_hist;
  required group qd_time (LIST) { repeated group list { required int64 element (INTEGER(64, false)); } }
  optional int64 qd_area_ns (INTEGER(64, false));
  optional int64 qd_max (INTEGER(64, false));
  optional int64 busy_ns (INTEGER(64, false));
  optional int64 idle_ns (INTEGER(64, false));
  optional float cpu_busy;
  required int64 lost (INTEGER(64, false));
}";

/// What a file says about the capture as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepHeader {
    /// Of all steps but the last, in ns.
    pub step_length_ns: u64,
    /// When the capture began, in ns since 1970, if it is known.
    pub epoch_ns: Option<i64>,
    /// Where in the stack the I/Os were seen.
    pub level: String,
    /// By which I/Os are sequential, in words; filled in when written.
    #[serde(default)]
    pub sequential_rule: String,
    /// By which windowed ones are; filled in when written.
    #[serde(default)]
    pub windowed_rule: String,
    /// Names of the devices, by number.
    pub devices: Vec<String>,
    /// Names of processes, by number; the first is empty.
    pub commands: Vec<String>,
    /// What else there is to say: tool, host, storage, file system, filters, operator.
    pub notes: BTreeMap<String, String>,
}

impl StepHeader {
    fn device(&self, number: u16) -> String {
        match self.devices.get(usize::from(number)) {
            _ if number == ALL_DEVICES => ALL.to_owned(),
            Some(name) => name.clone(),
            None => format!("device {number}"),
        }
    }

    fn command(&self, number: u16) -> String {
        self.commands.get(usize::from(number)).cloned().unwrap_or_default()
    }
}

/// Write all rows, sorted by device, step, stream and process.
///
/// # Errors
/// If the destination takes no more.
pub fn write_steps<W: Write + Send>(to: W, header: &StepHeader, rows: &[StepRow]) -> Result<W> {
    let header = StepHeader {
        sequential_rule: SEQUENTIAL_RULE.to_owned(),
        windowed_rule: WINDOWED_RULE.to_owned(),
        ..header.clone()
    };
    let as_json = serde_json::to_string(&header).map_err(|error| ParquetError::External(Box::new(error)))?;
    let mut sorted: Vec<&StepRow> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.device, row.step, row.subject));
    let mut table = Table::new(SCHEMA, properties(), columns(&header));
    let mut writer = table.begin(to)?;
    table.add(&sorted)?;
    table.end_group(&mut writer)?;
    for (key, value) in [(STEPS_KEY, FORMAT_VERSION.to_owned()), ("openpts.header", as_json)] {
        writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }
    writer.into_inner()
}

type Of<'a> = Column<'a, &'a StepRow>;

fn word<'a>(word: impl Fn(&StepRow) -> String + Send + 'a) -> Of<'a> {
    required::<_, ByteArrayType>(move |row: &&StepRow| ByteArray::from(word(row).into_bytes()))
}

fn number<'a>(number: impl Fn(&StepRow) -> u64 + Send + 'a) -> Of<'a> {
    required::<_, Int64Type>(move |row: &&StepRow| number(row).cast_signed())
}

fn depth<'a>(of: fn(&DepthTimes) -> u64) -> Of<'a> {
    optional::<_, Int64Type>(move |row: &&StepRow| Some(of(row.depth_times.as_ref()?).cast_signed()))
}

/// In the order of the schema.
fn columns(header: &StepHeader) -> Vec<Of<'_>> {
    let stream = |row: &StepRow| row.subject.stream();
    vec![
        word(|row| row.subject.name().to_owned()),
        word(|row| header.device(row.device)),
        required::<_, Int32Type>(|row: &&StepRow| row.step.cast_signed()),
        required::<_, Int64Type>(|row: &&StepRow| row.start_ns),
        number(|row| row.length_ns),
        word(move |row| stream(row).map_or("all", |stream| stream.kind.name()).to_owned()),
        word(move |row| stream(row).map_or("na", |stream| stream.pattern.name()).to_owned()),
        number(move |row| stream(row).map_or(0, |stream| stream.size_bytes)),
        required::<_, BoolType>(move |row: &&StepRow| stream(row).is_some_and(|stream| stream.is_binned)),
        required::<_, Int32Type>(|row: &&StepRow| row.subject.process().0),
        word(|row| header.command(row.subject.process().1)),
        number(|row| row.counts.ios),
        number(|row| row.counts.bytes),
        number(|row| row.counts.windowed_sequential_ios),
        number(|row| row.counts.latencies.sum_ns),
        number(|row| row.counts.latencies.max_ns),
        required::<_, ByteArrayType>(|row: &&StepRow| ByteArray::from(row.counts.latencies.encoded()))
            .encoded(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        list::<_, Int64Type>(|row: &&StepRow| {
            let bins_ns = row.depth_times.iter().flat_map(|times| &times.bins_ns);
            bins_ns.map(|ns| ns.cast_signed()).collect()
        }),
        depth(|times| times.area_ns),
        depth(|times| times.max),
        depth(DepthTimes::busy_ns),
        depth(DepthTimes::idle_ns),
        optional::<_, FloatType>(|row: &&StepRow| row.cpu_busy),
        number(|row| row.lost),
    ]
}

/// Whether it is a step table, of whatever version.
#[must_use]
pub fn is_step_table<R: ChunkReader + 'static>(from: R) -> bool {
    let Ok(reader) = SerializedFileReader::new(from) else { return false };
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == STEPS_KEY))
}

/// Read a table back. Devices and processes have the numbers of the header's names.
///
/// # Errors
/// If it is no step table, is damaged, or is of a newer version.
pub fn read_steps<R: ChunkReader + 'static>(from: R) -> Result<(StepHeader, Vec<StepRow>)> {
    let reader = SerializedFileReader::new(from)?;
    let metadata = reader.metadata().file_metadata();
    let value = |key: &str| {
        let pairs = metadata.key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.clone()
    };
    if value(STEPS_KEY).as_deref() != Some(FORMAT_VERSION) {
        return Err(ParquetError::General(format!("this is no step table of version {FORMAT_VERSION}")));
    }
    let header: StepHeader = serde_json::from_str(&value("openpts.header").unwrap_or_default())
        .map_err(|error| ParquetError::External(Box::new(error)))?;
    let rows = reader.get_row_iter(None)?;
    let rows: Result<Vec<StepRow>> = rows.map(|row| read_row(&row?, &header)).collect();
    Ok((header, rows?))
}

fn read_row(row: &Row, header: &StepHeader) -> Result<StepRow> {
    let damaged = |what: &str| ParquetError::General(format!("a row's {what} can't be right"));
    let number_of = |names: &[String], name: &str| {
        names.iter().position(|other| other == name).and_then(|place| u16::try_from(place).ok())
    };
    let device = row.get_string(1)?;
    let device = match device.as_str() {
        ALL => ALL_DEVICES,
        name => number_of(&header.devices, name)
            .or_else(|| name.strip_prefix("device ")?.parse().ok())
            .ok_or_else(|| damaged("device"))?,
    };
    let kind = |name: &str| Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let pattern = |name: &str| Pattern::ALL.into_iter().find(|pattern| pattern.name() == name);
    let stream = || -> Result<Stream> {
        Ok(Stream {
            kind: kind(row.get_string(5)?).ok_or_else(|| damaged("kind"))?,
            pattern: pattern(row.get_string(6)?).ok_or_else(|| damaged("pattern"))?,
            size_bytes: row.get_ulong(7)?,
            is_binned: row.get_bool(8)?,
        })
    };
    let subject = match row.get_string(0)?.as_str() {
        "device" => Subject::Device,
        "stream" => Subject::Stream(stream()?),
        "process" => {
            let command = number_of(&header.commands, row.get_string(10)?).unwrap_or(0);
            Subject::Process(stream()?, row.get_int(9)?, command)
        }
        _ => return Err(damaged("subject")),
    };
    let latencies = match row.get_bytes(16)?.data() {
        [] => Latencies::default(),
        bytes => Latencies::restored(row.get_ulong(14)?, row.get_ulong(15)?, bytes.to_vec())
            .map_err(|error| ParquetError::External(Box::new(error)))?,
    };
    Ok(StepRow {
        device,
        step: row.get_uint(2)?,
        start_ns: row.get_long(3)?,
        length_ns: row.get_ulong(4)?,
        subject,
        counts: Counts {
            ios: row.get_ulong(11)?,
            bytes: row.get_ulong(12)?,
            windowed_sequential_ios: row.get_ulong(13)?,
            latencies,
        },
        depth_times: read_depth_times(row)?,
        cpu_busy: if row.is_null(22)? { None } else { Some(row.get_float(22)?) },
        lost: row.get_ulong(23)?,
    })
}

fn read_depth_times(row: &Row) -> Result<Option<DepthTimes>> {
    use parquet::record::ListAccessor;
    if row.is_null(18)? {
        return Ok(None);
    }
    let bins = row.get_list(17)?;
    let bins_ns: Result<Vec<u64>> = (0..bins.len()).map(|place| bins.get_ulong(place)).collect();
    Ok(Some(DepthTimes { bins_ns: bins_ns?, area_ns: row.get_ulong(18)?, max: row.get_ulong(19)? }))
}
