//! Why a trace can't be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a trace can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system says no.
    #[error("can't read {}: {}", path.display(), why(source))]
    File {
        /// Of the trace.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What is made of it can't be written.
    #[error("can't write the trace: {}", why(.0))]
    Write(io::Error),
    /// The operator has stopped it.
    #[error("stopped")]
    Stopped,
    /// More of it is damaged than is allowed.
    #[error(
        "refused: {damaged} of {records} records are damaged, more than {} %; the first is {first}; list more with \
         `openpts trace check --damaged-limit 100`, or take the others with that option",
        limit * 100.0
    )]
    Damaged {
        /// Records in all.
        records: u64,
        /// Damaged ones.
        damaged: u64,
        /// Share of damaged ones that is allowed.
        limit: f64,
        /// Where the first is, and what is wrong with it.
        first: String,
    },
    /// It is not what it was taken for, or must not be used; in one sentence with what to do.
    #[error("{0}")]
    Refused(String),
}

/// What the operating system says, without its number and without what libraries put before it.
#[must_use]
pub fn why(error: &io::Error) -> String {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = next {
        if let Some(number) = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return cause.to_string().replace(&format!(" (os error {number})"), "");
        }
        next = cause.source();
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_system_have_no_number() {
        let missing = || io::Error::from_raw_os_error(2);
        let file = TraceError::File { path: "a".into(), source: missing() };
        assert_eq!(file.to_string(), "can't read a: No such file or directory");
        let of_library = parquet::errors::ParquetError::External(Box::new(missing()));
        let write = TraceError::Write(io::Error::other(of_library));
        assert_eq!(write.to_string(), "can't write the trace: No such file or directory");
        assert_eq!(why(&io::Error::other("2 files (os error 2)")), "2 files (os error 2)");
    }
}
