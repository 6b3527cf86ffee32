//! What was written: a sparse file, in memory or with a name. What was never written reads as zeros.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Mutex;

use super::lock::lock;
use openpts_sim::{Contents, Media, PowerFaults};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

/// The unit of `st_blocks`.
const STAT_BLOCK_BYTES: u64 = 512;

/// The contents of a drive. `cache` is what would be lost if this process were killed now.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    capacity_bytes: u64,
    cache: Option<Mutex<Contents<FileMedia>>>,
}

/// The file as what outlasts a power cut.
#[derive(Debug)]
struct FileMedia(File);

impl Media for FileMedia {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }
}

/// What begins where, and what is whole: the smallest LBA.
const SECTOR_BYTES: usize = 512;

impl Store {
    /// Contents that end with the program.
    ///
    /// # Errors
    /// If the kernel gives no memory file of that size.
    pub(super) fn in_memory(capacity_bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("openpts-served-drive", MemfdFlags::CLOEXEC)?);
        file.set_len(capacity_bytes)?;
        Ok(Self { file, capacity_bytes, cache: None })
    }

    /// Contents that stay in a file, which somebody else has opened and locked.
    ///
    /// # Errors
    /// If it is no regular file, or holds something that is no drive of this size.
    pub(super) fn in_file(file: File, capacity_bytes: u64) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        // Whatever else lies there is somebody's file.
        if metadata.len() != 0 && metadata.len() != capacity_bytes {
            let length = metadata.len();
            return Err(io::Error::other(format!(
                "it holds {length} bytes and is not this drive's, which has {capacity_bytes}"
            )));
        }
        file.set_len(capacity_bytes)?;
        Ok(Self { file, capacity_bytes, cache: None })
    }

    /// The same with a volatile cache before the file, and with faults that show when it is lost.
    ///
    /// # Errors
    /// If the process has too many descriptors.
    pub(super) fn with_cache(mut self, faults: PowerFaults, seed: u64) -> io::Result<Self> {
        let media = FileMedia(self.file.try_clone()?);
        let contents = Contents::new(media, SECTOR_BYTES, SECTOR_BYTES, faults, seed);
        self.cache = Some(Mutex::new(contents));
        Ok(self)
    }

    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; length];
        match &self.cache {
            Some(cache) => lock(cache).read(offset, &mut data)?,
            None => self.file.read_exact_at(&mut data, offset)?,
        }
        Ok(data)
    }

    /// `durable`: past the cache.
    pub(super) fn write(&self, offset: u64, data: &[u8], durable: bool) -> io::Result<()> {
        match &self.cache {
            Some(cache) => lock(cache).write(offset, data, durable),
            None => self.file.write_all_at(data, offset),
        }
    }

    /// These bytes read as zeros from now on, and take no room.
    pub(super) fn discard(&self, offset: u64, length: u64) -> io::Result<()> {
        if length > 0 {
            if let Some(cache) = &self.cache {
                lock(cache).forget(offset, length)?;
            }
            fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length)?;
        }
        Ok(())
    }

    /// Make what was written last in a named file.
    pub(super) fn sync(&self) -> io::Result<()> {
        if let Some(cache) = &self.cache {
            lock(cache).flush()?;
        }
        self.file.sync_data()
    }

    /// Bytes that hold data, as far as the file system tells.
    pub(super) fn allocated_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |found| (found.blocks() * STAT_BLOCK_BYTES).min(self.capacity_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_discarded_reads_as_zeros_to_the_byte() {
        let store = Store::in_memory(1 << 20).unwrap();
        store.write(0, &[7; 3 * 4096], false).unwrap();
        assert_eq!(store.allocated_bytes(), 3 * 4096);
        store.discard(512, 4096).unwrap();
        let found = store.read(0, 3 * 4096).unwrap();
        let zeros: Vec<usize> = (0..found.len()).filter(|at| found[*at] == 0).collect();
        assert_eq!(zeros, (512..512 + 4096).collect::<Vec<_>>());
        store.discard(0, 1 << 20).unwrap();
        assert_eq!((store.allocated_bytes(), store.read(0, 8).unwrap()), (0, vec![0; 8]));
    }

    #[test]
    fn a_file_keeps_its_contents_and_is_no_other_drives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contents");
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        Store::in_file(open(), 8192).unwrap().write(4096, b"kept", false).unwrap();
        assert_eq!(Store::in_file(open(), 8192).unwrap().read(4096, 4).unwrap(), b"kept");
        assert!(Store::in_file(open(), 4096).is_err());
        assert!(Store::in_file(open(), 16_384).is_err());
        assert!(Store::in_file(File::open(folder.path()).unwrap(), 4096).is_err());
    }

    /// A store that is dropped without a word is a process that was killed.
    #[test]
    fn a_kill_takes_what_was_not_flushed_and_nothing_else() {
        let file = tempfile::tempfile().unwrap();
        let open = || Store::in_file(file.try_clone().unwrap(), 1 << 20).unwrap();
        let store = open().with_cache(Vec::new(), 1).unwrap();
        store.write(0, &[1; 512], false).unwrap();
        store.sync().unwrap();
        store.write(512, &[2; 512], true).unwrap();
        store.write(1024, &[3; 512], false).unwrap();
        store.write(512, &[4; 512], false).unwrap();
        assert_eq!(store.read(0, 1536).unwrap(), [[1; 512], [4; 512], [3; 512]].concat());
        drop(store);
        assert_eq!(open().read(0, 1536).unwrap(), [[1; 512], [2; 512], [0; 512]].concat());
    }

    #[test]
    fn what_was_discarded_is_not_in_the_cache_either() {
        let store = Store::in_memory(1 << 20).unwrap().with_cache(Vec::new(), 1).unwrap();
        store.write(0, &[7; 8192], false).unwrap();
        store.discard(512, 1024).unwrap();
        let found = store.read(0, 8192).unwrap();
        assert!((0..8192).all(|at| (found[at] == 0) == (512..1536).contains(&at)));
    }
}
