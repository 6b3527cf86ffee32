//! A file of a trace, as readers get it.

use std::fmt;
use std::io::{BufRead, Read};
use std::path::PathBuf;

use super::error::TraceError;

/// Bytes at most of a text that a trace is made of.
const LONGEST_TEXT: u64 = 1 << 20;

/// One file, already read through its compression: readers go through it once and never seek.
pub struct Source {
    /// As the operator named it, for messages.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Box<dyn BufRead + Send>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The text of a trace that is made of one file.
pub(super) fn text_of_one(sources: Vec<Source>, what: &str) -> Result<String, TraceError> {
    let [source] = <[Source; 1]>::try_from(sources)
        .map_err(|_| TraceError::Refused(format!("a {what} is one file: merge the traces of several")))?;
    let mut text = String::new();
    (source.bytes.take(LONGEST_TEXT).read_to_string(&mut text))
        .map_err(|error| TraceError::File { path: source.path, source: error })?;
    Ok(text)
}
