//! How many I/Os are in flight, over time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::TraceError;
use crate::traced_io::{Status, TracedIo};

/// I/Os in flight at once beyond which completions can't be right.
const MOST_IN_FLIGHT: usize = 1 << 22;

/// Of one device, or of several together.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    completions: BinaryHeap<Reverse<i64>>,
    /// Those whose completion was not seen: they stay to the end.
    endless: u64,
    now_ns: i64,
}

impl InFlight {
    /// None at this moment.
    pub(crate) const fn since(now_ns: i64) -> Self {
        Self { completions: BinaryHeap::new(), endless: 0, now_ns }
    }

    /// Now.
    pub(crate) fn depth(&self) -> u64 {
        self.completions.len() as u64 + self.endless
    }

    /// The last completion that is to come, if it is known.
    pub(crate) fn last_completion_ns(&self) -> Option<i64> {
        self.completions.iter().map(|Reverse(completed_ns)| *completed_ns).max()
    }

    /// Go on to a moment: hear of each completion up to it.
    pub(crate) fn advance_completions(&mut self, until_ns: i64, mut completed: impl FnMut(i64)) {
        while let Some(&Reverse(completed_ns)) = self.completions.peek()
            && completed_ns <= until_ns
        {
            completed(completed_ns);
            self.completions.pop();
        }
    }

    /// Go on to a moment: hear of each span with one depth, from its first to after its last ns.
    pub(crate) fn advance(&mut self, until_ns: i64, mut span: impl FnMut(u64, i64, i64)) {
        while let Some(&Reverse(completed_ns)) = self.completions.peek()
            && completed_ns <= until_ns
        {
            if completed_ns > self.now_ns {
                span(self.depth(), self.now_ns, completed_ns);
                self.now_ns = completed_ns;
            }
            self.completions.pop();
        }
        if until_ns > self.now_ns {
            span(self.depth(), self.now_ns, until_ns);
            self.now_ns = until_ns;
        }
    }

    /// An I/O is issued now.
    ///
    /// # Errors
    /// If so many are in flight that completions can't be right.
    pub(crate) fn issue(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        match io.completed_ns {
            Some(completed_ns) if completed_ns >= io.issued_ns => {
                self.completions.push(Reverse(completed_ns));
            }
            None if io.status == Status::NoCompletionSeen => self.endless += 1,
            Some(_) | None => {}
        }
        if self.completions.len() <= MOST_IN_FLIGHT {
            return Ok(());
        }
        let most = MOST_IN_FLIGHT;
        Err(TraceError::Refused(format!(
            "can't follow the queue depth: more than {most} I/Os are in flight at once, so their completions \
             can't be right; convert the trace without completions"
        )))
    }
}
