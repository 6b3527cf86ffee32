//! Asynchronous events: requests of the host that wait for something to happen, and what happened meanwhile.

use std::collections::VecDeque;

/// Requests that may wait at once.
pub(super) const MOST_REQUESTS: usize = 4;

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The drive is worn out, or read-only.
    Reliability,
    /// Spare has fallen below its threshold.
    Spare,
    /// The temperature has crossed a threshold.
    Temperature,
    /// The list of attached namespaces, or one of them, has changed.
    NamespaceChanged,
    /// A sanitize has ended.
    SanitizeDone,
}

impl Event {
    /// Type, what exactly, and the log page that tells more.
    const fn parts(self) -> (u8, u8, u8) {
        match self {
            Self::Reliability => (1, 0, 0x02),
            Self::Spare => (1, 2, 0x02),
            Self::Temperature => (1, 1, 0x02),
            Self::NamespaceChanged => (2, 0, 0x04),
            Self::SanitizeDone => (6, 1, 0x81),
        }
    }

    /// The bit of the event configuration (feature 0Bh) that asks for it; 0: it always comes.
    const fn wish(self) -> u32 {
        match self {
            Self::Reliability => 1 << 2 | 1 << 3,
            Self::Spare => 1 << 0,
            Self::Temperature => 1 << 1,
            Self::NamespaceChanged => 1 << 8,
            Self::SanitizeDone => 0,
        }
    }

    fn result(self) -> u64 {
        let (kind, what, log) = self.parts();
        u64::from(kind) | u64::from(what) << 8 | u64::from(log) << 16
    }
}

/// A controller's events.
#[derive(Debug, Default)]
pub(super) struct Events {
    requests: VecDeque<u16>,
    happened: VecDeque<Event>,
    /// Types that were told and whose log was not read since.
    masked: u8,
}

impl Events {
    /// A request of the host; false if too many wait.
    pub(super) fn request(&mut self, command: u16) -> bool {
        let is_taken = self.requests.len() < MOST_REQUESTS;
        if is_taken {
            self.requests.push_back(command);
        }
        is_taken
    }

    /// Something happened.
    pub(super) fn raise(&mut self, event: Event, wishes: u32) {
        let is_wanted = event.wish() == 0 || wishes & event.wish() != 0;
        if is_wanted && !self.happened.contains(&event) {
            self.happened.push_back(event);
        }
    }

    /// A log was read: events that point to it may be told again.
    pub(super) fn log_read(&mut self, log: u8) {
        for event in [Event::Reliability, Event::NamespaceChanged, Event::SanitizeDone] {
            let (kind, _, page) = event.parts();
            if page == log {
                self.masked &= !(1 << kind);
            }
        }
    }

    /// The next request that can be answered, and its result.
    pub(super) fn take(&mut self) -> Option<(u16, u64)> {
        let place = self.happened.iter().position(|event| self.masked & 1 << event.parts().0 == 0)?;
        let command = self.requests.pop_front()?;
        let event = self.happened.remove(place)?;
        self.masked |= 1 << event.parts().0;
        Some((command, event.result()))
    }

    /// The controller was reset: nothing waits any more. Gives how many requests did.
    pub(super) fn forget(&mut self) -> usize {
        std::mem::take(self).requests.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_told_once_until_its_log_was_read() {
        let mut events = Events::default();
        events.raise(Event::Temperature, 2);
        assert_eq!(events.take(), None);
        (0..4).for_each(|command| assert!(events.request(command)));
        assert!(!events.request(4));
        assert_eq!(events.take(), Some((0, 0x02_01_01)));
        events.raise(Event::Spare, 1);
        assert_eq!(events.take(), None);
        events.log_read(0x81);
        assert_eq!(events.take(), None);
        events.log_read(0x02);
        assert_eq!(events.take(), Some((1, 0x02_02_01)));
    }

    #[test]
    fn what_the_host_does_not_want_is_not_told() {
        let mut events = Events::default();
        events.request(9);
        events.raise(Event::NamespaceChanged, 0);
        assert_eq!(events.take(), None);
        events.raise(Event::SanitizeDone, 0);
        assert_eq!(events.take(), Some((9, 0x81_01_06)));
    }
}
