//! The language of column maps: what the columns of a text mean.

use serde::Deserialize;

use crate::error::TraceError;
use crate::reader::Level;
use crate::text::fields::Separator;
use crate::traced_io::TracedOperation;

/// Columns that a line can have, at most.
pub(super) const COLUMNS_MAX: usize = 64;

/// How the columns of a text are to be read, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapText {
    /// Names of the columns, in their order; with a required header in any order.
    columns: Vec<String>,
    /// Columns of these that may be missing, at the end of a line.
    #[serde(default)]
    optional_columns: usize,
    /// Whether lines may have further columns, which are not looked at.
    #[serde(default)]
    more_columns: bool,
    /// One character, or "blanks" for any number of blanks and tabs.
    #[serde(default = "comma")]
    separator: String,
    #[serde(default)]
    header: Header,
    /// What lines begin with that are no records.
    #[serde(default)]
    comment: Option<String>,
    /// Character around fields that may contain separators.
    #[serde(default)]
    quote: Option<char>,
    /// The column that takes what a line has too much, where blanks both separate and occur.
    #[serde(default)]
    wide_column: Option<String>,
    /// The column that is blank in records that are of no drive, where blanks separate.
    #[serde(default)]
    blank_column: Option<String>,
    /// The column with the number of the I/O, which a completion that is a record of its own repeats.
    #[serde(default)]
    number: Option<String>,
    /// Whether there is free text before the first record.
    #[serde(default)]
    preface: bool,
    #[serde(default)]
    level: LevelText,
    time: TimeText,
    #[serde(default)]
    latency: Option<SpanText>,
    operation: OperationText,
    offset: PlaceText,
    length: PlaceText,
    /// Columns that name the device.
    #[serde(default)]
    device: Vec<String>,
    #[serde(default)]
    pid: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    detect: Detect,
}

fn comma() -> String {
    ",".into()
}

/// Whether the first line of a file names the columns.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Header {
    /// It may; it is recognized by the names.
    #[default]
    Optional,
    /// It does, and says where the columns are.
    Required,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LevelText {
    File,
    Queue,
    #[default]
    Issue,
    Wire,
}

/// The moment that a time means.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Moment {
    #[default]
    Issue,
    Completion,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum TimeUnit {
    #[serde(rename = "ns")]
    Nanosecond,
    /// As Windows counts them.
    #[serde(rename = "100ns")]
    HundredNanoseconds,
    #[serde(rename = "us")]
    Microsecond,
    #[serde(rename = "ms")]
    Millisecond,
    #[serde(rename = "s")]
    Second,
    /// Hundreds of nanoseconds since 1601.
    #[serde(rename = "filetime")]
    FileTime,
    /// `HH:MM:SS` with or without a fraction.
    #[serde(rename = "time_of_day")]
    TimeOfDay,
}

impl TimeUnit {
    pub(super) const fn ns(self) -> u64 {
        match self {
            Self::Nanosecond => 1,
            Self::HundredNanoseconds | Self::FileTime => 100,
            Self::Microsecond => 1_000,
            Self::Millisecond => 1_000_000,
            Self::Second | Self::TimeOfDay => 1_000_000_000,
        }
    }
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Epoch {
    /// The clock's own.
    #[default]
    None,
    /// 1970.
    Unix,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimeText {
    column: String,
    unit: TimeUnit,
    #[serde(default)]
    moment: Moment,
    #[serde(default)]
    epoch: Epoch,
    /// Smallest true step of the times, where more digits are written than are true.
    #[serde(default)]
    resolution: Option<TimeUnit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanText {
    column: String,
    unit: TimeUnit,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Base {
    #[default]
    Decimal,
    Hexadecimal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceText {
    column: String,
    unit_bytes: u64,
    #[serde(default)]
    base: Base,
}

/// Words or codes of the operations; upper and lower case are the same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperationText {
    column: String,
    /// Letters as the Linux kernel prints them (`WS`, `FF`), instead of words.
    #[serde(default)]
    letters: bool,
    #[serde(default)]
    read: Vec<String>,
    #[serde(default)]
    write: Vec<String>,
    #[serde(default)]
    trim: Vec<String>,
    #[serde(default)]
    flush: Vec<String>,
    /// The end of an I/O that has had a record without a latency.
    #[serde(default)]
    completion: Vec<String>,
    /// No I/O: records to leave out.
    #[serde(default)]
    none: Vec<String>,
    /// An I/O whose direction is not known.
    #[serde(default)]
    unknown: Vec<String>,
}

/// What else the first lines must look like, where formats have the same columns.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Detect {
    /// Fewest and most digits of a time before its point.
    #[serde(default)]
    pub(super) time_digits: Option<[usize; 2]>,
    /// Whether times have a fraction.
    #[serde(default)]
    pub(super) time_has_fraction: Option<bool>,
    /// Of which all offsets and lengths are multiples.
    #[serde(default)]
    pub(super) multiple_bytes: Option<u64>,
    /// Beyond which an offset is.
    #[serde(default)]
    pub(super) beyond_bytes: Option<u64>,
    /// Of which, as numbers of their column, not all offsets and lengths are multiples.
    #[serde(default)]
    pub(super) no_multiple: Option<u64>,
}

/// What a word of the operation column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Operation(TracedOperation),
    Completion,
    NoIo,
    Unknown,
}

/// Words of the operation column.
pub(super) type Words = Vec<(Box<[u8]>, Meaning)>;

/// Offsets or lengths.
#[derive(Clone, Copy)]
pub(super) struct PlaceColumn {
    pub(super) column: usize,
    pub(super) unit_bytes: u64,
    pub(super) base: Base,
}

/// A column map, checked, with numbers of columns for their names.
pub(super) struct ColumnMap {
    pub(super) names: Vec<String>,
    pub(super) fewest: usize,
    pub(super) more_columns: bool,
    pub(super) separator: Separator,
    pub(super) header: Header,
    pub(super) comment: Option<Vec<u8>>,
    pub(super) wide: Option<usize>,
    pub(super) blank: Option<usize>,
    pub(super) number: Option<usize>,
    pub(super) preface: bool,
    pub(super) level: Level,
    pub(super) time: usize,
    pub(super) time_unit: TimeUnit,
    pub(super) moment: Moment,
    pub(super) epoch_ns: Option<i64>,
    pub(super) resolution_ns: Option<u64>,
    pub(super) latency: Option<(usize, u64)>,
    pub(super) operation: usize,
    /// `None` for the kernel's letters.
    pub(super) words: Option<Words>,
    /// Whether operations are numbers, which are easily taken for each other.
    pub(super) has_codes: bool,
    pub(super) offset: PlaceColumn,
    pub(super) length: PlaceColumn,
    pub(super) device: Vec<usize>,
    pub(super) pid: Option<usize>,
    pub(super) command: Option<usize>,
    pub(super) detect: Detect,
}

impl ColumnMap {
    /// A map from its text.
    pub(super) fn parse(text: &str) -> Result<Self, TraceError> {
        let refused = |why: String| TraceError::Refused(format!("cannot use the column map: {why}"));
        let map: MapText = toml::from_str(text).map_err(|error| refused(error.to_string()))?;
        map.checked().map_err(refused)
    }
}

impl MapText {
    fn checked(self) -> Result<ColumnMap, String> {
        if self.columns.len() > COLUMNS_MAX {
            return Err(format!("{} columns, the limit is {COLUMNS_MAX}", self.columns.len()));
        }
        let at = |name: &str| {
            self.columns
                .iter()
                .position(|column| column == name)
                .ok_or_else(|| format!("no column '{name}': the columns are {}", self.columns.join(", ")))
        };
        let maybe_at = |name: &Option<String>| name.as_deref().map(at).transpose();
        let place = |place: &PlaceText| match place.unit_bytes {
            0 => Err(format!("unit_bytes of '{}' is 0", place.column)),
            unit_bytes => Ok(PlaceColumn { column: at(&place.column)?, unit_bytes, base: place.base }),
        };
        let latency = self.latency.as_ref();
        if self.time.moment == Moment::Completion && latency.is_none() {
            return Err("times are those of completions: a latency column is needed to find the issue".into());
        }
        if latency.is_some_and(|span| matches!(span.unit, TimeUnit::FileTime | TimeUnit::TimeOfDay)) {
            return Err("a latency is a span: use ns, 100ns, us, ms, or s".into());
        }
        let is_unix = self.time.epoch == Epoch::Unix || self.time.unit == TimeUnit::FileTime;
        Ok(ColumnMap {
            fewest: self.columns.len().saturating_sub(self.optional_columns),
            more_columns: self.more_columns,
            separator: separator(&self.separator, self.quote)?,
            header: self.header,
            comment: self.comment.clone().map(String::into_bytes),
            wide: maybe_at(&self.wide_column)?,
            blank: maybe_at(&self.blank_column)?,
            number: maybe_at(&self.number)?,
            preface: self.preface,
            level: match self.level {
                LevelText::File => Level::File,
                LevelText::Queue => Level::Queue,
                LevelText::Issue => Level::Issue,
                LevelText::Wire => Level::Wire,
            },
            time: at(&self.time.column)?,
            time_unit: self.time.unit,
            moment: self.time.moment,
            epoch_ns: is_unix.then_some(0),
            resolution_ns: self.time.resolution.map(TimeUnit::ns),
            latency: latency.map(|span| Ok::<_, String>((at(&span.column)?, span.unit.ns()))).transpose()?,
            operation: at(&self.operation.column)?,
            words: (!self.operation.letters).then(|| self.operation.words()).transpose()?,
            has_codes: self.operation.read.iter().any(|word| word.bytes().all(|byte| byte.is_ascii_digit())),
            offset: place(&self.offset)?,
            length: place(&self.length)?,
            device: self.device.iter().map(|name| at(name)).collect::<Result<_, _>>()?,
            pid: maybe_at(&self.pid)?,
            command: maybe_at(&self.command)?,
            detect: self.detect,
            names: self.columns,
        })
    }
}

impl OperationText {
    /// All words. A map must name what both directions are called: 0 and 1 are inverted between formats.
    fn words(&self) -> Result<Words, String> {
        if self.read.is_empty() || self.write.is_empty() {
            return Err("[operation] must name what reads and what writes are called".into());
        }
        let mut words = Words::new();
        for (spellings, meaning) in [
            (&self.read, Meaning::Operation(TracedOperation::Read)),
            (&self.write, Meaning::Operation(TracedOperation::Write)),
            (&self.trim, Meaning::Operation(TracedOperation::Trim)),
            (&self.flush, Meaning::Operation(TracedOperation::Flush)),
            (&self.completion, Meaning::Completion),
            (&self.none, Meaning::NoIo),
            (&self.unknown, Meaning::Unknown),
        ] {
            for spelling in spellings {
                if words.iter().any(|(word, _)| word.eq_ignore_ascii_case(spelling.as_bytes())) {
                    return Err(format!("[operation] gives '{spelling}' two meanings"));
                }
                words.push((spelling.as_bytes().into(), meaning));
            }
        }
        Ok(words)
    }
}

fn separator(text: &str, quote: Option<char>) -> Result<Separator, String> {
    let quote = match quote.map(u8::try_from) {
        None => None,
        Some(Ok(quote)) if quote.is_ascii() => Some(quote),
        Some(_) => return Err("quote must be one ASCII character".into()),
    };
    match text.as_bytes() {
        b"blanks" if quote.is_some() => Err("quotes are not read where blanks separate".into()),
        b"blanks" => Ok(Separator::Blanks),
        [byte] if !byte.is_ascii_alphanumeric() => Ok(Separator::Byte { byte: *byte, quote }),
        _ => {
            Err(format!("separator '{text}': use one character that is no letter and no digit, or 'blanks'"))
        }
    }
}
