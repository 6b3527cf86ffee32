//! The files in a tar archive, which may be compressed: read one after the other in one pass, or, if a reader wants
//! several at once, each in a pass of its own.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tar::{Header, PaxExtensions};

use super::super::error::TraceError;
use super::super::source::Source;
use super::layers::{Bytes, uncovered};
use super::{Opened, STDIN};

const BLOCK_BYTES: usize = 512;
/// Members of an archive that are read; each may need memory.
const MOST_MEMBERS: usize = 100_000;
/// Longest description of a member that is read.
const LARGEST_PAX_BYTES: u64 = 1 << 20;

/// Whether a source that begins so is an archive.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// A pass through an archive.
struct Pass {
    bytes: Bytes,
    /// Regular files that it has come by.
    members: usize,
}

/// A pass that another member has left.
type Left = Arc<Mutex<Option<Pass>>>;

impl Pass {
    fn begin(path: &Path) -> io::Result<Self> {
        let (_, bytes) = uncovered(Box::new(BufReader::new(File::open(path)?)))?;
        Ok(Self { bytes, members: 0 })
    }

    /// Name and length of the next regular file.
    fn next(&mut self) -> io::Result<Option<(PathBuf, u64)>> {
        let mut pax_bytes = None;
        loop {
            let mut block = [0; BLOCK_BYTES];
            if self.bytes.read(&mut block[..1])? == 0 {
                return Ok(None);
            }
            self.bytes.read_exact(&mut block[1..])?;
            if block.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            let header = Header::from_byte_slice(&block);
            let sum: u32 = block
                .iter()
                .enumerate()
                .map(|(at, byte)| match at {
                    148..156 => u32::from(b' '),
                    _ => u32::from(*byte),
                })
                .sum();
            if header.cksum()? != sum {
                return Err(io::Error::other(
                    "the archive is damaged: a member's header has a wrong checksum",
                ));
            }
            let length = pax_bytes.take().map_or_else(|| header.entry_size(), Ok)?;
            let kind = header.entry_type();
            if kind.is_file() {
                self.members += 1;
                return Ok(Some((header.path()?.into_owned(), length)));
            }
            if kind.is_pax_local_extensions() && length <= LARGEST_PAX_BYTES {
                let mut extensions = vec![0; padded(length) as usize];
                self.bytes.read_exact(&mut extensions)?;
                pax_bytes = PaxExtensions::new(&extensions[..length as usize])
                    .filter_map(Result::ok)
                    .find(|extension| extension.key() == Ok("size"))
                    .and_then(|extension| extension.value().ok()?.parse().ok());
            } else {
                self.skip(padded(length))?;
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.bytes).take(bytes), &mut io::sink())?;
        if skipped == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

const fn padded(bytes: u64) -> u64 {
    bytes.saturating_add(BLOCK_BYTES as u64 - 1) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64
}

/// Whether a file by that name comes with traces and is none.
fn is_no_trace(name: &Path) -> bool {
    let name = name.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    name.starts_with("._")
        || name == ".ds_store"
        || stem.contains("readme")
        || ["license", "licence", "copying", "changelog"].contains(&stem)
        || ["md5", "sha1", "sha256", "sha512"].iter().any(|sum| {
            [(*sum).into(), format!("{sum}sum"), format!("{sum}sums")].iter().any(|known| stem == known)
                || name.ends_with(&format!(".{sum}"))
        })
}

/// Members of an archive, whose beginning was looked at, and the names of those that are no traces. A first pass finds
/// their names.
pub(super) fn members_of(path: &Path, bytes: Bytes) -> Result<(Vec<Opened>, Vec<String>), TraceError> {
    let failed = |source| TraceError::File { path: path.into(), source };
    if path.as_os_str() == STDIN {
        return Err(TraceError::Refused(
            "can't read an archive from standard input: save it to a file, or pipe its only member".into(),
        ));
    }
    let mut pass = Pass { bytes, members: 0 };
    let mut members = Vec::new();
    while let Some((name, length)) = pass.next().map_err(failed)? {
        if members.len() == MOST_MEMBERS {
            return Err(TraceError::Refused(format!(
                "can't read {}: it has more than {MOST_MEMBERS} members; unpack it and name the files",
                path.display()
            )));
        }
        members.push((name, length > 0));
        pass.skip(padded(length)).map_err(failed)?;
    }
    let left = Left::default();
    let (mut opened, mut others) = (Vec::new(), Vec::new());
    for (number, (name, _)) in members.into_iter().enumerate().filter(|(_, (_, has_bytes))| *has_bytes) {
        if is_no_trace(&name) {
            others.push(name.display().to_string());
            continue;
        }
        let mut member = Member::At { archive: path.into(), number, left: Arc::clone(&left) };
        let mut head = None;
        if opened.is_empty() {
            head = Some(member.open().map_err(failed)?);
        }
        let path = path.join(name);
        opened.push(Opened { source: Source { path, bytes: Box::new(BufReader::new(member)) }, head });
    }
    if opened.is_empty() {
        return Err(TraceError::Refused(format!(
            "can't read {}: it is an archive without traces; it has {}",
            path.display(),
            if others.is_empty() { "no files".into() } else { others.join(", ") }
        )));
    }
    Ok((opened, others))
}

/// A file in an archive, which is looked for when it is first read.
enum Member {
    At { archive: PathBuf, number: usize, left: Left },
    Open(Bytes),
}

impl Member {
    /// Find it, and return its first bytes.
    fn open(&mut self) -> io::Result<Vec<u8>> {
        let Self::At { archive, number, left } = self else { return Ok(Vec::new()) };
        let unused = left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut pass = match unused.filter(|pass| pass.members <= *number) {
            Some(pass) => pass,
            None => Pass::begin(archive)?,
        };
        loop {
            let Some((_, length)) = pass.next()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
            if pass.members == *number + 1 {
                let piece = Piece {
                    pass: Some(pass),
                    bytes: length,
                    padding: padded(length) - length,
                    left: left.clone(),
                };
                let (head, bytes) = uncovered(Box::new(BufReader::new(piece)))?;
                *self = Self::Open(bytes);
                return Ok(head);
            }
            pass.skip(padded(length))?;
        }
    }
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.open()?;
        match self {
            Self::Open(bytes) => bytes.read(buffer),
            Self::At { .. } => Ok(0),
        }
    }
}

/// What a pass reads of one member; it is left to the next one after that.
struct Piece {
    pass: Option<Pass>,
    bytes: u64,
    padding: u64,
    left: Left,
}

impl Read for Piece {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(pass) = &mut self.pass else { return Ok(0) };
        if self.bytes > 0 {
            let length = (&mut pass.bytes).take(self.bytes).read(buffer)?;
            if length == 0 && !buffer.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.bytes -= length as u64;
            return Ok(length);
        }
        pass.skip(self.padding)?;
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = self.pass.take();
        Ok(0)
    }
}
