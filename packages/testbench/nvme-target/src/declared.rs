//! Pages laid out by the tables of fields that decode them, too: what a page is, only those tables know.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!("../../../../packages/openpts_nvme/logs/tables/", $name, ".toml"))),*]
    };
}

const TABLES: [&str; 13] = tables![
    "smart",
    "telemetry-host",
    "telemetry-controller",
    "fdp-configurations",
    "fdp-handle-usage",
    "fdp-statistics",
    "fdp-events",
    "power-measurement",
    "smart-extended",
    "error-recovery",
    "latency-monitor",
    "latency-monitor-feature",
    "unsupported-requirements",
];

static DECLARED: LazyLock<BTreeMap<String, Declared>> = LazyLock::new(|| {
    let parse = |text| toml::from_str::<Declared>(text).unwrap_or_else(|error| panic!("a table: {error}"));
    TABLES.into_iter().map(parse).map(|one| (one.name.clone(), one)).collect()
});

/// A table by its name.
///
/// # Panics
/// If there is none: the tables are part of the program.
pub(super) fn declared(name: &str) -> &'static Declared {
    DECLARED.get(name).unwrap_or_else(|| panic!("no table {name}"))
}

/// A page, as far as it is to be filled in. `packages/openpts_nvme/logs/page.py` says what each key means.
#[derive(Debug, Deserialize)]
pub(super) struct Declared {
    name: String,
    length: usize,
    guid: Option<String>,
    #[serde(default)]
    guid_at: usize,
    version_at: Option<usize>,
    #[serde(default)]
    version_bytes: usize,
    #[serde(default)]
    versions: (u16, u16),
    fields: Vec<Field>,
    #[serde(default)]
    lists: Vec<Entries>,
}

#[derive(Debug, Deserialize)]
struct Entries {
    name: String,
    at: usize,
    stride: usize,
    fields: Vec<Field>,
    #[serde(default)]
    lists: Vec<Self>,
}

#[derive(Debug, Deserialize)]
struct Field {
    name: String,
    at: usize,
    width: usize,
    bits: Option<(u32, u32)>,
    #[serde(default = "one")]
    times: i128,
    #[serde(default)]
    plus: i128,
    #[serde(default)]
    stride: isize,
    #[serde(default)]
    bit_stride: u32,
}

const fn one() -> i128 {
    1
}

impl Field {
    fn named<'a>(fields: &'a [Self], name: &str) -> &'a Self {
        fields.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no field {name}"))
    }

    /// First byte, lowest bit and number of bits of one of its repeats.
    fn place(&self, index: usize) -> (usize, u32, u32) {
        let steps = isize::try_from(index).unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, reason = "an index of a page, of up to 128 bits")]
        let (repeats, whole) = (index as u32, self.width.min(16) as u32 * 8);
        let (low, bits) = self.bits.map_or((0, whole), |(high, low)| (low, high - low + 1));
        (self.at.saturating_add_signed(steps * self.stride), low + repeats * self.bit_stride, bits)
    }

    /// The number for a value in the unit of its name, as large as its bits allow.
    fn raw(&self, value: i128, bits: u32) -> u128 {
        let raw = u128::try_from((value - self.plus).max(0)).unwrap_or(0);
        raw.div_ceil(self.times.unsigned_abs()).min(u128::MAX >> (128 - bits))
    }
}

impl Declared {
    /// A page of zeros, of its newest version, that says what it is.
    pub(super) fn page(&'static self) -> Filled {
        let mut data = vec![0; self.length];
        if let Some(guid) = &self.guid {
            let bytes = u128::from_str_radix(guid, 16).unwrap_or(0).to_le_bytes();
            data[self.guid_at..self.guid_at + bytes.len()].copy_from_slice(&bytes);
        }
        if let Some(at) = self.version_at {
            let version = self.versions.1.to_le_bytes();
            data[at..at + self.version_bytes].copy_from_slice(&version[..self.version_bytes]);
        }
        Filled { declared: self, data }
    }

    /// The value of a field in bytes that came from a host, in the unit of its name; `None` if they are too few.
    pub(super) fn value(&self, data: &[u8], name: &str, index: usize) -> Option<i128> {
        let field = Field::named(&self.fields, name);
        let (at, low, bits) = field.place(index);
        let mut bytes = [0; 16];
        bytes[..field.width].copy_from_slice(data.get(at..at + field.width)?);
        let raw = u128::from_le_bytes(bytes) >> low & (u128::MAX >> (128 - bits));
        i128::try_from(raw).ok().map(|raw| raw * field.times + field.plus)
    }
}

/// A page that is being filled in. A value that is too large for its field saturates.
///
/// # Panics
/// If there is no such field.
#[derive(Debug)]
pub(super) struct Filled {
    declared: &'static Declared,
    data: Vec<u8>,
}

impl Filled {
    /// Put a number, in the unit of the field's name.
    pub(super) fn put(&mut self, name: &str, value: impl Into<i128>) -> &mut Self {
        self.put_at(name, 0, value)
    }

    /// Put one of a field's repeats.
    pub(super) fn put_at(&mut self, name: &str, index: usize, value: impl Into<i128>) -> &mut Self {
        let field = Field::named(&self.declared.fields, name);
        put(&mut self.data, 0, field, index, value.into());
        self
    }

    /// Put a text, or bytes as they are.
    pub(super) fn put_bytes(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        let field = Field::named(&self.declared.fields, name);
        let length = bytes.len().min(field.width);
        self.data[field.at..field.at + length].copy_from_slice(&bytes[..length]);
        self
    }

    /// Put an entry of a list, or of a list within another (`outer.inner`), from byte `at` of what is around it;
    /// the page grows as far as it needs. Gives the entry's own first byte.
    pub(super) fn put_entry(
        &mut self,
        list: &str,
        around: usize,
        index: usize,
        values: &[(&str, i128)],
    ) -> usize {
        let mut lists = &self.declared.lists;
        let mut found = None;
        for part in list.split('.') {
            let one = lists.iter().find(|one| one.name == part).unwrap_or_else(|| panic!("no list {list}"));
            lists = &one.lists;
            found = Some(one);
        }
        let Some(entries) = found else { return around };
        let base = around + entries.at + index * entries.stride;
        self.data.resize(self.data.len().max(base + entries.stride), 0);
        for (name, value) in values {
            put(&mut self.data, base, Field::named(&entries.fields, name), 0, *value);
        }
        base
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    /// The whole of it.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.data
    }
}

fn put(data: &mut [u8], base: usize, field: &Field, index: usize, value: i128) {
    let (at, low, bits) = field.place(index);
    let place = &mut data[base + at..base + at + field.width];
    let mut bytes = [0; 16];
    bytes[..field.width].copy_from_slice(place);
    let mask = u128::MAX >> (128 - bits) << low;
    let number = u128::from_le_bytes(bytes) & !mask | field.raw(value, bits) << low;
    place.copy_from_slice(&number.to_le_bytes()[..field.width]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_saturate() {
        let monitor = declared("latency-monitor");
        let mut page = monitor.page();
        page.put("active_threshold_b_ms", 100).put_at("active_read_keeps_largest", 3, 1);
        page.put_at("active_reads", 2, i128::MAX);
        let data = page.into_bytes();
        assert_eq!(data[7], 19);
        assert_eq!(data[10..12], [0, 2]);
        assert_eq!(data[76..80], [0xFF; 4]);
        assert_eq!(monitor.value(&data, "active_threshold_b_ms", 0), Some(100));
        assert_eq!(monitor.value(&data[..9], "active_read_keeps_largest", 3), None);
    }

    #[test]
    fn entries_of_lists_within_lists_are_behind_one_another() {
        let mut page = declared("fdp-configurations").page();
        let base =
            page.put_entry("configurations", 0, 0, &[("descriptor_bytes", 72), ("reclaim_unit_handles", 2)]);
        page.put_entry("configurations.handles", base, 1, &[("type", 2)]);
        let data = page.into_bytes();
        assert_eq!((data.len(), data[16], data[24], data[16 + 64 + 4]), (88, 72, 2, 2));
    }
}
