//! The log of self-tests: how far the one that is under way is, and how those before it ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::bytes::Page;
use super::command::Status;

pub(super) const SHORT: u8 = 1;
pub(super) const EXTENDED: u8 = 2;

const SHORT_TAKES: Duration = Duration::from_secs(60);
const EXTENDED_TAKES: Duration = Duration::from_secs(600);
/// What the identify data say of the extended one.
pub(super) const EXTENDED_MINUTES: u16 = 10;

const LOG_BYTES: usize = 564;
const RESULTS_AT: usize = 4;
const RESULT_BYTES: usize = 28;
const RESULTS: usize = 20;
const UNUSED: u8 = 0xF;
const NAMESPACE_IS_VALID: u8 = 1;

/// How a self-test ended, as the log's results name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Ending {
    Passed = 0,
    AbortedByCommand = 1,
    AbortedByReset = 2,
    AbortedByFormat = 4,
    SegmentFailed = 7,
    AbortedBySanitize = 9,
}

#[derive(Clone, Copy, Debug)]
struct Test {
    code: u8,
    namespace: u32,
    begun: Instant,
    until: Instant,
}

#[derive(Clone, Copy, Debug)]
struct TestResult {
    code: u8,
    ending: Ending,
    hours: u64,
    namespace: u32,
}

/// The one self-test of the drive that may be under way, and the latest results, newest first.
#[derive(Debug, Default)]
pub(super) struct SelfTests {
    current: Option<Test>,
    results: VecDeque<TestResult>,
}

impl SelfTests {
    /// Begin one.
    pub(super) fn begin(&mut self, code: u8, namespace: u32, now: Instant) -> Result<(), Status> {
        if self.current.is_some() {
            return Err(Status::SELF_TEST_IN_PROGRESS);
        }
        let takes = if code == SHORT { SHORT_TAKES } else { EXTENDED_TAKES };
        self.current = Some(Test { code, namespace, begun: now, until: now + takes });
        Ok(())
    }

    /// End the one that is under way, if there is any; a reset leaves an extended one alone. `hours` is what
    /// the drive has been on for.
    pub(super) fn end(&mut self, ending: Ending, hours: u64) {
        if let Some(test) = self.current
            && !(ending == Ending::AbortedByReset && test.code == EXTENDED)
        {
            self.current = None;
            self.results.push_front(TestResult { code: test.code, ending, hours, namespace: test.namespace });
            self.results.truncate(RESULTS);
        }
    }

    /// Note the end of one whose time has come.
    pub(super) fn settle(&mut self, now: Instant, hours: u64, is_failing: bool) {
        if self.current.is_some_and(|test| now >= test.until) {
            self.end(if is_failing { Ending::SegmentFailed } else { Ending::Passed }, hours);
        }
    }

    pub(super) fn page(&self, now: Instant) -> Page {
        let mut page = Page::new(LOG_BYTES);
        if let Some(test) = self.current {
            let done = now.saturating_duration_since(test.begun).as_millis() * 100;
            let percent = done / (test.until - test.begun).as_millis();
            page.put_u8(0, test.code).put_u8(1, u8::try_from(percent.min(99)).unwrap_or(99));
        }
        for number in 0..RESULTS {
            let at = RESULTS_AT + number * RESULT_BYTES;
            let Some(result) = self.results.get(number) else {
                page.put_u8(at, UNUSED);
                continue;
            };
            page.put_u8(at, result.code << 4 | result.ending as u8)
                .put_u8(at + 1, u8::from(result.ending == Ending::SegmentFailed))
                .put_u8(at + 2, NAMESPACE_IS_VALID)
                .put_u64(at + 4, result.hours)
                .put_u32(at + 12, result.namespace);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::ALL;

    fn begun(code: u8) -> (SelfTests, Instant) {
        let (mut tests, now) = (SelfTests::default(), Instant::now());
        assert_eq!(tests.begin(code, ALL, now), Ok(()));
        (tests, now)
    }

    #[test]
    fn a_drive_that_was_never_tested_has_no_result() {
        let page = SelfTests::default().page(Instant::now()).into_bytes();
        assert_eq!(page.len(), 564);
        assert_eq!(page[..2], [0, 0]);
        assert!((0..20).all(|number| page[4 + number * 28] == 0xF));
    }

    #[test]
    fn progress_is_told_in_whole_percents_and_there_is_one_test_at_a_time() {
        let (mut tests, now) = begun(SHORT);
        assert_eq!(tests.page(now + Duration::from_secs(24)).into_bytes()[..2], [SHORT, 40]);
        assert_eq!(
            tests.begin(EXTENDED, 0, now + Duration::from_secs(1)),
            Err(Status::SELF_TEST_IN_PROGRESS)
        );
        let (tests, now) = begun(EXTENDED);
        assert_eq!(tests.page(now + Duration::from_secs(60)).into_bytes()[..2], [EXTENDED, 10]);
    }

    #[test]
    fn the_newest_result_is_the_first() {
        let (mut tests, now) = begun(SHORT);
        tests.settle(now + SHORT_TAKES, 8, false);
        assert_eq!(tests.begin(EXTENDED, 1, now + SHORT_TAKES), Ok(()));
        tests.end(Ending::AbortedByFormat, 9);
        let page = tests.page(now).into_bytes();
        assert_eq!(page[0], 0);
        assert_eq!(page[4], EXTENDED << 4 | 4);
        assert_eq!(page[8..16], 9u64.to_le_bytes());
        assert_eq!(page[16..20], 1u32.to_le_bytes());
        assert_eq!(page[32], SHORT << 4);
        assert_eq!(page[36..44], 8u64.to_le_bytes());
        assert_eq!(page[60], 0xF);
    }

    #[test]
    fn a_drive_that_is_read_only_fails_in_its_first_segment() {
        let (mut tests, now) = begun(SHORT);
        tests.settle(now + SHORT_TAKES, 7, true);
        assert_eq!(tests.page(now).into_bytes()[4..6], [SHORT << 4 | 7, 1]);
    }

    #[test]
    fn a_reset_ends_a_short_one_and_no_extended_one() {
        for (code, is_left) in [(SHORT, false), (EXTENDED, true)] {
            let (mut tests, now) = begun(code);
            tests.end(Ending::AbortedByReset, 7);
            assert_eq!(tests.page(now).into_bytes()[0] == code, is_left);
        }
    }

    #[test]
    fn no_more_than_twenty_results_are_kept() {
        let (mut tests, now) = begun(SHORT);
        for hours in 0..25 {
            tests.end(Ending::AbortedByCommand, hours);
            assert_eq!(tests.begin(SHORT, ALL, now), Ok(()));
        }
        assert_eq!(tests.results.len(), RESULTS);
        assert_eq!(tests.page(now).into_bytes()[8..16], 24u64.to_le_bytes());
    }
}
