//! The ways to a target, by name.

use std::fmt;
use std::str::FromStr;

/// A way to issue I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoPath {
    /// io_uring with completions by interrupt.
    Uring,
    /// io_uring that polls the device's queues for completions; reads and writes only.
    UringPolled,
    /// NVMe commands through io_uring on the namespace's generic character device.
    Passthrough,
    /// One system call for each I/O, one I/O at a time.
    Synchronous,
    /// io_uring requests that do nothing: what the engine itself costs.
    NoOp,
    /// io_uring requests that a timer answers: what the engine costs with its sleep and its wake-up.
    Timer,
}

impl IoPath {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Uring, Self::UringPolled, Self::Passthrough, Self::Synchronous, Self::NoOp, Self::Timer];

    /// The word for options and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::UringPolled => "io_uring-polled",
            Self::Passthrough => "nvme-passthrough",
            Self::Synchronous => "sync",
            Self::NoOp => "noop",
            Self::Timer => "timer",
        }
    }
}

impl fmt::Display for IoPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// There is no path of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no I/O path; there are io_uring, io_uring-polled, nvme-passthrough, sync, noop and timer")]
pub struct UnknownPath(String);

impl FromStr for IoPath {
    type Err = UnknownPath;

    fn from_str(name: &str) -> Result<Self, UnknownPath> {
        Self::ALL.into_iter().find(|path| path.name() == name).ok_or_else(|| UnknownPath(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_path() {
        for path in IoPath::ALL {
            assert_eq!(path.name().parse(), Ok(path));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_there_are() {
        let error = "libaio".parse::<IoPath>().unwrap_err().to_string();
        assert!(error.starts_with("\"libaio\""));
        assert!(IoPath::ALL.iter().all(|path| error.contains(path.name())), "{error}");
    }
}
