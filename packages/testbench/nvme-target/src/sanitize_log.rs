//! The sanitize status log: how far the latest one is, or how it ended.

use super::bytes::Page;

/// What the log says of the latest one.
const NEVER: u16 = 0;
pub(super) const COMPLETED: u16 = 1;
pub(super) const IN_PROGRESS: u16 = 2;
pub(super) const FAILED: u16 = 3;

const LOG_BYTES: usize = 512;
const NOT_REPORTED: u32 = u32::MAX;
/// Progress runs up to this, which also says that none is under way.
pub(super) const WHOLE: u64 = 65_536;

/// The latest sanitize.
#[derive(Debug, Default)]
pub(super) struct SanitizeState {
    pub(super) command: u32,
    pub(super) status: u16,
    pub(super) passes: u16,
    /// Of [`WHOLE`].
    pub(super) progress: u64,
    /// Whether a failure leaves the way out without another sanitize.
    pub(super) is_unrestricted: bool,
    /// Bytes that the hosts had written when there were no data of theirs; `None`: there always were some.
    pub(super) written_when_clean: Option<u64>,
}

impl SanitizeState {
    /// Before the first one, of a drive that holds data or none.
    pub(super) fn new(is_clean: bool) -> Self {
        Self { status: NEVER, written_when_clean: is_clean.then_some(0), ..Self::default() }
    }

    /// The sanitize status log; `written` are the bytes that hosts wrote so far.
    pub(super) fn page(&self, written: u64) -> Page {
        let mut page = Page::new(LOG_BYTES);
        let progress = if self.status == IN_PROGRESS { self.progress.min(WHOLE - 1) } else { WHOLE - 1 };
        let is_clean = self.written_when_clean == Some(written);
        page.put_u16(0, u16::try_from(progress).unwrap_or(u16::MAX))
            .put_u16(2, self.status | self.passes << 3 | u16::from(is_clean) << 8)
            .put_u32(4, self.command);
        (8..32).step_by(4).for_each(|at| {
            page.put_u32(at, NOT_REPORTED);
        });
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_drive_that_was_never_sanitized() {
        let page = SanitizeState::new(true).page(0).into_bytes();
        // No progress to tell, never sanitized, nothing ever written.
        assert_eq!(page[..4], [0xFF, 0xFF, 0x00, 0x01]);
        assert_eq!(SanitizeState::new(true).page(1).into_bytes()[3], 0);
        assert_eq!(SanitizeState::new(false).page(0).into_bytes()[3], 0);
    }

    #[test]
    fn progress_never_looks_complete_before_the_end() {
        let state = SanitizeState { status: IN_PROGRESS, progress: WHOLE, ..SanitizeState::default() };
        assert_eq!(state.page(0).into_bytes()[..2], [0xFF, 0xFF]);
        let half = SanitizeState { status: IN_PROGRESS, progress: WHOLE / 2, ..SanitizeState::default() };
        assert_eq!(half.page(0).into_bytes()[..3], [0x00, 0x80, IN_PROGRESS as u8]);
    }
}
