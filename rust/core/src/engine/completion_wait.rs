//! How a thread waits for the device.

/// How long a thread waits for completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletionWait {
    /// Until there is one: each is seen as soon as it can be.
    #[default]
    Each,
    /// Until there are several, for a short while: fewer system calls, latencies that include the wait.
    Batched,
}

impl CompletionWait {
    /// The word for messages and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Batched => "batched",
        }
    }
}
