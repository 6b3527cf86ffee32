//! A Parquet file of which only its bytes are at hand.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::table::schema_of;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;

use super::super::error::TraceError;
use super::super::source::Source;

/// First bytes of any Parquet file.
pub(in super::super) const MAGIC: &[u8] = b"PAR1";

/// Largest description of a file's contents, at its end, that is read: 100 million I/Os take 8 MiB.
const LARGEST_FOOTER_BYTES: u32 = 64 << 20;

/// A Parquet file, and its name for messages.
pub(super) struct ParquetFile {
    pub(super) name: String,
    file: SerializedFileReader<File>,
}

impl ParquetFile {
    /// The format's description is at the end: what can't be read from there is copied into a file first.
    pub(super) fn open(source: Source) -> Result<Self, TraceError> {
        let name = source.path.display().to_string();
        let failed = |source_error| TraceError::File { path: source.path.clone(), source: source_error };
        let mut file = match in_place(&source) {
            Some(file) => file,
            None => copied(source.bytes).map_err(failed)?,
        };
        check_footer(&mut file, &name)?;
        let file = guarded(&name, || SerializedFileReader::new(file))?;
        Ok(Self { name, file })
    }

    /// A value of its metadata.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.file.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Whether its columns are those of a schema, with their types.
    pub(super) fn has_columns_of(&self, words: &str) -> bool {
        let ours = schema_of(words);
        let (ours, theirs) = (ours.get_fields(), self.file.metadata().file_metadata().schema().get_fields());
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(ours, theirs)| {
                theirs.is_primitive()
                    && ours.name() == theirs.name()
                    && ours.get_physical_type() == theirs.get_physical_type()
                    && ours.get_basic_info().repetition() == theirs.get_basic_info().repetition()
            })
    }

    pub(super) fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    /// Do something with a group.
    pub(super) fn with_group<T>(
        &self,
        number: usize,
        act: impl FnOnce(&dyn RowGroupReader) -> parquet::errors::Result<T>,
    ) -> Result<T, TraceError> {
        guarded(&self.name, || act(&*self.file.get_row_group(number)?))
    }

    pub(super) fn guarded<T>(
        &self,
        act: impl FnOnce() -> parquet::errors::Result<T>,
    ) -> Result<T, TraceError> {
        guarded(&self.name, act)
    }
}

/// What the library finds wrong is an error, also where it panics on values that contradict each other.
fn guarded<T>(name: &str, act: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, TraceError> {
    let why = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its values contradict each other".into(),
    };
    Err(TraceError::Refused(format!(
        "can't read {name}: the Parquet file is damaged: {why}; convert the trace again"
    )))
}

/// The file itself, if the source is one as it is, and not in an archive or behind a compression.
fn in_place(source: &Source) -> Option<File> {
    let mut file = File::open(&source.path).ok()?;
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).ok()?;
    (file.metadata().ok()?.is_file() && magic == MAGIC).then_some(file)
}

fn copied(mut bytes: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut bytes, &mut file)?;
    Ok(file)
}

/// The library would take any claimed length for good.
fn check_footer(file: &mut File, name: &str) -> Result<(), TraceError> {
    let refused =
        |why: &str| TraceError::Refused(format!("can't read {name}: {why}; convert the trace again"));
    let mut tail = [0; 8];
    let length_bytes = file.seek(SeekFrom::End(0)).unwrap_or(0);
    if length_bytes < 12 || file.seek(SeekFrom::End(-8)).is_err() || file.read_exact(&mut tail).is_err() {
        return Err(refused("the Parquet file is cut off"));
    }
    let footer_bytes = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    if &tail[4..] != MAGIC {
        return Err(refused("the Parquet file is cut off"));
    }
    if footer_bytes > LARGEST_FOOTER_BYTES || u64::from(footer_bytes) + 12 > length_bytes {
        return Err(refused("the Parquet file claims a description that is longer than a trace's can be"));
    }
    Ok(())
}
