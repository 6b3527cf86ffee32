//! Size and SHA-256 of a file that is read anyway.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::super::error::TraceError;
use super::super::header::SourceFile;
use super::STDIN;

#[derive(Default)]
struct State {
    digest: Sha256,
    bytes: u64,
}

/// What is known of a file that is being read.
#[derive(Clone)]
pub(in super::super) struct Fingerprint {
    path: PathBuf,
    /// Whether there is no file behind it that could be read on.
    is_complete: bool,
    state: Arc<Mutex<State>>,
}

/// A file, and what is read of it.
pub(super) struct Fingerprinted<R> {
    inner: R,
    fingerprint: Fingerprint,
}

impl Fingerprint {
    pub(in super::super) fn new(path: &Path) -> Self {
        Self { path: path.into(), is_complete: path == Path::new(STDIN), state: Arc::default() }
    }

    /// Of a text that ships.
    pub(in super::super) fn of_text(path: &Path, text: &str) -> Self {
        let fingerprint = Self { path: path.into(), is_complete: true, state: Arc::default() };
        fingerprint.add(text.as_bytes());
        fingerprint
    }

    /// Read this, and see all of it.
    pub(super) fn of<R: Read>(&self, inner: R) -> Fingerprinted<R> {
        Fingerprinted { inner, fingerprint: self.clone() }
    }

    fn add(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.digest.update(bytes);
        state.bytes += bytes.len() as u64;
    }

    /// Of the whole file: what no reader has asked for is read now.
    pub(in super::super) fn finish(&self) -> Result<SourceFile, TraceError> {
        self.finished().map_err(|source| TraceError::File { path: self.path.clone(), source })
    }

    fn finished(&self) -> io::Result<SourceFile> {
        if !self.is_complete {
            let mut file = File::open(&self.path)?;
            let read_bytes = self.state.lock().unwrap_or_else(PoisonError::into_inner).bytes;
            file.seek(SeekFrom::Start(read_bytes))?;
            let mut rest = vec![0; 1 << 18];
            loop {
                match file.read(&mut rest)? {
                    0 => break,
                    length => self.add(&rest[..length]),
                }
            }
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sha256 = String::new();
        for byte in state.digest.clone().finalize() {
            write!(sha256, "{byte:02x}").expect("a string takes everything");
        }
        let name =
            self.path.file_name().map_or_else(|| STDIN.into(), |name| name.to_string_lossy().into_owned());
        Ok(SourceFile { name, bytes: state.bytes, sha256 })
    }
}

impl<R: Read> Read for Fingerprinted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.fingerprint.add(&buffer[..length]);
        Ok(length)
    }
}
