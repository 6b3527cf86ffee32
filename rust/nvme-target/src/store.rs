//! What was written: a sparse file, in memory or with a name. What was never written reads as zeros.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

/// The unit of `st_blocks`.
const STAT_BLOCK_BYTES: u64 = 512;

/// The contents of a drive.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    capacity_bytes: u64,
}

impl Store {
    /// Contents that end with the program.
    ///
    /// # Errors
    /// If the kernel gives no memory file of that size.
    pub(super) fn in_memory(capacity_bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("openpts-served-drive", MemfdFlags::CLOEXEC)?);
        file.set_len(capacity_bytes)?;
        Ok(Self { file, capacity_bytes })
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
        Ok(Self { file, capacity_bytes })
    }

    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; length];
        self.file.read_exact_at(&mut data, offset)?;
        Ok(data)
    }

    pub(super) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    /// These bytes read as zeros from now on, and take no room.
    pub(super) fn discard(&self, offset: u64, length: u64) -> io::Result<()> {
        if length > 0 {
            fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length)?;
        }
        Ok(())
    }

    /// Make what was written last in a named file.
    pub(super) fn sync(&self) -> io::Result<()> {
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
        store.write(0, &[7; 3 * 4096]).unwrap();
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
        Store::in_file(open(), 8192).unwrap().write(4096, b"kept").unwrap();
        assert_eq!(Store::in_file(open(), 8192).unwrap().read(4096, 4).unwrap(), b"kept");
        assert!(Store::in_file(open(), 4096).is_err());
        assert!(Store::in_file(open(), 16_384).is_err());
        assert!(Store::in_file(File::open(folder.path()).unwrap(), 4096).is_err());
    }
}
