//! Where the files of a capture go.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// One file in the making.
pub trait PartFile: Write + Send {
    /// Go back to this length; what was behind it is gone and its space is free.
    ///
    /// # Errors
    /// If the file can't be shortened.
    fn cut(&mut self, length_bytes: u64) -> io::Result<()>;

    /// Bring it to stable storage and give it its name, which is returned. After an error there is no file
    /// of that name.
    ///
    /// # Errors
    /// If either fails.
    fn complete(self: Box<Self>) -> io::Result<PathBuf>;
}

/// Makes one file after the other.
pub trait Destination: Send {
    /// Begin the file with this number, from 1.
    ///
    /// # Errors
    /// If it can't be made.
    fn begin(&mut self, number: u32) -> io::Result<Box<dyn PartFile>>;
}

/// A folder that takes `capture-0001.parquet` and so on. A file in the making, or one left by a crash, has
/// `.partial` behind its name, so that readers of `*.parquet` meet complete files only. Nothing that is there
/// already is overwritten.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An existing folder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

impl Destination for Folder {
    fn begin(&mut self, number: u32) -> io::Result<Box<dyn PartFile>> {
        let name = self.0.join(format!("capture-{number:04}.parquet"));
        if fs::exists(&name)? {
            let reason = format!("{} is there already", name.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
        }
        let partial = name.with_extension("parquet.partial");
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&partial)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", partial.display())))?;
        Ok(Box::new(FileInFolder { file, partial, name }))
    }
}

struct FileInFolder {
    file: File,
    partial: PathBuf,
    name: PathBuf,
}

impl Write for FileInFolder {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.file.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl PartFile for FileInFolder {
    fn cut(&mut self, length_bytes: u64) -> io::Result<()> {
        self.file.set_len(length_bytes)?;
        self.file.seek(SeekFrom::Start(length_bytes)).map(drop)
    }

    fn complete(self: Box<Self>) -> io::Result<PathBuf> {
        self.file.sync_all()?;
        fs::rename(&self.partial, &self.name)?;
        // The name itself is stable only once the folder is.
        let folder = self.name.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(self.name)
    }
}
