//! Where the files of a capture go.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::error::why;

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
pub trait Destination: Send + Sync {
    /// Look whether a file could be begun, without making anything: a bad place shall be known before the
    /// load starts.
    ///
    /// # Errors
    /// If it can be seen that none could; by default nothing is.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// Begin the file with this number, from 1.
    ///
    /// # Errors
    /// If it can't be made.
    fn begin(&self, number: u32) -> io::Result<Box<dyn PartFile>>;
}

/// A folder that takes `capture-0001.parquet` and so on, and is made with the first of them. A file in the making, or one left by a crash, has
/// `.partial` behind its name, so that readers of `*.parquet` meet complete files only. Nothing that is there
/// already is overwritten.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder that exists, or could be made in one that does.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn name_of(&self, number: u32) -> PathBuf {
        self.0.join(format!("capture-{number:04}.parquet"))
    }

    /// Make the folder, if it is not there; its own name is stable afterwards.
    fn make(&self) -> io::Result<()> {
        match fs::create_dir(&self.0) {
            Ok(()) => File::open(parent_of(&self.0))?.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(naming(&self.0, &error)),
        }
    }
}

/// The folder that a path lies in; of a mere name, the current one.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {}", path.display(), why(error)))
}

fn refuse_if_there(name: &Path) -> io::Result<()> {
    if fs::exists(name).map_err(|error| naming(name, &error))? {
        let reason = format!("{} is there already", name.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
    }
    Ok(())
}

impl Destination for Folder {
    fn check(&self) -> io::Result<()> {
        let place = if fs::exists(&self.0)? { &self.0 } else { parent_of(&self.0) };
        let metadata = fs::metadata(place).map_err(|error| naming(place, &error))?;
        if !metadata.is_dir() {
            return Err(naming(place, &io::ErrorKind::NotADirectory.into()));
        }
        access(place, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| naming(place, &error.into()))?;
        let name = self.name_of(1);
        refuse_if_there(&name)?;
        refuse_if_there(&partial_of(&name))
    }

    fn begin(&self, number: u32) -> io::Result<Box<dyn PartFile>> {
        self.make()?;
        let name = self.name_of(number);
        refuse_if_there(&name)?;
        let partial = partial_of(&name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&partial)
            .map_err(|error| naming(&partial, &error))?;
        Ok(Box::new(FileInFolder { file, partial, name }))
    }
}

/// What a file in the making is called.
fn partial_of(name: &Path) -> PathBuf {
    name.with_extension("parquet.partial")
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
        File::open(parent_of(&self.name))?.sync_all()?;
        Ok(self.name)
    }
}
