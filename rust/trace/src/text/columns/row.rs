//! One line by a column map.

use super::map::{Base, ColumnMap, Meaning, PlaceColumn, TimeUnit};
use crate::tally::DamageClass;
use crate::text::fields::Fields;
use crate::text::letters;
use crate::text::number::{self, Time};
use crate::traced_io::Flags;

/// 1970 in hundreds of nanoseconds since 1601.
const UNIX_EPOCH_FILETIME: i64 = 116_444_736_000_000_000;

/// Which columns the lines of a file have, and where.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// For each name of the map, where it is.
    pub(super) positions: Vec<usize>,
    /// All, with those that have no name in the map.
    pub(super) count: usize,
    fewest: usize,
    /// Place of the wide one.
    wide: Option<usize>,
}

impl Layout {
    /// As the map has it.
    pub(super) fn of_map(map: &ColumnMap) -> Self {
        let count = map.names.len();
        Self { positions: (0..count).collect(), count, fewest: map.fewest, wide: map.wide }
    }

    /// As a header has it; `None` if the line is none.
    pub(super) fn of_header(map: &ColumnMap, line: &[u8], fields: &mut Fields) -> Option<Self> {
        fields.split(line, map.separator, false).ok()?;
        let is_named = |at: usize, name: &str| {
            let field = fields.get(line, at);
            field.strip_prefix(b"#").unwrap_or(field).trim_ascii().eq_ignore_ascii_case(name.as_bytes())
                || field.eq_ignore_ascii_case(name.as_bytes())
        };
        let mut positions = Vec::with_capacity(map.names.len());
        for (index, name) in map.names.iter().enumerate() {
            match (0..fields.count).find(|at| is_named(*at, name)) {
                Some(at) => positions.push(at),
                None if index >= map.fewest => positions.push(usize::MAX),
                None => return None,
            }
        }
        let count = fields.count;
        Some(Self { wide: map.wide.map(|wide| positions[wide]), positions, count, fewest: count })
    }
}

/// What a line says, in units of the trace.
pub(super) struct Row {
    pub(super) time: Time,
    pub(super) latency: Option<Time>,
    pub(super) meaning: Meaning,
    pub(super) flags: Flags,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u64,
    /// Columns that the line has too much, all of them part of the wide one.
    excess: usize,
}

impl ColumnMap {
    /// Whether a line is no record, by how it begins.
    pub(super) fn is_comment(&self, line: &[u8]) -> bool {
        self.comment.as_ref().is_some_and(|comment| line.trim_ascii_start().starts_with(comment))
    }

    /// Whether a record is of no drive: where the drive's name should be, counted from the end, is a whole number.
    pub(super) fn is_of_no_drive(&self, line: &[u8], layout: &Layout, fields: &mut Fields) -> bool {
        let Some(blank) = self.blank.map(|blank| layout.positions[blank]) else { return false };
        if fields.split(line, self.separator, false).is_err() {
            return false;
        }
        let place_of = |column: usize| (fields.count + column).checked_sub(layout.count);
        let field_at = |column| place_of(column).map_or(&b""[..], |at| fields.get(line, at));
        fields.count + 1 >= layout.count
            && number::whole(field_at(blank)).is_ok()
            && self.meaning(field_at(layout.positions[self.operation])).is_ok()
    }

    /// What a line says.
    #[inline]
    pub(super) fn row(&self, line: &[u8], layout: &Layout, fields: &mut Fields) -> Result<Row, DamageClass> {
        fields.split(line, self.separator, self.more_columns)?;
        let excess = fields.count.saturating_sub(layout.count);
        if fields.count < layout.fewest {
            return Err("too few columns");
        }
        if excess > 0 && layout.wide.is_none() && !self.more_columns {
            return Err("too many columns");
        }
        let mut row = Row {
            time: Time { ns: 0, step_ns: 1 },
            latency: None,
            meaning: Meaning::Unknown,
            flags: Flags::NONE,
            offset_bytes: 0,
            length_bytes: 0,
            excess: if layout.wide.is_some() { excess } else { 0 },
        };
        row.time = self.time(self.field(line, layout, fields, &row, self.time))?;
        (row.meaning, row.flags) = self.meaning(self.field(line, layout, fields, &row, self.operation))?;
        row.offset_bytes = place(self.offset, self.field(line, layout, fields, &row, self.offset.column))?;
        row.length_bytes = place(self.length, self.field(line, layout, fields, &row, self.length.column))?;
        if let Some((column, unit_ns)) = self.latency {
            let text = self.field(line, layout, fields, &row, column);
            if !text.is_empty() {
                row.latency = Some(number::time(text, unit_ns)?);
            }
        }
        Ok(row)
    }

    /// One field of a line, by the number of its name.
    #[inline]
    pub(super) fn field<'l>(
        &self,
        line: &'l [u8],
        layout: &Layout,
        fields: &Fields,
        row: &Row,
        column: usize,
    ) -> &'l [u8] {
        let at = layout.positions[column];
        match layout.wide {
            Some(wide) if at == wide => fields.join(line, at, at + row.excess),
            Some(wide) if at > wide => fields.get(line, at.saturating_add(row.excess)),
            _ => fields.get(line, at),
        }
    }

    #[inline]
    pub(super) fn time(&self, text: &[u8]) -> Result<Time, DamageClass> {
        match self.time_unit {
            TimeUnit::TimeOfDay => number::time_of_day(text),
            TimeUnit::FileTime => {
                let ticks = i64::try_from(number::whole(text)?).ok();
                let ns = ticks.and_then(|ticks| (ticks - UNIX_EPOCH_FILETIME).checked_mul(100));
                Ok(Time { ns: ns.ok_or("time out of range")?, step_ns: 100 })
            }
            unit => number::time(text, unit.ns()),
        }
    }

    #[inline]
    pub(super) fn meaning(&self, text: &[u8]) -> Result<(Meaning, Flags), DamageClass> {
        const UNKNOWN: DamageClass = "unknown operation";
        let Some(words) = &self.words else {
            let (operation, flags) = letters::operation(text).ok_or(UNKNOWN)?;
            return Ok((Meaning::Operation(operation), flags));
        };
        let meaning = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        meaning.map(|(_, meaning)| (*meaning, Flags::NONE)).ok_or(UNKNOWN)
    }
}

#[inline]
fn place(column: PlaceColumn, text: &[u8]) -> Result<u64, DamageClass> {
    let value = match column.base {
        Base::Decimal => number::whole(text)?,
        Base::Hexadecimal => number::hexadecimal(text)?,
    };
    value.checked_mul(column.unit_bytes).ok_or("number too large")
}
