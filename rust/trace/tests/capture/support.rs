//! Reading captures back, and destinations that misbehave.

use openpts_core::capture::{CaptureConfiguration, CapturedIo};
use openpts_core::workload::Operation;
use openpts_trace::capture::{Destination, Folder, PartFile};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub const SECTOR_BYTES: u32 = 512;

/// A row as it was written: step, thread, I/O.
pub type Captured = (u32, u16, CapturedIo);

/// Small buffers, so that chunks change hands often.
pub fn configuration(threads: u32, buffered_ios_per_thread: usize) -> CaptureConfiguration {
    CaptureConfiguration { buffered_ios_per_thread, ..CaptureConfiguration::new(SECTOR_BYTES, threads) }
}

/// An I/O that tells its number, with neighbors that differ in everything.
pub fn numbered(number: u64) -> CapturedIo {
    let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    CapturedIo {
        submitted_ns: number * 100,
        latency_ns: scattered >> 32,
        offset_bytes: (scattered >> 20) * u64::from(SECTOR_BYTES),
        length_bytes: 4096 << (number % 3),
        operation: Operation::ALL[(number % 5) as usize],
        result: if number.is_multiple_of(7) { 5 } else { 0 },
    }
}

/// All rows of a file in their order, and its own words.
pub fn read(path: &Path) -> (Vec<Captured>, HashMap<String, String>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let words = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let words = words.iter().map(|word| (word.key.clone(), word.value.clone().unwrap())).collect();
    (reader.get_row_iter(None).unwrap().map(|row| captured(&row.unwrap())).collect(), words)
}

/// All rows of these files, in an order that does not depend on threads.
pub fn read_sorted(paths: &[PathBuf]) -> Vec<Captured> {
    sorted(paths.iter().flat_map(|path| read(path).0).collect())
}

pub fn sorted(mut rows: Vec<Captured>) -> Vec<Captured> {
    rows.sort_by_key(|(step, thread, io)| {
        let CapturedIo { submitted_ns, latency_ns, offset_bytes, length_bytes, operation, result } = *io;
        (*step, *thread, submitted_ns, latency_ns, offset_bytes, length_bytes, operation as u8, result)
    });
    rows
}

fn captured(row: &Row) -> Captured {
    let word = row.get_string(6).unwrap();
    let io = CapturedIo {
        submitted_ns: row.get_ulong(2).unwrap(),
        latency_ns: row.get_ulong(3).unwrap(),
        offset_bytes: row.get_ulong(4).unwrap() * u64::from(SECTOR_BYTES),
        length_bytes: row.get_uint(5).unwrap(),
        operation: Operation::ALL.into_iter().find(|operation| operation.name() == word).unwrap(),
        result: row.get_int(7).unwrap(),
    };
    (row.get_uint(0).unwrap(), row.get_ushort(1).unwrap(), io)
}

/// A folder on a disk of limited size, which may be slow at completing files.
pub struct Disk {
    folder: Folder,
    free_bytes: Arc<AtomicU64>,
    delay: Duration,
}

impl Disk {
    pub fn full_after(folder: &Path, bytes: u64) -> Self {
        Self { folder: Folder::new(folder), free_bytes: Arc::new(bytes.into()), delay: Duration::ZERO }
    }

    pub fn slow(folder: &Path, delay: Duration) -> Self {
        Self { delay, ..Self::full_after(folder, u64::MAX) }
    }
}

impl Destination for Disk {
    fn begin(&self, number: u32) -> io::Result<Box<dyn PartFile>> {
        let file = self.folder.begin(number)?;
        Ok(Box::new(FileOnDisk { file, length: 0, free_bytes: self.free_bytes.clone(), delay: self.delay }))
    }
}

struct FileOnDisk {
    file: Box<dyn PartFile>,
    length: u64,
    free_bytes: Arc<AtomicU64>,
    delay: Duration,
}

impl Write for FileOnDisk {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let free = self.free_bytes.load(Relaxed);
        if free == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let fitting = buffer.len().min(usize::try_from(free).unwrap_or(usize::MAX));
        let written = self.file.write(&buffer[..fitting])?;
        self.free_bytes.fetch_sub(written as u64, Relaxed);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl PartFile for FileOnDisk {
    fn cut(&mut self, length_bytes: u64) -> io::Result<()> {
        self.file.cut(length_bytes)?;
        self.free_bytes.fetch_add(self.length.saturating_sub(length_bytes), Relaxed);
        self.length = length_bytes;
        Ok(())
    }

    fn complete(self: Box<Self>) -> io::Result<PathBuf> {
        std::thread::sleep(self.delay);
        self.file.complete()
    }
}

/// Names of a folder's files, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
