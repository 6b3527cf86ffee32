//! A file of a trace, as readers get it.

use std::fmt;
use std::io::BufRead;
use std::path::PathBuf;

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
